"""`ak.dim` and `ak.static`: named sizes with their promises."""

from __future__ import annotations

import ast
import re

from agentkern.compiler.frontend.arguments import Argument
from agentkern.compiler.frontend.lowering import Lowering
from agentkern.compiler.frontend.values import Extent, FrontValue, Nothing, Number, Text, describe
from agentkern.compiler.ir import dims
from agentkern.compiler.ir.core import SizeInfo

_NAME = re.compile(r"[A-Za-z_][A-Za-z_0-9]*")


def _promise(lw: Lowering, arguments: dict[str, Argument], key: str, default: int | None, name: str) -> int | None:
    if key not in arguments:
        return default
    argument = arguments[key]
    match argument.value:
        case Number(int() as number) if not isinstance(number, bool):
            return number
        case Nothing() if default is None:
            return None
        case other:
            reason = f"`{key}` is {describe(other)}"
            lw.fail("AK216", argument.node, name=name, reason=reason, hint_text="promises are integers")


def declare(lw: Lowering, arguments: dict[str, Argument], node: ast.Call, *, static: bool) -> FrontValue:
    """A named size; a static one that has a value is that number. Errors: AK114, AK215, AK216."""
    given = arguments["name"]
    if not isinstance(given.value, Text) or _NAME.fullmatch(given.value.text) is None:
        lw.fail("AK215", given.node, reason="the name is not a string of letters, digits and `_`")
    name = given.value.text
    if name in lw.sizes:
        lw.fail("AK114", node, name=name, what="size")
    multiple = _promise(lw, arguments, "multiple_of", 1, name)
    low = _promise(lw, arguments, "min", 0, name)
    high = _promise(lw, arguments, "max", None, name)
    assert multiple is not None
    assert low is not None
    if multiple < 1 or low < 0 or (high is not None and high < low):
        reason = f"the promises multiple_of={multiple}, min={low}, max={high} allow no size"
        lw.fail("AK216", node, name=name, reason=reason, hint_text="use multiple_of >= 1 and 0 <= min <= max")
    info = SizeInfo(name, static, multiple, low, high)
    lw.sizes[name] = info
    if static and name in lw.dim_values:
        return _fixed(lw, info, lw.dim_values[name], node)
    return Extent(dims.symbol(name), static)


def _fixed(lw: Lowering, info: SizeInfo, value: int, node: ast.Call) -> Number:
    above = info.maximum is not None and value > info.maximum
    if value < info.minimum or above or value % info.multiple_of:
        promises = f"multiple_of={info.multiple_of}, min={info.minimum}, max={info.maximum}"
        reason = f"the value {value} breaks its promises {promises}"
        lw.fail("AK216", node, name=info.name, reason=reason, hint_text="give another value or change the promise")
    return Number(value)
