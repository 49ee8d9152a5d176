"""What a kernel's parameters promise about the values that they hold. Facts only.

`promises` of a kernel's attributes is a tuple of (parameter, kind, ...): `values` with low, high and an ignored value
or None; `distinct` with an ignored value or None; `offsets` with their end; `partial`, of an output.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from agentkern.compiler.analysis.extents import Facts, SymbolFact
from agentkern.compiler.ir import dims
from agentkern.compiler.ir.core import Kernel, walk
from agentkern.compiler.ir.dims import Dim
from agentkern.compiler.ir.types import TensorType, entry_names

Form = int | Dim


@dataclass(frozen=True, slots=True)
class Promise:
    """Every value is `low <= v < high` or `ignore`; `distinct` values are pairwise different unless `ignore_same`.

    `end`: the values are offsets, from 0, never smaller than the one before, up to `end`. `partial`: not every element
    is written.
    """

    low: Form | None = None
    high: Form | None = None
    ignore: int | None = None
    distinct: bool = False
    ignore_same: int | None = None
    end: Form | None = None
    partial: bool = False

    def texts(self, name: str) -> list[str]:
        """The promises in words."""
        found: list[str] = []
        if self.low is not None:
            other = f" or {self.ignore}" if self.ignore is not None else ""
            found.append(f"values of `{name}` are from {self.low} to {self.high} - 1{other}")
        if self.distinct:
            other = f" but for {self.ignore_same}" if self.ignore_same is not None else ""
            found.append(f"values of `{name}` are distinct{other}")
        if self.end is not None:
            found.append(f"values of `{name}` are offsets that end at {self.end}")
        return found


def promises_of(kernel: Kernel) -> dict[str, Promise]:
    """The promises of each parameter that has some."""
    rows = kernel.attrs.get("promises", ())
    assert isinstance(rows, tuple)
    return promises_in(rows)


def promises_in(rows: Iterable[tuple[Any, ...]]) -> dict[str, Promise]:
    """The promises of each parameter, from rows as a kernel's attributes have them."""
    found: dict[str, Promise] = {}
    for name, kind, *values in rows:
        before = found.get(str(name), Promise())
        if kind == "values":
            low, high, ignore = values
            found[str(name)] = replace(before, low=low, high=high, ignore=ignore)
        elif kind == "distinct":
            found[str(name)] = replace(before, distinct=True, ignore_same=values[0])
        elif kind == "offsets":
            found[str(name)] = replace(before, end=values[0])
        else:
            found[str(name)] = replace(before, partial=True)
    return found


def lasting_promises(kernel: Kernel) -> dict[str, Promise]:
    """The promises that hold throughout: what the kernel itself writes to a tensor keeps none about its values."""
    written = {op.operands[0].name for op in walk(kernel.body) if "writes" in op.spec.traits}
    found = {**promises_of(kernel), **_of_tables(kernel)}
    return {name: Promise(partial=p.partial) if name in written else p for name, p in found.items()}


def _of_tables(kernel: Kernel) -> dict[str, Promise]:
    """What every tensor of a table promises of each of its values: distinct ones are so within one tensor only."""
    given, found = promises_of(kernel), dict[str, Promise]()
    for value in kernel.params:
        if isinstance(value.type, TensorType) and value.type.table and value.type.count:
            one = given.get(entry_names(value.name or "", value.type)[0])
            if one is not None:
                found[value.name or ""] = replace(one, distinct=False, ignore_same=None, end=None)
    return found


def without_promises(kernel: Kernel) -> Kernel:
    """The kernel whose parameters promise nothing about values."""
    rows = kernel.attrs.get("promises", ())
    assert isinstance(rows, tuple)
    return replace(kernel, attrs={**kernel.attrs, "promises": tuple(row for row in rows if row[1] == "partial")})


def element_fact(promise: Promise | None, fact: SymbolFact, facts: Facts) -> SymbolFact:
    """What is known of one element: `fact`, and what its tensor promises."""
    if promise is None:
        return fact
    if promise.end is not None:
        fact = replace(fact, low=0, highs=(*fact.highs, promise.end))
    if promise.low is None or promise.high is None:
        return fact
    last = dims.add(promise.high, -1)
    if promise.ignore is None:
        return replace(fact, lows=(*fact.lows, promise.low), highs=(*fact.highs, last))
    lows = (promise.low,) if facts.at_most(promise.low, promise.ignore) else ()
    highs = (last,) if facts.at_most(promise.ignore, last) else ()
    low = fact.low
    least = facts.interval(promise.low).low
    if not lows and least is not None:
        low = min(least, promise.ignore)
    return replace(fact, low=low, lows=(*fact.lows, *lows), highs=(*fact.highs, *highs))


Promises = Mapping[str, Promise]
