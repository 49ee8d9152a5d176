"""Can two runs of a grid's body touch one element? Per index tuple: what equal indices force to be equal.

Along each axis of the tensor, equal indices give one equation between the numbers of two blocks. A sum of digits in a
mixed radix forces every digit to be equal; what one axis settles is used on the next, until all blocks are settled
(the two runs are one block) or an equation has no solution (the accesses never meet).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from agentkern.compiler.analysis import blocks
from agentkern.compiler.analysis.accesses import Access, AxisIndex, Scope, access_of
from agentkern.compiler.analysis.extents import Facts, SymbolFact
from agentkern.compiler.ir import dims
from agentkern.compiler.ir.core import Op
from agentkern.compiler.ir.dims import Atom, Dim, Symbol
from agentkern.compiler.ir.subscripts import tile_of
from agentkern.compiler.ir.types import BlockType, TileType
from agentkern.compiler.proofs.same_values import SameValues
from agentkern.compiler.proofs.violation import Form, marked_names

MARK = "'"
MAX_DIGITS = 4

Sides = tuple[Form, Form]
Meeting = Literal["never", "same block", "open"]


@dataclass(frozen=True, slots=True)
class Digit:
    """`factor * atom`, where two values of the atom differ by at most `span`."""

    atom: Atom
    factor: Form
    span: Form | None


def meeting(scope: Scope, a: Access, b: Access) -> Meeting:
    """Whether `a` in one block and `b` in another, or the same, can touch one element of their tensor."""
    return _Meeting(scope).decide(a, b)


def is_distinct(scope: Scope, name: str, access: Access | None) -> bool:
    """Whether a symbol is an element of a tensor whose values are distinct wherever `access` touches anything."""
    origin = scope.forms.origins.get(name)
    promise = scope.forms.promises.get(origin.operands[0].name or "") if origin is not None else None
    if promise is None or not promise.distinct or access is None or origin is None or origin.attrs.get("masked"):
        return False
    if promise.ignore_same is None:
        return True
    value = dims.symbol(name)
    gap = dims.add(value, -promise.ignore_same)
    if promise.ignore_same < 0 and any(index.low == value for index in access.axes if index.kind == "scalar"):
        return True  # a negative index is no element
    known = scope.forms.facts.assuming(access.condition.nonnegative)
    excluded = gap in access.condition.nonzero or dims.mul(gap, -1) in access.condition.nonzero
    return excluded or known.at_most(1, gap) or known.at_most(gap, -1)


def _reads(scope: Scope, load: Op) -> Access:
    """A load as an access, of the scope or of one around it."""
    return scope.by_op.get(load) or access_of(load, scope.forms)


class _Meeting:
    def __init__(self, scope: Scope) -> None:
        self.scope = scope
        self.facts = scope.forms.facts
        self.same = SameValues(scope)
        self.bases = {block.name: block.first for block in scope.present}
        self.first: Access | None = None
        self.holding: tuple[Facts, Facts] = (self.facts, self.facts)
        for block in scope.present:
            if blocks.has_one(block) or self.facts.at_most(blocks.count(block), 1):
                self.same.settled.add(block.name)

    def decide(self, a: Access, b: Access) -> Meeting:
        """Go over the axes until nothing new is learned."""
        if self._touches_nothing(a) or self._touches_nothing(b):
            return "never"
        self.first = a
        self.holding = (self.facts.assuming(a.condition.nonnegative), self.facts.assuming(b.condition.nonnegative))
        pairs = list(zip(a.axes, b.axes, strict=True))
        for x, y in pairs:
            found = self._elements_meet(a, b, x, y)
            if found != "open":
                return found
        if any(self._apart(x, y) for x, y in pairs):
            return "never"
        progress = True
        while progress and not self._all_settled():
            progress = any([self._learn(x, y) for x, y in pairs])
        return "same block" if self._all_settled() else "open"

    def _touches_nothing(self, access: Access) -> bool:
        """Whether an access' tile has no element, in whatever block."""
        tile = tile_of(access.op).type
        return isinstance(tile, TileType) and any(self.facts.at_most(extent, 0) for extent in tile.shape)

    def _all_settled(self) -> bool:
        return all(block.name in self.same.settled for block in self.scope.blocks)

    def _apart(self, x: AxisIndex, y: AxisIndex) -> bool:
        """Whether two index sets of one axis share nothing, whatever the blocks."""
        if "data" in (x.kind, y.kind) or (x.kind == y.kind == "block") or (x.low, x.high) == (y.low, y.high):
            return False
        if x.kind == y.kind == "scalar" and self._residues_differ(x.low, y.low):
            return True
        other, facts = self._marked(_sides(y))
        x_low, x_high = _sides(x)
        y_low, y_high = (dims.substitute(side, other) for side in _sides(y))
        return facts.at_most(x_high, y_low) or facts.at_most(y_high, x_low)

    def _marked(self, used: tuple[Form, ...]) -> tuple[dict[str, Form], Facts]:
        """The names of another run, and the facts of those that forms and the bounds of their symbols use."""
        other = marked_names(self.scope, MARK)
        copies: dict[str, SymbolFact] = {}
        waiting = [name for form in used for name in dims.symbols(form)]
        while waiting:
            name = waiting.pop()
            if name not in other or name + MARK in copies:
                continue
            fact = self.facts.fact(name)
            waiting += [n for bound in (*fact.lows, *fact.highs) for n in dims.symbols(bound)]
            lows = tuple(dims.substitute(bound, other) for bound in fact.lows)
            highs = tuple(dims.substitute(bound, other) for bound in fact.highs)
            copies[name + MARK] = type(fact)(fact.low, fact.high, fact.multiple_of, lows, highs, fact.rank)
        return other, self.facts.with_symbols(copies)

    def _residues_differ(self, x: Form, y: Form) -> bool:
        """`x` and `y` differ by a number that no whole combination of their varying terms makes up."""
        gap: Form = 0
        common = 0
        for form, sign in ((self.facts.simplify(x), 1), (self.facts.simplify(y), -1)):
            for monomial, coefficient in _terms(form):
                if any(not self.same.is_same(atom) for atom in monomial):
                    common = math.gcd(common, coefficient)
                else:
                    gap = dims.add(gap, _term(monomial, sign * coefficient))
        if not isinstance(gap, int):
            return False
        return gap % common != 0 if common else gap != 0

    def _learn(self, x: AxisIndex, y: AxisIndex) -> bool:
        """Use one axis' equation; whether it settled anything new."""
        if "data" not in (x.kind, y.kind) and self._learn_held(_sides(x), _sides(y)):
            return True
        if x.kind == "block" and y.kind == "block":
            same = x.block is not None and x.block == y.block and self.same.is_same(x.block.first)
            return same and x.block is not None and self._new(x.block.name)
        if x.kind == y.kind == "range":
            return (x.low, x.high) == (y.low, y.high) and (self._learn_piece(x) or self._learn_runs(x))
        if x.kind == "range" or y.kind == "range" or "data" in (x.kind, y.kind):
            return False
        if "block" in (x.kind, y.kind):
            return self._learn_block_scalar(x, y)
        return x.low == y.low and (self._learn_digits(self.facts.simplify(x.low)) or self._learn_shared(x.low))

    def _learn_shared(self, form: Form) -> bool:
        """Where multiples of one index are equal, the index is: segments and pieces that hold it are one."""
        moving = [(m, c) for m, c in _terms(form) if any(not self.same.is_same(atom) for atom in m)]
        common = math.gcd(*(c for _, c in moving))
        for factor in (common, -common) if moving else ():
            place = dims.add(Dim(tuple((m, c // factor) for m, c in moving)), 0)
            sides = (place, dims.add(place, 1))
            if self._learn_held(sides, sides):
                return True
        return False

    def _learn_block_scalar(self, x: AxisIndex, y: AxisIndex) -> bool:
        """A block's indices meet its own `.start` in that block only."""
        whole, single = (x, y) if x.kind == "block" else (y, x)
        block = whole.block
        if block is None or block.block is None or not self.same.is_same(block.first):
            return False
        first = blocks.start(block)
        inside = self.facts.at_most(first, single.low) and self.facts.at_most(single.high, blocks.end(block))
        return inside and self._new(block.name)

    def _learn_piece(self, x: AxisIndex) -> bool:
        """Pieces that follow one another share nothing."""
        piece = blocks.piece_of(x.low, x.high, self.scope.blocks)
        return piece is not None and self.facts.at_most(x.low, x.high) and self._new(piece[0].name)

    def _learn_held(self, x: Sides, y: Sides) -> bool:
        """Two segments, or two pieces, that hold one index are one: `x` and `y` are what each run touches."""
        return self._learn_segment(x, y) or self._learn_inside_piece(x, y)

    def _learn_inside_piece(self, x: Sides, y: Sides) -> bool:
        """Two pieces that follow one another and hold one index are one; a loop runs through each."""
        for block, (low, high) in self._pieces(x[0]):
            if block.name in self.same.settled or not self.facts.at_most(low, high):
                continue
            inside = [
                facts.at_most(low, sides[0]) and facts.at_most(sides[1], high)
                for facts, sides in zip(self.holding, (x, y), strict=True)
            ]
            if all(inside):
                return self._new(block.name)
        return False

    def _pieces(self, place: Form) -> Iterator[tuple[BlockType, Sides]]:
        """Pieces that a loop runs through, or that a part of `place` is a position in."""
        for loop in self.scope.present:
            piece = blocks.piece_of(loop.first, loop.extent, self.scope.blocks)
            if piece is not None:
                yield piece[0], (loop.first, loop.extent)
        for _, block, sides, _ in blocks.pieces_in(place, self.scope.blocks):
            yield block, sides

    def _learn_segment(self, x: Sides, y: Sides) -> bool:
        """Two segments that hold one index are one."""
        for each in self.scope.forms.ragged:
            if each.segment.name in self.same.settled or each.end is None:
                continue
            low, high = each.bounds
            inside = [
                facts.at_most(low, sides[0]) and facts.at_most(sides[1], high)
                for facts, sides in zip(self.holding, (x, y), strict=True)
            ]
            if all(inside):
                return self._new(each.segment.name)
        return False

    def _learn_runs(self, x: AxisIndex) -> bool:
        """Runs of one length that begin in steps of at least that length share nothing."""
        length = self.facts.simplify(dims.add(x.high, dims.mul(x.low, -1)))
        moves = any(not self.same.is_same(atom) for monomial, _ in _terms(x.low) for atom in monomial)
        return moves and self.same.is_same(length) and self._learn_digits(self.facts.simplify(x.low), length)

    def _new(self, name: str) -> bool:
        if name in self.same.settled:
            return False
        self.same.settled.add(name)
        return True

    def _learn_digits(self, form: Form, length: Form = 1) -> bool:
        """Equal sums have equal digits, if each factor is larger than what is below it, `length - 1` at least."""
        digits = self._digits(form)
        if not digits or not self._is_mixed_radix(digits, length):
            return False
        self.same.atoms.update(digit.atom for digit in digits)
        for digit in digits:
            place = _term((digit.atom,), 1)
            self._learn_held((place, dims.add(place, 1)), (place, dims.add(place, 1)))
        for digit in digits:
            if isinstance(digit.atom, Symbol) and digit.atom.name in self.same.block_of:
                name = self.same.block_of[digit.atom.name]
                if digit.atom.name.endswith(".ordinal") or self.same.is_same(self.bases[name]):
                    self.same.settled.add(name)
            elif isinstance(digit.atom, Symbol):
                self._learn_distinct(digit.atom.name)
        return True

    def _elements_meet(self, a: Access, b: Access, x: AxisIndex, y: AxisIndex) -> Meeting:
        """Two indices that are elements of one tensor of distinct values are equal where they are one element."""
        names = [dims.symbols(index.low) for index in (x, y) if index.kind == "scalar"]
        if (
            len(names) != 2
            or any(len(n) != 1 for n in names)
            or (x.low, y.low) != tuple(dims.symbol(n[0]) for n in names)
        ):
            return "open"
        origins = [self.scope.forms.origins.get(n[0]) for n in names]
        if not (is_distinct(self.scope, names[0][0], a) and is_distinct(self.scope, names[1][0], b)):
            return "open"
        one, other = (_reads(self.scope, op) for op in origins if op is not None)
        alike = one.tensor is other.tensor and one.view == other.view
        return _Meeting(self.scope).decide(one, other) if alike else "open"

    def _learn_distinct(self, name: str) -> None:
        """Equal values of a tensor of distinct values are one element of it."""
        origin = self.scope.forms.origins.get(name)
        if origin is None or not is_distinct(self.scope, name, self.first):
            return
        axes = _reads(self.scope, origin).axes
        while any([self._learn(index, index) for index in axes]):
            pass

    def _digits(self, form: Form) -> list[Digit] | None:
        """The varying part of a form as digits; None where it is not a sum of such."""
        factors: dict[Atom, Form] = {}
        if isinstance(form, int):
            return []
        for monomial, coefficient in form.terms:
            moving = [a for a in monomial if not self.same.is_same(a)]
            if not moving:
                continue
            if len(moving) > 1:
                return None
            rest: Form = coefficient
            for atom in monomial:
                if atom != moving[0]:
                    rest = dims.mul(rest, Dim((((atom,), 1),)))
            factors[moving[0]] = dims.add(factors.get(moving[0], 0), rest)
        return [Digit(atom, factor, self._span(atom)) for atom, factor in factors.items() if factor != 0]

    def _span(self, atom: Atom) -> Form | None:
        for block in self.scope.present if isinstance(atom, Symbol) else ():
            if atom == Symbol(blocks.ordinal_name(block)):
                return self.facts.simplify(dims.add(blocks.count(block), -1))
            if atom == Symbol(blocks.at_name(block)) and self._has_one_range(block):
                return self.facts.simplify(dims.add(block.length, -1))
        bounds = self.facts.atom_interval(atom)
        return None if bounds.low is None or bounds.high is None else bounds.high - bounds.low

    def _has_one_range(self, block: BlockType) -> bool:
        """Whether a block's axis is of the same indices in both runs."""
        return self.same.is_same(block.first) and self.same.is_same(block.extent)

    def _is_mixed_radix(self, digits: list[Digit], length: Form) -> bool:
        """Some order of the digits has each factor larger than all that the digits below it can make up."""
        if len(digits) > MAX_DIGITS:
            return False
        return any(self._is_ascending(order, length) for order in itertools.permutations(digits))

    def _is_ascending(self, digits: tuple[Digit, ...], length: Form) -> bool:
        facts = self.facts.positive(block.length for block in self.scope.present)
        reach: Form | None = dims.add(length, -1)
        for digit in digits:
            if reach is None:
                return False
            size = self._magnitude(digit.factor, facts)
            if size is None or not facts.at_most(dims.add(reach, 1), size):
                return False
            reach = None if digit.span is None else dims.add(reach, dims.mul(size, digit.span))
        return True

    @staticmethod
    def _magnitude(factor: Form, facts: Facts) -> Form | None:
        if facts.nonnegative(factor):
            return factor
        opposite = dims.mul(factor, -1)
        return opposite if facts.nonnegative(opposite) else None


def _terms(form: Form) -> tuple[tuple[tuple[Atom, ...], int], ...]:
    if isinstance(form, int):
        return (((), form),)
    return form.terms


def _term(monomial: tuple[Atom, ...], coefficient: int) -> Form:
    return Dim(((monomial, coefficient),)) if monomial else coefficient


def _sides(index: AxisIndex) -> Sides:
    """Bounds of an index set over all blocks, or in terms of the block's number."""
    if index.block is not None:
        return (index.block.first, index.block.extent)
    return (index.low, index.high)
