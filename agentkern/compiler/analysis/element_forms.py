"""What one element of a tile of integers is, as an exact extent. Facts only.

A tile's element has a form over symbols that are bound to axes: `%t.at@2` is the index that block `t` has at the tile's
second axis from the end, `#5@2.1` the element of a loaded tile whose axes are the last two. Axes are counted from the
end, as broadcasting aligns them; a symbol of no axis ends in `@`. Two symbols with one base and other axes may differ.
Arithmetic that may wrap, and whatever has no rule, is a symbol of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from agentkern.compiler.analysis import blocks
from agentkern.compiler.analysis.extents import SymbolFact
from agentkern.compiler.analysis.index_forms import Form, IndexForms
from agentkern.compiler.analysis.value_bounds import picked
from agentkern.compiler.ir import dims
from agentkern.compiler.ir.core import Op, Value
from agentkern.compiler.ir.regroup import reshape_groups
from agentkern.compiler.ir.types import BlockType, TileType

MAX_DEPTH = 100
Axes = Mapping[str, str]
NEGATED = {"lt": "ge", "le": "gt", "gt": "le", "ge": "lt", "eq": "ne", "ne": "eq"}


@dataclass(frozen=True, slots=True)
class Condition:
    """What a bool tile's element says where it holds: forms that are nonnegative, forms that are not zero.

    `complete` unless a part of it was not understood.
    """

    nonnegative: tuple[Form, ...] = ()
    nonzero: tuple[Form, ...] = ()
    complete: bool = True

    def renamed(self, names: Callable[[Form], Form]) -> Condition:
        """The condition with other symbols."""
        return Condition(tuple(map(names, self.nonnegative)), tuple(map(names, self.nonzero)), self.complete)

    def also(self, other: Condition) -> Condition:
        """Both conditions."""
        both = (self.nonnegative + other.nonnegative, self.nonzero + other.nonzero)
        return Condition(*both, self.complete and other.complete)


ALWAYS = Condition()


@dataclass(slots=True)
class ElementForms:
    """Forms of elements, computed when asked for. Adds symbols to the index forms of its scope."""

    forms: IndexForms

    def form(self, value: Value, depth: int = MAX_DEPTH) -> Form:
        """The form of an element of an integer tile, in the axes of that tile."""
        uniform = self.forms.form(value)
        if uniform is not None:
            return uniform
        if value not in self.forms.elements:
            found = self._derived(value, depth) if depth else None
            self._ask_for_picked(value, depth)
            self.forms.elements[value] = found if found is not None else self._opaque(value)
        return self.forms.elements[value]

    def _derived(self, value: Value, depth: int) -> Form | None:
        op = self.forms.makers.get(value)
        if op is None:
            return None
        if op.name == "index":
            block = op.operands[0].type
            assert isinstance(block, BlockType)
            return dims.symbol(self.bound(blocks.at_name(block), "1"))
        if op.name == "arange":
            return dims.symbol(self.bound(self._position(_tile(value).shape[0]), "1"))
        moved = moved_axes(op)
        if moved is not None:
            return self.moved(self.form(op.operands[0], depth - 1), moved)
        combine = _COMBINE.get(op.name)
        if combine is None or not all(_is_integer(v) for v in op.operands):
            return None
        operands = [self.form(v, depth - 1) for v in op.operands]
        found = combine(self, op, operands)
        if found is not None and op.name in ("floor_div", "mod"):
            low = self.forms.facts.interval(operands[1]).low
            if low is not None and low >= 1:
                return found  # neither wraps
        return found if found is not None and self.forms.fits(found, value) else None

    def _ask_for_picked(self, value: Value, depth: int) -> None:
        """Make the forms known of what a value's elements are picked from: they bound it."""
        op = self.forms.makers.get(value)
        for v in picked(op) if op is not None and depth else ():
            if _is_integer(v):
                self.form(v, depth - 1)

    def _position(self, extent: Form) -> str:
        """The symbol of a position on an axis of this extent."""
        name = blocks.place_name(extent)
        fact = SymbolFact(0, highs=(dims.add(extent, -1),), rank=blocks.INSIDE_RANK)
        self.forms.facts = self.forms.facts.with_symbols({name: fact})
        return name

    def _opaque(self, value: Value) -> Form:
        """A symbol of its own, of every axis of the tile; one that is loaded has its tensor's promises."""
        return dims.symbol(self.bound(self.forms.element_symbol(value), self.own_axes(value)))

    def own_axes(self, value: Value) -> str:
        """Every axis of a tile along which its elements may differ."""
        shape = _tile(value).shape
        return ".".join(str(len(shape) - axis) for axis in range(len(shape)) if shape[axis] != 1)

    def bound(self, base: str, axes: str) -> str:
        """The symbol of `base` at some axes, known to the facts as `base` is."""
        name = f"{base}@{axes}"
        if name not in self.forms.facts.symbols:
            self.forms.facts = self.forms.facts.with_symbols({name: self.forms.facts.fact(base)})
            (self.forms.derived if base.startswith("%") else self.forms.data).append(name)
            self.forms.origins.update({name: self.forms.origins[base]} if base in self.forms.origins else {})
        return name

    def moved(self, form: Form, axes: Axes) -> Form:
        """A form whose axes have other numbers; one that is gone is no axis."""
        names = {name: dims.symbol(self._renamed(name, axes)) for name in dims.symbols(form) if "@" in name}
        return dims.substitute(form, names)

    def _renamed(self, name: str, axes: Axes) -> str:
        base, _, bound = name.partition("@")
        new: list[str] = []
        for piece in bound.split("."):
            axis, plus, offset = piece.partition("+")
            new.append(f"{axes.get(axis, '')}{plus}{offset}")
        return self.bound(base, ".".join(new) if any(new) else "")

    def condition(self, value: Value, depth: int = MAX_DEPTH, *, holds: bool = True) -> Condition:
        """What a mask's element says where it holds, or where it does not, in the axes of the mask."""
        op = self.forms.makers.get(value)
        if op is None or not depth:
            return Condition(complete=False)
        if op.name == "constant":
            return Condition((0 if op.attrs["value"] == holds else -1,))
        if op.name == "not":
            return self.condition(op.operands[0], depth - 1, holds=not holds)
        if op.name == ("and" if holds else "or"):
            a, b = (self.condition(v, depth - 1, holds=holds) for v in op.operands)
            return a.also(b)
        moved = moved_axes(op)
        if moved is not None:
            inner = self.condition(op.operands[0], depth - 1, holds=holds)
            return inner.renamed(lambda form: self.moved(form, moved))
        if op.name not in NEGATED or not all(_is_integer(v) for v in op.operands):
            return Condition(complete=False)
        return _compared(op.name if holds else NEGATED[op.name], *(self.form(v) for v in op.operands))


