"""What an expression of kernel text stands for in the front end. Data only.

`Number`, a static `Extent` and a weak `Tile` are compile-time values: they take the other operand's dtype.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from agentkern.compiler.ir import dims
from agentkern.compiler.ir.core import Value
from agentkern.compiler.ir.dims import Dim
from agentkern.compiler.ir.records import Record
from agentkern.compiler.ir.types import BlockType, TensorType, TileType
from agentkern.compiler.ir.views import View, in_table, viewed
from agentkern.dsl.dtypes import DType


@dataclass(frozen=True, slots=True)
class Number:
    """A compile-time int, float (f64) or bool."""

    value: int | float | bool


@dataclass(frozen=True, slots=True)
class Extent:
    """A size expression without a number; `static` when every size in it is fixed at compile time."""

    extent: Dim
    static: bool


@dataclass(frozen=True, slots=True)
class Tile:
    """An array value. `weak`: a compile-time value that has no number yet (a static size is open)."""

    value: Value
    weak: bool = False

    @property
    def type(self) -> TileType:
        """The tile's type."""
        assert isinstance(self.value.type, TileType)
        return self.value.type

    @property
    def dtype(self) -> DType:
        """The element type."""
        return self.type.dtype

    @property
    def shape(self) -> tuple[int | Dim, ...]:
        """The extents."""
        return self.type.shape


@dataclass(frozen=True, slots=True)
class Tensor:
    """A parameter in global memory, or a view of one: then `view` are its steps, and `name` the parameter's still.

    With `entry` it is the tensor of that number of a table: `value` is the table and `name` the list's.
    """

    value: Value
    name: str
    view: View = ()
    entry: Value | None = None

    @property
    def base(self) -> TensorType:
        """The type of what is viewed."""
        assert isinstance(self.value.type, TensorType)
        return self.value.type.entry

    @property
    def type(self) -> TensorType:
        """The tensor's type, as the view has it."""
        return viewed(self.base, self.view)

    @property
    def attrs(self) -> Mapping[str, object]:
        """What an access of it carries beside its subscript."""
        assert isinstance(self.value.type, TensorType)
        view = in_table(self.view, self.value.type.count) if self.value.type.table else self.view
        return {"view": view} if view else {}


@dataclass(frozen=True, slots=True)
class Records:
    """A parameter of records: a tensor of bytes whose last axis is one record."""

    tensor: Tensor
    record: Record

    @property
    def name(self) -> str:
        """The parameter's name."""
        return self.tensor.name

    @property
    def shape(self) -> tuple[int | Dim, ...]:
        """The extents over records."""
        return self.tensor.type.shape[:-1]


@dataclass(frozen=True, slots=True)
class RecordTile:
    """Records that were read: `items` has the value of each field, a tile or records again."""

    record: Record
    items: tuple[FrontValue, ...]


@dataclass(frozen=True, slots=True)
class RecordName:
    """A record that a file defines, as `KV`."""

    record: Record


@dataclass(frozen=True, slots=True)
class TensorList:
    """A parameter of several tensors of one type; `items` is empty while their number, `extent`, is open.

    With `table` a run-time number picks from them somewhere: then every pick is of this value, with its number.
    """

    name: str
    extent: int | Dim
    items: tuple[Tensor | Records, ...]
    table: Tensor | Records | None = None


@dataclass(frozen=True, slots=True)
class BlockVar:
    """A variable of a grid or loop. `scalar` is set for `ak.each`: the index itself; `head` for a loop: its call.

    `span` is set for a piece of a range or a segment: its first index and one past its last; `segment` for a segment:
    where all of them end; `rows` for a block of rows of a segment: the call of `.blocks`.
    """

    value: Value
    name: str
    scalar: Tile | None = None
    head: ast.Call | None = None
    span: tuple[int | Dim, int | Dim] | None = None
    segment: int | Dim | None = None
    rows: ast.Call | None = None

    @property
    def extent(self) -> int | Dim:
        """How many indices it stands for, as an axis."""
        if self.span is None:
            return self.type.current
        low, high = self.span
        return dims.add(high, dims.mul(low, -1))

    @property
    def type(self) -> BlockType:
        """The block's type."""
        assert isinstance(self.value.type, BlockType)
        return self.value.type


