"""Pack a bound call into the arguments of each launch, as bytes in the order of the generated function.

Shared by the GPU and the simulator. The order and kinds are the KernelAbi's; widths are those of C on both: pointers,
sizes and strides 8 bytes, scalars as stored.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import assert_never

from agentkern.compiler.abi import Argument, KernelAbi, Launch
from agentkern.runtime.driver import driver
from agentkern.runtime.launch_blocks import blocks_of
from agentkern.runtime.tensor_map import TensorMap
from agentkern.runtime.tensors import BoundCall


@dataclass(frozen=True, slots=True)
class PackedLaunch:
    """One launch, ready: 0 blocks is no launch."""

    function: str
    blocks: int
    threads: int
    shared_bytes: int
    arguments: tuple[bytes, ...]


def pack_launches(abi: KernelAbi, call: BoundCall) -> tuple[PackedLaunch, ...]:
    """Return the launches of `call` in order, those of 0 blocks left out. Errors: AK714."""
    packed = (_pack(launch, call) for launch in abi.launches)
    return tuple(launch for launch in packed if launch.blocks > 0)


def count_bytes(value: int) -> bytes:
    """Return a size or stride as the generated functions take it."""
    return value.to_bytes(8, "little", signed=True)


def address_bytes(value: int) -> bytes:
    """Return an address as the generated functions take it."""
    return value.to_bytes(8, "little")


def _pack(launch: Launch, call: BoundCall) -> PackedLaunch:
    return PackedLaunch(
        function=launch.function,
        blocks=blocks_of(launch, call.sizes),
        threads=launch.threads,
        shared_bytes=launch.shared_bytes,
        arguments=tuple(_bytes_of(argument, call) for argument in launch.arguments),
    )


def _bytes_of(argument: Argument, call: BoundCall) -> bytes:
    match argument.kind:
        case "pointer":
            return address_bytes(call.tensor(argument.name).view.pointer)
        case "size":
            return count_bytes(call.sizes[argument.name])
        case "stride":
            return count_bytes(call.tensor(argument.name).view.strides[argument.axis])
        case "scalar":
            return call.scalar(argument.name).data
        case "tensor_map":
            view = call.tensor(argument.tensor).view
            strides = tuple(stride * argument.dtype.nbytes for stride in view.strides)
            map_ = TensorMap(argument.dtype, view.shape, strides, argument.box, argument.swizzle)
            return map_.driver_words(view.pointer, driver())
        case "table":
            pointers = [call.tensor(name).view.pointer for name in argument.entries] or [0]
            return b"".join(map(address_bytes, pointers))
        case "stride_table":
            strides = [stride for name in argument.entries for stride in call.tensor(name).view.strides] or [0]
            return b"".join(map(count_bytes, strides))
        case _:
            assert_never(argument.kind)
