"""The operations of the TILE stage as table rows, with the rule that each must obey.

What an operation means is `interpreter.py`; how it rounds is `design` numerics, mirrored there. Shapes of element
operations are equal: broadcasting is an operation of its own. Subscripts of `load` and `store` are `subscripts.py`.
"""

from agentkern.compiler.ir import dims
from agentkern.compiler.ir.core import Op, OpSpec, Stage, VerifyRule
from agentkern.compiler.ir.function_table import DEFINITIONS, FUNCTIONS
from agentkern.compiler.ir.loop_ops import LOOP_ROWS
from agentkern.compiler.ir.narrow_floats import NARROW_FLOATS
from agentkern.compiler.ir.nondeterminism import has_atomics
from agentkern.compiler.ir.order_ops import ORDER_ROWS, reduced_wrongly
from agentkern.compiler.ir.segments import wrong_segments
from agentkern.compiler.ir.subscripts import wrong_access
from agentkern.compiler.ir.types import BlockType, TensorType, TileType
from agentkern.dsl.dtypes import DTYPES

TILE: frozenset[Stage] = frozenset({"tile", "placed"})
EVERY: frozenset[Stage] = frozenset({"tile", "placed", "gpu"})
ARITHMETIC = ("add", "sub", "mul", "div", "floor_div", "mod", "trunc_div", "trunc_mod", "maximum", "minimum")
BITWISE = ("and", "or", "xor")
SHIFTS = ("shl", "shr")
COMPARISONS = ("lt", "le", "gt", "ge", "eq", "ne")
UNARY_ANY = ("neg", "abs", "sign")
UNARY_FLOAT = ("rsqrt", "sqrt", "floor", "ceil", "round", "trunc", "canonical_nan")
ROUNDINGS = ("toward_zero", "nearest_away", "stochastic")
CLASSIFY = ("isnan", "isinf")
REDUCTIONS = ("sum", "prod", "mean", "max", "min", "absmax", "any", "all")


def _tile(op: Op, k: int = 0) -> TileType:
    type_ = op.operands[k].type
    assert isinstance(type_, TileType)
    return type_


def _result(op: Op) -> TileType:
    type_ = op.result.type
    assert isinstance(type_, TileType)
    return type_


def _same(op: Op) -> str | None:
    first, result = _tile(op), _result(op)
    for k in range(len(op.operands)):
        operand = _tile(op, k)
        if operand.shape != result.shape:
            return f"operand {k} has shape {list(operand.shape)}, the result {list(result.shape)}"
        if operand.dtype is not first.dtype:
            return f"operand {k} is {operand.dtype}, operand 0 {first.dtype}"
    return None


def _arithmetic(op: Op) -> str | None:
    wrong = _same(op)
    if wrong is None and _result(op).dtype is not _tile(op).dtype:
        return f"the result is {_result(op).dtype}, the operands {_tile(op).dtype}"
    return wrong


def _floating(op: Op) -> str | None:
    return _arithmetic(op) or (None if _tile(op).dtype.is_float else f"{_tile(op).dtype} is not a float type")


def _function(op: Op) -> str | None:
    return _floating(op) or ("there is no f64 form" if _tile(op).dtype.name == "f64" else None)


def _integral(op: Op) -> str | None:
    return _arithmetic(op) or (f"{_tile(op).dtype} is a float type" if _tile(op).dtype.is_float else None)


def _predicate(op: Op) -> str | None:
    return _same(op) or (None if _result(op).dtype.kind == "bool" else "the result is not bool")


def _where(op: Op) -> str | None:
    condition, a, b, result = _tile(op), _tile(op, 1), _tile(op, 2), _result(op)
    if condition.dtype.kind != "bool":
        return "the condition is not bool"
    if not a.dtype is b.dtype is result.dtype:
        return f"mixes {a.dtype}, {b.dtype} and {result.dtype}"
    if not condition.shape == a.shape == b.shape == result.shape:
        return "shapes differ"
    return None


