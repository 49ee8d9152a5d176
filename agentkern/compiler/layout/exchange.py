"""Plan a conversion inside warps: renumbered registers, shuffles, selects. Knows no IR.

Every bit of a register, lane or warp number adds one (axis, stride) to an element's coordinates. Two layouts made of
the same such atoms differ only in which bit carries which atom, so a conversion is a sequence of moves of atoms:
swap a register bit with a lane bit (half the registers are shuffled), swap two lane bits, spread a lane bit over
registers, take one value of a lane bit, pick registers by a lane or warp bit that held copies.
After the shuffle conversions of "Linear Layouts" (arXiv 2505.23819), over atoms instead of matrices.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from agentkern.compiler.layout.layout import REPLICATED, Digit, Layout

Atom = tuple[int, int]
"""(axis, stride): what a bit adds to the coordinates."""

StepKind = Literal["swap", "lanes", "spread", "take", "pick_by_lane", "pick_by_warp"]


@dataclass(frozen=True, slots=True)
class Step:
    """One move; `register`, `lane`, `other` are bit numbers.

    It works on the registers whose number is `base` plus any sum of the `live` bits.

    swap: register bit `register` and lane bit `lane`. lanes: lane bits `lane` and `other`. spread: lane bit `lane` to
    the new register bit `register`. take: every lane gets what lanes with bit `lane` equal to `other` hold.
    pick_by_lane, pick_by_warp: registers whose bit `register` is this thread's lane or warp bit `lane`.
    """

    kind: StepKind
    register: int
    lane: int
    other: int
    live: tuple[int, ...]
    base: int

    @property
    def shuffles(self) -> int:
        """Values that a thread sends."""
        values = 1 << len(self.live)
        if self.kind == "swap":
            return values // 2
        return 0 if self.kind.startswith("pick") else values

    @property
    def selects(self) -> int:
        """Values chosen by a thread's number."""
        values = 1 << len(self.live)
        return {"lanes": values, "take": values, "swap": 3 * values // 2, "spread": 2 * values}.get(
            self.kind, values // 2
        )


@dataclass(frozen=True, slots=True)
class RegisterTerm:
    """Of the new register number, (r // divisor) % extent moves the old number by `factor`."""

    divisor: int
    extent: int
    factor: int


@dataclass(frozen=True, slots=True)
class Exchange:
    """Moves of a conversion inside warps.

    `terms` and `start` lead from a new register's number to an old one's. Where `entry` is not None, registers first go
    to an array of 2 ** `bits` by power-of-two numbers, the steps move them there, and terms and start number that
    array; `entry` holds the factor of each old digit.
    """

    bits: int
    entry: tuple[int, ...] | None
    steps: tuple[Step, ...]
    terms: tuple[RegisterTerm, ...]
    start: int

    @property
    def shuffles(self) -> int:
        """Values that each thread sends in all."""
        return sum(step.shuffles for step in self.steps)

    @property
    def selects(self) -> int:
        """Values chosen in all."""
        return sum(step.selects for step in self.steps)


def _virtual_bits(extent: int) -> int:
    return max(extent - 1, 0).bit_length()


def _atoms(digits: Sequence[Digit]) -> list[Atom | None]:
    """The atom of every bit; None of replicated bits."""
    found: list[Atom | None] = []
    for digit in digits:
        for bit in range(_virtual_bits(digit.extent)):
            found.append(None if digit.axis == REPLICATED else (digit.axis, digit.stride << bit))
    return found


def has_sound_atoms(layout: Layout) -> bool:
    """Whether an element's atoms always name a register that exists.

    Digits of one axis must not step over each other, and an extent that is no power of two stands on top of its axis.
    """
    for axis in range(layout.rank):
        digits = sorted((d for d in layout.all_digits() if d.axis == axis), key=lambda d: (d.stride, d.extent))
        digits = [d for d in digits if d.extent > 1]
        reach = 1
        for place, digit in enumerate(digits):
            is_top = place == len(digits) - 1
            if digit.stride < reach or (digit.extent & (digit.extent - 1) and not is_top):
                return False
            reach = digit.stride * digit.extent
    return True


