"""Make every reduction run over one axis.

Order-free reductions over several axes go one axis after the other. Sums and products over several axes are flattened
row-major over the axes' static extents, as the order module says: blocks that may be clipped are made whole with
identities, the axes are brought together, merged, and reduced as one.
"""

from collections.abc import Mapping

from agentkern.compiler.ir import dims
from agentkern.compiler.ir.core import Builder, Kernel, Op, Value, walk
from agentkern.compiler.ir.tile_ops import REDUCTIONS
from agentkern.compiler.ir.types import BlockType, TileType
from agentkern.compiler.passes.rewrite import rewrite

_IDENTITIES: Mapping[str, float] = {"sum": -0.0, "prod": 1.0}
"""What an absent position counts as, for the reductions whose order matters."""


def _tile(value: Value) -> TileType:
    assert isinstance(value.type, TileType)
    return value.type


def _reduce(name: str, value: Value, axis: int, result: TileType, keepdims: bool, builder: Builder) -> Value:
    attrs = {"axes": (axis,), "keepdims": keepdims}
    return builder.value(name, (value,), result, attrs, value.name)


def _one_by_one(op: Op, axes: tuple[int, ...], builder: Builder) -> Value:
    """Reduce the last axis first, so that earlier numbers stay true; `absmax` is `max` after the first step."""
    value, name = op.operands[0], op.name
    for axis in reversed(axes):
        shape = _tile(value).shape
        result = TileType(_tile(op.result).dtype, (*shape[:axis], *shape[axis + 1 :]))
        value = _reduce(name, value, axis, result, False, builder)
        name = "max" if name == "absmax" else name
    return value


def written_blocks(kernel: Kernel) -> dict[str, int]:
    """The written size of every block variable that has one, by the name of its present extent."""
    return {t.name: t.written for t in _blocks(kernel) if t.written is not None}


def most_of_blocks(kernel: Kernel) -> dict[str, int]:
    """The most indices of every block variable, where known, by the name of its present extent."""
    return {t.name: t.block for t in _blocks(kernel) if t.block is not None}


def _blocks(kernel: Kernel) -> list[BlockType]:
    args = [arg for op in walk(kernel.body) for region in op.regions for arg in region.args]
    return [arg.type for arg in args if isinstance(arg.type, BlockType)]


def _made_whole(op: Op, axes: tuple[int, ...], blocks: Mapping[str, int], builder: Builder) -> Value:
    """The operand with the reduced axes at their static extents.

    A block has an element at least, so identities never stand in for a sum of nothing.
    """
    value = op.operands[0]
    source = _tile(value)
    whole = tuple(dims.substitute(e, blocks) if a in axes else e for a, e in enumerate(source.shape))
    if whole == source.shape:
        return value
    attrs = {"value": _IDENTITIES[op.name]}
    return builder.value("extend", (value,), source.with_shape(whole), attrs, value.name)


def _flattened(op: Op, axes: tuple[int, ...], blocks: Mapping[str, int], builder: Builder) -> Value:
    """Merge the axes into one, in the place of the last of them, and reduce it."""
    value = _made_whole(op, axes, blocks, builder)
    source = _tile(value)
    kept = [a for a in range(source.rank) if a not in axes]
    includes_last = axes[-1] == source.rank - 1
    order = (*kept, *axes) if includes_last else (*axes, *kept)
    shape = tuple(source.shape[a] for a in order)
    moved = builder.value("transpose", (value,), source.with_shape(shape), {"permutation": order}, value.name)
    merged = dims.product(tuple(source.shape[a] for a in axes))
    rest = tuple(source.shape[a] for a in kept)
    flat = (*rest, merged) if includes_last else (merged, *rest)
    joined = builder.value("reshape", (moved,), source.with_shape(flat), None, value.name)
    axis = len(rest) if includes_last else 0
    return _reduce(op.name, joined, axis, TileType(_tile(op.result).dtype, rest), False, builder)


def _rule(op: Op, blocks: Mapping[str, int], builder: Builder) -> tuple[Value, ...] | None:
    if op.name not in REDUCTIONS:
        return None
    axes = op.attrs["axes"]
    assert isinstance(axes, tuple)
    result, source = _tile(op.result), _tile(op.operands[0])
    if op.name == "sum" and source.dtype is not result.dtype:
        counted = builder.value("cast", op.operands, source.with_dtype(result.dtype), None, op.operands[0].name)
        op = Op(op.spec, (counted,), op.attrs, op.results, (), op.location)
        if len(axes) == 1:
            return builder.emit(op.name, (counted,), (result,), op.attrs, (), op.result.name)
    if len(axes) == 1:
        return None
    numbers = tuple(int(a) for a in axes)
    if not numbers:
        return (op.operands[0],)
    ordered = op.name in _IDENTITIES and result.dtype.is_float
    value = _flattened(op, numbers, blocks, builder) if ordered else _one_by_one(op, numbers, builder)
    if _tile(value).shape != result.shape:
        value = builder.value("reshape", (value,), result, None, op.result.name)
    return (value,)


def split_reductions(kernel: Kernel) -> Kernel:
    """One axis for every reduction."""
    blocks = written_blocks(kernel)
    return rewrite(kernel, lambda op, builder: _rule(op, blocks, builder))
