"""A kernel's text as a program under verification: built for any static sizes and schedules, each once."""

from __future__ import annotations

import itertools
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from agentkern.compiler.abi import Variant, lists_of
from agentkern.compiler.driver import CANDIDATES, CompileRequest, CompileResult, schedules
from agentkern.compiler.frontend import lower_source
from agentkern.compiler.ir.core import Kernel, SizeInfo
from agentkern.compiler.ir.dims import Dim, symbols
from agentkern.compiler.ir.nondeterminism import is_nondeterministic
from agentkern.compiler.schedule import Schedule
from agentkern.compiler.variants import fitting_variant
from agentkern.diagnostics import Diagnostic
from agentkern.runtime.cache import Cache, cache_folder
from agentkern.runtime.programs import compile_program
from agentkern.tools.verify_buffers import has_free_strides
from agentkern.tools.verify_model import BuildError, RunOptions, Sizes, signature_of

OTHER_LENGTHS = 2
"""Tensors of a list at most, where verification tries other static sizes than the given ones."""


@dataclass(frozen=True, slots=True)
class CompiledProgram:
    """A request without sizes; `sizes` are all of the kernel's named sizes, `static` those that fix a build.

    `nondeterministic`: the kernel says that its bits may differ from run to run.
    """

    request: CompileRequest
    sizes: tuple[SizeInfo, ...]
    nondeterministic: bool = False
    tiles: dict[tuple[int, ...], Kernel] = field(default_factory=dict)
    results: dict[tuple[tuple[int, ...], str, Variant], CompileResult] = field(default_factory=dict)

    def tile(self, sizes: Sizes) -> Kernel:
        """Return the TILE kernel for the static ones of `sizes`. Errors: BuildError."""
        key = self._key(sizes)
        if key not in self.tiles:
            request = self.request
            lowered = lower_source(request.source, request.path, request.kernel, self._static(sizes), request.settings)
            errors = [d for d in lowered.diagnostics if d.severity == "error"]
            if lowered.kernel is None or errors:
                message = errors[0].message if errors else "no kernel"
                raise BuildError(f"{self._shown(sizes)}: {message}")
            self.tiles[key] = lowered.kernel
        return self.tiles[key]

    def compiled(self, sizes: Sizes, options: RunOptions) -> CompileResult:
        """Return the kernel compiled as a run asks for it; without a schedule, with the request's own.

        Errors: BuildError.
        """
        variant = replace(self._variant(sizes, strided=options.strided), shared=options.shared)
        schedule = options.schedule or self.request.schedule
        key = (self._key(sizes), "" if schedule is None else schedule.text(), variant)
        if key not in self.results:
            request = replace(self.request, dims=self._static(sizes), schedule=schedule, variant=variant)
            result = compile_program(request, Cache(cache_folder(os.environ)))
            if result.status != "ok":
                first = next((d for d in result.diagnostics if d.severity == "error"), None)
                said, code = (result.status, "") if first is None else (first.message, first.code)
                raise BuildError(f"{self._shown(sizes)}: {said}", code)
            self.results[key] = result
        return self.results[key]

    def first_result(self, sizes: Sizes) -> CompileResult:
        """Return what compiling for `sizes` gives, with its diagnostics if it is refused."""
        return compile_program(replace(self.request, dims=self._static(sizes)), Cache(cache_folder(os.environ)))

    def schedules(self, sizes: Sizes, count: int) -> tuple[Schedule | None, ...]:
        """Return up to `count` different schedules, the default first; others only as far as there is room for them.

        Errors: BuildError.
        """
        default, *others = schedules(self.tile(sizes), self.request.variant, CANDIDATES)
        fitting = (schedule for schedule in others if self._has_room(sizes, schedule))
        return (default, *itertools.islice(fitting, count - 1))

    def _has_room(self, sizes: Sizes, schedule: Schedule) -> bool:
        """Whether a block has the shared memory that a schedule needs."""
        try:
            self.compiled(sizes, RunOptions(schedule=schedule))
        except BuildError as e:
            if e.code == "AK611":
                return False
            raise
        return True

    def _variant(self, sizes: Sizes, *, strided: bool) -> Variant:
        kernel = self.tile(sizes)
        if not strided:
            return fitting_variant(kernel, sizes)
        tensors = signature_of(kernel).tensors
        names = tuple(p.name for p in tensors if has_free_strides(p))
        return fitting_variant(kernel, sizes, names, min(p.dtype.nbytes for p in tensors))

    def _static(self, sizes: Sizes) -> Mapping[str, int]:
        return {info.name: sizes[info.name] for info in self.sizes if info.static}

    def _key(self, sizes: Sizes) -> tuple[int, ...]:
        return tuple(self._static(sizes).values())

    def _shown(self, sizes: Sizes) -> str:
        return ", ".join(f"{name}={n}" for name, n in self._static(sizes).items()) or "any size"


def program_of(request: CompileRequest) -> CompiledProgram | tuple[Diagnostic, ...]:
    """Return the program that a request's text holds, or why there is none. The request's sizes are not looked at."""
    lowered = lower_source(request.source, request.path, request.kernel, {}, request.settings)
    if lowered.outline is None:
        return lowered.diagnostics
    lengths = {name for listed in lists_of(lowered.outline) for name in _symbols(listed.count)}
    sizes = lowered.outline.sizes
    shown = tuple(_fewer(info) if info.name in lengths else info for info in sizes)
    return CompiledProgram(request, shown, is_nondeterministic(lowered.outline))


def _symbols(count: int | Dim) -> tuple[str, ...]:
    return () if isinstance(count, int) else symbols(count)


def _fewer(info: SizeInfo) -> SizeInfo:
    """The length of a list as other lengths are tried: each tensor is an argument and code of its own."""
    most = max(OTHER_LENGTHS, info.minimum)
    return replace(info, maximum=most if info.maximum is None else min(info.maximum, most))