def start_atoms(before: Layout, after: Layout, starts: Sequence[int]) -> dict[Atom, int] | None:
    """The atoms of a whole tile that are set all over its part from `starts` on; None if that is not how it lies."""
    theirs = {*_atoms(after.registers), *_atoms(after.lanes), *_atoms(after.warps)}
    mine = {*_atoms(before.registers), *_atoms(before.lanes), *_atoms(before.warps)}
    free = sorted((atom for atom in mine - theirs if atom is not None), key=lambda atom: -atom[1])
    found: dict[Atom, int] = {}
    for axis, start in enumerate(starts):
        for atom in free:
            if atom[0] == axis and atom[1] <= start:
                found[atom] = 1
                start -= atom[1]
        if start:
            return None
    return found


class _Search:
    """The state of a plan: which atom every bit carries."""

    def __init__(self, before: Layout, after: Layout, extents: Sequence[int], fixed: Mapping[Atom, int]) -> None:
        def wanted(digits: Sequence[Digit], as_before: Sequence[Atom | None]) -> list[Atom | None]:
            """Atoms of a new number; those past an extent only where they stay in place."""
            return [
                a if a is not None and (a[1] < extents[a[0]] or as_before[place : place + 1] == [a]) else None
                for place, a in enumerate(_atoms(digits))
            ]

        self.registers: list[Atom | None] = _atoms(before.registers)
        self.lanes = _atoms(before.lanes)
        self.warps = _atoms(before.warps)
        self.to_registers = wanted(after.registers, self.registers)
        self.to_lanes = wanted(after.lanes, self.lanes)
        self.to_warps = wanted(after.warps, self.warps)
        self.fixed = fixed
        needed = {*self.to_registers, *self.to_lanes, *self.to_warps}
        self.start = 0
        self.steps: list[Step] = []
        for bit, atom in enumerate(self.registers):
            if atom not in needed:
                self.drop(bit)

    def drop(self, bit: int) -> None:
        """Keep only one value of a register bit."""
        atom = self.registers[bit]
        self.start |= (self.fixed.get(atom, 0) if atom is not None else 0) << bit
        self.registers[bit] = None

    @property
    def live(self) -> tuple[int, ...]:
        return tuple(bit for bit, atom in enumerate(self.registers) if atom is not None)

    def step(self, kind: StepKind, register: int, lane: int, other: int = 0) -> None:
        self.steps.append(Step(kind, register, lane, other, self.live, self.start))

    def fill_lane(self, lane: int, atom: Atom) -> bool:
        """Bring an atom to a lane bit."""
        if atom in self.lanes:
            other = self.lanes.index(atom)
            self.step("lanes", 0, lane, other)
            self.lanes[lane], self.lanes[other] = self.lanes[other], self.lanes[lane]
            return True
        if atom not in self.registers:
            return False
        register = self.registers.index(atom)
        if self.lanes[lane] is None:
            self.step("pick_by_lane", register, lane)
            self.lanes[lane], self.registers[register] = atom, None
            return True
        self.step("swap", register, lane)
        self.lanes[lane], self.registers[register] = atom, self.lanes[lane]
        if self.registers[register] not in (*self.to_registers, *self.to_lanes, *self.to_warps):
            self.drop(register)
        return True

    def empty_lane(self, lane: int) -> None:
        """Make a lane bit hold copies; its atom goes to registers where it is wanted."""
        atom = self.lanes[lane]
        assert atom is not None
        if atom in self.to_registers or atom in self.to_warps:
            self.step("spread", len(self.registers), lane)
            self.registers.append(atom)
        else:
            self.step("take", 0, lane, self.fixed.get(atom, 0))
        self.lanes[lane] = None

    def fill_warp(self, warp: int, atom: Atom) -> bool:
        """Let warps that hold copies keep one value of an atom each."""
        if self.warps[warp] is not None or atom not in self.registers:
            return False
        register = self.registers.index(atom)
        self.step("pick_by_warp", register, warp)
        self.warps[warp], self.registers[register] = atom, None
        return True

    def run(self) -> bool:
        """Find the steps; False where data would have to cross warps."""
        wanted_warps = [(warp, atom) for warp, atom in enumerate(self.to_warps) if atom is not None]
        if any(atom is not None and atom != self.to_warps[warp] for warp, atom in enumerate(self.warps)):
            return False
        for warp, atom in wanted_warps:
            if self.warps[warp] is None and atom in self.registers:
                self.fill_warp(warp, atom)
        for lane, atom in enumerate(self.to_lanes):
            if atom is not None and self.lanes[lane] != atom and not self.fill_lane(lane, atom):
                return False
        for lane, atom in enumerate(self.to_lanes):
            if atom is None and self.lanes[lane] is not None:
                self.empty_lane(lane)
        for warp, atom in wanted_warps:
            if self.warps[warp] != atom and not self.fill_warp(warp, atom):
                return False
        return all(atom is None or atom in self.registers for atom in self.to_registers)


