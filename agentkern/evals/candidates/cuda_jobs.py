"""What the isolated process does for CUDA submissions: compile a text, run its launches on the simulator or a GPU.

Runs behind `confine`. Arguments and results are plain values; numbers are concrete; nothing here knows a task.
"""

from __future__ import annotations

import ctypes
import mmap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from agentkern.runtime.cubin import NotACubin, kernels_of
from agentkern.runtime.driver import Driver, driver
from agentkern.runtime.nvrtc import NvrtcError, NvrtcOptions, compile_cuda
from agentkern.runtime.simulator import (
    BlockOrder,
    Checks,
    SimulatorBuildError,
    SimulatorModule,
    SimulatorOptions,
    ThreadOrder,
)
from agentkern.runtime.simulator.binding import load_engine
from agentkern.runtime.simulator.hopper_names import LaunchAttributes
from agentkern.runtime.simulator.module import HOST_FLAGS, shim_text
from agentkern.runtime.simulator.toolchain import build_shared_object, machine_flags

_HOST = Path(__file__).with_name("cuda_host.h")
_PARTS = ("abi.h", "threads.h", "arithmetic.h")
_ORDERS = (
    (ThreadOrder.FORWARD, BlockOrder.FORWARD),
    (ThreadOrder.REVERSE, BlockOrder.REVERSE),
    (ThreadOrder.WARP_INTERLEAVED, BlockOrder.SEEDED),
    (ThreadOrder.SEEDED, BlockOrder.SEEDED),
)
_ALIGNMENT = 256
_ERROR_CHARS = 2000


def load(folder: str) -> None:
    """Load the simulator's engine, before the confined copy is made."""
    load_engine(Path(folder))


def compile_device(argument: Mapping[str, Any]) -> dict[str, Any]:
    """Compile for the GPU: the cubin and the bytes of each kernel's parameters, or what the compiler says."""
    folders = (Path(argument["include"]),) if argument["include"] else ()
    options = NvrtcOptions(argument["arch"], contract=True, include_folders=folders)
    try:
        cubin = compile_cuda(argument["text"], options).cubin
    except NvrtcError as e:
        return {"error": e.log[:_ERROR_CHARS] or e.summary}
    try:
        kernels = {kernel.name: [n for _, n in kernel.parameters] for kernel in kernels_of(cubin)}
    except NotACubin:
        return {"error": 'the text has no kernel: `extern "C" __global__ void NAME(...)`'}
    return {"cubin": cubin, "kernels": kernels}


def compile_host(argument: Mapping[str, Any]) -> dict[str, Any]:
    """Compile for the simulator: a shared object, or what the compiler says."""
    entries = "\n".join(f"AK_CUDA_ENTRY({name})" for name in argument["kernels"])
    head = f'{shim_text(_PARTS)}#line 1 "cuda_host.h"\n{_HOST.read_text(encoding="utf-8")}{argument["constants"]}'
    text = f'{head}#line 1 "kernel.cu"\n{argument["text"]}\n#line 1 "entries"\nAK_CUDA_MODULE\n{entries}\n'
    try:
        built = build_shared_object(text, (*HOST_FLAGS, *machine_flags()), (), Path.cwd())
    except SimulatorBuildError as e:
        return {"error": e.log[:_ERROR_CHARS]}
    return {"object": built.read_bytes()}


