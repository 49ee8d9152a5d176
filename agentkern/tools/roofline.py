"""The least that any correct program of a kernel's results must do: bytes in and out once, and its arithmetic.

Counts a TILE kernel's operations over the whole of their grid; knows nothing of what a cleverer program could save.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from types import MappingProxyType

from agentkern.compiler.analysis.blocks import ordinal_name
from agentkern.compiler.ir import dims
from agentkern.compiler.ir.core import Kernel, Op, Value, walk
from agentkern.compiler.ir.dims import Dim
from agentkern.compiler.ir.function_table import FUNCTIONS
from agentkern.compiler.ir.loop_ops import loop_parts
from agentkern.compiler.ir.segments import length_name, segment_axes
from agentkern.compiler.ir.subscripts import FIXED_OPERANDS, entries_of, mask_of, tile_of
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
    """Return the work of one call, None if `sizes` lacks a size that it depends on.

    What is computed as often as data says, as in loops between loaded bounds, counts as none.
    """
    read, written = _moved(kernel, _READS, sizes), _moved(kernel, _WRITES, sizes)
    flops = _total(tuple(_decided(kernel, _flops(kernel))), sizes, _counts(kernel))
    if read is None or written is None or flops is None:
        return None
    (read, maybe_read), (written, maybe_written) = read, written
    return Work(read, written, float(flops), maybe_read, maybe_written)


_READS = (("in", "inout"), ("load", "atomic"))
_WRITES = (("out", "inout"), ("store", "atomic"))


def _moved(
    kernel: Kernel, way: tuple[tuple[str, ...], tuple[str, ...]], sizes: Mapping[str, int]
) -> tuple[int, int] | None:
    """Bytes read or written: of each tensor what is asked for, at most each element once. way: accesses, operations.

    Second, how many of them depend on values.
    """
    accesses, names = way
    total, certain = 0, 0
    for param in kernel.params:
        if not isinstance(param.type, TensorType) or param.type.access not in accesses:
            continue
        whole = _total((dims.mul(dims.product(param.type.shape), param.type.dtype.nbytes),), sizes)
        if whole is None:
            return None
        asked = _asked(kernel, param, names, sizes)
        total += whole if asked is None else min(whole, asked[0])
        certain += 0 if asked is None else min(whole, asked[1])
    return total, total - certain


def _asked(kernel: Kernel, tensor: Value, names: tuple[str, ...], sizes: Mapping[str, int]) -> tuple[int, int] | None:
    """The bytes of a tensor that operations of these names ask for, all and whatever the values are.

    None if it is used in another way, as offsets.
    """
    amounts: list[int | Dim] = []
    certain: list[int | Dim] = []
    starts = {op.result for op in walk(kernel.body) if op.name == "start"}
    for op, around in _scoped(kernel.body, _Around()):
        if tensor not in op.operands:
            continue
        if op.name not in FIXED_OPERANDS:
            return None
        if op.name in names:
            tile = tile_of(op)
            assert isinstance(tile.type, TileType)
            amounts.append(dims.mul(_elements(tile, around), tile.type.dtype.nbytes))
            if around.is_certain and not around.ends and _is_certain(op, starts):
                certain.append(amounts[-1])
    found = _total(tuple(amounts), sizes, _counts(kernel)), _total(tuple(certain), sizes, _counts(kernel))
    return None if found[0] is None or found[1] is None else (found[0], found[1])


def _is_certain(op: Op, starts: Set[Value]) -> bool:
    """Whether an access touches the same elements whatever the values are: blocks, their first indices and ranges."""
    entries = [entry for entry in entries_of(op) if entry.operand is not None]
    return mask_of(op) is None and all(entry.is_block or entry.operand in starts for entry in entries)


@dataclass(frozen=True, slots=True)
class _Around:
    """The blocks of the grid and the loops around an operation; where segments end, by the block that numbers them.

    `is_certain`: no choice and no loop that may end early stands around it.
    """

    blocks: tuple[BlockType, ...] = ()
    ends: Mapping[BlockType, int | Dim] = field(default_factory=dict[BlockType, int | Dim])
    is_certain: bool = True


def _scoped(ops: Sequence[Op], outer: _Around) -> Iterator[tuple[Op, _Around]]:
    """Every operation with what stands around it."""
    for op in ops:
        yield op, outer
        ends = {axis.type: axis.end for axis in segment_axes(op)} if op.name == "grid" else {}
        certain = outer.is_certain and not _may_end(op)
        for region in op.regions:
            inner = tuple(arg.type for arg in region.args if isinstance(arg.type, BlockType))
            yield from _scoped(region.ops, _Around((*outer.blocks, *inner), {**outer.ends, **ends}, certain))


def _may_end(op: Op) -> bool:
    """Whether values decide if an operation's regions run."""
    if op.name != "loop":
        return op.name == "branch"
    parts = loop_parts(op)
    return bool(parts.limits) or parts.stop is not None


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


def _decided(kernel: Kernel, amounts: Iterable[int | Dim]) -> Iterator[int | Dim]:
    """The amounts that sizes decide, and the numbers of blocks."""
    known = {size.name for size in kernel.sizes} | _counts(kernel).keys()
    return (amount for amount in amounts if known.issuperset(dims.symbols(amount)))


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
