"""Time a built kernel on a GPU beside a copy, an empty launch and functions over tensors. Imports torch.

Runs in a worker process or a benchmark script; the protocol is `runtime/timing.py`.
"""

from __future__ import annotations

import importlib.util
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType

import torch

from agentkern.compiler.abi import KernelAbi, ScalarParam, TensorParam
from agentkern.compiler.analysis.promises import Promise, Promises
from agentkern.compiler.ir.dims import evaluate
from agentkern.dsl.dtypes import DType
from agentkern.runtime.device import GpuKernel, current_stream
from agentkern.runtime.gpu_subjects import (
    Arguments,
    copy_subject,
    empty_subject,
    function_subject,
    kernel_subject,
    poison,
)
from agentkern.runtime.layouts import prescribed, span
from agentkern.runtime.list_arguments import with_entries
from agentkern.runtime.promises import broken_promise
from agentkern.runtime.signature import callers_names, signature_of
from agentkern.runtime.tensor_view import FOREIGN_NAMES
from agentkern.runtime.tensors import bind_call
from agentkern.runtime.timing import Subject
from agentkern.tools.promised_inputs import kept

Peer = Callable[..., object]
Scalars = Mapping[str, int | float | bool]
Prepare = Callable[[dict[str, object]], dict[str, object]]

PREPARE = "prepare"
"""A function of a file of peers that makes random inputs what they are in practice: a routing, averages of squares."""


@dataclass(frozen=True, slots=True)
class Timed:
    """A built kernel at given sizes. Its inputs keep `promises`, and are what `prepare` makes of random ones.

    `values`: what integer inputs hold in place of that, where a caller knows more than the kernel promises.
    `nondeterministic`: its bits may differ from run to run.
    """

    name: str
    abi: KernelAbi
    cubin: bytes
    sizes: Mapping[str, int]
    scalars: Scalars
    seed: int = 0
    device_index: int = 0
    promises: Promises = field(default_factory=dict[str, Promise])
    prepare: Prepare | None = None
    nondeterministic: bool = False
    values: Promises = field(default_factory=dict[str, Promise])


def subjects_of(timed: Timed, bytes_moved: int, peers: Mapping[str, Peer]) -> tuple[Subject, ...]:
    """Return the kernel, a copy of as many bytes, an empty launch, and each peer, on fresh inputs in every round.

    Errors: DriverError when the cubin cannot be loaded.
    """
    rounds: dict[int, Arguments] = {}

    def arguments(number: int) -> Arguments:
        # subjects of one round share their inputs; those of the round before are dropped only when these exist
        if number not in rounds:
            rounds[number] = make_arguments(timed, number)
            rounds.pop(number - 2, None)
        return rounds[number]

    names = _peers_names(timed)
    kernel = GpuKernel(timed.abi, timed.cubin, timed.device_index)
    ours = kernel_subject(timed.name, kernel, signature_of(timed.abi), arguments, repeats(timed, kernel))
    others = [
        function_subject(name, _called(timed, peer, names), arguments, _is_finite_somewhere)
        for name, peer in peers.items()
    ]
    return (ours, copy_subject(bytes_moved, timed.device_index), empty_subject(timed.device_index), *others)


def load_peer(path: Path, name: str) -> Peer:
    """Return the function of a kernel's name from a Python file, which is executed. Errors: AttributeError."""
    return getattr(_loaded(path), name)


def load_prepare(path: Path) -> Prepare | None:
    """Return the function `prepare` of a Python file of peers, which is executed; None where it has none."""
    return getattr(_loaded(path), PREPARE, None)


