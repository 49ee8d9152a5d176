"""The part of a layout that is linear over F2: matrices from (register, lane, warp) bits to coordinate bits.

A matrix is a tuple of columns, one per input bit, each a number whose bits are the output bits that the input bit
flips. Sums of strides are such a matrix where every stride is a power of two and no two digits share a coordinate bit.
Register digits that are not powers of two stay outside, as digits of whole blocks. After "Linear Layouts" (arXiv
2505.23819).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product

from agentkern.compiler.layout.layout import REPLICATED, Digit, Layout


@dataclass(frozen=True, slots=True)
class LinearMap:
    """x -> the sum over F2 of the columns at x's set bits; `out_bits` output bits."""

    columns: tuple[int, ...]
    out_bits: int

    def __post_init__(self) -> None:
        if any(column < 0 or column >> self.out_bits for column in self.columns):
            raise ValueError(f"a column of {self.columns} does not fit {self.out_bits} bits")

    @property
    def in_bits(self) -> int:
        """Number of input bits."""
        return len(self.columns)

    def __call__(self, x: int) -> int:
        """The image of a number."""
        total = 0
        for bit, column in enumerate(self.columns):
            if x >> bit & 1:
                total ^= column
        return total

    def after(self, first: LinearMap) -> LinearMap:
        """The composition self(first(x))."""
        if first.out_bits != self.in_bits:
            raise ValueError(f"{first.out_bits} bits do not enter a map of {self.in_bits}")
        return LinearMap(tuple(self(column) for column in first.columns), self.out_bits)

    def beside(self, other: LinearMap) -> LinearMap:
        """Both at once: self on the low input bits into the low output bits, `other` on the rest."""
        raised = tuple(column << self.out_bits for column in other.columns)
        return LinearMap(self.columns + raised, self.out_bits + other.out_bits)

    @property
    def rank(self) -> int:
        """Dimension of the image."""
        return len(_reduced(self.columns)[0])

    @property
    def is_injective(self) -> bool:
        """Whether no two inputs have one image."""
        return self.rank == self.in_bits

    @property
    def is_surjective(self) -> bool:
        """Whether every output has an input."""
        return self.rank == self.out_bits

    def kernel(self) -> tuple[int, ...]:
        """A basis of the inputs whose image is 0: how the layout replicates."""
        return _reduced(self.columns)[1]

    def solve(self, y: int) -> int | None:
        """The input with image y that uses the lowest independent columns; None if there is none."""
        x = 0
        for pivot, image, source in _reduced(self.columns)[0]:
            if y >> pivot & 1:
                y ^= image
                x ^= source
        return None if y else x

    def right_inverse(self) -> LinearMap | None:
        """A map g with self(g(y)) == y for all y; None if self is not surjective."""
        if not self.is_surjective:
            return None
        found = [self.solve(1 << bit) for bit in range(self.out_bits)]
        return LinearMap(tuple(x for x in found if x is not None), self.in_bits)

    def inverse(self) -> LinearMap | None:
        """The map that undoes self on both sides; None if self is not a bijection."""
        return self.right_inverse() if self.in_bits == self.out_bits else None


def identity_map(bits: int) -> LinearMap:
    """The map that changes nothing."""
    return LinearMap(tuple(1 << bit for bit in range(bits)), bits)


def _reduced(columns: Sequence[int]) -> tuple[tuple[tuple[int, int, int], ...], tuple[int, ...]]:
    """Rows (pivot bit, image, input that makes it), each pivot in one image only, and a basis of the kernel."""
    rows: list[tuple[int, int, int]] = []
    kernel: list[int] = []
    for number, column in enumerate(columns):
        image, source = column, 1 << number
        for pivot, other, other_source in rows:
            if image >> pivot & 1:
                image ^= other
                source ^= other_source
        if not image:
            kernel.append(source)
            continue
        pivot = image.bit_length() - 1
        rows = [(p, i ^ image, s ^ source) if i >> pivot & 1 else (p, i, s) for p, i, s in rows]
        rows.append((pivot, image, source))
    return tuple(rows), tuple(kernel)


