"""Subscripts of loads and stores: what each entry reads or writes, and the rules that they obey.

One entry per axis of the tensor: `$k` (operand k after the fixed ones: a block, an integer scalar, an integer tile),
`@k` (a 1-D integer tile that is an axis of its own: a window), `:` (the whole axis), `lo:hi` (a static range); and `+`
(a new axis of extent 1, `load` only). With `view` the axes are those of that view of the tensor (`views.py`). The tiles
`$k` of one subscript have one shape; its axes stand in the place of the first. After the index operands stand the mask
(`masked`: a bool scalar or tile of the access' shape) and what a load gives where the mask does not hold (`filled`: a
scalar of the dtype).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from agentkern.compiler.ir import dims
from agentkern.compiler.ir.core import Op, Value
from agentkern.compiler.ir.types import BlockType, TensorType, TileType
from agentkern.compiler.ir.views import ViewError, accessed, in_table, of_entry, view_of, viewed

FIXED_OPERANDS = {"load": 1, "store": 2, "atomic": 2}
"""Operations that move a tile to or from a tensor, with the operands that stand before those of the subscript."""

BEFORE_SUBSCRIPT = {**FIXED_OPERANDS, "sort_kept": 1}
"""Operations that subscript a tensor, those that move no tile too."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry: its text, its operand, its axis of the tensor (None of `+`), its axes of the tile.

    Tiles that gather share their axes.
    """

    text: str
    operand: Value | None
    axis: int | None
    tile_axes: tuple[int, ...]

    @property
    def is_block(self) -> bool:
        """Whether the entry is a block variable."""
        return self.operand is not None and isinstance(self.operand.type, BlockType)

    @property
    def is_window(self) -> bool:
        """Whether the entry is a tile of indices that is an axis of its own."""
        return self.text.startswith("@")

    @property
    def is_gather(self) -> bool:
        """Whether the entry is a tile of indices that shares its axes with others."""
        return self.text.startswith("$") and not self.is_block and bool(self.tile_axes)

    @property
    def is_scalar(self) -> bool:
        """Whether the entry is one run-time index."""
        return self.text.startswith("$") and not self.is_block and not self.tile_axes


def index_entries(op: Op) -> tuple[str, ...]:
    """The entries as text."""
    index = op.attrs["index"]
    assert isinstance(index, tuple)
    return tuple(str(entry) for entry in index)


def index_operands(op: Op) -> tuple[Value, ...]:
    """The operands that entries name."""
    first = BEFORE_SUBSCRIPT[op.name]
    return op.operands[first : first + sum(text[0] in "$@" for text in index_entries(op))]


def mask_of(op: Op) -> Value | None:
    """The mask of an access, if it has one."""
    if not op.attrs.get("masked"):
        return None
    return op.operands[FIXED_OPERANDS[op.name] + len(index_operands(op))]


def fill_of(op: Op) -> Value | None:
    """What a load gives where its mask does not hold; None is zero."""
    return op.operands[-1] if op.attrs.get("filled") else None


def tile_of(op: Op) -> Value:
    """The tile that an access reads or writes."""
    return op.result if op.name == "load" else op.operands[1]


def entries_of(op: Op) -> tuple[Entry, ...]:
    """The entries of an access, in order."""
    operands = index_operands(op)
    found: list[Entry] = []
    axis, tile_axis = 0, 0
    shared: tuple[int, ...] | None = None
    for text in index_entries(op):
        operand = operands[int(text[1:])] if text[0] in "$@" else None
        rank = _rank(text, operand)
        if text[0] == "$" and rank and not isinstance(_type(operand), BlockType):
            if shared is None:
                shared = tuple(range(tile_axis, tile_axis + rank))
                tile_axis += rank
            axes = shared
        else:
            axes = tuple(range(tile_axis, tile_axis + rank))
            tile_axis += rank
        found.append(Entry(text, operand, None if text == "+" else axis, axes))
        axis += text != "+"
    return tuple(found)


def _type(operand: Value | None) -> object:
    return operand.type if operand is not None else None


def _rank(text: str, operand: Value | None) -> int:
    type_ = _type(operand)
    return type_.rank if text[0] == "$" and isinstance(type_, TileType) else 1


def subscript_shape(tensor: TensorType, index: Sequence[object], operands: Sequence[object]) -> tuple[object, ...]:
    """The tile shape that a subscript selects; `operands` are the types of the index operands."""
    shape: list[object] = []
    axis = 0
    gathered = False
    for entry in index:
        text = str(entry)
        if text == "+":
            shape.append(1)
            continue
        if text == ":":
            shape.append(tensor.shape[axis])
        elif text[0] in "$@":
            type_ = operands[int(text[1:])]
            if isinstance(type_, BlockType):
                shape.append(type_.current)
            elif isinstance(type_, TileType) and type_.shape and not (gathered and text[0] == "$"):
                shape += type_.shape
                gathered = gathered or text[0] == "$"
        else:
            low, high = text.split(":")
            shape.append(dims.add(dims.parse(high), dims.mul(dims.parse(low), -1)))
        axis += 1
    return tuple(shape)


def _wrong_index(op: Op, tensor: TensorType, operands: tuple[Value, ...]) -> str | None:
    texts = index_entries(op)
    if len([e for e in texts if e != "+"]) != tensor.rank:
        return f"{len(texts)} subscripts for a tensor of rank {tensor.rank}"
    named = [text for text in texts if text[0] in "$@"]
    if [int(text[1:]) for text in named] != list(range(len(operands))):
        return "subscripts must use the index operands in order, each once"
    shapes: set[object] = set()
    for text, operand in zip(named, operands, strict=True):
        type_ = operand.type
        if isinstance(type_, BlockType) and text[0] == "$":
            continue
        if not isinstance(type_, TileType) or not type_.dtype.is_integer:
            return "an index operand is neither a block nor an integer"
        if text[0] == "@" and type_.rank != 1:
            return "a window is a tile of one axis"
        if text[0] == "$" and type_.shape:
            shapes.add(type_.shape)
    return "the tiles of indices of one subscript differ in shape" if len(shapes) > 1 else None


def entry_of(op: Op) -> Value | None:
    """The number of the tensor that an access of a table picks; None of another tensor."""
    type_ = op.operands[0].type
    return index_operands(op)[0] if isinstance(type_, TensorType) and type_.table else None


def _wrong_table(op: Op) -> str | None:
    """A table's first subscript is a scalar; its views are of each tensor for itself."""
    base = op.operands[0].type
    assert isinstance(base, TensorType)
    if not base.table:
        return None
    texts, operands = index_entries(op), index_operands(op)
    first = operands[0].type if texts[:1] == ("$0",) and operands else None
    if not isinstance(first, TileType) or first.shape:
        return "a table's first subscript is one run-time number"
    view = view_of(op)
    whole = all(viewed(base, view[:k]).shape[:1] == base.shape[:1] for k in range(len(view) + 1))
    if not whole or in_table(of_entry(view), base.count) != view:
        return "a view of a table moves its leading axis"
    return None


