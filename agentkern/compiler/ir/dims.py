"""Extents as exact integer expressions over named sizes, in one canonical form.

An extent is an `int` or a `Dim`. A `Dim` is a polynomial with integer coefficients over atoms; an atom is a named size
(`T`), a block's extent (`%t`) or a floor division of two extents. `a % b` is `a - b * (a // b)`, so equal expressions
compare equal whenever polynomial arithmetic shows it. No proofs here: `analysis` and `proofs` decide inequalities.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache

Extent = "int | Dim"
Monomial = tuple["Atom", ...]


@dataclass(frozen=True, slots=True)
class Symbol:
    """A named size; names of block extents begin with `%`."""

    name: str

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class FloorDiv:
    """`numerator // denominator`, rounded toward minus infinity."""

    numerator: int | Dim
    denominator: int | Dim

    def __str__(self) -> str:
        return f"({self.numerator}) // ({self.denominator})"


Atom = Symbol | FloorDiv


def _atom_key(atom: Atom) -> tuple[int, str]:
    return (0 if isinstance(atom, Symbol) else 1, str(atom))


@dataclass(frozen=True, slots=True)
class Dim:
    """A non-constant polynomial: `terms` are (monomial, coefficient), canonically sorted, no zero coefficients."""

    terms: tuple[tuple[Monomial, int], ...]

    def __add__(self, other: int | Dim) -> int | Dim:
        return add(self, other)

    __radd__ = __add__

    def __sub__(self, other: int | Dim) -> int | Dim:
        return add(self, mul(other, -1))

    def __rsub__(self, other: int | Dim) -> int | Dim:
        return add(other, mul(self, -1))

    def __mul__(self, other: int | Dim) -> int | Dim:
        return mul(self, other)

    __rmul__ = __mul__

    def __floordiv__(self, other: int | Dim) -> int | Dim:
        return floordiv(self, other)

    def __rfloordiv__(self, other: int | Dim) -> int | Dim:
        return floordiv(other, self)

    def __mod__(self, other: int | Dim) -> int | Dim:
        return mod(self, other)

    def __rmod__(self, other: int | Dim) -> int | Dim:
        return mod(other, self)

    def __str__(self) -> str:
        return _text(self)

    __repr__ = __str__


def symbol(name: str) -> Dim:
    """The extent that a name stands for."""
    return Dim((((Symbol(name),), 1),))


def _terms(value: int | Dim) -> tuple[tuple[Monomial, int], ...]:
    if isinstance(value, int):
        return (((), value),) if value else ()
    return value.terms


def _make(terms: dict[Monomial, int]) -> int | Dim:
    kept = [(m, c) for m, c in terms.items() if c]
    if not kept:
        return 0
    if len(kept) == 1 and kept[0][0] == ():
        return kept[0][1]
    kept.sort(key=lambda term: (-len(term[0]), [_atom_key(a) for a in term[0]]))
    return Dim(tuple(kept))


def add(a: int | Dim, b: int | Dim) -> int | Dim:
    """`a + b`."""
    if isinstance(a, int) and isinstance(b, int):
        return a + b
    terms = dict(_terms(a))
    for monomial, coefficient in _terms(b):
        terms[monomial] = terms.get(monomial, 0) + coefficient
    return _make(terms)


def mul(a: int | Dim, b: int | Dim) -> int | Dim:
    """`a * b`."""
    if isinstance(a, int) and isinstance(b, int):
        return a * b
    terms: dict[Monomial, int] = {}
    for ma, ca in _terms(a):
        for mb, cb in _terms(b):
            monomial = tuple(sorted(ma + mb, key=_atom_key))
            terms[monomial] = terms.get(monomial, 0) + ca * cb
    return _make(terms)


def floordiv(a: int | Dim, b: int | Dim) -> int | Dim:
    """`a // b`, rounded toward minus infinity. Errors: ZeroDivisionError when `b` is the constant 0."""
    if isinstance(b, int):
        if isinstance(a, int):
            return a // b
        if b == 0:
            raise ZeroDivisionError("division of an extent by 0")
        if b < 0:
            return floordiv(mul(a, -1), -b)
        whole = {m: c // b for m, c in a.terms if c % b == 0}
        rest = {m: c for m, c in a.terms if c % b}
        if not rest:
            return _make(whole)
        if set(rest) == {()}:
            whole[()] = whole.get((), 0) + rest[()] // b
            return _make(whole)
        constant = rest.get((), 0)
        if constant and not 0 <= constant < b:
            whole[()] = constant // b
            rest[()] = constant % b
        remainder = _make(rest)
        return add(_make(whole), Dim((((FloorDiv(remainder, b),), 1),)))
    if a == 0:
        return 0
    if a == b:
        return 1
    return Dim((((FloorDiv(a, b),), 1),))


def mod(a: int | Dim, b: int | Dim) -> int | Dim:
    """`a % b`, with the sign of `b`."""
    return add(a, mul(mul(floordiv(a, b), b), -1))


def cdiv(a: int | Dim, b: int | Dim) -> int | Dim:
    """`a / b` rounded up."""
    return floordiv(add(a, add(b, -1)), b)


def align(a: int | Dim, b: int | Dim) -> int | Dim:
    """The smallest multiple of `b` that is at least `a`."""
    return mul(cdiv(a, b), b)


def exact_quotient(value: int | Dim, divisor: int | Dim) -> int | Dim | None:
    """`value / divisor` where every term of `value` is a multiple of a divisor of one term."""
    if isinstance(divisor, int):
        return floordiv(value, divisor) if divisor and mod(value, divisor) == 0 else None
    if len(divisor.terms) != 1 or isinstance(value, int):
        return None
    ((needed, scale),) = divisor.terms
    total: int | Dim = 0
    for monomial, coefficient in value.terms:
        rest = list(monomial)
        for atom in needed:
            if atom not in rest:
                return None
            rest.remove(atom)
        if coefficient % scale:
            return None
        number = coefficient // scale
        total = add(total, Dim(((tuple(rest), number),)) if rest else number)
    return total


def product(extents: tuple[int | Dim, ...]) -> int | Dim:
    """The product of extents; 1 of none."""
    total: int | Dim = 1
    for extent in extents:
        total = mul(total, extent)
    return total


def symbols(value: int | Dim) -> tuple[str, ...]:
    """Names in an expression, sorted, each once."""
    found: set[str] = set()
    _collect(value, found)
    return tuple(sorted(found))


def _collect(value: int | Dim, found: set[str]) -> None:
    if isinstance(value, int):
        return
    for monomial, _ in value.terms:
        for atom in monomial:
            if isinstance(atom, Symbol):
                found.add(atom.name)
            else:
                _collect(atom.numerator, found)
                _collect(atom.denominator, found)


def substitute(value: int | Dim, values: Mapping[str, int | Dim]) -> int | Dim:
    """Replace names by extents and simplify."""
    if isinstance(value, int):
        return value
    total: int | Dim = 0
    for monomial, coefficient in value.terms:
        term: int | Dim = coefficient
        for atom in monomial:
            if isinstance(atom, Symbol):
                term = mul(term, values[atom.name] if atom.name in values else symbol(atom.name))
            else:
                term = mul(term, floordiv(substitute(atom.numerator, values), substitute(atom.denominator, values)))
        total = add(total, term)
    return total


def evaluate(value: int | Dim, values: Mapping[str, int]) -> int:
    """The number an expression has for given sizes. Errors: KeyError names a missing size."""
    result = substitute(value, values)
    if isinstance(result, int):
        return result
    raise KeyError(symbols(result)[0])


def solve(value: int | Dim, given: int, known: Mapping[str, int]) -> tuple[str, int] | None:
    """The one unknown of `value == given` and its number, if it enters linearly.

    Returns None when nothing or more than one name is unknown, or no integer fits.
    """
    rest = substitute(value, known)
    if isinstance(rest, int) or len(symbols(rest)) != 1:
        return None
    name = symbols(rest)[0]
    at_zero, at_one, at_two = (evaluate(rest, {name: n}) for n in (0, 1, 2))
    slope = at_one - at_zero
    if slope == 0 or at_two - at_one != slope:
        return None
    number, remainder = divmod(given - at_zero, slope)
    if remainder or evaluate(rest, {name: number}) != given:
        return None
    return (name, number)


def _text(value: int | Dim) -> str:
    if isinstance(value, int):
        return str(value)
    pieces: list[str] = []
    for monomial, coefficient in value.terms:
        factors = [f"({atom})" if isinstance(atom, FloorDiv) else atom.name for atom in monomial]
        if abs(coefficient) != 1 or not factors:
            factors.insert(0, str(abs(coefficient)))
        sign = "-" if coefficient < 0 else "+"
        pieces.append(f"{sign} {' * '.join(factors)}")
    text = " ".join(pieces)
    return text[2:] if text.startswith("+ ") else f"-{text[2:]}"


def render(value: int | Dim, name: Callable[[str], str], division: Callable[[str, str], str]) -> str:
    """Print an expression in another language.

    `name` spells a size; `division` spells a floor division of two printed operands.
    """
    if isinstance(value, int):
        return str(value)
    pieces: list[str] = []
    for monomial, coefficient in value.terms:
        factors = [
            name(atom.name)
            if isinstance(atom, Symbol)
            else division(render(atom.numerator, name, division), render(atom.denominator, name, division))
            for atom in monomial
        ]
        if abs(coefficient) != 1 or not factors:
            factors.insert(0, str(abs(coefficient)))
        pieces.append(f"{'-' if coefficient < 0 else '+'} {' * '.join(factors)}")
    text = " ".join(pieces)
    return text[2:] if text.startswith("+ ") else f"-{text[2:]}"


_TOKEN = re.compile(r"\s*(//|[-+*%()]|%?[A-Za-z_][A-Za-z_0-9.]*|[0-9]+)")


class _DimParser:
    """Recursive descent over `+ - * // %` and parentheses."""

    def __init__(self, text: str) -> None:
        self.tokens: list[str] = []
        position = 0
        text = text.rstrip()
        while position < len(text):
            match = _TOKEN.match(text, position)
            if match is None:
                raise ValueError(f"bad extent `{text}`")
            token = match.group(1)
            if token == "%" and match.end() < len(text) and re.match(r"[A-Za-z_]", text[match.end()]):
                match = re.compile(r"\s*%[A-Za-z_][A-Za-z_0-9.]*").match(text, position)
                assert match is not None
                token = match.group(0).strip()
            self.tokens.append(token)
            position = match.end()
        self.at = 0

    def peek(self) -> str:
        return self.tokens[self.at] if self.at < len(self.tokens) else ""

    def take(self) -> str:
        token = self.peek()
        self.at += 1
        return token

    def sum(self) -> int | Dim:
        value = mul(self.product(), -1) if self.peek() == "-" and self.take() else self.product()
        while self.peek() in ("+", "-"):
            value = add(value, self.product()) if self.take() == "+" else add(value, mul(self.product(), -1))
        return value

    def product(self) -> int | Dim:
        value = self.atom()
        while self.peek() in ("*", "//", "%"):
            operator = self.take()
            right = self.atom()
            value = {"*": mul, "//": floordiv, "%": mod}[operator](value, right)
        return value

    def atom(self) -> int | Dim:
        token = self.take()
        if token == "(":
            value = self.sum()
            if self.take() != ")":
                raise ValueError("`)` expected in an extent")
            return value
        if token.isdigit():
            return int(token)
        if token and (token[0].isalpha() or token[0] in "_%") and token != "%":
            return symbol(token)
        raise ValueError(f"extent expected, got `{token}`")


@lru_cache(maxsize=4096)
def parse(text: str) -> int | Dim:
    """Read back what `str` of an extent prints. Errors: ValueError on anything else."""
    parser = _DimParser(text)
    value = parser.sum()
    if parser.at != len(parser.tokens):
        raise ValueError(f"unexpected `{parser.peek()}` in extent `{text}`")
    return value
