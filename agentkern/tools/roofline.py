"""The least that any correct program of a kernel's results must do: bytes in and out once, and its arithmetic.

Counts a TILE kernel's operations over the whole of their grid; knows nothing of what a cleverer program could save.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from agentkern.compiler.ir import dims
from agentkern.compiler.ir.core import Kernel, Op, Value
from agentkern.compiler.ir.dims import Dim
from agentkern.compiler.ir.function_table import FUNCTIONS
from agentkern.compiler.ir.segments import length_name, segment_axes
from agentkern.compiler.ir.subscripts import entries_of, tile_of
from agentkern.compiler.ir.types import BlockType, TensorType, TileType
from agentkern.compiler.targets.limits import REFERENCE_DEVICES
from agentkern.runtime.timing import Ceilings, Work, floor_us
from agentkern.tools.results import Roofline

# Float operations per element; the others count as none: moving, comparing and converting are not what binds.
_FLOPS: Mapping[str, int] = {
    "add": 1, "sub": 1, "mul": 1, "div": 1, "fma": 2, "maximum": 1, "minimum": 1, "sqrt": 1, "rsqrt": 1,
    **dict.fromkeys(FUNCTIONS, 1),
    "sum": 1, "prod": 1, "mean": 1, "max": 1, "min": 1, "absmax": 1, "argmax": 1, "argmin": 1, "cumsum": 1, "cummax": 1,
}  # fmt: skip


def roofline(kernel: Kernel, sizes: Mapping[str, int], target: str) -> Roofline:
    """Return bytes, flops and the floor on the target's reference device; None for what needs a size not given."""
    work = kernel_work(kernel, sizes)
    if work is None:
        return Roofline(bytes=None, flops=None, floor_us=None)
    device = REFERENCE_DEVICES[target]
    copy = device.copy_bytes_per_s or device.memory_bytes_per_s
    ceilings = Ceilings(copy, device.memory_bytes_per_s, device.l2_bytes, device.fp32_flops)
    floor = round(floor_us(work, ceilings), 3)
    return Roofline(bytes=work.bytes_moved, flops=int(work.flops), floor_us=floor)


def kernel_work(kernel: Kernel, sizes: Mapping[str, int]) -> Work | None:
    """Return the work of one call, None if `sizes` lacks a size that it depends on."""
    tensors = [param.type for param in kernel.params if isinstance(param.type, TensorType)]
    read = _read(kernel, sizes)
    written = _total(tuple(_bytes(t) for t in tensors if t.access in ("out", "inout")), sizes)
    flops = _total((_flops(kernel),), sizes)
    if read is None or written is None or flops is None:
        return None
    return Work(read, written, float(flops))


def _bytes(tensor: TensorType) -> int | Dim:
    return dims.mul(dims.product(tensor.shape), tensor.dtype.nbytes)


def _read(kernel: Kernel, sizes: Mapping[str, int]) -> int | None:
    """Bytes read: each tensor once; of one that is only gathered from, what is asked for where that is less."""
    total = 0
    for param in kernel.params:
        if not isinstance(param.type, TensorType) or param.type.access not in ("in", "inout"):
            continue
        whole, gathered = _total((_bytes(param.type),), sizes), _gathered(kernel, param, sizes)
        if whole is None:
            return None
        total += whole if gathered is None else min(whole, gathered)
    return total


def _gathered(kernel: Kernel, tensor: Value, sizes: Mapping[str, int]) -> int | None:
    """Bytes that all gathers from a tensor ask for; None if some of it is read in another way."""
    amounts: list[int | Dim] = []
    for op, around in _scoped(kernel.body, _Around()):
        if tensor not in op.operands:
            continue
        if op.name != "load" or not any(entry.is_gather for entry in entries_of(op)):
            return None
        amounts.append(dims.mul(_elements(tile_of(op), around), _dtype_bytes(tensor)))
    return _total(tuple(amounts), sizes) if amounts else None


def _dtype_bytes(tensor: Value) -> int:
    assert isinstance(tensor.type, TensorType)
    return tensor.type.dtype.nbytes


@dataclass(frozen=True, slots=True)
class _Around:
    """The blocks of the grid and the loops around an operation; where segments end, by the block that numbers them."""

    blocks: tuple[BlockType, ...] = ()
    ends: Mapping[BlockType, int | Dim] = field(default_factory=dict[BlockType, int | Dim])


def _scoped(ops: Sequence[Op], outer: _Around) -> Iterator[tuple[Op, _Around]]:
    """Every operation with what stands around it."""
    for op in ops:
        yield op, outer
        ends = {axis.type: axis.end for axis in segment_axes(op)} if op.name == "grid" else {}
        for region in op.regions:
            inner = tuple(arg.type for arg in region.args if isinstance(arg.type, BlockType))
            yield from _scoped(region.ops, _Around((*outer.blocks, *inner), {**outer.ends, **ends}))


def _elements(value: Value, around: _Around) -> int | Dim:
    """Elements of a tile over all blocks: as long as the axis along a block, else once for each written block.

    Along a segment it is as long as all of them together.
    """
    assert isinstance(value.type, TileType)
    elements = dims.substitute(dims.product(value.type.shape), {block.name: block.length for block in around.blocks})
    used = {name for extent in value.type.shape for name in dims.symbols(extent)}
    for block in around.blocks:
        if block.block is not None and block.name not in used and block not in around.ends:
            elements = dims.mul(elements, dims.cdiv(block.length, block.block))
    for block, end in around.ends.items():
        length = length_name(block.name)
        if length in dims.symbols(elements):
            elements = dims.substitute(elements, {length: end})
        else:
            elements = dims.mul(elements, block.length)
    return elements


def _flops(kernel: Kernel) -> int | Dim:
    """Arithmetic of all blocks and steps; what is computed once for many elements, on scalars, counts as none."""
    total: int | Dim = 0
    for op, around in _scoped(kernel.body, _Around()):
        if op.name in _FLOPS and isinstance(op.operands[0].type, TileType) and op.operands[0].type.rank:
            total = dims.add(total, dims.mul(_elements(op.operands[0], around), _FLOPS[op.name]))
    return total


def _total(amounts: tuple[int | Dim, ...], sizes: Mapping[str, int]) -> int | None:
    total: int | Dim = 0
    for amount in amounts:
        total = dims.add(total, amount)
    if any(name not in sizes for name in dims.symbols(total)):
        return None
    return dims.evaluate(total, sizes)
