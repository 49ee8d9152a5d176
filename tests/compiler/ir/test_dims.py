"""Extents against plain Python integers, and their text form."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentkern.compiler.ir import dims
from agentkern.compiler.ir.dims import Dim

Meaning = Callable[[Mapping[str, int]], int]
NAMES = ("T", "H", "%t", "%h.1", "a_b", "N2")
VALUES = st.fixed_dictionaries({name: st.integers(0, 50) for name in NAMES})


@st.composite
def pairs(draw: st.DrawFn, depth: int = 4) -> tuple[int | Dim, Meaning]:
    """A random extent with what it means as a Python function; divisors are never zero."""
    if depth == 0 or draw(st.integers(0, 4)) == 0:
        if draw(st.booleans()):
            name = draw(st.sampled_from(NAMES))
            return dims.symbol(name), lambda v: v[name]
        number = draw(st.integers(-9, 9))
        return number, lambda v: number
    operator = draw(st.sampled_from(("+", "-", "*", "//", "%", "cdiv", "align", "//H+1")))
    a, meaning_a = draw(pairs(depth - 1))
    if operator in ("//", "%", "cdiv", "align"):
        d = draw(st.sampled_from((-3, 1, 2, 5, 8)))
        d = abs(d) if operator in ("cdiv", "align") else d
        made = {"//": dims.floordiv, "%": dims.mod, "cdiv": dims.cdiv, "align": dims.align}[operator](a, d)
        plain = {
            "//": lambda n: n // d,
            "%": lambda n: n % d,
            "cdiv": lambda n: -(-n // d),
            "align": lambda n: -(-n // d) * d,
        }[operator]
        return made, lambda v: plain(meaning_a(v))
    if operator == "//H+1":
        return dims.floordiv(a, dims.add(dims.symbol("H"), 1)), lambda v: meaning_a(v) // (v["H"] + 1)
    b, meaning_b = draw(pairs(depth - 1))
    if operator == "*":
        return dims.mul(a, b), lambda v: meaning_a(v) * meaning_b(v)
    sign = 1 if operator == "+" else -1
    return dims.add(a, dims.mul(b, sign)), lambda v: meaning_a(v) + sign * meaning_b(v)


@settings(max_examples=400, deadline=None, derandomize=True)
@given(pairs(), VALUES)
def test_extent_has_the_value_of_its_expression(pair: tuple[int | Dim, Meaning], values: dict[str, int]) -> None:
    extent, meaning = pair
    assert dims.evaluate(extent, values) == meaning(values)


@settings(max_examples=400, deadline=None, derandomize=True)
@given(pairs())
def test_text_of_an_extent_reads_back_equal(pair: tuple[int | Dim, Meaning]) -> None:
    extent, _ = pair
    assert dims.parse(str(extent)) == extent
    assert str(dims.parse(str(extent))) == str(extent)


@settings(max_examples=300, deadline=None, derandomize=True)
@given(pairs(3), pairs(3), pairs(2))
def test_polynomials_that_are_equal_have_one_form(a, b, c) -> None:
    x, y, z = a[0], b[0], c[0]
    assert dims.add(x, y) == dims.add(y, x)
    assert dims.mul(x, y) == dims.mul(y, x)
    assert dims.add(dims.add(x, y), z) == dims.add(x, dims.add(y, z))
    assert dims.mul(x, dims.add(y, z)) == dims.add(dims.mul(x, y), dims.mul(x, z))
    assert dims.add(dims.add(x, y), dims.mul(y, -1)) == x
    assert hash(dims.add(x, y)) == hash(dims.add(y, x))


@settings(max_examples=300, deadline=None, derandomize=True)
@given(pairs(), VALUES, st.sets(st.sampled_from(NAMES)))
def test_sizes_may_be_put_in_one_after_another(pair, values: dict[str, int], first: set[str]) -> None:
    extent = dims.substitute(pair[0], {n: values[n] for n in sorted(first)})
    assert not set(dims.symbols(extent)) & first
    assert dims.evaluate(extent, values) == dims.evaluate(pair[0], values)


@settings(max_examples=300, deadline=None, derandomize=True)
@given(pairs(), VALUES)
def test_printed_for_another_language_it_means_the_same(pair, values: dict[str, int]) -> None:
    names = {name: f"s{k}" for k, name in enumerate(NAMES)}
    text = dims.render(pair[0], lambda n: names[n], lambda n, d: f"(({n}) // ({d}))")
    assert eval(text, {names[n]: v for n, v in values.items()}) == dims.evaluate(pair[0], values)


@settings(max_examples=300, deadline=None, derandomize=True)
@given(pairs(), VALUES, st.sampled_from(NAMES))
def test_solved_size_fits_and_is_the_only_unknown(pair, values: dict[str, int], unknown: str) -> None:
    given_extent = dims.evaluate(pair[0], values)
    known = {n: v for n, v in values.items() if n != unknown}
    solved = dims.solve(pair[0], given_extent, known)
    if solved is not None:
        name, number = solved
        assert name == unknown
        assert dims.evaluate(pair[0], {**known, name: number}) == given_extent


@pytest.mark.parametrize(
    ("text", "given_extent", "number"),
    [("T", 7, 7), ("2 * T", 8, 4), ("T + 1", 5, 4), ("3 * T - 2", 7, 3), ("T * H", 12, 4)],
)
def test_size_that_enters_linearly_is_solved(text: str, given_extent: int, number: int) -> None:
    assert dims.solve(dims.parse(text), given_extent, {"H": 3}) == ("T", number)


@pytest.mark.parametrize(
    ("text", "given_extent"),
    [("2 * T", 7), ("T * T", 9), ("T // 2", 3), ("T + N", 3), ("H", 3), ("T * H - T * H + 5", 5)],
)
def test_size_without_one_answer_is_not_solved(text: str, given_extent: int) -> None:
    assert dims.solve(dims.parse(text), given_extent, {"H": 3}) is None


@pytest.mark.parametrize("text", ["", "(", "T +", "T T", "2 **", "%", "T // 0", "é", "1 - ", "T)", "((T)", "0x1"])
def test_text_that_is_no_extent_is_a_value_error(text: str) -> None:
    with pytest.raises((ValueError, ZeroDivisionError)):
        dims.parse(text)


@settings(max_examples=300, deadline=None, derandomize=True)
@given(st.text(alphabet="TH%.()+-*/ 0123456789_", max_size=14))
def test_any_text_is_an_extent_or_a_value_error(text: str) -> None:
    try:
        extent = dims.parse(text)
    except (ValueError, ZeroDivisionError):
        return
    assert dims.parse(str(extent)) == extent


def test_missing_size_is_named() -> None:
    with pytest.raises(KeyError, match="H"):
        dims.evaluate(dims.parse("T * H"), {"T": 1})


@pytest.mark.parametrize(("a", "d"), [(7, 2), (-7, 2), (7, -2), (-7, -2), (0, 3)])
def test_division_of_numbers_rounds_down(a: int, d: int) -> None:
    assert dims.floordiv(a, d) == a // d
    assert dims.mod(a, d) == a % d


def test_whole_part_leaves_a_division() -> None:
    assert dims.parse("(4 * T + 6) // 4") == dims.parse("T + 1")
    assert dims.parse("(4 * T + H + 6) // 4") == dims.parse("T + 1 + (H + 2) // 4")
