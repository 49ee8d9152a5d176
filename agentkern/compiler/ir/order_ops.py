"""TILE operations about positions: their numbers, an extreme's, joined axes. Rows of the operation table.

What they mean is `reference_orders.py`. Passes spell most of them in element operations and plain reductions.
"""

from collections.abc import Sequence

from agentkern.compiler.ir import dims
from agentkern.compiler.ir.core import Op, OpSpec, Stage, VerifyRule
from agentkern.compiler.ir.dims import Dim
from agentkern.compiler.ir.types import TileType
from agentkern.dsl.dtypes import DTYPES, DType

TILE: frozenset[Stage] = frozenset({"tile", "placed"})
ARGUMENTS = ("argmax", "argmin")
SCANS = ("cumsum", "cummax")


def operand_type(op: Op, k: int = 0) -> TileType:
    """The type of operand k, a tile."""
    type_ = op.operands[k].type
    assert isinstance(type_, TileType)
    return type_


def result_type(op: Op, k: int = 0) -> TileType:
    """The type of result k, a tile."""
    type_ = op.results[k].type
    assert isinstance(type_, TileType)
    return type_


def reduced_wrongly(op: Op) -> str | None:
    """What is wrong with the axes or the result's shape of a reduction."""
    axes, keepdims = op.attrs["axes"], op.attrs["keepdims"]
    assert isinstance(axes, tuple)
    source = operand_type(op)
    if any(not isinstance(a, int) or not 0 <= a < source.rank for a in axes) or list(axes) != sorted(set(axes)):
        return f"axes {list(axes)} are not sorted axes of rank {source.rank}"
    want = tuple(1 if k in axes else e for k, e in enumerate(source.shape) if keepdims or k not in axes)
    if result_type(op).shape != want:
        return f"the result has shape {list(result_type(op).shape)}, not {list(want)}"
    return None


def _argument(op: Op) -> str | None:
    if result_type(op).dtype is not DTYPES["i64"]:
        return f"the result is {result_type(op).dtype}, not i64"
    return reduced_wrongly(op)


def joined_extent(extents: Sequence[int | Dim]) -> int | Dim:
    """The extent of an axis that others are joined to."""
    total: int | Dim = 0
    for extent in extents:
        total = dims.add(total, extent)
    return total


def _concat(op: Op) -> str | None:
    axis, result = op.attrs["axis"], result_type(op)
    types = [operand_type(op, k) for k in range(len(op.operands))]
    if not types or not isinstance(axis, int) or not 0 <= axis < result.rank:
        return f"axis {axis} of {len(types)} tiles"
    if any(type_.dtype is not result.dtype for type_ in types):
        return f"mixes {', '.join(str(type_.dtype) for type_ in types)}"
    want = (*result.shape[:axis], joined_extent([t.shape[axis] for t in types]), *result.shape[axis + 1 :])
    same = all((*t.shape[:axis], *t.shape[axis + 1 :]) == (*want[:axis], *want[axis + 1 :]) for t in types)
    return None if same and want == result.shape else f"the shapes do not join to {list(result.shape)}"


def _last(op: Op) -> str | None:
    axis, source, result = op.attrs["axis"], operand_type(op), result_type(op)
    if not isinstance(axis, int) or not 0 <= axis < source.rank:
        return f"axis {axis} of rank {source.rank}"
    if result.dtype is not source.dtype or result.shape != (*source.shape[:axis], *source.shape[axis + 1 :]):
        return f"the result is {result}"
    return None


def _bitcast_axis(op: Op) -> str | None:
    source, result = operand_type(op), result_type(op)
    if not source.rank or source.rank != result.rank or source.shape[:-1] != result.shape[:-1]:
        return f"{source} has not the axes of {result}"
    bits = [dims.mul(type_.shape[-1], type_.dtype.bits) for type_ in (source, result)]
    return None if bits[0] == bits[1] else f"{bits[0]} bits are not {bits[1]}"


def _scan(op: Op) -> str | None:
    axis, source = op.attrs["axis"], operand_type(op)
    if not isinstance(axis, int) or not 0 <= axis < source.rank:
        return f"axis {axis} of rank {source.rank}"
    if result_type(op) != source and result_type(op).layout is None:
        return f"the result is {result_type(op)}, the operand {source}"
    return None


