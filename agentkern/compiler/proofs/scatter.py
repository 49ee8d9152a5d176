"""One block never writes an element twice through tiles of indices: each place of the tile has its own element.

Every axis of the tile must follow from the element: an axis that is a block or a range does; an index that is a sum of
digits in a mixed radix gives every digit, and so the axes that these are bound to; a value of a tensor whose values are
distinct gives the element that it is.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from agentkern.compiler.analysis import blocks
from agentkern.compiler.analysis.accesses import Access, KernelFacts, Scope
from agentkern.compiler.analysis.extents import Facts
from agentkern.compiler.ir import dims
from agentkern.compiler.ir.core import Op
from agentkern.compiler.ir.dims import Dim, Symbol
from agentkern.compiler.ir.subscripts import entries_of, tile_of
from agentkern.compiler.ir.types import TileType
from agentkern.compiler.proofs import wording
from agentkern.compiler.proofs.collision import is_distinct
from agentkern.compiler.proofs.obligation import Obligation
from agentkern.compiler.proofs.violation import Form

MAX_DIGITS = 4
HINT = "promise it: `.distinct()` on the parameter that holds the indices, or `ak.store(..., distinct=True)`"


def scatter_obligations(facts: KernelFacts) -> Iterator[Obligation]:
    """One obligation per store through a tile of indices."""
    for scope in facts.scopes:
        for access in scope.accesses:
            if access.op.name == "store" and any(index.spread for index in access.axes):
                yield _obligation(scope.around(access.op), access)


def _obligation(scope: Scope, store: Access) -> Obligation:
    return Obligation(
        "scatter",
        f"`{store.text}` {wording.verb(store)} no element twice in one block",
        store.op.location,
        shown=_is_injective(scope, store),
        tensor=store.tensor.name or "",
        access=store.text,
        promised=promised_distinct(store),
        hint=HINT,
    )


def promised_distinct(store: Access) -> tuple[str, ...]:
    """The kernel's promise that a store's places are distinct."""
    return (f"places of `{store.text}` are distinct",) if store.op.attrs.get("distinct") else ()


def _is_injective(scope: Scope, store: Access) -> bool:
    tile = tile_of(store.op).type
    assert isinstance(tile, TileType)
    open_axes = {tile.rank - axis for axis, extent in enumerate(tile.shape) if extent != 1}
    facts = scope.forms.facts.assuming(store.condition.nonnegative)
    for entry, element in zip((e for e in entries_of(store.op) if e.axis is not None), store.elements, strict=True):
        if element is None:
            open_axes -= {tile.rank - axis for axis in entry.tile_axes}
        else:
            open_axes -= _given(scope, store, facts, element)
    return not open_axes


def _given(scope: Scope, store: Access, facts: Facts, element: Form) -> set[int]:
    """Axes, counted from the end, that an index determines."""
    digits: dict[str, Form] = {}
    if isinstance(element, int):
        return set()
    for monomial, coefficient in element.terms:
        moving = [atom for atom in monomial if any("@" in name for name in dims.symbols(Dim((((atom,), 1),))))]
        if not moving:
            continue
        if len(moving) > 1 or not isinstance(moving[0], Symbol):
            return set()
        rest = tuple(atom for atom in monomial if atom is not moving[0])
        factor: Form = Dim(((rest, coefficient),)) if rest else coefficient
        digits[moving[0].name] = dims.add(digits.get(moving[0].name, 0), factor)
    if not digits or len(digits) > MAX_DIGITS:
        return set()
    if not any(_is_ascending(scope, facts, order, digits) for order in itertools.permutations(digits)):
        return set()
    return {axis for name in digits for axis in _axes_of(scope, store, name)}


def _is_ascending(scope: Scope, facts: Facts, order: tuple[str, ...], digits: dict[str, Form]) -> bool:
    """Whether each digit's factor is larger than all that the digits below it make up."""
    reach: Form | None = 0
    for name in order:
        size = digits[name]
        if not facts.nonnegative(size):
            size = dims.mul(size, -1)
        if reach is None or not facts.at_most(dims.add(reach, 1), size):
            return False
        span = _span(scope, facts, name)
        reach = None if span is None else dims.add(reach, dims.mul(size, span))
    return True


def _span(scope: Scope, facts: Facts, name: str) -> Form | None:
    """By how much two values of a symbol in one block differ at most."""
    for block in scope.forms.blocks:
        if name.startswith(f"{blocks.at_name(block)}@"):
            return dims.add(block.length if block.block is None else block.block, -1)
    known = facts.symbol_interval(name)
    return None if known.low is None or known.high is None else known.high - known.low


def _axes_of(scope: Scope, store: Access, name: str) -> set[int]:
    """Axes that a symbol's value determines: of a block's index its axis, of a distinct value all of its tensor's."""
    base, _, bound = name.partition("@")
    pieces = [piece for piece in bound.split(".") if piece and not piece.startswith("+")]
    axes = {int(piece.partition("+")[0]) for piece in pieces}
    if base.startswith("%"):
        return axes
    origin = scope.forms.origins.get(name)
    plain = origin is not None and _is_plain(origin)
    return axes if plain and is_distinct(scope, name, store) else set()


def _is_plain(load: Op) -> bool:
    """Whether every place of a load's tile is an element of its own: blocks and ranges."""
    entries = [entry for entry in entries_of(load) if entry.operand is not None]
    return all(entry.is_block or entry.is_scalar for entry in entries)
