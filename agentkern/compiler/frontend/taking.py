"""`ak.take_along_axis`."""

from __future__ import annotations

import ast

from agentkern.compiler.frontend.arguments import Argument
from agentkern.compiler.frontend.conversion import (
    Mismatch,
    as_tile,
    broadcast,
    broadcast_hint,
    broadcast_shape,
)
from agentkern.compiler.frontend.lowering import Lowering
from agentkern.compiler.frontend.operators import check_domain
from agentkern.compiler.frontend.positions import taken, with_extent
from agentkern.compiler.frontend.shaping import one_axis
from agentkern.compiler.frontend.values import FrontValue, shape_text

FORM = "ak.take_along_axis(x, indices, axis=-1)"


def take_along_axis(lw: Lowering, arguments: dict[str, Argument], node: ast.Call) -> FrontValue:
    """NumPy's `take_along_axis`; no index wraps. Errors: AK122, AK206, AK207, AK209, AK403."""
    x, indices = arguments["x"], arguments["indices"]
    tile = as_tile(lw, x.value, x.node, "ak.take_along_axis")
    places = as_tile(lw, indices.value, indices.node, "ak.take_along_axis")
    check_domain(lw, "integer", places, indices.node, "ak.take_along_axis")
    if not tile.shape or len(tile.shape) != len(places.shape):
        reason = f"shapes {shape_text(tile.shape)} and {shape_text(places.shape)} differ in rank"
        reason = reason if tile.shape else "a scalar has no axis"
        lw.fail("AK122", node, name="ak.take_along_axis", reason=reason, form=FORM)
    axis = one_axis(lw, "take_along_axis", arguments.get("axis"), tile.shape, -1, FORM)
    # axes of extent 1 of the tile repeat by themselves
    beside = [with_extent(type_, axis, 1) for type_ in (tile.shape, places.shape)]
    both = broadcast_shape(beside)
    if isinstance(both, Mismatch):
        lw.fail("AK207", node, left=shape_text(tile.shape), right=shape_text(places.shape), reason=both.reason,
                hint_text=broadcast_hint(tile.shape, places.shape))  # fmt: skip
    places = broadcast(lw, places, with_extent(both, axis, places.shape[axis]), indices.node)
    return taken(lw, tile, places, axis, node)
