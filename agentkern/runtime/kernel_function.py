"""A kernel as a function: on the CPU simulator where its tensors lie on the host, on the GPU where they lie there.

It is compiled at the first call with each set of static sizes and compile-time values, and built once for each class of
tensors (`compiler/variants.py`). What a call must satisfy is checked in `tensors.py`.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from agentkern.compiler.abi import KernelAbi, Variant
from agentkern.compiler.analysis.promises import promises_of
from agentkern.compiler.driver import CompileRequest, CompileResult
from agentkern.compiler.frontend import lower_source
from agentkern.compiler.ir.core import Kernel as TileKernel
from agentkern.compiler.proofs.in_place import not_in_place
from agentkern.compiler.schedule import Schedule
from agentkern.diagnostics import Diagnostic, Span, error, render_all
from agentkern.dsl.kernel import Kernel
from agentkern.runtime.cache import Cache, cache_folder
from agentkern.runtime.call_errors import CallError
from agentkern.runtime.callable_kernel import BuildClass, CallableKernel, DeviceBuild, made_outputs, stream_of_caller
from agentkern.runtime.driver import NoDriver, gpu_target
from agentkern.runtime.fitting_build import build_fitting
from agentkern.runtime.kernel_settings import Scalar, call_form, divide_call
from agentkern.runtime.launch_findings import failure_of
from agentkern.runtime.list_arguments import sizes_of_lists
from agentkern.runtime.nvrtc import NvrtcError
from agentkern.runtime.nvrtc_library import NvrtcMissing
from agentkern.runtime.programs import compile_program
from agentkern.runtime.promises import broken_promise
from agentkern.runtime.raw_arrays import raw_array
from agentkern.runtime.signature import Signature, signature_of, signature_of_tile
from agentkern.runtime.simulate import simulate
from agentkern.runtime.simulator import (
    Checks,
    SimulatorBuildError,
    SimulatorModule,
    SimulatorOptions,
    SimulatorUnavailableError,
    build,
)
from agentkern.runtime.tensors import BoundCall, bind_call, variant_of, with_scratch

Values = tuple[tuple[str, str, Scalar], ...]
"""Names, types and values: 1, 1.0 and True differ."""


_OPEN: Mapping[str, int] = {}


class KernelError(Exception):
    """The kernel of a call cannot be run: `diagnostics` say why, and the message shows them."""

    def __init__(self, diagnostics: tuple[Diagnostic, ...], source: str = "") -> None:
        super().__init__(render_all(diagnostics, source))
        self.diagnostics = diagnostics


@dataclass(frozen=True, slots=True)
class _Program:
    """A kernel with numbers for all that is fixed at compile time, and its builds by class."""

    request: CompileRequest
    abi: KernelAbi
    gpu: CallableKernel
    kernel: TileKernel
    modules: dict[Variant, tuple[CompileResult, SimulatorModule]] = field(default_factory=dict)
    refused: dict[tuple[str, str], str | None] = field(default_factory=dict)

    def check_shared(self, call: BoundCall) -> None:
        """Check that outputs which are inputs too are written only once they are read. Errors: AK718."""
        for pair in call.shared:
            if pair not in self.refused:
                self.refused[pair] = not_in_place(self.kernel, *pair)
            reason = self.refused[pair]
            if reason is not None:
                raise CallError("AK718", name=pair[0], other=pair[1], reason=reason)


class KernelFunction:
    """A kernel as a function over tensors of torch, NumPy or any library with DLPack. Safe for several threads."""

    def __init__(
        self, kernel: Kernel, fixed: Mapping[str, Scalar] | None = None, schedule: Schedule | None = None
    ) -> None:
        """Make a function of `kernel`; `fixed` gives static sizes and compile-time values for every call.

        Errors: KernelError (AK801) when its file cannot be read.
        """
        try:
            source = kernel.source
        except (OSError, UnicodeDecodeError) as e:
            raise KernelError((error("AK801", Span(kernel.path), path=kernel.path, reason=str(e)),)) from e
        self._form = call_form(kernel.function)
        self._fixed = dict(fixed or {})
        self._request = CompileRequest(source, kernel.path, kernel.name, schedule=schedule)
        self._lock = threading.RLock()
        self._signatures: dict[Values, Signature] = {}
        self._programs: dict[tuple[Values, Values], _Program] = {}

    def __call__(self, *positional: object, **named: object) -> object:
        """Run the kernel; outputs that are not given are allocated and returned, one as itself, several as a tuple.

        Errors: CallError for a call that does not fit; KernelError; NoDriver, DriverError where tensors are on a GPU.
        """
        given = divide_call(self._form, positional, {**self._fixed, **named})
        signature = self._signature(given.settings)
        lengths = sizes_of_lists(signature, given.positional, given.named)
        signature = self._signature(given.settings, lengths) if lengths else signature
        outputs = frozenset(param.name for param in signature.tensors if param.access == "out")
        stream = stream_of_caller()
        call = bind_call(signature, given.positional, given.named, stream=stream, in_place=outputs)
        statics = {info.name: call.sizes[info.name] for info in signature.sizes if info.static} | lengths
        program = self._program(given.settings, statics)
        program.check_shared(call)
        call = with_scratch(call, program.abi)
        if call.device.kind == "cuda":
            program.gpu.launch(call)
        else:
            self._simulate(program, call)
        return made_outputs(call)

    def compile(self) -> None:
        """Compile now what can be: all but the machine code, where the fixed values name every static size.

        Errors: KernelError; CallError for a name that is none of the kernel's.
        """
        given = divide_call(self._form, (), self._fixed)
        signature = self._signature(given.settings)
        names = [info.name for info in signature.sizes if info.static]
        for name in given.named:
            if name not in names:
                form = f"agentkern.compile({signature.name}, {', '.join(f'{n}=...' for n in names)})"
                reason = f"no static size or compile-time value is called `{name}`"
                raise CallError("AK706", name=name, reason=reason, form=form)
        if len(given.named) == len(names):
            self._program(given.settings, {name: int(str(self._fixed[name])) for name in names})

    def _signature(self, settings: Mapping[str, Scalar], lengths: Mapping[str, int] = _OPEN) -> Signature:
        """What calls are checked against: all sizes are still names, but those that the lengths of lists rest on."""
        key = _values({**settings, **{f"{name}=": number for name, number in lengths.items()}})
        with self._lock:
            if key not in self._signatures:
                asked = self._request
                lowered = lower_source(asked.source, asked.path, asked.kernel, lengths, settings)
                if lowered.outline is None:
                    raise self._error(lowered.diagnostics)
                self._signatures[key] = signature_of_tile(lowered.outline)
            return self._signatures[key]

    def _program(self, settings: Mapping[str, Scalar], statics: Mapping[str, int]) -> _Program:
        key = (_values(settings), _values(statics))
        with self._lock:
            if key not in self._programs:
                request = replace(self._request, dims=statics, settings=settings)
                compiled = self._compiled(request)
                abi, kernel = compiled.abi, compiled.kernel
                assert abi is not None
                assert kernel is not None

                def for_gpu(wanted: BuildClass) -> DeviceBuild:
                    return self._gpu_build(request, wanted)

                gpu = CallableKernel(signature_of(abi), abi, for_gpu)
                self._programs[key] = _Program(request, abi, gpu, kernel)
            return self._programs[key]

    def _compiled(self, request: CompileRequest) -> CompileResult:
        result = compile_program(request, _cache())
        if result.abi is None:
            raise self._error(result.diagnostics)
        return result

    def _gpu_build(self, request: CompileRequest, wanted: BuildClass) -> DeviceBuild:
        try:
            target = gpu_target(wanted.device_index)
        except NoDriver as e:
            raise self._error(
                (error("AK806", Span(request.path), reason=str(e), instead="call it with tensors on the CPU"),)
            ) from e
        asked = replace(request, target=target, variant=wanted.variant)
        try:
            made = build_fitting(asked, self._compiled(asked), _cache())
        except NvrtcMissing as e:
            raise self._error((error("AK807", Span(request.path), reason=str(e)),)) from e
        except NvrtcError as e:
            raise self._error((error("AK902", Span(request.path), reason=e.summary),)) from e
        assert made.compiled.abi is not None
        return DeviceBuild(made.compiled.abi, made.build.cubin)

    def _simulate(self, program: _Program, call: BoundCall) -> None:
        compiled, module = self._module(program, variant_of(program.abi, call))
        assert compiled.abi is not None
        arrays = {bound.param.name: raw_array(bound) for bound in call.tensors}
        given = {bound.param.name: arrays[bound.param.name] for bound in call.tensors if bound.param.access != "out"}
        scalars = {scalar.name: scalar.value for scalar in call.scalars}
        options = SimulatorOptions(checks=Checks.FAST, line_map=compiled.lines)
        broken = broken_promise(promises_of(program.kernel), given, call.sizes)
        if broken is not None:
            raise CallError("AK715", name=broken[0], reason=broken[1])
        reports = simulate(compiled.abi, module, arrays, call.sizes, scalars, options)
        wrong = failure_of(reports, program.kernel, self._request.path)
        if wrong is not None:
            raise self._error((wrong,))

    def _module(self, program: _Program, variant: Variant) -> tuple[CompileResult, SimulatorModule]:
        span = Span(self._request.path)
        with self._lock:
            if variant not in program.modules:
                compiled = self._compiled(replace(program.request, variant=variant))
                try:
                    module = build(compiled.cuda, cache_folder(os.environ))
                except SimulatorUnavailableError as e:
                    raise self._error((error("AK808", span, reason=str(e)),)) from e
                except SimulatorBuildError as e:
                    raise self._error((error("AK902", span, reason=e.log.strip()[:200]),)) from e
                program.modules[variant] = (compiled, module)
            return program.modules[variant]

    def _error(self, diagnostics: tuple[Diagnostic, ...]) -> KernelError:
        return KernelError(diagnostics, self._request.source)


def _values(values: Mapping[str, Scalar]) -> Values:
    return tuple(sorted((name, type(value).__name__, value) for name, value in values.items()))


def _cache() -> Cache:
    return Cache(cache_folder(os.environ))
