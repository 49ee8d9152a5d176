"""Build generated CUDA text for the host and launch its kernels on the simulator's engine.

Knows nothing of the compiler: its input is a .cu text in the generated conventions (accessors for all memory, one
dynamic `ak_smem`, instruction functions under `#ifndef AK_SIMULATOR`).
"""

from __future__ import annotations

import _ctypes
import ctypes
import functools
import re
import threading
import weakref
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from agentkern.runtime.simulator.address_space import AddressMap, map_buffers
from agentkern.runtime.simulator.binding import (
    MAX_CLUSTER_BLOCKS,
    MAX_THREADS,
    SMEM_RESERVED_BYTES,
    Engine,
    FindingStruct,
    RequestStruct,
    WaitStruct,
    load_engine,
)
from agentkern.runtime.simulator.completions import compare_completions
from agentkern.runtime.simulator.hopper_names import (
    LaunchAttributes,
    family_definitions,
    launch_attributes,
    uses_asynchronous,
)
from agentkern.runtime.simulator.records import (
    Argument,
    Buffer,
    SimulatorOptions,
    SimulatorReport,
    SimulatorStats,
    TableArgument,
    TensorMapArgument,
    buffers_of,
)
from agentkern.runtime.simulator.reports import make_report
from agentkern.runtime.simulator.toolchain import build_shared_object, machine_flags

_SHIM = Path(__file__).parent / "shim"
_SHIM_PARTS = ("abi.h", "threads.h", "memory.h", "arithmetic.h", "instructions.h", "float_atomics.h", "entry.h")
_HOPPER_PARTS = ("hopper_abi.h", "hopper.h")
HOST_FLAGS = (
    "-std=c++17",
    "-O1",
    "-w",
    "-shared",
    "-fPIC",
    "-fvisibility=hidden",
    "-ffp-contract=off",
    "-fno-math-errno",
    "-fno-exceptions",
    "-fno-rtti",
    "-fno-strict-aliasing",
    "-fstack-clash-protection",  # a frame larger than the guard page must not step over it
    "-fwrapv",
    "-fno-sanitize=undefined",
    "-U_FORTIFY_SOURCE",
    "-pipe",
)
_COMMENTS_AND_STRINGS = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"', re.DOTALL)
_KERNEL = re.compile(r"\b__global__\b[^;{(]*?(?:\b__\w+__\s*\([^)]*\)\s*)*\b(?!__)(\w+)\s*\(")
_POINTER, _FLOATING, _SIZE = 0x10000, 0x20000, 0xFFFF
_MAX_BLOCKS = (1 << 31) - 1
# Fault handlers and the engine's state belong to the process.
_LAUNCH_LOCK = threading.Lock()

_TENSOR_MAP_BYTES = 128
_TENSOR_MAP_ALIGNMENT = 64  # of AkTensorMap in shim/hopper.h


class LaunchError(ValueError):
    """A launch whose arguments or shape do not fit the kernel."""


@dataclass(frozen=True, slots=True)
class _Kernel:
    entry: int
    words: tuple[int, ...]
    attributes: LaunchAttributes


