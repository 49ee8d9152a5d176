"""The least that any correct program of a kernel's results must do: bytes in and out once, and its arithmetic.

Counts a TILE kernel's operations over the whole of their grid; knows nothing of what a cleverer program could save.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

from agentkern.compiler.analysis.blocks import ordinal_name
from agentkern.compiler.ir import dims
from agentkern.compiler.ir.core import Kernel, Op, Value
from agentkern.compiler.ir.dims import Dim
from agentkern.compiler.ir.function_table import FUNCTIONS
from agentkern.compiler.ir.segments import length_name, segment_axes
from agentkern.compiler.ir.subscripts import FIXED_OPERANDS, tile_of
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
    read, written = _moved(kernel, _READS, sizes), _moved(kernel, _WRITES, sizes)
    flops = _total(tuple(_flops(kernel)), sizes, _counts(kernel))
    if read is None or written is None or flops is None:
        return None
    return Work(read, written, float(flops))


_READS = (("in", "inout"), ("load", "atomic"))
_WRITES = (("out", "inout"), ("store", "atomic"))


def _moved(kernel: Kernel, way: tuple[tuple[str, ...], tuple[str, ...]], sizes: Mapping[str, int]) -> int | None:
    """Bytes read or written: of each tensor what is asked for, at most each element once. way: accesses, operations."""
    accesses, names = way
    total = 0
    for param in kernel.params:
        if not isinstance(param.type, TensorType) or param.type.access not in accesses:
            continue
        whole = _total((dims.mul(dims.product(param.type.shape), param.type.dtype.nbytes),), sizes)
        if whole is None:
            return None
        asked = _asked(kernel, param, names, sizes)
        total += whole if asked is None else min(whole, asked)
    return total


def _asked(kernel: Kernel, tensor: Value, names: tuple[str, ...], sizes: Mapping[str, int]) -> int | None:
    """The bytes of a tensor that operations of these names ask for; None if it is used in another way, as offsets."""
    amounts: list[int | Dim] = []
    for op, around in _scoped(kernel.body, _Around()):
        if tensor not in op.operands:
            continue
        if op.name not in FIXED_OPERANDS:
            return None
        if op.name in names:
            tile = tile_of(op)
            assert isinstance(tile.type, TileType)
            amounts.append(dims.mul(_elements(tile, around), tile.type.dtype.nbytes))
    return _total(tuple(amounts), sizes, _counts(kernel))


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

    Along a segment it is as long as all of them together. A piece that depends on its number keeps that as a symbol.
    """
    assert isinstance(value.type, TileType)
    elements = dims.substitute(dims.product(value.type.shape), {block.name: block.length for block in around.blocks})
    used = {name for extent in value.type.shape for name in dims.symbols(extent)}
    for block in around.blocks:
        if block.block is not None and not {block.name, ordinal_name(block)} & used and block not in around.ends:
            elements = dims.mul(elements, dims.cdiv(block.length, block.block))
    for block, end in around.ends.items():
        length = length_name(block.name)
        if length in dims.symbols(elements):
            elements = dims.substitute(elements, {length: end})
        else:
            elements = dims.mul(elements, block.length)
    return elements


def _flops(kernel: Kernel) -> Iterator[int | Dim]:
    """Arithmetic of each operation in all blocks and steps; what is computed once, on scalars, counts as none."""
    for op, around in _scoped(kernel.body, _Around()):
        if op.name in _FLOPS and isinstance(op.operands[0].type, TileType) and op.operands[0].type.rank:
            yield dims.mul(_elements(op.operands[0], around), _FLOPS[op.name])


Counts = Mapping[str, int | Dim]


def _counts(kernel: Kernel) -> Counts:
    """How many blocks of a written size there are, by the symbol of their number."""
    blocks = {block for _, around in _scoped(kernel.body, _Around()) for block in around.blocks}
    return {ordinal_name(b): dims.cdiv(b.length, b.block) for b in blocks if b.block is not None}


def _total(
    amounts: tuple[int | Dim, ...], sizes: Mapping[str, int], counts: Counts = MappingProxyType({})
) -> int | None:
    """Add amounts up at these sizes, each over all blocks whose number it depends on; None for an unknown size."""
    total = 0
    for amount in amounts:
        known = {*sizes, *counts}
        if any(name not in known for name in dims.symbols(amount)):
            return None
        numbered = [name for name in dims.symbols(amount) if name in counts]
        if not numbered:
            total += dims.evaluate(amount, sizes)
            continue
        count = _total((counts[numbered[0]],), sizes)
        if count is None:
            return None
        pieces = [dims.substitute(amount, {numbered[0]: k}) for k in range(count)]
        found = _total(tuple(pieces), sizes, counts)
        if found is None:
            return None
        total += found
    return total
