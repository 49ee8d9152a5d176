"""Facts about extents against enumeration of small sizes."""

import itertools
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentkern.compiler.analysis import Facts
from agentkern.compiler.analysis.extents import SymbolFact
from agentkern.compiler.ir import dims
from agentkern.compiler.ir.core import SizeInfo
from agentkern.compiler.ir.dims import Dim

SMALL = range(9)


def facts(*sizes: SizeInfo) -> Facts:
    return Facts.of_sizes(sizes)


@st.composite
def extents(draw, depth: int = 3) -> int | Dim:
    """Random extents over T and H: sums, products, floor divisions by numbers and by positive sizes."""
    if depth == 0 or draw(st.integers(0, 3)) == 0:
        return draw(st.sampled_from((dims.symbol("T"), dims.symbol("H"), -2, 0, 1, 3, 4, 8)))
    kind = draw(st.sampled_from(("add", "sub", "mul", "div", "cdiv", "mod", "by")))
    a = draw(extents(depth - 1))
    if kind in ("div", "cdiv", "mod"):
        by = draw(st.sampled_from((1, 2, 3, 4, 8)))
        return {"div": dims.floordiv, "cdiv": dims.cdiv, "mod": dims.mod}[kind](a, by)
    if kind == "by":
        return dims.floordiv(a, dims.add(dims.symbol("H"), 1))
    b = draw(extents(depth - 1))
    return dims.mul(a, b) if kind == "mul" else dims.add(a, dims.mul(b, -1 if kind == "sub" else 1))


PROMISES = (
    SizeInfo("T"),
    SizeInfo("T", multiple_of=4),
    SizeInfo("T", minimum=1),
    SizeInfo("T", minimum=2, maximum=6),
    SizeInfo("T", multiple_of=2, minimum=3),
)


def numbers(size: SizeInfo) -> list[int]:
    high = size.maximum if size.maximum is not None else SMALL.stop
    return [n for n in SMALL if n % size.multiple_of == 0 and size.minimum <= n <= high]


@settings(max_examples=300, deadline=None, derandomize=True)
@given(extents(), st.sampled_from(PROMISES))
def test_what_is_shown_of_an_extent_holds_at_every_small_size(extent: int | Dim, size: SizeInfo) -> None:
    known = facts(size, SizeInfo("H"))
    values = [dims.evaluate(extent, {"T": t, "H": h}) for t in numbers(size) for h in SMALL]
    bounds = known.interval(extent)
    assert all(bounds.low is None or bounds.low <= v for v in values)
    assert all(bounds.high is None or v <= bounds.high for v in values)
    divisor = known.divisor(extent)
    assert all(v == 0 if divisor == 0 else v % divisor == 0 for v in values)
    if known.nonnegative(extent):
        assert min(values) >= 0


@settings(max_examples=200, deadline=None, derandomize=True)
@given(extents(), extents(), st.sampled_from(PROMISES))
def test_shown_inequalities_and_equalities_hold(a: int | Dim, b: int | Dim, size: SizeInfo) -> None:
    known = facts(size, SizeInfo("H"))
    pairs = [
        (dims.evaluate(a, values), dims.evaluate(b, values))
        for values in ({"T": t, "H": h} for t, h in itertools.product(numbers(size), SMALL))
    ]
    if known.at_most(a, b):
        assert all(x <= y for x, y in pairs)
    if known.equal(a, b):
        assert all(x == y for x, y in pairs)


@settings(max_examples=200, deadline=None, derandomize=True)
@given(extents(), extents())
def test_facts_that_assume_an_extent_positive_hold_where_it_is(assumed: int | Dim, extent: int | Dim) -> None:
    known = facts(SizeInfo("T"), SizeInfo("H")).positive([assumed])
    if known.nonnegative(extent):
        for t, h in itertools.product(SMALL, SMALL):
            if dims.evaluate(assumed, {"T": t, "H": h}) >= 1:
                assert dims.evaluate(extent, {"T": t, "H": h}) >= 0


@pytest.mark.parametrize(
    ("smaller", "larger"),
    [
        ("T", "T + 1"),
        ("0", "T * H"),
        ("T // 2", "T"),
        ("(T // 2) * 2", "T"),
        ("T", "128 * ((T + 127) // 128)"),
        ("T // 2", "(T + 1) // 2"),
        ("T - (T // 4) * 4", "3"),
        ("(T // (H + 1)) * (H + 1)", "T"),
        ("T", "T * H + T"),
    ],
)
def test_ordinary_inequality_is_shown(smaller: str, larger: str) -> None:
    assert facts(SizeInfo("T"), SizeInfo("H")).at_most(dims.parse(smaller), dims.parse(larger))


@pytest.mark.parametrize(
    ("a", "b"), [("T", "H"), ("T + 1", "2 * T"), ("T", "T * H"), ("T", "(T // 2) * 2"), ("1", "T")]
)
def test_inequality_that_fails_somewhere_is_not_shown(a: str, b: str) -> None:
    assert not facts(SizeInfo("T"), SizeInfo("H")).at_most(dims.parse(a), dims.parse(b))


def test_promised_multiple_makes_a_division_exact() -> None:
    assert facts(SizeInfo("H", multiple_of=128)).equal(dims.parse("(H // 128) * 128"), dims.parse("H"))
    assert not facts(SizeInfo("H", multiple_of=64)).equal(dims.parse("(H // 128) * 128"), dims.parse("H"))


def test_divisor_of_a_product_is_the_product_of_divisors() -> None:
    assert facts(SizeInfo("H", multiple_of=8), SizeInfo("T")).divisor(dims.parse("6 * H * T + 16")) == math.gcd(48, 16)


def test_bounds_over_other_symbols_are_put_in() -> None:
    known = facts(SizeInfo("T")).with_symbols({"i": SymbolFact(0, highs=(dims.parse("T - 1"),), rank=1)})
    assert known.at_most(dims.parse("i + 1"), dims.parse("T"))
    assert not known.at_most(dims.parse("i + 2"), dims.parse("T"))


def test_symbol_with_cases_is_judged_case_by_case() -> None:
    cases = (dims.parse("T + 1"), dims.parse("3"))
    known = facts(SizeInfo("T")).with_symbols({"m": SymbolFact(None, None, 1, (), cases, 3, cases)})
    assert known.at_most(1, dims.parse("m"))
    assert not known.at_most(2, dims.parse("m"))
