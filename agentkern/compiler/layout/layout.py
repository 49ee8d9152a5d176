"""Layouts: which element each (register, lane, warp) of a block of threads holds. Knows no IR.

A layout is three mixed-radix numbers. Each digit of the register, lane or warp number adds `digit * stride` to one
coordinate; a digit of no axis replicates. Lane and warp digits have power-of-two extents, so inside them a layout is
linear over F2; register digits have any extent, so whole blocks of any number stand beside each other.
The form follows "Linear Layouts" (arXiv 2505.23819) inside the power-of-two part and CuTe's (extent : stride) outside.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import prod

WARP_LANES = 32
REPLICATED = -1


@dataclass(frozen=True, slots=True)
class Digit:
    """`extent` values; value d adds d * `stride` to coordinate `axis` (REPLICATED: to none)."""

    axis: int
    extent: int
    stride: int = 1

    def __post_init__(self) -> None:
        if self.extent < 1 or self.stride < 0:
            raise ValueError(f"impossible digit {self}")

    def __str__(self) -> str:
        return f"*:{self.extent}" if self.axis == REPLICATED else f"{self.axis}:{self.extent}:{self.stride}"


def _digits_text(digits: Sequence[Digit]) -> str:
    return " ".join(map(str, digits))


@dataclass(frozen=True, slots=True)
class Layout:
    """Digits of the register, lane and warp numbers, least significant first."""

    rank: int
    registers: tuple[Digit, ...]
    lanes: tuple[Digit, ...]
    warps: tuple[Digit, ...]

    def __post_init__(self) -> None:
        if prod(d.extent for d in self.lanes) != WARP_LANES:
            raise ValueError(f"lanes {_digits_text(self.lanes)} do not number {WARP_LANES}")
        if any(d.extent & (d.extent - 1) for d in self.lanes + self.warps):
            raise ValueError("lane and warp digits are powers of two")

    @property
    def register_count(self) -> int:
        """Elements that one thread holds."""
        return prod(d.extent for d in self.registers)

    @property
    def warp_count(self) -> int:
        """Warps of the block."""
        return prod(d.extent for d in self.warps)

    @property
    def shape(self) -> tuple[int, ...]:
        """Extents that the layout covers: one past the largest coordinate of each axis."""
        return tuple(
            1 + sum((d.extent - 1) * d.stride for d in self.all_digits() if d.axis == axis) for axis in range(self.rank)
        )

    def all_digits(self) -> tuple[Digit, ...]:
        """Registers', lanes' and warps' digits."""
        return self.registers + self.lanes + self.warps

    def coordinate(self, axis: int, register: int, lane: int, warp: int) -> int:
        """The coordinate along an axis of one thread's register."""
        total = 0
        for number, digits in ((register, self.registers), (lane, self.lanes), (warp, self.warps)):
            for digit in digits:
                number, value = divmod(number, digit.extent)
                if digit.axis == axis:
                    total += value * digit.stride
        return total

    def coordinates(self, register: int, lane: int, warp: int) -> tuple[int, ...]:
        """All coordinates of one thread's register."""
        return tuple(self.coordinate(axis, register, lane, warp) for axis in range(self.rank))

    @property
    def text(self) -> str:
        """The form that `parse_layout` reads back."""
        return _layout_text(self)

    def __str__(self) -> str:
        return _layout_text(self)


@lru_cache(maxsize=1024)
def _layout_text(layout: Layout) -> str:
    parts = (_digits_text(layout.registers), _digits_text(layout.lanes), _digits_text(layout.warps))
    return f"({layout.rank} | {' | '.join(parts)})"


_DIGIT = re.compile(r"(\*|\d+):(\d+)(?::(\d+))?$")


def _parse_digits(text: str) -> tuple[Digit, ...]:
    digits: list[Digit] = []
    for piece in text.split():
        match = _DIGIT.match(piece)
        if match is None:
            raise ValueError(f"bad digit `{piece}`")
        axis = REPLICATED if match[1] == "*" else int(match[1])
        digits.append(Digit(axis, int(match[2]), 0 if axis == REPLICATED else int(match[3] or 1)))
    return tuple(digits)


@lru_cache(maxsize=1024)
def parse_layout(text: str) -> Layout:
    """Read back what `str` of a layout prints. Errors: ValueError."""
    pieces = text.strip().removeprefix("(").removesuffix(")").split("|")
    if len(pieces) != 4:
        raise ValueError(f"`{text}` is not a layout")
    return Layout(int(pieces[0]), *(_parse_digits(piece) for piece in pieces[1:]))


def replicated(extent: int) -> Digit:
    """A digit that moves no coordinate."""
    return Digit(REPLICATED, extent, 0)


def _dropped(digits: Sequence[Digit], axis: int, renumber: bool, keep_slot: bool) -> tuple[Digit, ...]:
    found: list[Digit] = []
    for digit in digits:
        if digit.axis == axis:
            if keep_slot:
                found.append(replicated(digit.extent))
        elif renumber and digit.axis > axis:
            found.append(Digit(digit.axis - 1, digit.extent, digit.stride))
        else:
            found.append(digit)
    return tuple(found)


def without_axis(layout: Layout, axis: int, *, keepdims: bool) -> Layout:
    """The layout of a reduction's result: registers of the axis go, lanes and warps of it replicate."""
    renumber = not keepdims
    return Layout(
        layout.rank - renumber,
        _dropped(layout.registers, axis, renumber, keep_slot=False),
        _dropped(layout.lanes, axis, renumber, keep_slot=True),
        _dropped(layout.warps, axis, renumber, keep_slot=True),
    )


