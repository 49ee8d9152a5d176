"""What a rule of the grammar sees and adds to: axes, values in sight, lines, parameters.

Rules choose through `scope.rng` alone, so that a program is a function of its seed.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from tests.properties.programs import Named

FLOATS = ("f32", "f32", "f32", "bf16", "bf16", "f16", "f64")
OF_FUNCTIONS = ("f32", "f32", "f32", "bf16", "bf16", "f16")
INTEGERS = ("i32", "i32", "i64", "i16", "u8", "u32", "i8", "u16", "u64")
NARROW = ("e4m3", "e5m2", "e8m0")
NUMBERS = (*FLOATS, *INTEGERS)
EVERY = (*dict.fromkeys(FLOATS), *dict.fromkeys(INTEGERS), *NARROW, "bool")
MOST_ELEMS = 40_000


@dataclass(frozen=True)
class Axis:
    """One axis of a tile. `shape`, `dim` and `subscript` spell it in tile shapes, annotations and subscripts.

    `fixed`: its extent is a number in the text's sight, so it may be split and sliced; `reducible`: as the language
    allows of blocks that are written and whole axes; `block`: it is a block variable's; `ragged`: a piece's or a
    segment's, which may be empty. `least` and `most` are promised of its extent, `most` 0 where nothing is.
    """

    shape: str
    dim: str
    subscript: str
    extent: int
    reducible: bool
    fixed: bool = False
    block: bool = False
    ragged: bool = False
    least: int = 0
    most: int = 0


ONE = Axis("1", "1", ":", 1, reducible=True, fixed=True)


def numbered(extent: int) -> Axis:
    """A whole axis of so many elements."""
    return ONE if extent == 1 else Axis(str(extent), str(extent), ":", extent, reducible=True, fixed=True)


def scaled(axis: Axis, factor: int, more: int = 0) -> Axis:
    """A whole axis of `factor` times the elements, and `more`."""
    if axis.shape.isdigit():
        return numbered(axis.extent * factor + more)
    text = f"{factor} * {axis.dim}" + (f" + {more}" if more else "")
    bounds = (axis.least * factor + more, axis.most * factor + more if axis.most else 0)
    return replace(axis, shape=text, dim=text, extent=axis.extent * factor + more, least=bounds[0], most=bounds[1])


def shape_text(axes: Sequence[Axis]) -> str:
    """A tile's shape as a tuple."""
    inside = ", ".join(axis.shape for axis in axes)
    return f"({inside},)" if len(axes) == 1 else f"({inside})"


@dataclass(frozen=True)
class Value:
    """A name of the program: its element type and axes."""

    name: str
    dtype: str
    axes: tuple[Axis, ...]


@dataclass(frozen=True)
class Row:
    """A name of records that were read: the record's name, and the axes over records."""

    name: str
    record: str
    axes: tuple[Axis, ...]


Field = tuple[str, str, tuple[int, ...]]
"""Of a record: its path, its element type, its extents."""


@dataclass
class Draft:
    """The kernel so far, over all its grids. `written`: tensors that hold every element; `earlier`: by earlier grids.

    `spans`: what is promised of sizes, least and most. `records`: the fields of the file's records.
    """

    rng: random.Random
    sizes: dict[str, int]
    statics: set[str]
    parameters: list[str] = field(default_factory=list)
    optional: list[str] = field(default_factory=list)
    scalars: dict[str, str] = field(default_factory=dict)
    settings: dict[str, int | float | bool] = field(default_factory=dict)
    promises: dict[str, str] = field(default_factory=dict)
    helpers: list[str] = field(default_factory=list)
    values: dict[str, Named] = field(default_factory=dict)
    written: list[Value] = field(default_factory=list)
    earlier: list[Value] = field(default_factory=list)
    before: list[str] = field(default_factory=list)
    spans: dict[str, tuple[int, int]] = field(default_factory=dict)
    records: dict[str, tuple[Field, ...]] = field(default_factory=dict)
    count: int = 0

    def fresh(self, letter: str) -> str:
        """A name that nothing has yet."""
        self.count += 1
        return f"{letter}{self.count}"

    def tensor(self, letter: str, dtype: str, dims: Sequence[str], access: str = "In", promise: str = "") -> str:
        """Declare a tensor parameter and return its name."""
        name = self.fresh(letter)
        self.parameters.append(f"{name}: ak.{access}[ak.{dtype}, {', '.join(dims)}]{promise}")
        return name

    def whole(self, dim: str) -> Axis:
        """A whole axis of a size."""
        least, most = self.spans.get(dim, (0, 0))
        fixed = dim in self.statics
        return Axis(dim, dim, ":", self.sizes[dim], reducible=True, fixed=fixed, least=least, most=most)