def _loaded(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location("peers", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def usable_peers(timed: Timed, peers: Mapping[str, Peer]) -> tuple[dict[str, Peer], dict[str, str]]:
    """Return the peers that run here, each called once to warm it, and why each of the others does not.

    torch.compile needs Triton and a C compiler.
    """
    given = make_arguments(timed, 0)
    names = _peers_names(timed)
    found: dict[str, Peer] = {}
    left_out: dict[str, str] = {}
    for name, peer in peers.items():
        try:
            _called(timed, peer, names)(given)
            torch.cuda.synchronize(timed.device_index)
        except (RuntimeError, ImportError) as error:  # NotImplementedError and torch's own errors are RuntimeErrors
            left_out[name] = next(iter(str(error).splitlines()), type(error).__name__)
            continue
        found[name] = peer
    return found, left_out


def _peers_names(timed: Timed) -> list[str]:
    """What a peer is called with, in order: inputs and scalars, a list of tensors as one."""
    written = {p.name for p in timed.abi.params if isinstance(p, TensorParam) and p.access == "out"}
    written |= {listed.name for listed in timed.abi.lists if listed.access == "out"}
    return [name for name in callers_names(signature_of(timed.abi)) if name not in written]


def _called(timed: Timed, peer: Peer, names: list[str]) -> Callable[[Arguments], object]:
    """Return the call of a peer: arguments in order, and sizes by the names of its further parameters."""
    sizes = {name: timed.sizes[name] for name in _parameters(peer) if name in timed.sizes and name not in names}
    return lambda given: peer(*(given[name] for name in names), **sizes)


def _parameters(peer: Peer) -> tuple[str, ...]:
    try:
        return tuple(inspect.signature(peer).parameters)
    except ValueError:
        return ()  # a function of C++ says nothing of them


def make_arguments(timed: Timed, number: int) -> dict[str, object]:
    """Return new inputs on the GPU: normal floats, small integers or promised ones; scalars and sizes.

    Errors: ValueError if `prepare` or `values` break a promise of the kernel's.
    """
    device = torch.device("cuda", timed.device_index)
    generator = torch.Generator(device).manual_seed(timed.seed * 1_000_003 + number)
    made: dict[str, object] = {}
    for param in timed.abi.params:
        if isinstance(param, ScalarParam):
            made[param.name] = timed.scalars.get(param.name, param.default if param.default is not None else 1)
        elif param.access in ("in", "inout"):
            tensor, strides = _input(timed, param, generator), prescribed(param, timed.sizes)
            made[param.name] = tensor if strides is None else _spread(tensor, strides)
    for listed in timed.abi.lists:
        if all(entry in made for entry in listed.entries):
            made[listed.name] = [made.pop(entry) for entry in listed.entries]
    if timed.prepare is not None or timed.values:
        made = _prepared(timed, made if timed.prepare is None else timed.prepare(made))
    return made | _named_sizes(timed.abi, timed.sizes)


def _named_sizes(abi: KernelAbi, sizes: Mapping[str, int]) -> dict[str, int]:
    """Return the run-time sizes that no input shows by itself: they are named at the call."""
    given = [p for p in abi.params if isinstance(p, TensorParam) and p.access != "out"]
    shown = {str(extent) for param in given for extent in param.shape}
    fixed = {name for name, _ in abi.statics}
    return {info.name: sizes[info.name] for info in abi.sizes if info.name not in shown | fixed}


def _input(timed: Timed, param: TensorParam, generator: torch.Generator) -> torch.Tensor:
    """Return what one input holds, on the generator's device."""
    shape = tuple(evaluate(extent, timed.sizes) for extent in param.shape)
    promise = timed.values.get(param.name, timed.promises.get(param.name))
    if promise is None or param.dtype.is_float:
        return _random(param.dtype, shape, generator.device, generator)
    return _promised(promise, param.dtype, shape, timed.sizes, generator)


def _spread(tensor: torch.Tensor, strides: tuple[int, ...]) -> torch.Tensor:
    """Return the elements in memory with these strides."""
    memory = torch.empty(span(tuple(tensor.shape), strides), dtype=tensor.dtype, device=tensor.device)
    return memory.as_strided(tensor.shape, strides).copy_(tensor)


def _copied(tensor: torch.Tensor) -> torch.Tensor:
    """Return a copy with the same strides."""
    return _spread(tensor, tuple(tensor.stride()))


def _promised(
    promise: Promise, dtype: DType, shape: tuple[int, ...], sizes: Mapping[str, int], generator: torch.Generator
) -> torch.Tensor:
    kind: torch.dtype = getattr(torch, FOREIGN_NAMES[dtype.name])
    bits = torch.randint(1 << 31, shape, device=generator.device, generator=generator).cpu().numpy()
    return torch.from_numpy(kept(promise, bits, sizes)).to(kind).to(generator.device)


def _prepared(timed: Timed, given: dict[str, object]) -> dict[str, object]:
    """Return prepared inputs, held to the promises as random ones are. Errors: ValueError."""
    entries = with_entries(signature_of(timed.abi), given)
    tensors = {name: entries[name] for name in timed.promises if name in entries}
    arrays = {name: tensor.cpu().numpy() for name, tensor in tensors.items() if isinstance(tensor, torch.Tensor)}
    broken = broken_promise(timed.promises, arrays, timed.sizes)
    if broken is not None:
        raise ValueError(f"prepared `{broken[0]}` of {timed.name}: {broken[1]}")
    return given


def _random(dtype: DType, shape: tuple[int, ...], device: torch.device, generator: torch.Generator) -> torch.Tensor:
    kind: torch.dtype = getattr(torch, FOREIGN_NAMES[dtype.name])
    if dtype.is_float:
        wide = torch.randn(shape, device=device, generator=generator, dtype=torch.float32)
        return wide.to(kind)
    low, high = dtype.integer_range
    return torch.randint(max(low, -100), min(high, 100) + 1, shape, device=device, generator=generator).to(kind)


def repeats(timed: Timed, kernel: GpuKernel) -> Callable[[Arguments, Mapping[str, object]], str | None]:
    """Return a check that an untimed run on the same inputs gives the same bits, no poison left.

    Of a kernel whose bits may differ: that floats are NaN, as poison is, in the same places.
    """
    differs = _poison_difference if timed.nondeterministic else _difference
    signature = signature_of(timed.abi)
    changed = [param.name for param in signature.tensors if param.access == "inout"]
    partial = {name for name, promise in timed.promises.items() if promise.partial}

    def launched(given: Arguments) -> dict[str, object]:
        """What a run leaves, from copies of the tensors that it changes."""
        entries = with_entries(signature, given)
        copies = {name: _copied(t) for name in changed if isinstance(t := entries[name], torch.Tensor)}
        call = bind_call(signature, (), {**entries, **copies}, device=kernel.device)
        kernel.launch(call, current_stream(timed.device_index))
        return call.outputs

    def check(given: Arguments, outputs: Mapping[str, object]) -> str | None:
        if changed:
            # the timed runs have changed their own inputs: two runs from the same state are compared instead
            outputs = launched(given)
            return differs(outputs, launched(given))
        call = bind_call(signature, (), dict(given), device=kernel.device)
        for name, owner in call.outputs.items():
            assert isinstance(owner, torch.Tensor)
            if name in partial:
                poison(owner)  # what the timed run found there, too
            else:
                owner.view(_raw(owner)).zero_()
        kernel.launch(call, current_stream(timed.device_index))
        return differs(outputs, call.outputs)

    return check


def _difference(outputs: Mapping[str, object], again: Mapping[str, object]) -> str | None:
    """Say which output differs in a second run, if one does."""
    for name, second in again.items():
        first = outputs[name]
        assert isinstance(first, torch.Tensor)
        assert isinstance(second, torch.Tensor)
        if not torch.equal(first.view(_raw(first)), second.view(_raw(second))):
            return f"`{name}` differs from an untimed run on the same inputs"
    return None


def _poison_difference(outputs: Mapping[str, object], again: Mapping[str, object]) -> str | None:
    """Say which output of floats has NaN elsewhere in a second run, if one has."""
    for name, second in again.items():
        first = outputs[name]
        assert isinstance(first, torch.Tensor)
        assert isinstance(second, torch.Tensor)
        if first.is_floating_point() and not torch.equal(first.isnan(), second.isnan()):
            return f"`{name}` is NaN elsewhere than in an untimed run on the same inputs"
    return None


def _raw(tensor: torch.Tensor) -> torch.dtype:
    return {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}[tensor.element_size()]


def _is_finite_somewhere(_given: Arguments, returned: object) -> str | None:
    """Reject a peer that returned nothing: its time would mean nothing."""
    found = list(returned) if isinstance(returned, list | tuple) else [returned]
    found += [item for inner in found if isinstance(inner, list | tuple) for item in inner]
    if any(isinstance(item, torch.Tensor) and item.numel() for item in found):
        return None
    return "the function returned no tensor"
