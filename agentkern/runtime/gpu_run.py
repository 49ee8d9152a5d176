"""Run a compiled kernel's launches on a GPU in a worker process, on raw storage arrays of the host.

The counterpart of `simulate.py`: the same arguments, outputs written in place. A fault, a hang or a crash costs this
run and nothing else.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from agentkern.compiler.abi import Argument, KernelAbi, Launch
from agentkern.runtime.driver import NoDriver
from agentkern.runtime.launch_arguments import count_bytes
from agentkern.runtime.launch_blocks import blocks_of
from agentkern.runtime.layouts import span
from agentkern.runtime.scalar_arguments import bind_scalar
from agentkern.runtime.scratch import scratch_arrays
from agentkern.runtime.worker import JobFailed, Worker


class GpuRunFailed(Exception):
    """The run ended without a result: `kind` is that of the worker's failure."""

    def __init__(self, kind: str, reason: str, detail: str) -> None:
        super().__init__(reason)
        self.kind = kind
        self.detail = detail


@dataclass(frozen=True, slots=True)
class GpuProgram:
    """A compiled kernel and the GPU that it is for."""

    abi: KernelAbi
    cubin: bytes
    device_index: int = 0


@dataclass(frozen=True, slots=True)
class HostImage:
    """An array and the memory around it that is copied along, guard bands for instance; `memory` holds bytes."""

    array: NDArray[Any]
    memory: NDArray[np.uint8]

    @property
    def offset(self) -> int:
        """Bytes from the start of the memory to the array's first element."""
        return self.array.ctypes.data - self.memory.ctypes.data if self.array.size else 0


def image_of(array: NDArray[Any]) -> HostImage:
    """Return an array as its own memory: a contiguous one, or one that `layouts.py` has spread.

    The memory begins at the first element, so that the device's allocation gives it all the alignment that it has.
    """
    if array.flags.c_contiguous:
        return HostImage(array, array.reshape(-1).view(np.uint8))
    memory = array
    while isinstance(memory.base, np.ndarray):
        memory = memory.base
    assert memory.flags.c_contiguous, "an array with gaps needs the memory that it lies in"
    held = memory.reshape(-1).view(np.uint8)
    first = array.ctypes.data - memory.ctypes.data
    length = span(array.shape, tuple(stride // array.itemsize for stride in array.strides)) * array.itemsize
    return HostImage(array, held[first : first + length])


def run_on_gpu(
    worker: Worker,
    program: GpuProgram,
    images: Mapping[str, HostImage],
    sizes: Mapping[str, int],
    scalars: Mapping[str, int | float | bool],
    *,
    timeout_s: float,
) -> None:
    """Run every launch in order; afterwards the images that can be written hold what the device's memory does.

    `worker` has the jobs of `gpu_job.JOBS`; `images` has one for each tensor parameter; scratch may be left out.
    Errors: NoDriver; GpuRunFailed; AK707 for a scalar that does not fit; AK714 for too many blocks.
    """
    scratch = scratch_arrays(program.abi, sizes, images)
    images = {**images, **{name: image_of(array) for name, array in scratch.items()}}
    launches = [
        _plain_launch(launch, images, sizes, scalars) for launch in program.abi.launches if blocks_of(launch, sizes) > 0
    ]
    if not launches:
        return
    memory = [image.memory for image in images.values()]
    payload = {
        "device": program.device_index,
        "cubin": program.cubin,
        "images": [part.tobytes() for part in memory],
        "launches": launches,
    }
    outcome = worker.run_job("gpu_run", payload, timeout_s=timeout_s)
    if isinstance(outcome, JobFailed):
        raise _failure(outcome)
    for part, data in zip(memory, outcome, strict=True):
        if part.flags.writeable:
            part[...] = np.frombuffer(data, np.uint8)


def _plain_launch(
    launch: Launch,
    images: Mapping[str, HostImage],
    sizes: Mapping[str, int],
    scalars: Mapping[str, int | float | bool],
) -> dict[str, Any]:
    names = list(images)

    def plain(argument: Argument) -> bytes | dict[str, Any]:
        match argument.kind:
            case "pointer":
                return {"image": names.index(argument.name), "offset": images[argument.name].offset}
            case "size":
                return count_bytes(sizes[argument.name])
            case "stride":
                array = images[argument.name].array
                return count_bytes(array.strides[argument.axis] // array.itemsize)
            case "scalar":
                return bind_scalar(argument.name, argument.dtype, scalars[argument.name]).data
            case "tensor_map":
                image = images[argument.tensor]
                return {
                    "image": names.index(argument.tensor),
                    "offset": image.offset,
                    "map": {
                        "dtype": argument.dtype.name,
                        "shape": list(image.array.shape),
                        "strides_bytes": list(image.array.strides),
                        "box": list(argument.box),
                        "swizzle": argument.swizzle,
                    },
                }
            case "table":
                entries = [{"image": names.index(name), "offset": images[name].offset} for name in argument.entries]
                return {"table": entries or [bytes(8)]}
            case "stride_table":
                arrays = [images[name].array for name in argument.entries]
                strides = [s // array.itemsize for array in arrays for s in array.strides] or [0]
                return b"".join(map(count_bytes, strides))

    return {
        "function": launch.function,
        "blocks": blocks_of(launch, sizes),
        "threads": launch.threads,
        "shared_bytes": launch.shared_bytes,
        "arguments": [plain(argument) for argument in launch.arguments],
    }


def _failure(failed: JobFailed) -> NoDriver | GpuRunFailed:
    """Tell from the traceback's last line what went wrong on the other side."""
    kind, _, reason = failed.detail.rpartition("\n")[2].partition(": ")
    if failed.kind == "raised" and kind.endswith(".NoDriver"):
        return NoDriver(reason)
    return GpuRunFailed(
        failed.kind, reason if failed.kind == "raised" else failed.detail.partition("\n")[0], failed.detail
    )
