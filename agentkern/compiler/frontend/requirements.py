"""`ak.require(condition, "message")`: what must hold, or the launch stops."""

from __future__ import annotations

import ast

from agentkern.compiler.frontend.arguments import Form, bind, form
from agentkern.compiler.frontend.conversion import BOOL, as_tile, operand
from agentkern.compiler.frontend.lowering import Lowering
from agentkern.compiler.frontend.values import NOTHING, FrontValue, Number

REQUIRE = form('ak.require(condition, "message")')


def require(lw: Lowering, node: ast.Call) -> FrontValue:
    """A condition that stops the launch where it does not hold. Errors: AK105, AK122, AK206, AK430."""
    if lw.elements is not None:
        lw.fail("AK105", node, what="`ak.require` in a loop over elements", instead="require it of the tile, before it")
    name, message = "ak.require", _message(lw, node)
    first = ast.copy_location(ast.Call(node.func, node.args[:1], node.keywords), node)
    given = bind(lw, name, Form(REQUIRE.text, ("condition",), 1), first)["condition"]
    found = operand(lw, given.value, given.node, name)
    if isinstance(found, Number) and isinstance(found.value, bool):
        if not found.value:
            lw.fail("AK430", node, message=message)
        return NOTHING
    tile = as_tile(lw, found, given.node, name)
    if tile.dtype is not BOOL:
        fixes = (lw.source.insert_after(given.node, " != 0", "compare with 0"),)
        hint = "compare it: `!= 0`"
        lw.fail("AK206", given.node, operation=name, got=tile.dtype.name, hint_text=hint, fixes=fixes)
    lw.count_op()
    lw.builder.location = lw.source.location(node)
    lw.builder.emit("require", (tile.value,), (), {"message": message})
    return NOTHING


def _message(lw: Lowering, node: ast.Call) -> str:
    """The text that says what is wrong. Errors: AK122."""
    given = node.args[1] if len(node.args) == 2 else None
    if not isinstance(given, ast.Constant) or not isinstance(given.value, str):
        reason = "the second argument is the message, a string"
        lw.fail("AK122", given or node, name="ak.require", reason=reason, form=REQUIRE.text)
    return given.value
