"""Run through all blocks of small sizes and mark what is written: for stores that fill no simple box."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from agentkern.compiler.analysis import blocks
from agentkern.compiler.analysis.accesses import Access, AxisIndex, KernelFacts, Scope
from agentkern.compiler.analysis.requirements import clauses_of
from agentkern.compiler.ir import dims
from agentkern.compiler.ir.core import Value
from agentkern.compiler.ir.types import BlockType, TensorType
from agentkern.compiler.proofs.violation import number, size_unknowns

MAX_VISITS = 20_000
MAX_SETTINGS = 200
SMALL = 4


@dataclass(frozen=True, slots=True)
class Unwritten:
    """An element that no store reaches at the given sizes."""

    sizes: Mapping[str, int]
    element: tuple[int, ...]


def first_unwritten(facts: KernelFacts, tensor: Value, scopes: Sequence[Scope]) -> Unwritten | bool:
    """An element that is not written; True where enumeration proves there is none; False where it decides nothing."""
    writes = [(scope, a) for scope in scopes for a in scope.accesses if a.writes and a.tensor is tensor]
    stores = [(scope.around(a.op), a) for scope, a in writes if not a.is_atomic]
    if any(not _is_plain(scope, store) for scope, store in stores):
        return False
    budget = MAX_VISITS
    unknowns = size_unknowns(facts)
    required = clauses_of(facts.required)
    for sizes in itertools.islice(_settings(facts), MAX_SETTINGS):
        try:
            if not all(max(number(member, sizes) for member in clause) >= 0 for clause in required):
                continue
            budget -= _cost(tensor, stores, sizes)
            if budget < 0:
                return False
            missing = _missing(tensor, stores, sizes)
        except ZeroDivisionError:
            continue
        if missing is not None:
            return Unwritten(sizes, missing)
    return all(isinstance(u.lows[0], int) and u.lows == u.highs for u in unknowns)


def _is_plain(scope: Scope, store: Access) -> bool:
    """Whether the store runs once per block and step, and its indices depend on nothing but those and sizes."""
    forms, around = scope.forms, scope.blocks
    names = {name for block in around for name in blocks.block_facts(block)}
    fixed = all(names.isdisjoint([*dims.symbols(b.first), *dims.symbols(b.extent)]) for b in around)
    plain = fixed and store.op not in scope.conditional and not store.masked
    return plain and not (forms.data or forms.derived or forms.scalars)


def _settings(facts: KernelFacts) -> Iterator[dict[str, int]]:
    """Assignments of the sizes, the smallest sums first."""
    choices: list[list[int]] = []
    unknowns = size_unknowns(facts)
    for unknown in unknowns:
        low, high = unknown.lows[0], unknown.highs[0]
        assert isinstance(low, int)
        assert isinstance(high, int)
        choices.append([low + k * unknown.multiple_of for k in range(SMALL) if low + k * unknown.multiple_of <= high])
    for picked in sorted(itertools.product(*choices), key=lambda p: (sum(p), p)):
        yield dict(zip((u.name for u in unknowns), picked, strict=True))


def _shape(tensor: Value, sizes: Mapping[str, int]) -> tuple[int, ...]:
    assert isinstance(tensor.type, TensorType)
    return tuple(number(extent, sizes) for extent in tensor.type.shape)


def _counts(scope: Scope, sizes: Mapping[str, int]) -> list[int]:
    return [max(number(blocks.count(block), sizes), 0) for block in scope.blocks]


def _cost(tensor: Value, stores: Sequence[tuple[Scope, Access]], sizes: Mapping[str, int]) -> int:
    total = _product(_shape(tensor, sizes))
    for scope, store in stores:
        elements = 1
        first = {**sizes, **_block_values(scope.blocks, [0] * len(scope.blocks), sizes)}
        for index in store.axes:
            if index.kind == "range":
                elements *= max(number(index.high, first) - number(index.low, first), 0)
            elif index.block is not None:
                elements *= index.block.block or 1
        total += _product(_counts(scope, sizes)) * elements
    return total


def _product(numbers: Sequence[int]) -> int:
    total = 1
    for n in numbers:
        total *= n
    return total


def _missing(tensor: Value, stores: Sequence[tuple[Scope, Access]], sizes: Mapping[str, int]) -> tuple[int, ...] | None:
    written: set[tuple[int, ...]] = set()
    for scope, store in stores:
        for numbers in itertools.product(*(range(n) for n in _counts(scope, sizes))):
            values = {**sizes, **_block_values(scope.blocks, numbers, sizes)}
            written.update(itertools.product(*(_indices(index, values) for index in store.axes)))
    for element in itertools.product(*(range(n) for n in _shape(tensor, sizes))):
        if element not in written:
            return element
    return None


def _block_values(present: Sequence[BlockType], numbers: Sequence[int], sizes: Mapping[str, int]) -> dict[str, int]:
    found: dict[str, int] = {}
    for block, ordinal in zip(present, numbers, strict=True):
        if block.block is None:
            found[blocks.at_name(block)] = number(block.first, sizes) + ordinal
            found[block.name] = 1
            continue
        found[blocks.ordinal_name(block)] = ordinal
        found[block.name] = min(block.block, number(block.length, sizes) - ordinal * block.block)
    return found


def _indices(index: AxisIndex, values: Mapping[str, int]) -> range:
    block = index.block
    if block is None:
        return range(number(index.low, values), number(index.high, values))
    if block.block is None:
        place = values[blocks.at_name(block)]
        return range(place, place + 1)
    first = number(block.first, values) + values[blocks.ordinal_name(block)] * block.block
    return range(first, first + values[block.name])
