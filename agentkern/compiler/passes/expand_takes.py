"""Read at their places the elements that are taken of an axis too long to keep.

Element operations are done again on the elements that are taken, down to the loads, which then gather them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from agentkern.compiler.analysis.axes import reshape_groups
from agentkern.compiler.ir import dims
from agentkern.compiler.ir.core import Builder, Kernel, Op, Value, walk
from agentkern.compiler.ir.dims import Dim
from agentkern.compiler.ir.subscripts import entries_of, fill_of, mask_of
from agentkern.compiler.ir.types import TileType
from agentkern.compiler.passes.expand_arguments import tile
from agentkern.compiler.passes.grid_axes import is_kept
from agentkern.compiler.passes.rewrite import rewrite
from agentkern.compiler.passes.split_reductions import most_of_blocks
from agentkern.compiler.passes.unsupported import UnsupportedError
from agentkern.dsl.dtypes import DTYPES

I64 = DTYPES["i64"]
Place = int | Value | None
"""Where along an axis: as along one of the result, at a tile of positions of the result's shape, at the only one."""


@dataclass(frozen=True, slots=True)
class _Rule:
    """The rewriting of one kernel's operations; `makers` are those that it has met."""

    blocks: Mapping[str, int]
    written: frozenset[Value]
    makers: dict[Value, Op] = field(default_factory=dict[Value, Op])

    def __call__(self, op: Op, builder: Builder) -> tuple[Value, ...] | None:
        self.makers.update(dict.fromkeys(op.results, op))
        if op.name != "take":
            return None
        axis, source = op.attrs["axis"], op.operands[0]
        assert isinstance(axis, int)
        if is_kept(tile(source).shape[axis], self.blocks):
            return None
        pairs = zip(tile(source).shape, tile(op.result).shape, strict=True)
        places: list[Place] = [k if have == want else None for k, (have, want) in enumerate(pairs)]
        places[axis] = op.operands[1]
        trial = builder.nested()
        try:
            found = _Taking(self, trial, op).at(source, places)
        except UnsupportedError:
            return None  # the axis is kept in memory, to be read there
        builder.ops += trial.ops
        return (found,)