def permuted(layout: Layout, permutation: Sequence[int]) -> Layout:
    """The layout of a transpose: axis k of the result is axis permutation[k] of the source."""
    where = {old: new for new, old in enumerate(permutation)} | {REPLICATED: REPLICATED}

    def renamed(digits: Sequence[Digit]) -> tuple[Digit, ...]:
        return tuple(Digit(where[d.axis], d.extent, d.stride) for d in digits)

    return Layout(layout.rank, renamed(layout.registers), renamed(layout.lanes), renamed(layout.warps))


def split_digit(digit: Digit, inner: int, inner_axis: int) -> tuple[Digit, ...] | None:
    """A merged axis's digit as digits of (outer, inner) axes; None if it straddles. `inner_axis` is the inner one."""
    if digit.stride % inner == 0:
        return (Digit(inner_axis - 1, digit.extent, digit.stride // inner),)
    reach = digit.extent * digit.stride
    if reach <= inner:
        return (Digit(inner_axis, digit.extent, digit.stride),)
    low, remainder = divmod(inner, digit.stride)
    if remainder or digit.extent % low:
        return None
    return (Digit(inner_axis, low, digit.stride), Digit(inner_axis - 1, digit.extent // low, 1))


def split_over(digit: Digit, extents: Sequence[int], first_axis: int) -> tuple[Digit, ...] | None:
    """A digit of a merged axis as digits of the axes that it merges (row-major), least significant first.

    `extents` are the axes' extents, the first being axis `first_axis`. None if the digit straddles two axes unevenly.
    """
    pieces: list[Digit] = []
    rest: Digit | None = digit
    for place in range(len(extents) - 1, 0, -1):
        assert rest is not None
        found = split_digit(Digit(1, rest.extent, rest.stride), extents[place], 1)
        if found is None:
            return None
        rest = None
        for piece in found:
            if piece.axis == 1:
                pieces.append(Digit(first_axis + place, piece.extent, piece.stride))
            else:
                rest = Digit(1, piece.extent, piece.stride)
        if rest is None:
            return tuple(pieces)
    assert rest is not None
    return (*pieces, Digit(first_axis, rest.extent, rest.stride))


def restricted(layout: Layout, axes: Sequence[int]) -> Layout:
    """The layout of a tile that has only some axes and is spread over the others: axis k is axis axes[k] of `layout`.

    An entry REPLICATED stands for an axis of extent 1.
    """
    where = {old: new for new, old in enumerate(axes) if old != REPLICATED}

    def renamed(digits: Sequence[Digit], keep_slot: bool) -> tuple[Digit, ...]:
        found: list[Digit] = []
        for digit in digits:
            if digit.axis in where:
                found.append(Digit(where[digit.axis], digit.extent, digit.stride))
            elif keep_slot:
                found.append(replicated(digit.extent))
        return tuple(found)

    return Layout(len(axes), renamed(layout.registers, False), renamed(layout.lanes, True), renamed(layout.warps, True))


def distribute(extents: Sequence[int], warps: int, caps: Mapping[int, int]) -> Layout:
    """A layout for any tile: the last axis over lanes and warps first, then the one before; registers take the rest.

    `caps` bounds, for some axes, how many indices lanes and warps may cover.
    """
    lanes_left, warps_left = WARP_LANES, warps
    registers: list[Digit] = []
    lanes: list[Digit] = []
    warp_digits: list[Digit] = []
    for axis in reversed(range(len(extents))):
        reach = 1 << max(extents[axis] - 1, 0).bit_length()
        reach = min(reach, caps.get(axis, reach))
        lane_part = min(lanes_left, reach)
        warp_part = min(warps_left, reach // lane_part)
        if lane_part > 1:
            lanes.append(Digit(axis, lane_part, 1))
        if warp_part > 1:
            warp_digits.append(Digit(axis, warp_part, lane_part))
        rest = -(-extents[axis] // (lane_part * warp_part))
        if rest > 1:
            registers.append(Digit(axis, rest, lane_part * warp_part))
        lanes_left //= lane_part
        warps_left //= warp_part
    if lanes_left > 1:
        lanes.append(replicated(lanes_left))
    if warps_left > 1:
        warp_digits.append(replicated(warps_left))
    return Layout(len(extents), tuple(registers), tuple(lanes), tuple(warp_digits))


def contiguous_run(layout: Layout, axis: int) -> int:
    """How many neighbours along an axis the lanes of a warp hold together, a thread's vector included."""
    first = layout.registers[:1]
    run = first[0].extent if first and (first[0].axis, first[0].stride) == (axis, 1) else 1
    for digit in sorted(layout.lanes, key=lambda d: d.stride):
        if digit.axis == axis and digit.stride == run:
            run *= digit.extent
    return run


def along_last(extents: Sequence[int], warps: int, vector: int) -> Layout:
    """`distribute` with `vector` neighbours of the last axis in a thread, as far as the axis goes."""
    last = len(extents) - 1
    vector = min(vector, 1 << max(extents[last] - 1, 0).bit_length())
    spread = distribute((*extents[:-1], -(-extents[last] // vector)), warps, {})

    def widened(digits: Sequence[Digit]) -> tuple[Digit, ...]:
        return tuple(Digit(d.axis, d.extent, d.stride * vector) if d.axis == last else d for d in digits)

    first = (Digit(last, vector, 1),) if vector > 1 else ()
    return Layout(len(extents), first + widened(spread.registers), widened(spread.lanes), widened(spread.warps))