@dataclass(frozen=True, slots=True)
class LinearLayout:
    """A layout's power-of-two part as a matrix; `outer` are the register digits of whole blocks beside it.

    Input bits are the registers', then the lanes', then the warps'; output bits are axis 0's coordinate bits, then axis
    1's, and so on (`axis_bits` of each). Outer digits move by whole blocks of the part inside.
    """

    map: LinearMap
    register_bits: int
    lane_bits: int
    warp_bits: int
    axis_bits: tuple[int, ...]
    outer: tuple[Digit, ...]

    def coordinates(self, register: int, lane: int, warp: int) -> tuple[int, ...]:
        """Coordinates of a register of the inner part."""
        packed = self.map(register | lane << self.register_bits | warp << (self.register_bits + self.lane_bits))
        found: list[int] = []
        for bits in self.axis_bits:
            found.append(packed & ((1 << bits) - 1))
            packed >>= bits
        return tuple(found)

    def packed(self, coordinates: Sequence[int]) -> int:
        """Coordinates as one number of output bits."""
        total, shift = 0, 0
        for coordinate, bits in zip(coordinates, self.axis_bits, strict=True):
            total |= coordinate << shift
            shift += bits
        return total

    def holder(self, coordinates: Sequence[int]) -> tuple[int, int, int] | None:
        """The first (register, lane, warp) of the inner part that holds an element; None if none does."""
        if any(c >> bits for c, bits in zip(coordinates, self.axis_bits, strict=True)):
            return None
        found = self.map.solve(self.packed(coordinates))
        if found is None:
            return None
        lanes = found >> self.register_bits
        return (
            found & ((1 << self.register_bits) - 1),
            lanes & ((1 << self.lane_bits) - 1),
            lanes >> self.lane_bits,
        )

    @property
    def copies(self) -> int:
        """How many (register, lane, warp) hold each element."""
        return 1 << (self.map.in_bits - self.map.rank)


def _bits_of(digits: Sequence[Digit]) -> Iterator[tuple[int, int]]:
    """(axis, stride) of each bit of the power-of-two part of some digits; (REPLICATED, 0) of a replicated one."""
    for digit in digits:
        for bit in range(power_of_two_part(digit.extent).bit_length() - 1):
            yield (digit.axis, digit.stride << bit if digit.axis != REPLICATED else 0)


def power_of_two_part(number: int) -> int:
    """The largest power of two that divides a number."""
    return number & -number


def outer_digits(registers: Sequence[Digit]) -> tuple[Digit, ...]:
    """What the power-of-two parts leave of register digits."""
    found: list[Digit] = []
    for digit in registers:
        inside = power_of_two_part(digit.extent)
        if digit.extent > inside:
            found.append(Digit(digit.axis, digit.extent // inside, digit.stride * inside))
    return tuple(found)


def linear_part(layout: Layout) -> LinearLayout | None:
    """The F2 view of a layout; None where a stride is no power of two or two digits share a coordinate bit."""
    parts = [list(_bits_of(digits)) for digits in (layout.registers, layout.lanes, layout.warps)]
    bits = [bit for part in parts for bit in part]
    moving = [bit for bit in bits if bit[0] != REPLICATED]
    if any(stride & (stride - 1) or not stride for _, stride in moving) or len(set(moving)) != len(moving):
        return None
    axis_bits = tuple(
        max((stride.bit_length() for axis, stride in moving if axis == number), default=0)
        for number in range(layout.rank)
    )
    offsets = [sum(axis_bits[:number]) for number in range(layout.rank)]
    columns = tuple(0 if axis == REPLICATED else stride << offsets[axis] for axis, stride in bits)
    outer = outer_digits(layout.registers)
    if any(digit.axis != REPLICATED and digit.stride % (1 << axis_bits[digit.axis]) for digit in outer):
        return None
    map_ = LinearMap(columns, sum(axis_bits))
    return LinearLayout(map_, len(parts[0]), len(parts[1]), len(parts[2]), axis_bits, outer)


def outer_offsets(rank: int, outer: Sequence[Digit]) -> tuple[tuple[int, ...], ...]:
    """Coordinates of every outer block's first element, the first outer digit fastest."""
    found: list[tuple[int, ...]] = []
    for values in product(*(range(d.extent) for d in reversed(outer))):
        offset = [0] * rank
        for digit, value in zip(reversed(outer), values, strict=True):
            if digit.axis != REPLICATED:
                offset[digit.axis] += value * digit.stride
        found.append(tuple(offset))
    return tuple(found)


def same_elements(a: Layout, b: Layout) -> bool:
    """Whether every thread holds the same elements in the same registers in both layouts, however they are written."""
    if (a.rank, a.register_count, a.warp_count) != (b.rank, b.register_count, b.warp_count):
        return False
    if list(_bits_of(a.lanes)) != list(_bits_of(b.lanes)) or list(_bits_of(a.warps)) != list(_bits_of(b.warps)):
        return False
    return all(a.coordinates(register, 0, 0) == b.coordinates(register, 0, 0) for register in range(a.register_count))