@dataclass(frozen=True, slots=True)
class _Taking:
    """One operation's elements, at places of a tile of the result's shape."""

    rule: _Rule
    builder: Builder
    op: Op

    @property
    def shape(self) -> tuple[int | Dim, ...]:
        """The result's extents."""
        return tile(self.op.result).shape

    def at(self, value: Value, places: Sequence[Place]) -> Value:
        """The elements of a value. Errors: UnsupportedError where they cannot be made one by one."""
        if not any(isinstance(place, Value) for place in places):
            return self.spread(value, places)
        op = self.rule.makers.get(value)
        if op is None:
            raise self.refused("a value")
        if "elementwise" in op.spec.traits:
            operands = tuple(self.at(v, places) for v in op.operands)
            return self.builder.value(op.name, operands, self.type(value), op.attrs, value.name)
        match op.name:
            case "load" if op.operands[0] not in self.rule.written:
                return self.gathered(op, places)
            case "arange":
                (place,) = places
                assert isinstance(place, Value)
                return place
            case "broadcast":
                return self.at(op.operands[0], _narrowed(tile(op.operands[0]).shape, tile(value).shape, places))
            case "transpose":
                permutation = op.attrs["permutation"]
                assert isinstance(permutation, tuple)
                return self.at(op.operands[0], [places[permutation.index(k)] for k in range(len(places))])
            case "slice":
                return self.at(op.operands[0], self.shifted(op, places))
            case "reshape" if (regrouped := _regrouped(op, places)) is not None:
                return self.at(op.operands[0], regrouped)
            case _:
                raise self.refused(f"`{op.name}`")

    def refused(self, what: str) -> UnsupportedError:
        return UnsupportedError(
            f"elements of {what} along an axis too long to keep on the chip",
            "take them of what is read from a tensor and computed element by element; or give the axis a static size",
            self.op.location,
        )

    def type(self, value: Value) -> TileType:
        return tile(value).with_shape(self.shape)

    def spread(self, value: Value, places: Sequence[Place]) -> Value:
        """A value whose axes are the result's, or of one index."""
        axes = [place for place in places if isinstance(place, int)]
        if sorted(axes) != axes:
            raise self.refused("a transposed value")
        shape = tuple(extent if k in axes else 1 for k, extent in enumerate(self.shape))
        if tile(value).rank and tile(value).shape != shape:
            value = self.builder.value("reshape", (value,), tile(value).with_shape(shape), None, value.name)
        if tile(value).shape != self.shape:
            value = self.builder.value("broadcast", (value,), self.type(value), None, value.name)
        return value

    def shifted(self, op: Op, places: Sequence[Place]) -> list[Place]:
        """Places in what a slice is cut from."""
        starts, source = op.attrs["starts"], tile(op.operands[0])
        assert isinstance(starts, tuple)
        found: list[Place] = []
        for axis, (start, place) in enumerate(zip(starts, places, strict=True)):
            same = start == 0 and not (place is None and source.shape[axis] != 1)
            found.append(place if same else self.plus(self.position(place), start))
        return found

    def position(self, place: Place) -> Value:
        """A place as a tile of indices."""
        type_ = TileType(I64, self.shape)
        if isinstance(place, Value):
            return place
        if place is None:
            zero = self.builder.value("constant", (), TileType(I64), {"value": 0})
            return self.builder.value("broadcast", (zero,), type_)
        return self.along(self.builder.value("arange", (), TileType(I64, (self.shape[place],))), place)

    def along(self, numbers: Value, axis: int) -> Value:
        """A tile of one axis, beside the result's others."""
        shape = tuple(extent if k == axis else 1 for k, extent in enumerate(self.shape))
        return self.spread_numbers(self.builder.value("reshape", (numbers,), TileType(I64, shape)))

    def spread_numbers(self, numbers: Value) -> Value:
        type_ = TileType(I64, self.shape)
        return numbers if tile(numbers).shape == self.shape else self.builder.value("broadcast", (numbers,), type_)

    def plus(self, numbers: Value, start: int | Dim) -> Value:
        if start == 0:
            return numbers
        name, attrs = ("constant", {"value": start}) if isinstance(start, int) else ("size", {"extent": start})
        first = self.spread_numbers(self.builder.value(name, (), TileType(I64), attrs))
        return self.builder.value("add", (numbers, first), TileType(I64, self.shape))

    def gathered(self, op: Op, places: Sequence[Place]) -> Value:
        """A load of the elements alone: every axis of its tile by indices."""
        index: list[str] = []
        operands: list[Value] = []
        for entry in entries_of(op):
            if entry.axis is None:
                continue
            index.append(f"${len(operands)}")
            if entry.is_scalar and entry.operand is not None:
                operands.append(entry.operand)
                continue
            operands.append(self.indices(entry.text, entry.operand, [places[axis] for axis in entry.tile_axes]))
        mask, fill = mask_of(op), fill_of(op)
        if mask is not None:
            operands.append(self.at(mask, places if tile(mask).rank else ()))
        operands += [fill] if fill is not None else []
        attrs = {**op.attrs, "index": tuple(index)}
        return self.builder.value("load", (op.operands[0], *operands), self.type(op.result), attrs, op.result.name)

    def indices(self, text: str, operand: Value | None, places: list[Place]) -> Value:
        """The indices of one subscript."""
        if operand is not None and isinstance(operand.type, TileType):
            wide = self.at(operand, places)
            return wide if tile(wide).dtype is I64 else self.builder.value("cast", (wide,), TileType(I64, self.shape))
        (place,) = places
        if operand is not None:
            current = operand.type.current  # pyright: ignore[reportAttributeAccessIssue]: a block by the verifier
            numbers = self.builder.value("index", (operand,), TileType(I64, (current,)))
            if isinstance(place, int):
                return self.along(numbers, place)
            raise self.refused("a block")
        low: int | Dim = 0 if text == ":" else dims.parse(text.split(":", maxsplit=1)[0])
        return self.plus(self.position(place), low)


def _regrouped(op: Op, places: Sequence[Place]) -> list[Place] | None:
    """Places in what a reshape adds axes of one index to, or takes them from; None where axes merge or split."""
    source = tile(op.operands[0])
    found: list[Place] = [None] * source.rank
    for old, new in reshape_groups(source.shape, tile(op.result).shape):
        if len(old) == len(new) == 1:
            found[old[0]] = places[new[0]]
        elif old and new:
            return None
    return found


def _narrowed(source: Sequence[int | Dim], result: Sequence[int | Dim], places: Sequence[Place]) -> tuple[Place, ...]:
    """Places in what is broadcast: an axis of one index has one place."""
    kept = zip(source, result[len(result) - len(source) :], places[len(places) - len(source) :], strict=True)
    return tuple(place if have == want else None for have, want, place in kept)


def expand_takes(kernel: Kernel) -> Kernel:
    """Gathering loads for what is taken of axes that are too long to keep. Errors: UnsupportedError."""
    grids = [op for op in kernel.body if any(inner.name == "take" for inner in walk((op,)))]
    if not grids:
        return kernel
    written = frozenset(op.operands[0] for op in walk(grids) if "writes" in op.spec.traits)
    return rewrite(kernel, _Rule(most_of_blocks(kernel), written))