def _along(op: Op, dtype: DType) -> str | None:
    """What is wrong with a result of the operand's shape and this dtype, or with the axis."""
    axis, source = op.attrs["axis"], operand_type(op)
    if not isinstance(axis, int) or not 0 <= axis < source.rank:
        return f"axis {axis} of rank {source.rank}"
    wrong = result_type(op).shape != source.shape or result_type(op).dtype is not dtype
    return f"the result is {result_type(op)}" if wrong else None


def _sort(op: Op) -> str | None:
    return _along(op, operand_type(op).dtype)


def _occurrence(op: Op) -> str | None:
    return _along(op, DTYPES["i32"])


def _topk(op: Op) -> str | None:
    axis, k, source = op.attrs["axis"], op.attrs["k"], operand_type(op)
    if not isinstance(axis, int) or not 0 <= axis < source.rank or not isinstance(k, int) or k < 1:
        return f"k {k} along axis {axis} of rank {source.rank}"
    shape = (*source.shape[:axis], k, *source.shape[axis + 1 :])
    values, indices = result_type(op), result_type(op, 1)
    right = values == TileType(source.dtype, shape) and indices == TileType(DTYPES["i64"], shape)
    return None if right else f"the results are {values} and {indices}"


def _take(op: Op) -> str | None:
    axis, source, index, result = op.attrs["axis"], operand_type(op), operand_type(op, 1), result_type(op)
    if not isinstance(axis, int) or not 0 <= axis < source.rank or index.rank != source.rank:
        return f"axis {axis} of rank {source.rank}, indices of rank {index.rank}"
    if index.dtype is not DTYPES["i64"]:
        return f"the indices are {index.dtype}, not i64"
    beside = [k for k in range(source.rank) if k != axis and source.shape[k] not in (1, index.shape[k])]
    if beside or result.shape != index.shape or result.dtype is not source.dtype:
        return f"{source} at {index} is not {result}"
    return None


def _bincount(op: Op) -> str | None:
    result = result_type(op)
    if not operand_type(op).dtype.is_integer:
        return f"{operand_type(op).dtype} is not an integer type"
    return None if result.rank == 1 and result.dtype is DTYPES["i32"] else f"the result is {result}"


def _arange(op: Op) -> str | None:
    type_ = result_type(op)
    return None if type_.rank == 1 and type_.dtype is DTYPES["i64"] else f"the result is {type_}"


def _row(name: str, operands: int | None, rule: VerifyRule, doc: str, *traits: str, **attrs: bool) -> OpSpec:
    return OpSpec(name, TILE, operands, 1, attrs, 0, frozenset(traits), rule, doc)


ORDER_ROWS: tuple[OpSpec, ...] = (
    *(_row(n, 1, _argument, f"row-major index of the {n[3:]} over axes", axes=True, keepdims=True) for n in ARGUMENTS),
    *(
        _row(n, 1, _scan, doc, "arithmetic", axis=True, reverse=True, exclusive=True, carried=False)
        for n, doc in (("cumsum", "running sums along an axis"), ("cummax", "running largest values along an axis"))
    ),
    _row("sort", 1, _sort, "ascending along an axis, equals as they stood, NaN last", "move", axis=True),
    _row("occurrence", 1, _occurrence, "how many equal elements come earlier along an axis", axis=True),
    _row("bincount", 1, _bincount, "how many elements are 0, 1, ... of the result's extent"),
    OpSpec(
        "topk",
        TILE,
        1,
        2,
        {"axis": True, "k": True},
        0,
        frozenset(),
        _topk,
        "the k largest along an axis and their indices, the largest first, equals by smaller index",
    ),
    _row(
        "take",
        2,
        _take,
        "elements at positions of an axis that a tile names; axes of 1 repeat",
        "move",
        axis=True,
    ),
    _row("arange", 0, _arange, "the positions of an axis, from 0"),
    _row("concat", None, _concat, "tiles one after another along an axis", "move", axis=True),
    _row("last", 1, _last, "the last present position of an axis", "move", axis=True),
    _row("bitcast_axis", 1, _bitcast_axis, "the bits of the last axis in elements of another width", "move"),
)