@dataclass
class Scope:
    """One region's lines, the values in sight, and what loads and stores of its full tiles look like.

    `lead`: scalar subscripts before the axes, with their dims. `near`: further scalars that are inside a dim. `spans`:
    the parts of sizes that the region is about, as the bounds of steps.
    """

    draft: Draft
    axes: tuple[Axis, ...]
    lead: tuple[tuple[str, str], ...] = ()
    indent: int = 2
    values: list[Value] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    counts: dict[str, str] = field(default_factory=dict)
    depth: int = 0
    partial: bool = False
    runs: int = 1
    outer: frozenset[str] = frozenset()
    breaks: bool = False
    silent: bool = False
    near: tuple[tuple[str, str], ...] = ()
    spans: dict[str, str] = field(default_factory=dict)
    rows: list[Row] = field(default_factory=list)

    @property
    def rng(self) -> random.Random:
        """The program's choices."""
        return self.draft.rng

    def say(self, line: str) -> None:
        """Write a line of the region."""
        self.lines.append("    " * self.indent + line)

    def add(self, text: str, dtype: str, axes: Sequence[Axis], *, into: str | None = None) -> Value | None:
        """Bind a new name (or rebind `into`) to an expression; None where the tile would be too large."""
        if math.prod(axis.extent for axis in axes) > MOST_ELEMS or len(axes) > 4:
            return None
        value = Value(into or self.draft.fresh("v"), dtype, tuple(axes))
        self.say(f"{value.name} = {text}")
        self.know(value)
        return value

    def know(self, value: Value) -> None:
        """Bring a value into sight."""
        self.values = [v for v in self.values if v.name != value.name]
        self.values.append(value)
        dims = (*(dim for _, dim in self.lead), *(axis.dim for axis in value.axes))
        subscripts = (*(text for text, _ in self.lead), *(axis.subscript for axis in value.axes))
        self.draft.values[value.name] = Named(value.dtype, dims, subscripts)

    def pick(self, dtypes: Sequence[str], *, rank: int = 0) -> Value | None:
        """A recent value more often than an old one."""
        found = [v for v in self.values if v.dtype in dtypes and len(v.axes) >= rank]
        if not found:
            return None
        return found[-1 - min(int(self.rng.expovariate(0.5)), len(found) - 1)]

    def partner(self, value: Value) -> Value:
        """A value of the same dtype that broadcasts with `value`; itself where there is no other."""
        found = [v for v in self.values if v.dtype == value.dtype and joined(v.axes, value.axes) is not None]
        return self.rng.choice(found) if found else value

    def is_full(self, value: Value) -> bool:
        """Whether a store of the full tile takes the value."""
        return joined(value.axes, self.axes) == self.axes and len(value.axes) <= len(self.axes)

    def dims(self) -> tuple[str, ...]:
        """The dims of a tensor that full tiles are read from."""
        return (*(dim for _, dim in self.lead), *(axis.dim for axis in self.axes))

    def subscripts(self) -> tuple[str, ...]:
        """The subscripts that read the full tile."""
        return (*(text for text, _ in self.lead), *(axis.subscript for axis in self.axes))

    def nested(self, axes: tuple[Axis, ...] | None = None, lead: tuple[tuple[str, str], ...] = ()) -> Scope:
        """The scope of a region in this one."""
        return Scope(
            self.draft,
            self.axes if axes is None else axes,
            (*self.lead, *lead),
            self.indent + 1,
            list(self.values),
            [],
            dict(self.counts),
            self.depth + 1,
            self.partial,
            self.runs,
            frozenset(v.name for v in self.values),
            silent=self.silent,
            near=self.near,
            spans=self.spans,
            rows=list(self.rows),
        )


def joined(a: tuple[Axis, ...], b: tuple[Axis, ...]) -> tuple[Axis, ...] | None:
    """The axes that two values broadcast to, None where they do not."""
    if len(a) < len(b):
        a, b = b, a
    found = list(a[: len(a) - len(b)])
    for x, y in zip(a[len(a) - len(b) :], b, strict=True):
        if x != y and ONE not in (x, y):
            return None
        found.append(y if x == ONE else x)
    return tuple(found)


def fill(dtype: str, rng: random.Random) -> str:
    """A literal for what is not read."""
    if dtype == "bool":
        return "False"
    number = numbers(dtype, rng)
    return number if dtype == "e8m0" else rng.choice(("0", number))


def numbers(dtype: str, rng: random.Random) -> str:
    """A literal of an element type."""
    if dtype in FLOATS:
        return rng.choice(("0.5", "2.0", "-1.0", "3.0", "0.0", "-0.0", "1e-3", "ak.inf", "0.1", "-ak.inf"))
    if dtype == "e8m0":
        return rng.choice(("1.0", "0.5", "4.0"))
    if dtype in NARROW:
        return rng.choice(("0.0", "1.5", "-0.0", "-2.0"))
    if dtype == "bool":
        return rng.choice(("True", "False"))
    return rng.choice(("0", "1", "2", "3", "5", "100"))