class SimulatorModule:
    """The kernels of one .cu text, built for this machine."""

    def __init__(
        self, library: ctypes.CDLL, engine: Engine, kernels: Mapping[str, LaunchAttributes], asynchronous: bool
    ) -> None:
        self._library = library
        self._engine = engine
        self._current = ctypes.c_void_p()
        bind = library.ak_sim_bind
        bind.restype = ctypes.c_void_p
        self._smem: int = bind(engine.table, ctypes.byref(self._current))
        engine.protect(self._smem, SMEM_RESERVED_BYTES)
        self._kernels = {name: _describe(library, name, attributes) for name, attributes in kernels.items()}
        self._asynchronous = asynchronous

    @property
    def asynchronous(self) -> bool:
        """Whether the text uses asynchronous or tensor-core instructions."""
        return self._asynchronous

    @property
    def kernels(self) -> tuple[str, ...]:
        """The names of the `__global__` functions, in the order of the text."""
        return tuple(self._kernels)

    def launch(
        self,
        kernel: str,
        grid_blocks: int,
        threads: int,
        shared_bytes: int,
        arguments: Sequence[Argument],
        options: SimulatorOptions | None = None,
    ) -> SimulatorReport:
        """Run `kernel` on `grid_blocks` blocks of `threads` threads; no blocks is no launch.

        `arguments` follow the kernel's parameters: a Buffer for a pointer, a TensorMapArgument for a tensor map, a
        TableArgument for a table, int or float for a scalar.
        Errors: LaunchError when kernel, arguments or shape do not fit.
        """
        options = options or SimulatorOptions()
        if kernel not in self._kernels:
            raise LaunchError(f"no kernel `{kernel}` in the text; it has {', '.join(self._kernels)}")
        _check_shape(grid_blocks, threads, shared_bytes)
        if options.blocks is not None and any(not 0 <= block < grid_blocks for block in options.blocks):
            raise LaunchError("`blocks` names a block outside the grid")
        found = self._kernels[kernel]
        _check_clusters(found.attributes.cluster_blocks, grid_blocks, options.blocks)
        space = map_buffers([buffer for argument in arguments for buffer in buffers_of(argument)])
        values = _pack_arguments(kernel, found.words, arguments, space.addresses)
        if grid_blocks == 0 or options.blocks == ():
            return SimulatorReport((), 0, True, SimulatorStats())
        request = _request(space, options, threads, found.attributes)
        request.asynchronous = self._asynchronous
        request.entry = found.entry
        request.arguments = (ctypes.c_void_p * max(len(values), 1))(*map(ctypes.addressof, values))
        request.current = self._current
        request.smem_device, request.smem_bytes = self._smem, shared_bytes
        request.n_blocks = grid_blocks
        with _LAUNCH_LOCK:
            self._engine.launch(request)
        if request.failed:
            raise MemoryError("the simulator could not reserve its address space")
        return make_report(request, space.window_buffers, options.line_map)

    def launch_both(
        self,
        kernel: str,
        grid_blocks: int,
        threads: int,
        shared_bytes: int,
        arguments: Sequence[Argument],
        options: SimulatorOptions | None = None,
    ) -> SimulatorReport:
        """Run `kernel` with the earliest and the latest completion; kernels without asynchronous instructions once.

        The report has the findings of both, and COMPLETION_DEPENDENT for a buffer whose bits differ.
        Errors: as `launch`.
        """

        def launch(options: SimulatorOptions) -> SimulatorReport:
            return self.launch(kernel, grid_blocks, threads, shared_bytes, arguments, options)

        options = options or SimulatorOptions()
        return compare_completions(launch, arguments, options) if self._asynchronous else launch(options)


def build(cu_text: str, cache_dir: Path) -> SimulatorModule:
    """Compile `cu_text` for this machine, or take it from `cache_dir`, and load it.

    Errors: SimulatorBuildError with the host compiler's log; SimulatorUnavailableError when there is no compiler.
    """
    kernels, code = kernel_names(cu_text), _code_of(cu_text)
    asynchronous = uses_asynchronous(code)
    shim = shim_text(_SHIM_PARTS)
    if asynchronous:
        shim += shim_text(_HOPPER_PARTS) + f'#line 1 "families"\n{family_definitions(code)}'
    entries = "\n".join(f"AK_SIM_ENTRY({name})" for name in kernels)
    source = f'{shim}#line 1 "kernel.cu"\n{cu_text}\n#line 1 "entries"\nAK_SIM_MODULE\n{entries}\n'
    path = build_shared_object(source, (*HOST_FLAGS, *machine_flags()), (), cache_dir / "simulator")
    attributes = {name: launch_attributes(code, name) for name in kernels}
    engine = load_engine(cache_dir / "simulator", asynchronous=asynchronous)
    library = ctypes.CDLL(str(path))
    module = SimulatorModule(library, engine, attributes, asynchronous)
    # ctypes never unloads: a process of thousands of texts would run out of memory maps
    weakref.finalize(module, _ctypes.dlclose, library._handle).atexit = False
    return module


def kernel_names(cu_text: str) -> tuple[str, ...]:
    """Return the names of the `__global__` functions defined in `cu_text`, in order."""
    return tuple(dict.fromkeys(match.group(1) for match in _KERNEL.finditer(_code_of(cu_text))))


def _code_of(cu_text: str) -> str:
    return _COMMENTS_AND_STRINGS.sub(" ", cu_text)


@functools.cache
def shim_text(parts: tuple[str, ...]) -> str:
    """Return files of the shim, one after another, for a text that is built otherwise than by `build`."""
    return "".join(f'#line 1 "shim/{part}"\n' + (_SHIM / part).read_text() for part in parts)


def _describe(library: ctypes.CDLL, name: str, attributes: LaunchAttributes) -> _Kernel:
    signature = library[f"ak_sim_signature_{name}"]
    signature.restype = ctypes.POINTER(ctypes.c_uint32)
    words = signature()
    entry = ctypes.cast(library[f"ak_sim_entry_{name}"], ctypes.c_void_p).value
    assert entry is not None
    return _Kernel(entry, tuple(words[1 + i] for i in range(words[0])), attributes)


def _check_shape(grid_blocks: int, threads: int, shared_bytes: int) -> None:
    if not 0 <= grid_blocks <= _MAX_BLOCKS:
        raise LaunchError(f"a grid has 0 to 2^31 - 1 blocks, not {grid_blocks}")
    if threads % 32 or not 0 < threads <= MAX_THREADS:
        raise LaunchError(f"a block has 32 to {MAX_THREADS} threads in whole warps, not {threads}")
    if not 0 <= shared_bytes <= SMEM_RESERVED_BYTES:
        raise LaunchError(f"a block has at most {SMEM_RESERVED_BYTES} bytes of shared memory, not {shared_bytes}")