def simulate(argument: Mapping[str, Any]) -> dict[str, Any]:
    """Run the launches on the simulator: what the images hold then, and what went wrong."""
    path = Path("candidate.so")
    path.write_bytes(argument["object"])
    library = ctypes.CDLL(str(path.resolve()))
    names = dict.fromkeys(launch["kernel"] for launch in argument["launches"])
    engine = load_engine(Path(argument["engine"]))
    module = SimulatorModule(library, engine, {name: LaunchAttributes(1, 0) for name in names}, False)
    images = [_Image(image["memory"], image["offset"]) for image in argument["images"]]
    findings: list[str] = []
    threads, blocks = _ORDERS[min(argument["order"], len(_ORDERS) - 1)]
    options = SimulatorOptions(Checks.FAST, threads, blocks, seed=argument["order"], time_limit_s=argument["seconds"])
    for launch in argument["launches"]:
        extents = (ctypes.c_uint * 6)(*launch["grid"], *launch["block"])
        library.ak_cuda_begin(extents)
        grid, block = _product(launch["grid"]), _product(launch["block"])
        values = [_value(one, images) for one in launch["arguments"]]
        report = module.launch(launch["kernel"], grid, block, launch["shared_bytes"], values, options)
        findings += [finding.message for finding in report.findings]
        if not report.completed:
            return {"images": [], "findings": findings, "completed": False}
    return {"images": [image.contents for image in images], "findings": findings, "completed": True}


def run_on_gpu(argument: Mapping[str, Any]) -> dict[str, Any]:
    """Run the launches on a GPU: what the images hold then."""
    started, index = driver(), argument["device"]
    with started.on_device(index):
        module = started.load_module(argument["cubin"])
        addresses = [started.upload(image["memory"]) for image in argument["images"]]
        for launch in argument["launches"]:
            _launch_on_gpu(started, module, launch, addresses, argument["images"])
        started.synchronize(0)
        pairs = zip(addresses, argument["images"], strict=True)
        return {"images": [started.download(at, len(image["memory"])) for at, image in pairs], "completed": True}


def _launch_on_gpu(
    started: Driver, module: Any, launch: Mapping[str, Any], addresses: Sequence[int], images: Sequence[Any]
) -> None:
    function = started.function(module, launch["kernel"], launch["shared_bytes"])
    held = [
        ctypes.create_string_buffer(_packed(one, width, addresses, images), width)
        for one, width in zip(launch["arguments"], launch["widths"], strict=True)
    ]
    pointers = (ctypes.c_void_p * max(len(held), 1))(*map(ctypes.addressof, held))
    extents = [ctypes.c_uint(n) for n in (*launch["grid"], *launch["block"], launch["shared_bytes"])]
    started.call("cuLaunchKernel", function, *extents, ctypes.c_void_p(0), pointers, None)


def _packed(one: Any, width: int, addresses: Sequence[int], images: Sequence[Any]) -> bytes:
    if "image" in one:
        return (addresses[one["image"]] + images[one["image"]]["offset"]).to_bytes(width, "little")
    if "bytes" in one:
        return one["bytes"]
    return int(one["integer"]).to_bytes(width, "little", signed=one["integer"] < 0)


def _value(one: Any, images: Sequence[_Image]) -> int | float:
    if "image" in one:
        return images[one["image"]].address
    return one["float"] if "float" in one else one["integer"]


def _product(extents: Sequence[int]) -> int:
    return extents[0] * extents[1] * extents[2]


class _Image:
    """A buffer between two pages that nothing may touch, so that an access far outside ends the launch."""

    def __init__(self, memory: bytes, offset: int) -> None:
        page = mmap.PAGESIZE
        room = -(-(len(memory) + _ALIGNMENT) // page) * page
        self._mapped = mmap.mmap(-1, room + 2 * page)
        base = ctypes.addressof(ctypes.c_char.from_buffer(self._mapped))
        libc = ctypes.CDLL(None, use_errno=True)
        for guard in (base, base + page + room):
            libc.mprotect(ctypes.c_void_p(guard), ctypes.c_size_t(page), 0)
        end = base + page + room
        # the first element at an address that 256 divides, the end as near to the guard as that allows
        self.address = (end - len(memory) + offset) // _ALIGNMENT * _ALIGNMENT
        self._start = self.address - offset
        self._n_bytes = len(memory)
        ctypes.memmove(self._start, memory, len(memory))

    @property
    def contents(self) -> bytes:
        """What the memory holds now."""
        return ctypes.string_at(self._start, self._n_bytes)