def _cast(op: Op) -> str | None:
    rounding = op.attrs.get("rounding")
    if rounding is not None and (rounding not in ROUNDINGS or _result(op).dtype.name not in NARROW_FLOATS):
        return f"rounds {rounding} to {_result(op).dtype}"
    if len(op.operands) != 1 + (rounding == "stochastic"):
        return f"{len(op.operands)} operands"
    if rounding == "stochastic" and (_tile(op, 1).dtype.name != "u32" or _tile(op, 1).shape != _tile(op).shape):
        return f"random bits are {_tile(op, 1)}"
    return _keeps_shape(op)


def _keeps_shape(op: Op) -> str | None:
    return None if _tile(op).shape == _result(op).shape else "a cast keeps the shape"


def _bitcast(op: Op) -> str | None:
    if _tile(op).dtype.bits != _result(op).dtype.bits:
        return f"{_tile(op).dtype} and {_result(op).dtype} differ in width"
    return _keeps_shape(op)


def _constant(op: Op) -> str | None:
    return None if _result(op).shape == () else "a constant is a scalar"


def _broadcast(op: Op) -> str | None:
    source, result = _tile(op), _result(op)
    if source.dtype is not result.dtype:
        return f"changes {source.dtype} to {result.dtype}"
    if source.rank > result.rank:
        return "lowers the rank"
    kept = result.shape[result.rank - source.rank :]
    for have, want in zip(source.shape, kept, strict=True):
        if have not in (1, want):
            return f"extent {have} does not broadcast to {want}"
    return None


def _reshape(op: Op) -> str | None:
    source, result = _tile(op), _result(op)
    if source.dtype is not result.dtype:
        return f"changes {source.dtype} to {result.dtype}"
    if dims.product(source.shape) != dims.product(result.shape):
        return f"{list(source.shape)} and {list(result.shape)} hold different numbers of elements"
    return None


def _transpose(op: Op) -> str | None:
    permutation = op.attrs["permutation"]
    assert isinstance(permutation, tuple)
    if sorted(permutation) != list(range(_tile(op).rank)):
        return f"{list(permutation)} is not a permutation of the axes"
    if _result(op).shape != tuple(_tile(op).shape[int(p)] for p in permutation):
        return "the result's shape is not the permuted one"
    return None


def _slice(op: Op) -> str | None:
    starts, stops = op.attrs["starts"], op.attrs["stops"]
    assert isinstance(starts, tuple) and isinstance(stops, tuple)
    if not len(starts) == len(stops) == _tile(op).rank:
        return "one start and stop per axis"
    if _result(op).shape != tuple(dims.add(b, dims.mul(a, -1)) for a, b in zip(starts, stops, strict=True)):
        return "the result's shape is not stops - starts"
    return None


def _load(op: Op) -> str | None:
    if not isinstance(op.operands[0].type, TensorType):
        return "loads from what is not a tensor"
    return wrong_access(op, _result(op))


def _store(op: Op) -> str | None:
    tensor, value = op.operands[0].type, op.operands[1].type
    if not isinstance(tensor, TensorType) or not isinstance(value, TileType):
        return "stores a tile to a tensor"
    if tensor.access == "in":
        return "stores to an input"
    return wrong_access(op, value)


def _atomic(op: Op) -> str | None:
    value = op.operands[1].type
    if not isinstance(value, TileType) or not has_atomics(value.dtype):
        return f"an atomic of {value}"
    if op.attrs["kind"] not in ("add", "max", "min"):
        return f"there is no atomic {op.attrs['kind']}"
    return _store(op)


def _require(op: Op) -> str | None:
    return None if _tile(op).dtype.kind == "bool" else f"requires {_tile(op).dtype}, not bool"


def _block_number(op: Op) -> str | None:
    block = op.operands[0].type
    if not isinstance(block, BlockType):
        return "the operand is not a block"
    shape = (block.current,) if op.name == "index" else ()
    if _result(op).dtype is not DTYPES["i64"] or _result(op).shape != shape:
        return f"the result is {_result(op)}"
    if op.name != "index" and block.block is None:
        return f"`.{op.name}` of a block whose size the compiler chose"
    return None


