"""Choose how a tile goes from one layout to another: not at all, by registers, by shuffles, or through shared memory.

Costs are counted from the layouts, in quarter cycles of an SM and warp. Throughputs: CUDA C++ programming guide,
"Arithmetic instructions": 32 shuffled values a cycle (one warp's), 128 selects a cycle; shared memory 128 bytes a
cycle. Knows no IR.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from agentkern.compiler.layout.exchange import Atom, Exchange, plan_exchange
from agentkern.compiler.layout.layout import Digit, Layout, replicated
from agentkern.compiler.layout.shared_exchange import (
    QUARTERS,
    SharedExchange,
    Side,
    plan_shared,
    shared_cost,
)

SHUFFLE_COST = QUARTERS
SELECT_COST = 1
BARRIER_COST = 16 * QUARTERS  # a block's warps meet in about this many cycles when none is late
WORD_BYTES = 4

Kind = Literal["nothing", "registers", "shuffles", "shared"]


@dataclass(frozen=True, slots=True)
class Conversion:
    """The chosen plan: `exchange` of all kinds but the last, `shared` of that one. `cost`: a warp's quarter cycles."""

    kind: Kind
    cost: int
    exchange: Exchange | None
    shared: SharedExchange | None

    @property
    def text(self) -> str:
        """The plan in words."""
        if self.shared is not None:
            plan = self.shared
            swizzled = ", swizzled" if plan.swizzle.bits else ""
            return (
                f"shared memory, {plan.count} elements by strides {plan.strides}{swizzled}, {plan.write_width} a write,"
                f" {plan.read_width} a read; a warp: {plan.accesses} accesses, {plan.wavefronts} wavefronts,"
                f" {plan.conflicts} bank conflicts"
            )
        if self.kind != "shuffles" or self.exchange is None:
            return "nothing moves" if self.kind == "nothing" else "registers by other numbers"
        steps = ", ".join(step.kind for step in self.exchange.steps)
        return f"{self.exchange.shuffles} shuffles and {self.exchange.selects} selects a thread ({steps})"


@dataclass(frozen=True, slots=True)
class Tile:
    """What is converted: bounds of the tile's extents, bytes of an element, and whether the run clips an axis.

    `result` are bounds of what is read, where that is less than the tile (a slice).
    """

    extents: tuple[int, ...]
    nbytes: int
    clipped: bool
    result: tuple[int, ...] | None = None


def exchange_cost(exchange: Exchange, nbytes: int) -> int:
    """Quarter cycles of one warp."""
    words = -(-nbytes // WORD_BYTES)
    return words * (SHUFFLE_COST * exchange.shuffles + SELECT_COST * exchange.selects)


@lru_cache(maxsize=512)
def _shared(before: Side, after: Side, tile: Tile) -> SharedExchange:
    return plan_shared(before, after, tile.extents, tile.nbytes, clipped=tile.clipped)


def _is_same(exchange: Exchange, before: Layout, after: Layout) -> bool:
    """Whether every register keeps its number."""
    if exchange.steps or exchange.start or exchange.entry is not None:
        return False
    place = 1
    for term in exchange.terms:
        if term.divisor != place or term.factor != place:
            return False
        place *= term.extent
    return place == after.register_count == before.register_count


def plan_conversion(
    before: Side,
    after: Side,
    tile: Tile,
    *,
    fixed: Mapping[Atom, int] | None = None,
    whole_atoms: bool = True,
) -> Conversion:
    """The cheapest way; ties go to the one that needs no barrier. `fixed` as in `plan_exchange`.

    `whole_atoms` False: some coordinate of a layout is not an element's (axes merged that a layout covers beyond their
    extents), so that only guarded accesses to shared memory tell them apart.
    """
    extents = tile.result or tile.extents
    exchange = plan_exchange(before.layout, after.layout, extents, fixed) if whole_atoms else None
    if exchange is not None and not exchange.steps:
        kind: Kind = "nothing" if _is_same(exchange, before.layout, after.layout) else "registers"
        return Conversion(kind, 0, exchange, None)
    shared = _shared(before, after, tile)
    through_shared = shared_cost(shared) + BARRIER_COST
    if exchange is not None and exchange_cost(exchange, tile.nbytes) <= through_shared:
        return Conversion("shuffles", exchange_cost(exchange, tile.nbytes), exchange, None)
    return Conversion("shared", through_shared, None, shared)


def merged_axes(layout: Layout, groups: Sequence[Sequence[int]], extents: Sequence[int]) -> Layout:
    """The layout of a tile whose axes are merged row-major: axis k of the result is axes groups[k], innermost last.

    `extents` are the axes' extents; the first of a group may be any number.
    """
    where: dict[int, tuple[int, int]] = {}
    for number, group in enumerate(groups):
        stride = 1
        for axis in reversed(group):
            where[axis] = (number, stride)
            stride *= extents[axis]

    def moved(digits: Sequence[Digit]) -> tuple[Digit, ...]:
        return tuple(
            Digit(where[d.axis][0], d.extent, d.stride * where[d.axis][1]) if d.axis in where else replicated(d.extent)
            for d in digits
        )

    return Layout(len(groups), moved(layout.registers), moved(layout.lanes), moved(layout.warps))