def _check_clusters(size: int, grid_blocks: int, blocks: tuple[int, ...] | None) -> None:
    if not 1 <= size <= MAX_CLUSTER_BLOCKS or grid_blocks % size:
        raise LaunchError(f"clusters of {size} blocks do not fit a grid of {grid_blocks}")
    groups = zip(*[iter(blocks or ())] * size, strict=False)
    whole = len(blocks or ()) % size == 0
    if not whole or any(group != tuple(range(group[0], group[0] + size)) or group[0] % size for group in groups):
        raise LaunchError(f"`blocks` names parts of clusters of {size} blocks")


def _pack_arguments(
    kernel: str, words: Sequence[int], arguments: Sequence[Argument], addresses: Sequence[int]
) -> list[ctypes.Array[ctypes.c_char]]:
    """Return each argument in the bytes of its parameter."""
    if len(words) != len(arguments):
        raise LaunchError(f"`{kernel}` takes {len(words)} arguments, {len(arguments)} given")
    pending = iter(addresses)
    packed: list[ctypes.Array[ctypes.c_char]] = []
    for position, (word, argument) in enumerate(zip(words, arguments, strict=True)):
        size = word & _SIZE
        if isinstance(argument, TensorMapArgument):
            packed.append(_tensor_map(argument, next(pending), size, f"argument {position} of `{kernel}`"))
            continue
        if isinstance(argument, TableArgument):
            pointers = [next(pending) for _ in argument.buffers]
            packed.append(_table((*pointers, *argument.numbers), size, f"argument {position} of `{kernel}`"))
            continue
        if isinstance(argument, Buffer) != bool(word & _POINTER):
            wanted = "a Buffer" if word & _POINTER else "a number"
            raise LaunchError(f"argument {position} of `{kernel}` is {wanted}, not {argument!r}")
        value: int | float = next(pending) if isinstance(argument, Buffer) else argument
        packed.append(ctypes.create_string_buffer(_scalar_bytes(value, size, bool(word & _FLOATING)), size))
    return packed


def _tensor_map(argument: TensorMapArgument, address: int, size: int, name: str) -> ctypes.Array[ctypes.c_char]:
    words = argument.encode(address)
    if size != _TENSOR_MAP_BYTES or len(words) != _TENSOR_MAP_BYTES:
        raise LaunchError(f"{name} has {size} bytes and its tensor map {len(words)}; a tensor map has 128")
    room = ctypes.create_string_buffer(size + _TENSOR_MAP_ALIGNMENT)
    offset = -ctypes.addressof(room) % _TENSOR_MAP_ALIGNMENT
    aligned = (ctypes.c_char * size).from_buffer(room, offset)  # keeps `room`; compilers move it by aligned accesses
    aligned.raw = words
    return aligned


def _table(words: Sequence[int], size: int, name: str) -> ctypes.Array[ctypes.c_char]:
    room = b"".join((word & ((1 << 64) - 1)).to_bytes(8, "little") for word in words or (0,))
    if size != len(room):
        raise LaunchError(f"{name} has {size} bytes and its table {len(room)}")
    return ctypes.create_string_buffer(room, size)


def _scalar_bytes(value: int | float, size: int, floating: bool) -> bytes:
    if floating:
        return bytes(ctypes.c_float(value) if size == 4 else ctypes.c_double(value))
    if isinstance(value, float):
        raise LaunchError(f"an integer parameter cannot take {value!r}")
    if not -(1 << (8 * size - 1)) <= value < 1 << (8 * size):
        raise LaunchError(f"{value} does not fit {size} bytes")
    return (value & ((1 << (8 * size)) - 1)).to_bytes(size, "little")


def _request(space: AddressMap, options: SimulatorOptions, threads: int, attributes: LaunchAttributes) -> RequestStruct:
    request = RequestStruct(
        n_threads=threads,
        n_regions=len([region for region in space.regions if region.n_windows]),
        n_windows=len(space.window_buffers),
        max_findings=options.max_findings,
        regions=space.regions,
        windows=space.windows,
        findings=(FindingStruct * options.max_findings)(),
        waits=(WaitStruct * (threads * attributes.cluster_blocks))(),
        step_limit=options.step_limit,
        time_limit_ns=int(options.time_limit_s * 1e9),
        stack_bytes=options.stack_bytes,
        seed=options.seed,
        thread_order=options.thread_order,
        block_order=options.block_order,
        full_checks=options.checks,
        cluster_blocks=attributes.cluster_blocks,
        registers=attributes.registers,
        completion=options.completion,
    )
    if options.blocks is not None:
        request.block_list = (ctypes.c_uint64 * len(options.blocks))(*options.blocks)
        request.n_block_list = len(options.blocks)
    return request