def _compared(name: str, a: Form, b: Form) -> Condition:
    gap = dims.add(a, dims.mul(b, -1))
    back = dims.mul(gap, -1)
    match name:
        case "lt":
            return Condition((dims.add(back, -1),))
        case "le":
            return Condition((back,))
        case "gt":
            return Condition((dims.add(gap, -1),))
        case "ge":
            return Condition((gap,))
        case "eq":
            return Condition((gap, back))
        case _:
            return Condition((), (gap,))


def _is_integer(value: Value) -> bool:
    return isinstance(value.type, TileType) and value.type.dtype.is_integer


def _tile(value: Value) -> TileType:
    assert isinstance(value.type, TileType)
    return value.type


def moved_axes(op: Op) -> Axes | None:
    """Where an operation that only moves elements puts each axis, both counted from the end; None of others."""
    if op.name not in ("broadcast", "reshape", "transpose", "slice"):
        return None
    source, result = _tile(op.operands[0]), _tile(op.result)
    if op.name == "broadcast":
        kept = zip(range(1, source.rank + 1), reversed(source.shape), reversed(result.shape), strict=False)
        return {str(axis): str(axis) for axis, old, new in kept if old == new}
    if op.name == "transpose":
        permutation = op.attrs["permutation"]
        assert isinstance(permutation, tuple)
        return {str(source.rank - int(old)): str(result.rank - new) for new, old in enumerate(permutation)}
    if op.name == "slice":
        return _sliced(op, source)
    return _regrouped(source.shape, result.shape)


def _regrouped(source: Sequence[Form], result: Sequence[Form]) -> Axes | None:
    """Axes that stay as they are; None where some merge or split."""
    axes: dict[str, str] = {}
    for old, new in reshape_groups(source, result):
        if len(old) == len(new) == 1:
            axes[str(len(source) - old[0])] = str(len(result) - new[0])
        elif old and new:
            return None
    return axes


def _sliced(op: Op, source: TileType) -> Axes:
    """A slice keeps its axes, from their starts on: a symbol that begins elsewhere is another symbol."""
    starts, stops = op.attrs["starts"], op.attrs["stops"]
    assert isinstance(starts, tuple)
    assert isinstance(stops, tuple)
    axes: dict[str, str] = {}
    for axis, (low, high) in enumerate(zip(starts, stops, strict=True)):
        number = source.rank - axis
        if (low, high) == (0, source.shape[axis]):
            axes[str(number)] = str(number)
        else:
            axes[str(number)] = f"{number}+{low}"
    return axes


Combine = Callable[[ElementForms, Op, list[Form]], "Form | None"]


def _divided(combine: Callable[[Form, Form], Form]) -> Combine:
    def rule(state: ElementForms, op: Op, operands: list[Form]) -> Form | None:
        del op
        if not state.forms.facts.interval(operands[1]).excludes(0):
            return None
        return combine(operands[0], operands[1])

    return rule


def _cast(state: ElementForms, op: Op, operands: list[Form]) -> Form | None:
    del state, op
    return operands[0]


_COMBINE: Mapping[str, Combine] = {
    "add": lambda state, op, o: dims.add(o[0], o[1]),
    "sub": lambda state, op, o: dims.add(o[0], dims.mul(o[1], -1)),
    "mul": lambda state, op, o: dims.mul(o[0], o[1]),
    "neg": lambda state, op, o: dims.mul(o[0], -1),
    "floor_div": _divided(dims.floordiv),
    "mod": _divided(dims.mod),
    "cast": _cast,
}
