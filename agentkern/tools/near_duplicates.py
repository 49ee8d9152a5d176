"""Which kernels are the same but for what does not matter: names, dtype widths, sizes, the order of statements.

A kernel's TILE IR is read as a graph from what is loaded to what is stored. Left out of it are names, extents, the
widths of types, axes of one, and numbers other than a few plain ones; a mean is a sum and a division.
Two kernels with one `digest` are one graph; `similarity` counts the pieces of graph that two have in common. Pure.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

from agentkern.compiler.ir.core import Kernel, Op, Value, walk
from agentkern.compiler.ir.loop_ops import loop_parts
from agentkern.compiler.ir.subscripts import FIXED_OPERANDS, entries_of
from agentkern.compiler.ir.types import BlockType, TensorType, TileType
from agentkern.compiler.passes.expand_means import expand_means
from agentkern.compiler.passes.simplify import simplify
from agentkern.dsl.dtypes import DType

NEAR = 0.75
"""Kernels at least this similar count as one. Found on the corpus: its variants of one kernel lie at 0.82 and more, its
different kernels at 0.4 and less (tests/tools/test_near_duplicates.py)."""

DEPTH = 3
"""Pieces of graph reach this many operations upstream."""
ROUNDS = 6
"""How often neighbours tell each other who they are, for `digest`."""

_COMMUTES = frozenset({"add", "mul", "maximum", "minimum", "and", "or", "xor", "eq", "ne"})
_TURNED = {"gt": "lt", "ge": "le"}
_PLAIN_NUMBERS = (0, 1, -1, 2, 0.5)
_WITHOUT_ATTRS = frozenset({"keepdims", "index", "value", "extent", "distinct", "view", "tile", "warps", "steps"})

Label = tuple[object, ...]
_SPREAD: Label = ("spread",)
"""Any broadcast of what is no number, along whichever axes."""


@dataclass(frozen=True, slots=True)
class _Node:
    """One operation that matters, or a parameter: what it is, and the nodes that it takes, in order or in any."""

    label: Label
    sources: tuple[int, ...] = ()
    any_order: bool = False

    @property
    def is_number(self) -> bool:
        """Whether it stands for a number, known or not."""
        return self.label[0] in ("number", "constant")


def digest(kernel: Kernel) -> str:
    """Return 16 hexadecimal digits that equal kernels share, whatever their names, sizes and dtype widths."""
    nodes = _graph(kernel)
    labels = [_hash(node.label) for node in nodes]
    users: list[list[tuple[int, int]]] = [[] for _ in nodes]
    for number, node in enumerate(nodes):
        for place, source in enumerate(node.sources):
            users[source].append((number, -1 if node.any_order else place))
    for _ in range(ROUNDS):
        labels = [
            _hash((labels[n], _taken(node, labels), sorted((place, labels[user]) for user, place in users[n])))
            for n, node in enumerate(nodes)
        ]
    return _hash(tuple(sorted(labels)))


def similarity(a: Kernel, b: Kernel) -> float:
    """Return the share of pieces that two kernels have in common: 0 to 1, 1 for equal ones."""
    return _overlap(_pieces(a), _pieces(b))


def is_near(a: Kernel, b: Kernel) -> bool:
    """Whether two kernels are the same or nearly so."""
    return similarity(a, b) >= NEAR


def groups(kernels: Sequence[Kernel]) -> tuple[int, ...]:
    """Return for each kernel the first one that it is near to, directly or over others: its group."""
    pieces = [_pieces(kernel) for kernel in kernels]
    group = list(range(len(kernels)))
    for later in range(len(kernels)):
        for earlier in range(later):
            if group[earlier] != group[later] and _overlap(pieces[earlier], pieces[later]) >= NEAR:
                low, high = sorted((group[earlier], group[later]))
                group = [low if mine == high else mine for mine in group]
    return tuple(group)


def _overlap(a: frozenset[str], b: frozenset[str]) -> float:
    return len(a & b) / len(a | b) if a or b else 1.0


def _pieces(kernel: Kernel) -> frozenset[str]:
    """Each operation alone, with its operands, with theirs, and so on. A set: unrolling repeats, it adds nothing."""
    nodes = _graph(kernel)
    labels = [_hash(node.label) for node in nodes]
    found = set(labels)
    for _ in range(DEPTH):
        labels = [
            _hash((node.label, _taken(node, labels))) if node.sources else label
            for node, label in zip(nodes, labels, strict=True)
        ]
        found |= set(labels)
    return frozenset(found)


def _taken(node: _Node, labels: Sequence[str]) -> tuple[str, ...]:
    taken = [labels[source] for source in node.sources]
    return tuple(sorted(taken) if node.any_order else taken)


def _hash(value: object) -> str:
    return hashlib.sha256(repr(value).encode()).hexdigest()[:16]


def _graph(kernel: Kernel) -> tuple[_Node, ...]:
    plain = simplify(expand_means(kernel))
    nodes: list[_Node] = []
    number_of: dict[Value, int] = {}
    for param in plain.params:
        number_of[param] = len(nodes)
        nodes.append(_Node(_leaf(param)))
    for op in walk(plain.body):
        _add(op, nodes, number_of)
    return tuple(nodes)


def _leaf(param: Value) -> Label:
    """A tensor by its access and kind; a scalar counts as the number that could stand in its place."""
    if isinstance(param.type, TensorType):
        return ("tensor", param.type.access, _kind(param.type.dtype))
    return ("number",)


def _kind(dtype: DType) -> str:
    if dtype.is_float:
        return "float8" if dtype.bits <= 8 else "float"
    return "bool" if dtype.kind == "bool" else "integer"


def _add(op: Op, nodes: list[_Node], number_of: dict[Value, int]) -> None:
    """Append the operation, unless it only hands on what it takes."""
    if op.name == "loop":
        _add_carried(op, nodes, number_of)
    if op.operands and op.operands[0] in number_of:
        source = number_of[op.operands[0]]
        is_number = nodes[source].is_number and op.name in ("cast", "broadcast")
        if _hands_on(op) or is_number or (op.name == "broadcast" and nodes[source].label == _SPREAD):
            number_of[op.result] = source
            return
    sources = tuple(number_of[value] for value in op.operands if value in number_of)
    if op.name in _TURNED:
        sources = sources[::-1]
    place = len(nodes)
    nodes.append(_Node(_label(op), sources, op.name in _COMMUTES))
    if len(op.results) == 1:
        number_of[op.result] = place
        return
    for number, result in enumerate(op.results):
        number_of[result] = len(nodes)
        nodes.append(_Node(("result", op.name, number), (place,)))


def _add_carried(op: Op, nodes: list[_Node], number_of: dict[Value, int]) -> None:
    parts = loop_parts(op)
    for first, carried in zip(parts.inits, parts.args, strict=True):
        number_of[carried] = len(nodes)
        nodes.append(_Node(("carried",), (number_of[first],) if first in number_of else ()))


def _hands_on(op: Op) -> bool:
    """Whether all an operation does is match shapes or widths."""
    if op.name == "cast" and len(op.operands) == 1:
        source, result = _kind(_dtype(op.operands[0])), _kind(_dtype(op.result))
        return source == result or (source == "float8" and result == "float")
    return op.name == "reshape" and _is_regrouped_by_ones(op)


def _dtype(value: Value) -> DType:
    assert isinstance(value.type, TileType)
    return value.type.dtype


def _is_regrouped_by_ones(op: Op) -> bool:
    source, result = op.operands[0].type, op.result.type
    assert isinstance(source, TileType) and isinstance(result, TileType)
    return [e for e in source.shape if e != 1] == [e for e in result.shape if e != 1]


def _label(op: Op) -> Label:
    name = _TURNED.get(op.name, op.name)
    if op.name in ("constant", "size"):
        value = op.attrs.get("value")
        if isinstance(value, int | float) and value in _PLAIN_NUMBERS:
            return ("constant", float(value))
        return ("number",)
    if op.name == "broadcast":
        return _SPREAD
    if op.name == "cast":
        return ("cast", _kind(_dtype(op.result)), op.attrs.get("rounding"))
    attrs = tuple(
        (key, _from_the_end(op, value) if key in ("axes", "axis") else repr(value))
        for key, value in sorted(op.attrs.items())
        if key not in _WITHOUT_ATTRS
    )
    return (name, attrs, _subscript(op) if op.name in FIXED_OPERANDS else ())


def _from_the_end(op: Op, axes: object) -> tuple[int, ...]:
    """Axes as numbers from the last one: a row is a row, whatever stands before it."""
    given = axes if isinstance(axes, tuple) else (axes,)
    type_ = (op.operands or op.results)[0].type
    assert isinstance(type_, TileType)
    return tuple(axis - type_.rank for axis in given if isinstance(axis, int))


def _subscript(op: Op) -> Label:
    """The entries that are not a whole axis, each with its place from the end."""
    entries = entries_of(op)
    return tuple(
        (number - len(entries), _entry_kind(entry.text, is_gather=entry.is_gather or entry.is_scalar))
        for number, entry in enumerate(entries)
        if not (entry.text in (":", "+") or (entry.is_block and _covers(entry.operand)))
    )


def _entry_kind(text: str, *, is_gather: bool) -> str:
    if is_gather:
        return "gather"
    if text[0] in "$@":
        return "window" if text[0] == "@" else "block"
    return "first range" if text.startswith("0:") else "range"


def _covers(block: Value | None) -> bool:
    """Whether a block is one of those that the compiler sizes: its axis is then taken whole."""
    return block is not None and isinstance(block.type, BlockType) and block.type.block is None
