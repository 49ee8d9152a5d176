"""Verdicts of random kernels against enumeration: nothing false is proved, every refutation replays."""

from __future__ import annotations

import itertools
from collections import Counter

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agentkern.compiler.ir.core import Kernel, SizeInfo, Value
from agentkern.compiler.proofs import ProofRecord, prove_kernel
from tests.compiler.proofs.brute_force import Findings, judge
from tests.compiler.tile_sketch import Sketch

SIZE_RANGE = range(5)
EXTENTS = ("T", "N", "T + 1", "2 * N", "(T + 1) // 2", "T * N", "T - 1", "N // 2", 1, 2, 3, 4)
RANGES = (":", "0:2", "1:3", "0:N", "N:2 * N", "0:T // 2", "T // 2:T", "1:T")
OUTCOMES: Counter[tuple[str, str, str]] = Counter()


def _index_scalar(draw, k: Sketch, sources: list[Value]) -> Value:
    """A random integer expression over block numbers, sizes, scalars and constants."""
    value = draw(st.sampled_from(sources)) if sources else k.number(draw(st.integers(-1, 4)))
    for _ in range(draw(st.integers(0, 3))):
        name = draw(st.sampled_from(("add", "sub", "mul", "floor_div", "mod", "minimum", "maximum", "add", "mul")))
        if draw(st.booleans()) or not sources:
            other = k.number(draw(st.integers(0 if name in ("floor_div", "mod") else -1, 4)))
        else:
            other = draw(st.sampled_from(sources))
        k._next_line()
        value = k.op(name, value, other)
    return value


def _entries(draw, k: Sketch, rank: int, blocks: list[Value], sources: list[Value]) -> list:
    entries = []
    if rank == 2 and sources and draw(st.integers(0, 5)) == 0:
        number, by = draw(st.sampled_from(sources)), draw(st.sampled_from((k.number(2), k.number(3), k.size("N"))))
        k._next_line()
        return [k.op("floor_div", number, by), k.op("mod", number, by)]
    for _ in range(rank):
        kind = draw(st.sampled_from(("block", "block", "range", "scalar")))
        if kind == "block" and blocks:
            entries.append(draw(st.sampled_from(blocks)))
        elif kind == "range":
            entries.append(draw(st.sampled_from(RANGES)))
        else:
            entries.append(_index_scalar(draw, k, sources))
    return entries


@st.composite
def kernels(draw) -> Kernel:
    promise = draw(
        st.sampled_from((SizeInfo("T"), SizeInfo("T"), SizeInfo("T", multiple_of=2), SizeInfo("T", minimum=1)))
    )
    k = Sketch(promise, "N")
    rank = draw(st.integers(1, 2))
    shape = tuple(draw(st.sampled_from(EXTENTS)) for _ in range(rank))
    out = k.tensor("y", draw(st.sampled_from(("out", "out", "inout"))), *shape)
    x = k.tensor("x", "in", *(draw(st.sampled_from(EXTENTS)) for _ in range(draw(st.integers(1, 2)))))
    parameters = [k.scalar("i")] if draw(st.integers(0, 4)) == 0 else []
    for _ in range(draw(st.integers(1, 2))):
        # Grids over the output's own extents come often, so that much is provable.
        choices = (*shape, *shape, *EXTENTS)
        axes = [
            (draw(st.sampled_from(choices)), draw(st.sampled_from((None, 1, 2, 3))))
            for _ in range(draw(st.integers(1, 2)))
        ]
        with k.grid(*axes) as blocks:
            sources = [k.size("T"), k.size("N"), *parameters]
            for (_, written), block in zip(axes, blocks, strict=True):
                if written is not None:
                    sources += [k.op(name, block) for name in ("ordinal", "ordinal", "start", "end")]
            if draw(st.booleans()):
                tensor = draw(st.sampled_from((x, x, out)))
                k.load(tensor, *_entries(draw, k, tensor.type.rank, blocks, sources))
            for _ in range(draw(st.integers(1, 2))):
                plain = blocks if len(blocks) == rank and draw(st.booleans()) else None
                k.store(out, *(plain or _entries(draw, k, rank, blocks, sources)))
    return k.done()


def _found(findings: Findings, record: ProofRecord) -> bool:
    if record.obligation in ("bounds", "division"):
        assert record.location is not None
        return record.location[0] in getattr(findings, record.obligation)
    return record.tensor in getattr(findings, "reads" if record.obligation == "own_reads" else record.obligation)


def _settings(kernel: Kernel):
    for t, n, i in itertools.product(SIZE_RANGE, SIZE_RANGE, (-1, 0, 2)):
        size = kernel.size("T")
        if t % size.multiple_of == 0 and t >= size.minimum:
            yield {"T": t, "N": n}, {"i": i}


@settings(max_examples=120, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(kernels())
def test_verdicts_of_random_kernels_agree_with_enumeration(kernel: Kernel) -> None:
    report = prove_kernel(kernel)
    seen = [judge(kernel, *setting) for setting in _settings(kernel)]
    by_place: dict[tuple[object, ...], list[ProofRecord]] = {}
    for record in report.records:
        if not record.is_safety or record.access.startswith("// "):
            continue
        if record.obligation == "coverage" and record.access:
            continue
        OUTCOMES[record.obligation, record.outcome, record.method] += 1
        place = record.location if record.obligation in ("bounds", "division") else record.tensor
        by_place.setdefault((record.obligation, place), []).append(record)
        if record.outcome == "refuted":
            _replays(kernel, record)
    for records in by_place.values():
        if all(r.outcome in ("proved", "assumed") for r in records):
            wrong = [s for s, f in zip(_settings(kernel), seen, strict=True) if _found(f, records[0])]
            assert not wrong, (records[0].statement, records[0].method, wrong[0])


def _replays(kernel: Kernel, record: ProofRecord) -> None:
    shown = record.counterexample
    assert shown is not None
    sizes = {"T": 0, "N": 0, **shown["sizes"]}
    if kernel.size("T").minimum and "T" not in shown["sizes"]:
        sizes["T"] = 1
    if max(sizes.values()) <= 40:
        findings = judge(kernel, sizes, {"i": 0, **shown["scalars"]})
        # After a division by zero an index means nothing.
        assert _found(findings, record) or findings.division, (record.statement, shown["text"])
