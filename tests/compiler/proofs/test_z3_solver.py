"""Z3 against enumeration on violations as such: quotients inside quotients, divisors of any sign, promises."""

from __future__ import annotations

import itertools

from hypothesis import given, settings
from hypothesis import strategies as st

from agentkern.compiler.ir import dims
from agentkern.compiler.ir.dims import Dim
from agentkern.compiler.proofs.search import find_small
from agentkern.compiler.proofs.violation import Unknown, Violation
from agentkern.compiler.proofs.z3_solver import solve

NAMES = ("T", "N", "i")
RANGE = range(6)


@st.composite
def forms(draw: st.DrawFn, depth: int = 3) -> int | Dim:
    if depth == 0 or draw(st.integers(0, 3)) == 0:
        return draw(st.sampled_from((*map(dims.symbol, NAMES), -3, -1, 1, 2, 4)))
    kind = draw(st.sampled_from(("add", "sub", "mul", "div", "div", "mod", "by")))
    a = draw(forms(depth - 1))
    if kind in ("div", "mod"):
        by = draw(st.sampled_from((-2, 2, 3, 4)))
        return (dims.floordiv if kind == "div" else dims.mod)(a, by)
    b = draw(forms(depth - 1))
    if kind == "by":
        return a if b == 0 else dims.floordiv(a, b)
    return dims.mul(a, b) if kind == "mul" else dims.add(a, dims.mul(b, -1 if kind == "sub" else 1))


@settings(max_examples=80, deadline=None, derandomize=True)
@given(st.lists(st.lists(forms(), min_size=1, max_size=2).map(tuple), min_size=1, max_size=3), st.sampled_from((1, 2)))
def test_verdicts_on_small_ranges_are_those_of_enumeration(clauses: list[tuple[int | Dim, ...]], step: int) -> None:
    unknowns = tuple(Unknown(n, "size", (0,), (RANGE.stop - 1,), step if n == "T" else 1) for n in NAMES)
    violation = Violation(unknowns, tuple(clauses))
    every = (dict(zip(NAMES, picked, strict=True)) for picked in itertools.product(RANGE, repeat=len(NAMES)))
    possible = any(violation.holds(values) for values in every)
    verdict = solve(violation)
    if verdict.outcome == "impossible":
        assert not possible
    if verdict.outcome == "possible":
        assert violation.holds(dict(verdict.values))
    found = find_small(violation)
    assert found is None or violation.holds(found)


def test_quotient_inside_a_quotient_is_an_unknown_of_its_own() -> None:
    nested = dims.parse("((T + 1) // 2 + 1) // 2")
    unknowns = (Unknown("T", "size", (0,), (100,)),)
    meets = Violation(unknowns, ((dims.add(dims.symbol("T"), -3),), (dims.add(1, dims.mul(nested, -1)),)))
    assert solve(meets).outcome == "possible"
    assert solve(Violation(unknowns, ((dims.add(nested, -60),),))).outcome == "impossible"
