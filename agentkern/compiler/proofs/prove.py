"""Prove a TILE kernel: every obligation, one record each.

A result that rests on a promise about a size, or on a size that is given only at build time, is `assumed`.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import replace

from agentkern.compiler.analysis.accesses import KernelFacts, access_of, kernel_facts
from agentkern.compiler.analysis.promises import promises_of, without_promises
from agentkern.compiler.ir.core import Kernel, Op, SizeInfo
from agentkern.compiler.proofs.arithmetic import (
    alignment_obligations,
    division_obligations,
    overflow_obligations,
    run_alignment,
    span_elems,
)
from agentkern.compiler.proofs.bounds import bounds_obligations
from agentkern.compiler.proofs.coverage import coverage_obligations
from agentkern.compiler.proofs.disjoint import disjoint_obligations, read_obligations
from agentkern.compiler.proofs.least_extents import extent_obligations
from agentkern.compiler.proofs.obligation import Obligation, decide
from agentkern.compiler.proofs.records import ProofRecord, ProofReport
from agentkern.compiler.proofs.scatter import scatter_obligations
from agentkern.compiler.proofs.takes import take_obligations
from agentkern.compiler.proofs.violation import Form

TRIAL_SIZES = (2, 8, 64, 128, 1024, 7168)
"""Numbers tried for sizes that are given at build time. Not 1: what holds only for one block of one is wrong."""
MAX_TRIALS = 32


def obligations(facts: KernelFacts) -> Iterator[Obligation]:
    """All obligations of a kernel, kind by kind, each kind in the order of the text.

    Which they are does not depend on promises or on the numbers of sizes.
    """
    yield from bounds_obligations(facts)
    yield from take_obligations(facts)
    yield from disjoint_obligations(facts)
    yield from scatter_obligations(facts)
    yield from read_obligations(facts)
    yield from coverage_obligations(facts)
    yield from division_obligations(facts)
    yield from extent_obligations(facts)
    yield from overflow_obligations(facts)
    yield from alignment_obligations(facts)


def prove_kernel(kernel: Kernel) -> ProofReport:
    """Decide every obligation of a TILE kernel. Deterministic; Z3 is used, and imported, only where needed."""
    records = [decide(o) for o in obligations(kernel_facts(kernel))]
    promises = tuple(text for size in kernel.sizes for text in promised(size))
    promises += tuple(text for name, promise in promises_of(kernel).items() for text in promise.texts(name))
    if promises:
        records = _without_promises(kernel, records, promises)
    unset = tuple(size for size in kernel.sizes if size.static)
    if unset and any(_needs_a_number(r) for r in records):
        records = _for_some_numbers(kernel, records, unset)
    return ProofReport(tuple(records))


def promised(size: SizeInfo) -> list[str]:
    """The promises of a size in words."""
    found: list[str] = []
    if size.multiple_of > 1:
        found.append(f"`{size.name}` is a multiple of {size.multiple_of}")
    if size.minimum > 0:
        found.append(f"`{size.name}` is at least {size.minimum}")
    if size.maximum is not None:
        found.append(f"`{size.name}` is at most {size.maximum}")
    return found


def _without_promises(kernel: Kernel, records: list[ProofRecord], promises: tuple[str, ...]) -> list[ProofRecord]:
    """Mark as assumed what is not shown once the promises are taken away."""
    plain = replace(without_promises(kernel), sizes=tuple(SizeInfo(s.name, s.static) for s in kernel.sizes))
    found: list[ProofRecord] = []
    for record, bare in zip(records, obligations(replace(kernel_facts(plain), shown_only=True)), strict=True):
        stands = record.outcome != "proved" or (bare.shown and bare.statement == record.statement)
        found.append(record if stands else replace(record, outcome="assumed", assumptions=promises))
    return found


def _needs_a_number(record: ProofRecord) -> bool:
    return record.is_safety and record.outcome in ("refuted", "unknown")


def _for_some_numbers(kernel: Kernel, records: list[ProofRecord], unset: tuple[SizeInfo, ...]) -> list[ProofRecord]:
    """Mark as assumed what holds for some numbers of the sizes that are given at build time: each build proves it."""
    found = list(records)
    given = tuple(f"`{size.name}` is given at build time" for size in unset)
    for numbers in _trials(unset):
        if not any(_needs_a_number(r) for r in found):
            break
        for position, obligation in enumerate(obligations(kernel_facts(kernel, numbers))):
            if obligation.shown and _needs_a_number(found[position]):
                found[position] = replace(found[position], outcome="assumed", assumptions=given)
    return found


def _trials(unset: tuple[SizeInfo, ...]) -> list[Mapping[str, int]]:
    """Numbers for sizes: all equal first, then combinations."""
    choices = [[n for n in TRIAL_SIZES if _allowed(size, n)] or [max(size.minimum, 1)] for size in unset]
    equal = [tuple(n for _ in unset) for n in TRIAL_SIZES if all(n in c for c in choices)]
    picked = dict.fromkeys([*equal, *itertools.islice(itertools.product(*choices), MAX_TRIALS)])
    return [dict(zip((s.name for s in unset), numbers, strict=True)) for numbers in list(picked)[:MAX_TRIALS]]


def _allowed(size: SizeInfo, number: int) -> bool:
    high = size.maximum
    return number % size.multiple_of == 0 and size.minimum <= number and (high is None or number <= high)


def alignment_elems(kernel: Kernel, op: Op) -> int:
    """Elements that divide the offset of every contiguous run of a load or store: a power of two, at most 16 bytes.

    Counts promises of sizes as given: the host checks them at each call.
    """
    facts = kernel_facts(kernel)
    for scope in facts.scopes:
        for access in scope.accesses:
            if access.op is op:
                return run_alignment(scope.forms.facts, access)
    raise ValueError("the operation is no load or store of the kernel")


def block_span(kernel: Kernel, op: Op) -> Form:
    """Elements that one block touches from first to last; a block that the compiler sizes counts as one index."""
    return span_elems(access_of(op, kernel_facts(kernel).forms))