@dataclass(frozen=True, slots=True)
class Element:
    """A variable of `ak.elements` over a block: a place in tiles that have the block as an axis."""

    name: str
    extent: Dim


@dataclass(frozen=True, slots=True)
class TypeName:
    """A dtype, as `ak.f32`."""

    dtype: DType


@dataclass(frozen=True, slots=True)
class Function:
    """A name of agentkern that is called, subscripted or decorates: `ak.sum`, `ak.In`, `ak.kernel`."""

    name: str


@dataclass(frozen=True, slots=True)
class Module:
    """The agentkern module."""


@dataclass(frozen=True, slots=True)
class Tuple:
    """A tuple of values; `leaves` counts those inside inner tuples too."""

    items: tuple[FrontValue, ...]
    leaves: int = field(init=False, compare=False)

    def __post_init__(self) -> None:
        leaves = sum(item.leaves if isinstance(item, Tuple) else 1 for item in self.items)
        object.__setattr__(self, "leaves", leaves)


@dataclass(frozen=True, slots=True)
class Text:
    """A string literal."""

    text: str


@dataclass(frozen=True, slots=True)
class Nothing:
    """`None`."""


@dataclass(frozen=True, slots=True)
class PythonName:
    """A name that exists in Python but is no value of the language: a builtin, a function of the file."""

    name: str
    kind: Literal["builtin", "function", "inline", "kernel"]


@dataclass(frozen=True, slots=True)
class Poison:
    """The value of an expression whose error was reported already: it silences what follows from it."""


FrontValue = (
    Records | RecordTile | RecordName |
    Number | Extent | Tile | Tensor | TensorList | BlockVar | Element | TypeName | Function | Module | Tuple | Text
    | Nothing | PythonName | Poison
)  # fmt: skip
POISON = Poison()
NOTHING = Nothing()


def extent_value(extent: int | Dim, *, static: bool) -> FrontValue:
    """A size expression as a value: a number where it has one."""
    return Number(extent) if isinstance(extent, int) else Extent(extent, static)


def extent_text(extent: int | Dim) -> str:
    """How an extent is shown to people: a block's current extent, and a segment's length, is the block's name."""
    return str(extent).replace("%", "").replace(".length", "")


def shape_text(shape: tuple[int | Dim, ...]) -> str:
    """How a shape is shown to people, in Python's spelling of tuples."""
    comma = "," if len(shape) == 1 else ""
    return f"({', '.join(map(extent_text, shape))}{comma})"


def type_text(type_: TileType) -> str:
    """How a tile's type is shown to people."""
    return f"{type_.dtype} {shape_text(type_.shape)}" if type_.shape else str(type_.dtype)


def describe(value: FrontValue) -> str:
    """A value's kind in a few words, for messages."""
    match value:
        case Number(number):
            return f"the number {number_text(number)}"
        case Extent(extent):
            return f"the size `{extent_text(extent)}`"
        case Tile():
            return f"a tile {type_text(value.type)}" if value.shape else f"a scalar {value.dtype}"
        case TypeName(dtype):
            return f"the dtype `{dtype}`"
        case RecordTile(record) | RecordName(record):
            return f"{_KINDS[type(value)]}{record.name}`"
        case Records():
            return f"the tensor of records `{value.name}`"
        case Element(name) | Tensor(_, name) | TensorList(name) | BlockVar(_, name) | Function(name) | PythonName(name):
            return f"{_KINDS[type(value)]}{name}`"
        case _:
            return _KINDS[type(value)]


_KINDS: dict[type, str] = {
    RecordTile: "a record `",
    RecordName: "the record `",
    Tensor: "tensor `",
    TensorList: "the list of tensors `",
    BlockVar: "block `",
    Element: "the place `",
    Function: "`ak.",
    PythonName: "`",
    Text: "a string",
    Tuple: "a tuple",
    Nothing: "`None`",
    Module: "the module agentkern",
    Poison: "an erroneous value",
}


def number_text(value: int | float | bool) -> str:
    """A number in a message; integers of absurd length are described."""
    if isinstance(value, int) and value.bit_length() > 256:
        return f"an integer of {value.bit_length()} bits"
    return repr(value)


def is_block_symbol(extent: int | Dim) -> bool:
    """Whether an extent depends on a block's current extent."""
    return any(name.startswith("%") for name in dims.symbols(extent))
