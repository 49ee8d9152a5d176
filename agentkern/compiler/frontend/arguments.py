"""Binding the arguments of a call to an operation's form."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from agentkern.compiler.frontend.lowering import Lowering, Poisoned
from agentkern.compiler.frontend.slips import slip_of
from agentkern.compiler.frontend.values import FrontValue, Poison
from agentkern.diagnostics import Diagnostic

# Keywords of other libraries: what the language has instead.
FOREIGN_KEYWORDS = {
    "mask": "positions past an edge are left out by themselves; the keyword of a condition is `where=`",
    "other": "positions past an edge are left out by themselves; the keyword of what is read instead is `fill=`",
    "dim": "the keyword is `axis=`",
    "keepdim": "the keyword is `keepdims=`",
    "dtype": "convert with `.to(...)`",
    "out": "assign: `out[...] = ...`",
}
_RENAMED = {"dim": "axis", "keepdim": "keepdims", "mask": "where", "other": "fill"}


@dataclass(frozen=True, slots=True)
class Form:
    """The parameters of an operation: names, how many must be given, how it is written."""

    text: str
    names: tuple[str, ...]
    required: int


def form(text: str) -> Form:
    """Read a form such as `ak.sum(x, axis=None, keepdims=False)`."""
    inside = text[text.index("(") + 1 : text.rindex(")")]
    pieces = [piece.strip() for piece in inside.split(", ") if piece.strip()]
    names = tuple(piece.split("=")[0] for piece in pieces)
    return Form(text, names, sum("=" not in piece for piece in pieces))


@dataclass(frozen=True, slots=True)
class Argument:
    """A value with its syntax."""

    value: FrontValue
    node: ast.expr


def _meant(word: str, form_: Form) -> str | None:
    """The form's keyword that another library or a slip spells `word`."""
    renamed = _RENAMED.get(word) or slip_of(word, form_.names)
    return renamed if renamed in form_.names else None


def _unknown_keyword(lw: Lowering, name: str, form_: Form, keyword: ast.keyword) -> Diagnostic:
    word = keyword.arg or ""
    meant = _meant(word, form_)
    hint, fixes = FOREIGN_KEYWORDS.get(word), ()
    if meant is not None:
        text = lw.source.exact(keyword.value)
        fixes = (lw.source.replace(keyword, f"{meant}={text}", f"write `{meant}=`"),)
    reason = f"unknown keyword `{word}`"
    return lw.diagnostic("AK122", keyword, name=name, reason=reason, form=form_.text, hint=hint, fixes=fixes)


def _known_keywords(lw: Lowering, name: str, form_: Form, node: ast.Call) -> list[tuple[str, ast.keyword]]:
    """The keywords by the form's names, every unknown one reported; gives up where one means nothing here."""
    found: list[tuple[str, ast.keyword]] = []
    reported = [_unknown_keyword(lw, name, form_, k) for k in node.keywords if k.arg not in form_.names]
    lw.diagnostics += reported
    for keyword in node.keywords:
        word = keyword.arg or ""
        meant = word if word in form_.names else _meant(word, form_)
        if meant is None:
            for item in [*node.args, *(given.value for given in node.keywords)]:
                lw.evaluate(item)
            raise Poisoned
        found.append((meant, keyword))
    return found


def bind(lw: Lowering, name: str, form_: Form, node: ast.Call) -> dict[str, Argument]:
    """The given arguments by name. Errors: AK122; gives up when an argument was rejected."""
    nodes: dict[str, ast.expr] = {}
    if any(isinstance(item, ast.Starred) for item in node.args) or any(k.arg is None for k in node.keywords):
        lw.fail("AK122", node, name=name, reason="`*` arguments are not part of the language", form=form_.text)
    if len(node.args) > len(form_.names):
        reason = f"{len(node.args)} arguments; at most {len(form_.names)}"
        lw.fail("AK122", node, name=name, reason=reason, form=form_.text)
    for parameter, item in zip(form_.names, node.args, strict=False):
        nodes[parameter] = item
    for word, keyword in _known_keywords(lw, name, form_, node):
        if word in nodes:
            lw.fail("AK122", keyword, name=name, reason=f"`{word}` is given twice", form=form_.text)
        nodes[word] = keyword.value
    missing = [p for p in form_.names[: form_.required] if p not in nodes]
    if missing:
        reason = f"`{missing[0]}` is missing"
        lw.fail("AK122", node, name=name, reason=reason, form=form_.text)
    bound = {parameter: Argument(lw.evaluate(item), item) for parameter, item in nodes.items()}
    if any(isinstance(argument.value, Poison) for argument in bound.values()):
        raise Poisoned
    return bound