def selected(op: Op) -> TileType | str:
    """The type of what a subscript selects; what is wrong with the subscript, if anything is."""
    try:
        tensor = accessed(op)
        wrong = _wrong_table(op)
    except ViewError as e:
        return str(e)
    if wrong is not None:
        return wrong
    operands = index_operands(op)
    extra = bool(op.attrs.get("masked")) + bool(op.attrs.get("filled"))
    if len(op.operands) != BEFORE_SUBSCRIPT[op.name] + len(operands) + extra:
        return f"{len(op.operands)} operands for {len(operands)} indices and {extra} of mask and fill"
    wrong = _wrong_index(op, tensor, operands)
    if wrong is not None:
        return wrong
    shape = subscript_shape(tensor, index_entries(op), tuple(v.type for v in operands))
    return TileType(tensor.dtype, shape)  # pyright: ignore[reportArgumentType]: extents by construction


def wrong_access(op: Op, tile: TileType) -> str | None:
    """What is wrong with an access of `tile`, or None."""
    want = selected(op)
    if isinstance(want, str):
        return want
    if tile.shape != want.shape or tile.dtype is not want.dtype:
        verb = "the result is" if op.name == "load" else "stores"
        return f"{verb} {tile}, the subscript selects {want.dtype} {list(want.shape)}"
    return _wrong_mask(op, tile)


def _wrong_mask(op: Op, tile: TileType) -> str | None:
    mask, fill = mask_of(op), fill_of(op)
    if mask is not None:
        type_ = mask.type
        if not isinstance(type_, TileType) or type_.dtype.kind != "bool" or type_.shape not in ((), tile.shape):
            return f"the mask is {type_}, the access {tile}"
    if fill is not None:
        if mask is None:
            return "a fill without a mask"
        if not isinstance(fill.type, TileType) or fill.type.shape or fill.type.dtype is not tile.dtype:
            return f"the fill is {fill.type}, the access {tile}"
    return None
