"""What is known of extents: intervals, divisors and inequalities of `Dim` polynomials over named symbols.

A symbol is a size, a block number, an index inside a block, or a number that the kernel was given. `Facts` only ever
answers "yes, shown" or "not shown": it never guesses, and it never rewrites a kernel.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from agentkern.compiler.analysis.intervals import IndexRange, product, quotient
from agentkern.compiler.ir import dims
from agentkern.compiler.ir.core import SizeInfo
from agentkern.compiler.ir.dims import Atom, Dim, FloorDiv, Symbol

LARGEST_SIZE = 1 << 48
"""No axis of a tensor that exists is longer: device addresses have 49 bits, an element at least one byte."""

_MAX_STEPS = 400


@dataclass(frozen=True, slots=True)
class SymbolFact:
    """Bounds of one symbol. `lows` and `highs` are inclusive bounds over symbols of a lower `rank`.

    A symbol with `cases` equals one of them.
    """

    low: int | None = 0
    high: int | None = None
    multiple_of: int = 1
    lows: tuple[int | Dim, ...] = ()
    highs: tuple[int | Dim, ...] = ()
    rank: int = 0
    cases: tuple[int | Dim, ...] = ()


UNKNOWN = SymbolFact(low=None)


def size_fact(size: SizeInfo) -> SymbolFact:
    """What a named size promises."""
    step = max(size.multiple_of, 1)
    low = -(-max(size.minimum, 0) // step) * step
    high = LARGEST_SIZE if size.maximum is None else size.maximum
    return SymbolFact(low, high // step * step, step)


@dataclass(frozen=True, slots=True)
class Facts:
    """Facts about symbols, and what follows from them.

    `meanings` replaces symbols before anything is shown: a size that has its number, and a size `T` that is a multiple
    of m as `m * T:m`, so that divisions which promises make exact fold away.
    """

    symbols: Mapping[str, SymbolFact] = field(default_factory=dict)
    meanings: Mapping[str, int | Dim] = field(default_factory=dict)

    @staticmethod
    def of_sizes(sizes: Iterable[SizeInfo], values: Mapping[str, int] | None = None) -> Facts:
        """Facts of a kernel's promises, with some sizes given as numbers."""
        symbols: dict[str, SymbolFact] = {}
        meanings: dict[str, int | Dim] = dict(values or {})
        for size in sizes:
            fact = size_fact(size)
            symbols[size.name] = fact
            step = fact.multiple_of
            if size.name in meanings:
                number = meanings[size.name]
                assert isinstance(number, int)
                symbols[size.name] = SymbolFact(number, number, max(abs(number), 1))
            elif step > 1:
                scaled = f"{size.name}:{step}"
                symbols[scaled] = SymbolFact((fact.low or 0) // step, (fact.high or 0) // step)
                meanings[size.name] = dims.mul(dims.symbol(scaled), step)
        return Facts(symbols, meanings)

    def with_symbols(self, added: Mapping[str, SymbolFact]) -> Facts:
        """These facts and more."""
        symbols = dict(self.symbols)
        for name, fact in added.items():
            lows = tuple(self.simplify(b) for b in fact.lows)
            highs = tuple(self.simplify(b) for b in fact.highs)
            cases = tuple(self.simplify(b) for b in fact.cases)
            symbols[name] = replace(fact, lows=lows, highs=highs, cases=cases)
        return Facts(symbols, self.meanings)

    def fact(self, name: str) -> SymbolFact:
        """What is known of one symbol; of an unknown one nothing."""
        return self.symbols.get(name, UNKNOWN)

    def simplify(self, value: int | Dim) -> int | Dim:
        """Put in what symbols mean."""
        if isinstance(value, int) or not self.meanings:
            return value
        return dims.substitute(value, self.meanings)

    def interval(self, value: int | Dim) -> IndexRange:
        """Numeric bounds of an extent."""
        if isinstance(value, int):
            return IndexRange(value, value)
        total = IndexRange(0, 0)
        for monomial, coefficient in value.terms:
            term = IndexRange(coefficient, coefficient)
            for atom in monomial:
                term = product(term, self.atom_interval(atom))
            total = total + term
        return total

    def atom_interval(self, atom: Atom) -> IndexRange:
        """Numeric bounds of a symbol or a quotient."""
        if isinstance(atom, Symbol):
            return self.symbol_interval(atom.name)
        numerator, denominator = self.interval(atom.numerator), self.interval(atom.denominator)
        return quotient(numerator, denominator)

    def symbol_interval(self, name: str) -> IndexRange:
        """Numeric bounds of a symbol."""
        fact = self.fact(name)
        low, high = fact.low, fact.high
        for bound in fact.lows:
            other = self.interval(bound).low
            low = other if low is None or (other is not None and other > low) else low
        for bound in fact.highs:
            other = self.interval(bound).high
            high = other if high is None or (other is not None and other < high) else high
        return IndexRange(low, high)

    def divisor(self, value: int | Dim) -> int:
        """The largest number known to divide an extent; 0 for the extent 0."""
        if isinstance(value, int):
            return abs(value)
        common = 0
        for monomial, coefficient in value.terms:
            term = abs(coefficient)
            for atom in monomial:
                term *= self._atom_divisor(atom)
            common = math.gcd(common, term)
        return common

    def _atom_divisor(self, atom: Atom) -> int:
        if isinstance(atom, Symbol):
            return self.fact(atom.name).multiple_of
        if isinstance(atom.denominator, int) and atom.denominator > 0:
            numerator = self.divisor(atom.numerator)
            return numerator // atom.denominator if numerator and numerator % atom.denominator == 0 else 1
        return 1

    def nonnegative(self, value: int | Dim) -> bool:
        """Whether `value >= 0` is shown for all symbols."""
        value = self.simplify(value)
        return _Elimination(self).nonnegative(value)

    def at_most(self, a: int | Dim, b: int | Dim) -> bool:
        """Whether `a <= b` is shown for all symbols."""
        if isinstance(a, int) and isinstance(b, int):
            return a <= b
        return a == b or self.nonnegative(dims.add(b, dims.mul(a, -1)))

    def equal(self, a: int | Dim, b: int | Dim) -> bool:
        """Whether two extents are shown equal for all symbols."""
        return a == b or self.simplify(a) == self.simplify(b) or (self.at_most(a, b) and self.at_most(b, a))

    def positive(self, extents: Iterable[int | Dim]) -> Facts:
        """These facts where, besides, every given extent is at least 1."""
        symbols = dict(self.symbols)
        for extent in extents:
            self._assume_at_least(self.simplify(extent), 1, symbols)
        return Facts(symbols, self.meanings)

    def assuming(self, nonnegative: Iterable[int | Dim]) -> Facts:
        """These facts where, besides, every given form is at least 0: a bound of the last of its symbols each."""
        found = self
        for form in nonnegative:
            found = found._bounding(found.simplify(form))
        return found

    def _bounding(self, form: int | Dim) -> Facts:
        if isinstance(form, int):
            return self
        names = sorted(dims.symbols(form), key=lambda name: (self.fact(name).rank, name))
        parts = _split(form, Symbol(names[-1]))
        if parts is None:
            return self
        factor, rest = parts
        if not isinstance(factor, int) or not factor or names[-1] in dims.symbols(rest):
            return self
        fact = self.fact(names[-1])
        if factor > 0:
            fact = replace(fact, lows=(*fact.lows, dims.cdiv(dims.mul(rest, -1), factor)))
        else:
            fact = replace(fact, highs=(*fact.highs, dims.floordiv(rest, -factor)))
        return Facts({**self.symbols, names[-1]: fact}, self.meanings)

    def _assume_at_least(self, value: int | Dim, least: int, symbols: dict[str, SymbolFact]) -> None:
        """Raise the lower bounds that `value >= least` implies, where it is simple enough to see."""
        if isinstance(value, int):
            return
        constant = sum(c for m, c in value.terms if not m)
        terms = [(m, c) for m, c in value.terms if m]
        if len(terms) != 1 or terms[0][1] < 0:
            return
        monomial, coefficient = terms[0]
        needed = -((constant - least) // coefficient)
        if len(monomial) == 1:
            self._assume_atom(monomial[0], needed, symbols)
        elif needed >= 1 and all(self.atom_interval(a).excludes(-1) for a in monomial):
            for atom in monomial:
                self._assume_atom(atom, 1, symbols)

    def _assume_atom(self, atom: Atom, least: int, symbols: dict[str, SymbolFact]) -> None:
        if isinstance(atom, Symbol):
            fact = symbols.get(atom.name, UNKNOWN)
            step = fact.multiple_of
            least = -(-least // step) * step
            if fact.low is None or fact.low < least:
                symbols[atom.name] = replace(fact, low=least)
        elif isinstance(atom.denominator, int) and atom.denominator > 0:
            self._assume_at_least(atom.numerator, least * atom.denominator, symbols)


class _Elimination:
    """Show `p >= 0` by putting in bounds of one symbol or quotient after another, the highest rank first."""

    def __init__(self, facts: Facts) -> None:
        self.facts = facts
        self.steps = 0
        self.open: set[Dim] = set()

    def nonnegative(self, value: int | Dim) -> bool:
        if isinstance(value, int):
            return value >= 0
        self.steps += 1
        if self.steps > _MAX_STEPS or value in self.open:
            return False
        low = self.facts.interval(value).low
        if low is not None and low >= 0:
            return True
        if self._shifted(value):
            return True
        for atom in self._candidates(value):
            parts = _split(value, atom)
            if parts is None:
                continue
            if any(self.nonnegative(p) for p in self._bounded(atom, *parts)) or self._in_all_cases(atom, *parts):
                return True
        self.open.add(value)
        return False

    def _in_all_cases(self, atom: Atom, factor: int | Dim, rest: int | Dim) -> bool:
        cases = self.facts.fact(atom.name).cases if isinstance(atom, Symbol) else ()
        return bool(cases) and all(self.nonnegative(dims.add(dims.mul(factor, case), rest)) for case in cases)

    def _shifted(self, value: Dim) -> bool:
        """All coefficients are nonnegative once every size counts from its minimum."""
        lows: dict[str, int | Dim] = {}
        for name in {a.name for m, _ in value.terms for a in m if isinstance(a, Symbol)}:
            low = self.facts.symbol_interval(name).low
            if low is None:
                return False
            if low:
                lows[name] = dims.add(dims.symbol(name), low)
        shifted: int | Dim = value
        if lows:
            shifted = _substitute_symbols(value, lows)
        if isinstance(shifted, int):
            return shifted >= 0
        return all(c >= 0 and all(self._atom_nonnegative(a) for a in m) for m, c in shifted.terms)

    def _atom_nonnegative(self, atom: Atom) -> bool:
        if isinstance(atom, Symbol):
            return True
        low = self.facts.atom_interval(atom).low
        return low is not None and low >= 0

    def _candidates(self, value: Dim) -> list[Atom]:
        """Atoms that have bounds to put in; only those of the highest rank, quotients before symbols."""
        ranked: dict[Atom, tuple[int, int]] = {}
        for monomial, _ in value.terms:
            for atom in monomial:
                if atom not in ranked:
                    ranked[atom] = (self._rank(atom), int(isinstance(atom, FloorDiv)))
        usable = [a for a in ranked if isinstance(a, FloorDiv) or self._bounds_of(a)]
        usable.sort(key=lambda a: (ranked[a], str(a)), reverse=True)
        return usable[:2]

    def _bounds_of(self, atom: Symbol) -> bool:
        fact = self.facts.fact(atom.name)
        return bool(fact.lows or fact.highs) or fact.high is not None or bool(fact.low)

    def _rank(self, value: int | Dim | Atom) -> int:
        if isinstance(value, int):
            return 0
        if isinstance(value, Symbol):
            return self.facts.fact(value.name).rank
        if isinstance(value, FloorDiv):
            return max(self._rank(value.numerator), self._rank(value.denominator))
        return max((self._rank(a) for m, _ in value.terms for a in m), default=0)

    def _bounded(self, atom: Atom, factor: int | Dim, rest: int | Dim) -> list[int | Dim]:
        """Extents that are at most `factor * atom + rest`, or at least 0 only if it is."""
        sign = self._sign(factor)
        if sign == 0:
            return []
        if isinstance(atom, FloorDiv):
            return self._quotient_bounds(atom, factor, rest, sign)
        fact = self.facts.fact(atom.name)
        bounds = list(fact.lows if sign > 0 else fact.highs)
        number = fact.low if sign > 0 else fact.high
        if number is not None:
            bounds.append(number)
        return [dims.add(dims.mul(factor, bound), rest) for bound in bounds]

    def _sign(self, factor: int | Dim) -> int:
        if isinstance(factor, int):
            return 1 if factor > 0 else -1
        if self.nonnegative(factor):
            return 1
        return -1 if self.nonnegative(dims.mul(factor, -1)) else 0

    def _quotient_bounds(self, atom: FloorDiv, factor: int | Dim, rest: int | Dim, sign: int) -> list[int | Dim]:
        """From `d * q <= n <= d * q + d - 1`; both sides are scaled by a positive `d`, which keeps the sign."""
        n, d = atom.numerator, atom.denominator
        least = dims.add(dims.add(n, dims.mul(d, -1)), 1)
        found: list[int | Dim] = []
        if isinstance(d, int):
            bound = dims.mul(factor, least if sign > 0 else n)
            found.append(dims.add(dims.add(dims.mul(rest, d), bound), d - 1))
        elif self.nonnegative(dims.add(d, -1)):
            bound = dims.mul(factor, least if sign > 0 else n)
            found.append(dims.add(dims.add(dims.mul(rest, d), bound), dims.add(d, -1)))
            multiple = _multiple_of(factor, d)
            if multiple is not None:
                found.append(dims.add(dims.mul(least if sign > 0 else n, multiple), rest))
            if self.nonnegative(n):
                found.append(dims.add(dims.mul(factor, n), rest) if sign < 0 else rest)
        return found


def _split(value: Dim, atom: Atom) -> tuple[int | Dim, int | Dim] | None:
    """`value` as `factor * atom + rest`; None where the atom enters otherwise than linearly."""
    factor: int | Dim = 0
    rest: int | Dim = 0
    for monomial, coefficient in value.terms:
        count = monomial.count(atom)
        if count > 1:
            return None
        if count:
            others = tuple(a for a in monomial if a != atom)
            factor = dims.add(factor, Dim(((others, coefficient),)) if others else coefficient)
        else:
            rest = dims.add(rest, Dim(((monomial, coefficient),)) if monomial else coefficient)
    return (factor, rest)


def _multiple_of(factor: int | Dim, d: Dim) -> int | None:
    """The number k with `factor == k * d`."""
    if isinstance(factor, int) or len(factor.terms) != len(d.terms):
        return None
    k, remainder = divmod(factor.terms[0][1], d.terms[0][1])
    return k if remainder == 0 and dims.mul(d, k) == factor else None


def _substitute_symbols(value: Dim, values: Mapping[str, int | Dim]) -> int | Dim:
    """Substitute outside quotients only: their operands keep their meaning."""
    total: int | Dim = 0
    for monomial, coefficient in value.terms:
        term: int | Dim = coefficient
        for atom in monomial:
            if isinstance(atom, Symbol):
                term = dims.mul(term, values[atom.name] if atom.name in values else dims.symbol(atom.name))
            else:
                term = dims.mul(term, Dim((((atom,), 1),)))
        total = dims.add(total, term)
    return total