def _grid(op: Op) -> str | None:
    for value in op.regions[0].args:
        if not isinstance(value.type, BlockType):
            return "a grid's arguments are blocks"
        if value.type.is_whole and (value.type.block is None or value.type.first != 0):
            return f"{value.type} has no end that is known"
    return wrong_segments(op)


def _row(name: str, operands: int | None, rule: VerifyRule | None, doc: str, *traits: str, **attrs: bool) -> OpSpec:
    results = 0 if name in ("store", "atomic", "require", "grid") else 1
    stages = EVERY if "elementwise" in traits or name == "constant" else TILE
    return OpSpec(name, stages, operands, results, attrs, int(name == "grid"), frozenset(traits), rule, doc)


_GRID = {"segments": False, "tile": False, "warps": False, "steps": False}
_LOAD = {"index": True, "masked": False, "filled": False, "view": False}
_ATOMIC = {"index": True, "masked": False, "kind": True, "view": False}
_STORE = {"index": True, "masked": False, "distinct": False, "view": False, "again": False}


def _rows() -> list[OpSpec]:
    element = ("elementwise", "arithmetic")
    rows = [_row(n, 2, _arithmetic, f"`{n}` of two tiles", *element) for n in ARITHMETIC]
    rows += [_row(n, 2, _integral, f"bitwise `{n}`", "elementwise") for n in BITWISE + SHIFTS]
    rows += [_row(n, 2, _predicate, f"comparison `{n}`", "elementwise") for n in COMPARISONS]
    rows += [_row(n, 1, _arithmetic, f"`{n}` of a tile", *element) for n in UNARY_ANY]
    rows += [_row(n, 1, _floating, f"`{n}` of a float tile", *element) for n in UNARY_FLOAT]
    rows += [_row(n, 1, _function, f"{DEFINITIONS[n].formula}, in f32", *element) for n in FUNCTIONS]
    rows += [_row(n, 1, _predicate, f"`{n}` of a float tile", "elementwise") for n in CLASSIFY]
    rows += [
        _row(n, 1, reduced_wrongly, f"`{n}` over axes", "arithmetic", axes=True, keepdims=True) for n in REDUCTIONS
    ]
    return [
        *rows,
        _row("not", 1, _integral, "bitwise complement; of bool, negation", "elementwise"),
        _row("fma", 3, _floating, "a * b + c, rounded once", *element),
        _row("copysign", 2, _floating, "magnitude of the first, sign of the second", "elementwise", "move"),
        _row("where", 3, _where, "second where the first holds, else third", "elementwise", "move"),
        _row("cast", None, _cast, "to the result's type; random bits", *element, saturate=False, rounding=False),
        _row("bitcast", 1, _bitcast, "the same bits as another type", "elementwise", "move"),
        _row("constant", 0, _constant, "a number: int, float or bool", value=True),
        _row("size", 0, _constant, "an extent as an i64 scalar", extent=True),
        _row("broadcast", 1, _broadcast, "NumPy's broadcast_to", "move"),
        _row("reshape", 1, _reshape, "row-major regrouping of axes", "move"),
        _row("transpose", 1, _transpose, "permuted axes", "move", permutation=True),
        _row("slice", 1, _slice, "static range of each axis", "move", starts=True, stops=True),
        _row("index", 1, _block_number, "global indices of a block, an i64 tile"),
        _row("ordinal", 1, _block_number, "the block's number from 0"),
        _row("start", 1, _block_number, "the block's first index"),
        _row("end", 1, _block_number, "one past the block's last index"),
        _row("load", None, _load, "read a tile: tensor, index operands, mask, fill", "reads", "move", **_LOAD),
        _row("store", None, _store, "write a tile: tensor, value, index operands, mask", "writes", **_STORE),
        _row("atomic", None, _atomic, "combine a tile with a tensor's elements: as `store`", "writes", **_ATOMIC),
        _row("require", 1, _require, "stop unless every element present holds", "checks", message=True),
        _row("grid", None, _grid, "independent blocks, in any order", "region", **_GRID),
    ]


TILE_OPS: dict[str, OpSpec] = {row.name: row for row in (*_rows(), *ORDER_ROWS, *LOOP_ROWS)}
