"""Casts to narrower floats that round otherwise than to nearest: `x.to(ak.bf16, rounding="stochastic", bits=...)`."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from agentkern.compiler.frontend.arguments import Argument
from agentkern.compiler.frontend.conversion import (
    Mismatch,
    as_tile,
    broadcast,
    broadcast_hint,
    broadcast_shape,
    cast,
    fix_cast,
)
from agentkern.compiler.frontend.lowering import Lowering
from agentkern.compiler.frontend.values import Nothing, Text, Tile, shape_text
from agentkern.compiler.ir.core import Value
from agentkern.compiler.ir.narrow_floats import NARROW_FLOATS
from agentkern.compiler.ir.tile_ops import ROUNDINGS
from agentkern.dsl.dtypes import DTYPES, DType

TO = "x.to(dtype, rounding='nearest', bits=None, saturate=True)"


@dataclass(frozen=True, slots=True)
class Rounded:
    """What a cast asks for: dtype, rounding, random bits, what overflow gives."""

    dtype: DType
    rounding: str
    bits: Argument | None
    saturate: bool


def rounding_of(lw: Lowering, arguments: dict[str, Argument]) -> str:
    """The rounding that a cast names; with random bits it is stochastic. Errors: AK122."""
    rounding, bits = arguments.get("rounding"), arguments.get("bits")
    given = bits is not None and not isinstance(bits.value, Nothing)
    name = rounding.value.text if rounding is not None and isinstance(rounding.value, Text) else None
    if rounding is not None and name not in ("nearest", *ROUNDINGS):
        names = ", ".join(f"`{known}`" for known in ("nearest", *ROUNDINGS))
        lw.fail("AK122", rounding.node, name=".to", reason=f"roundings are {names}", form=TO)
    if given != (name == "stochastic"):
        at = bits if bits is not None else rounding
        assert at is not None
        reason = "`rounding='stochastic'` and `bits=`, u32 numbers that are random, go together"
        lw.fail("AK122", at.node, name=".to", reason=reason, form=TO)
    return name or "nearest"


def rounded(lw: Lowering, tile: Tile, wanted: Rounded, node: ast.Call) -> Tile:
    """The tile in a narrower float, rounded as asked. Errors: AK122, AK206, AK207."""
    dtype = wanted.dtype
    if not tile.dtype.is_float or tile.dtype.name == "e8m0" or dtype.name not in NARROW_FLOATS:
        reason = f"{tile.dtype} to {dtype} rounds in no other way than a plain cast"
        lw.fail("AK122", node, name=".to", reason=reason, form=TO, hint="leave `rounding=` out")
    random = _random(lw, tile, wanted.bits, node) if wanted.bits is not None and wanted.rounding == "stochastic" else ()
    if _holds(dtype, tile.dtype):
        return cast(lw, tile, dtype, node)
    attrs: dict[str, object] = {"rounding": wanted.rounding}
    if not wanted.saturate and dtype.bits == 8:
        attrs["saturate"] = False
    return Tile(lw.emit("cast", (tile.value, *random), tile.type.with_dtype(dtype), node, attrs))


def _random(lw: Lowering, tile: Tile, bits: Argument, node: ast.Call) -> tuple[Value, ...]:
    found = as_tile(lw, bits.value, bits.node, ".to")
    if found.dtype.name != "u32":
        fixes = fix_cast(lw, bits.node, DTYPES["u32"])
        lw.fail("AK206", bits.node, operation=".to", got=found.dtype.name, hint_text="random bits are u32", fixes=fixes)
    both = broadcast_shape([found.shape, tile.shape])
    if isinstance(both, Mismatch) or both != tile.shape:
        reason = both.reason if isinstance(both, Mismatch) else "there are more random bits than elements"
        hint = broadcast_hint(found.shape, tile.shape)
        lw.fail("AK207", bits.node, left=shape_text(found.shape), right=shape_text(tile.shape), reason=reason,
                hint_text=hint)  # fmt: skip
    return (broadcast(lw, found, tile.shape, bits.node).value,)


def _holds(wide: DType, narrow: DType) -> bool:
    """Whether a float dtype has every value of another."""
    if narrow.name not in NARROW_FLOATS:
        return wide is narrow
    a, b = NARROW_FLOATS[wide.name], NARROW_FLOATS[narrow.name]
    least = [fmt.smallest_exponent - fmt.fraction_bits for fmt in (a, b)]
    return a.fraction_bits >= b.fraction_bits and least[0] <= least[1] and a.largest >= b.largest
