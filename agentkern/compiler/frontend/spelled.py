"""Functions of other libraries that are several operations here: what a call of one is, as text."""

from __future__ import annotations

import ast

from agentkern.compiler.frontend.lowering import Lowering
from agentkern.diagnostics import Fix

_DIFFERENCE = "({x} - {ak}mean({x}, axis={axis}, keepdims=True))"
_VARIANCE = f"{{ak}}mean({_DIFFERENCE} * {_DIFFERENCE}, axis={{axis}}, keepdims={{keepdims}})"
_EXPONENTIAL = "{ak}exp({x} - {ak}max({x}, axis={axis}, keepdims=True))"

SPELLED: dict[str, str] = {
    "softmax": f"({_EXPONENTIAL} / {{ak}}sum({_EXPONENTIAL}, axis={{axis}}, keepdims=True))",
    "logsumexp": "({ak}log({ak}sum({ak}exp({x} - {ak}max({x}, axis={axis}, keepdims=True)), axis={axis},"
    " keepdims={keepdims})) + {ak}max({x}, axis={axis}, keepdims={keepdims}))",
    "var": _VARIANCE,
    "std": f"{{ak}}sqrt({_VARIANCE})",
    "norm": "{ak}sqrt({ak}sum({x} * {x}, axis={axis}, keepdims={keepdims}))",
    "square": "({x} * {x})",
    "reciprocal": "(1.0 / {x})",
    "relu": "{ak}maximum({x}, 0)",
}
"""`{x}` is the first argument, `{axis}` and `{keepdims}` the arguments of those names."""
_WORDS = {"axis": "axis", "dim": "axis", "keepdims": "keepdims", "keepdim": "keepdims"}
_OVER_N = {"ddof": "0", "correction": "0", "unbiased": "False"}
"""Keywords that say of a variance that it divides by n, as the text above does; PyTorch's own divides by n - 1."""


def spelled_fix(lw: Lowering, node: ast.Call, name: str) -> tuple[Fix, ...]:
    """The fix that writes a call out; none for a form of it that is not known, or is another function elsewhere."""
    if name not in SPELLED or not node.args or len(node.args) > 2 or not lw.prefix:
        return ()
    words = {keyword.arg or "**": lw.source.exact(keyword.value) for keyword in node.keywords}
    over_n = [word for word in words if name in ("var", "std") and words[word] == _OVER_N.get(word)]
    if any(word not in _WORDS and word not in over_n for word in words):
        return ()
    if name in ("var", "std") and "axis" not in words and not over_n:
        return ()
    given = {_WORDS[word]: text for word, text in words.items() if word in _WORDS}
    last = lw.source.exact(node.args[1]) if len(node.args) == 2 else "-1" if name == "softmax" else "None"
    x = lw.source.exact(node.args[0])
    if not isinstance(node.args[0], ast.Name | ast.Attribute | ast.Subscript | ast.Call):
        x = f"({x})"
    axis, keepdims = given.get("axis", last), given.get("keepdims", "False")
    text = SPELLED[name].format(x=x, ak=lw.prefix, axis=axis, keepdims=keepdims)
    return (lw.source.replace(node, text, f"write `{name}` out"),)
