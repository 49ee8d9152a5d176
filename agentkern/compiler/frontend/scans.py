"""Scans along one axis: `ak.cumsum`, `ak.cummax`."""

from __future__ import annotations

import ast
from collections.abc import Callable

from agentkern.compiler.frontend.arguments import Argument
from agentkern.compiler.frontend.conversion import as_tile
from agentkern.compiler.frontend.lowering import Lowering
from agentkern.compiler.frontend.reductions import checked
from agentkern.compiler.frontend.shaping import flat_axis
from agentkern.compiler.frontend.values import FrontValue, Number, Tile


def flag(lw: Lowering, arguments: dict[str, Argument], name: str) -> bool:
    """A compile-time switch, off unless it is given. Errors: AK218."""
    given = arguments.get(name)
    if given is None:
        return False
    if isinstance(given.value, Number) and isinstance(given.value.value, bool):
        return given.value.value
    lw.fail("AK218", given.node, what=f"`{name}`")


def scan_form(name: str) -> str:
    """How a scan is written."""
    return f"ak.{name}(x, axis=None, reverse=False, exclusive=False)"


def scan(name: str) -> Callable[[Lowering, dict[str, Argument], ast.Call], FrontValue]:
    """The rule of one scan. Errors: AK122, AK206, AK209, AK218, AK403, AK404."""

    def rule(lw: Lowering, arguments: dict[str, Argument], node: ast.Call) -> FrontValue:
        x = arguments["x"]
        kind = {"cumsum": "sum", "cummax": "max"}[name]
        tile = checked(lw, kind, as_tile(lw, x.value, x.node, f"ak.{name}"), x.node, f"ak.{name}")
        attrs = {"reverse": flag(lw, arguments, "reverse"), "exclusive": flag(lw, arguments, "exclusive")}
        tile, axis = flat_axis(lw, name, tile, arguments, node, scan_form(name))
        block = lw.free_block(tile.shape[axis])
        if block is not None:
            lw.fail("AK403", node, operation=f"ak.{name}", axis=axis, block=block.name)
        return Tile(lw.emit(name, (tile.value,), tile.type, node, {"axis": axis, **attrs}))

    return rule