def _number_places(before: Layout) -> list[int]:
    """How far each register bit moves the old layout's register number."""
    places: list[int] = []
    divisor = 1
    for digit in before.registers:
        places += [divisor << bit for bit in range(_virtual_bits(digit.extent))]
        divisor *= digit.extent
    return places


def _terms(search: _Search, after: Layout, places: Sequence[int]) -> tuple[RegisterTerm, ...] | None:
    """The new register number's digits as moves of the old; None if a digit that is no power of two falls apart."""
    terms: list[RegisterTerm] = []
    divisor, bit = 1, 0
    for digit in after.registers:
        runs: list[RegisterTerm] = []
        for place in range(_virtual_bits(digit.extent)):
            atom = search.to_registers[bit + place]
            factor = places[search.registers.index(atom)] if atom is not None else 0
            last = runs[-1] if runs else None
            if last is not None and factor == last.factor * last.extent:
                runs[-1] = RegisterTerm(last.divisor, last.extent * 2, last.factor)
            else:
                runs.append(RegisterTerm(divisor << place, 2, factor))
        if digit.extent & (digit.extent - 1):
            if len(runs) != 1:
                return None
            runs = [RegisterTerm(divisor, digit.extent, runs[0].factor)]
        terms += [run for run in runs if run.factor]
        divisor *= digit.extent
        bit += _virtual_bits(digit.extent)
    return tuple(terms)


def plan_exchange(
    before: Layout, after: Layout, extents: Sequence[int], fixed: Mapping[Atom, int] | None = None
) -> Exchange | None:
    """Moves inside warps from one layout to another of a tile of `extents`; None where there are none.

    Coordinates at or past an extent hold nothing that anyone reads. `fixed`: the value of each atom of `before` that
    `after` lacks, where it is not 0 (the start of a slice).
    """
    if (before.rank, before.warp_count) != (after.rank, after.warp_count) or not has_sound_atoms(before):
        return None
    search = _Search(before, after, extents, fixed or {})
    if not search.run():
        return None
    bits = len(search.registers)
    if not search.steps:
        places = _number_places(before)
        terms = _terms(search, after, places)
        start = sum(place for bit, place in enumerate(places) if search.start >> bit & 1)
        if terms is not None and start + sum((t.extent - 1) * t.factor for t in terms) < max(before.register_count, 1):
            return Exchange(bits, None, (), terms, start)
    terms = _terms(search, after, [1 << bit for bit in range(bits)])
    if terms is None:
        return None
    return Exchange(bits, _entry(before), tuple(search.steps), terms, search.start)


def _entry(before: Layout) -> tuple[int, ...]:
    """The factor of each old digit in a power-of-two register number."""
    entry: list[int] = []
    bit = 0
    for digit in before.registers:
        entry.append(1 << bit)
        bit += _virtual_bits(digit.extent)
    return tuple(entry)
