"""What a store writes over all blocks of its grid, as a box: one range per axis of the tensor."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

from agentkern.compiler.analysis import blocks
from agentkern.compiler.analysis.accesses import Access, Scope
from agentkern.compiler.analysis.ragged import Ragged
from agentkern.compiler.ir import dims
from agentkern.compiler.ir.dims import Atom, Dim, FloorDiv, Symbol
from agentkern.compiler.ir.types import BlockType
from agentkern.compiler.proofs.violation import Form

Interval = tuple[Form, Form]


@dataclass(frozen=True, slots=True)
class Box:
    """What one store writes over all blocks, if every extent of `needs` is at least 1.

    Unless `exact` the store may write more than the box.
    """

    sides: tuple[Interval, ...]
    needs: tuple[Form, ...]
    exact: bool = True


def box_of(scope: Scope, store: Access) -> Box | None:
    """The box that a store fills; None where none is known."""
    return None if store.op in scope.conditional or store.masked else _Sweep(scope.around(store.op)).box(store)


def interleaved_boxes(scope: Scope, stores: Sequence[Access]) -> Iterator[Box]:
    """Boxes that several stores of a block fill together: `o[2 * i]` and `o[2 * i + 1]`."""
    groups: dict[tuple[int, object], dict[int, Access]] = {}
    for store in stores:
        if store.op in scope.conditional or store.masked:
            continue
        for axis, index in enumerate(store.axes):
            if index.kind == "scalar":
                offset = _constant(index.low)
                same = tuple((a.kind, a.low, a.high, a.block) for k, a in enumerate(store.axes) if k != axis)
                groups.setdefault((axis, (dims.add(index.low, -offset), same)), {})[offset] = store
    for (axis, _), group in groups.items():
        for start in (offset for offset in group if offset - 1 not in group):
            count = next(n for n in range(1, len(group) + 1) if start + n not in group)
            if count > 1:
                first = group[start]
                moving = replace(first.axes[axis], low=dims.add(first.axes[axis].low, Dim((((_TURN,), 1),))))
                axes = (*first.axes[:axis], moving, *first.axes[axis + 1 :])
                box = _Sweep(scope.around(first.op), {_TURN: count}).box(replace(first, axes=axes))
                if box is not None:
                    yield box


_TURN = Symbol("@turn")


def _constant(form: Form) -> int:
    return form if isinstance(form, int) else next((number for factors, number in form.terms if not factors), 0)


class _Sweep:
    """Numbers that run through a whole range as the blocks do: ordinals, and quotients of what runs through a range."""

    def __init__(self, scope: Scope, more: Mapping[Atom, Form] = MappingProxyType({})) -> None:
        self.scope = scope
        varying = [n for block in scope.blocks for n in blocks.block_facts(block)]
        self.varying = {*varying, *scope.forms.data, *scope.forms.derived}
        self.within = _loops_over_blocks(scope)
        self.fixed = [b for b in scope.blocks if self.is_fixed(b)]
        some = {each.segment for each in scope.forms.ragged if each.rows is not None}  # only segments that have rows
        self.counts: dict[Atom, Form] = {
            Symbol(blocks.ordinal_name(b)): blocks.count(b) for b in self.fixed if b.block is not None and b not in some
        }
        self.counts.update({Symbol(blocks.at_name(b)): b.extent for b in self.fixed if b.first == 0})
        self.counts.update(more)
        self.counts.update({_inside(loop): block.length for loop, block in self.within.items()})
        self.of_segments = {block: found for block in scope.blocks if (found := self._of_segment(block)) is not None}
        self.counts.update(
            {_inside(block): end for block, (ragged, _) in self.of_segments.items() if (end := ragged.end)}
        )
        self.names: dict[Atom, tuple[str, ...]] = {Symbol(blocks.ordinal_name(b)): (b.name,) for b in scope.blocks}
        self.names.update({Symbol(blocks.at_name(b)): (b.name,) for b in scope.blocks})
        self.names.update({_inside(loop): (loop.name, block.name) for loop, block in self.within.items()})
        for block, (ragged, _) in self.of_segments.items():
            self.names[_inside(block)] = (block.name, ragged.segment.name)
        self.spent: list[str] = []
        self.exact = True

    def _of_segment(self, block: BlockType) -> tuple[Ragged, Form] | None:
        """The segment that a block or loop runs through, and the index that its first one stands for."""
        for ragged in self.scope.forms.ragged:
            start, length = map(dims.symbol, ragged.names)
            if ragged.end is not None and (block.first, block.extent) in (ragged.bounds, (0, length)):
                return ragged, start
        return None

    def is_fixed(self, block: BlockType) -> bool:
        """Whether the axis has one range for every block and step."""
        return self.varying.isdisjoint([*dims.symbols(block.first), *dims.symbols(block.extent)])

    def box(self, store: Access) -> Box | None:
        """Give every axis its range; axes that divide one number are taken together."""
        sides: dict[int, Interval] = {}
        waiting: dict[int, Form] = {}
        for axis, index in enumerate(store.axes):
            if index.kind == "data":
                return None
            if index.block is not None and self._ragged(index.block.first, index.block.extent) is not None:
                self.spent.append(index.block.name)
                sides[axis] = self._range(index.block.first, index.block.extent)
            elif index.block is not None:
                whole = self.within.get(index.block, index.block)
                if not self.is_fixed(whole):
                    return None
                self.spent += dict.fromkeys((index.block.name, whole.name))
                sides[axis] = (whole.first, whole.extent)
            elif index.kind == "range" and not self._runs(index.low, index.high):
                sides[axis] = self._range(index.low, index.high)
            elif index.kind == "range":
                waiting[axis] = self._over_blocks(self._moving(axis, index.low, index.high))
            else:
                waiting[axis] = self._over_blocks(index.low)
        self._take_remainders(waiting, sides)
        for axis, form in waiting.items():
            side = self._swept(form)
            if side is None:
                return None
            sides[axis] = side
        if len(set(self.spent)) != len(self.spent) or not self._all_known():
            return None
        return Box(tuple(sides[axis] for axis in range(len(store.axes))), self._needs(), self.exact)

    def _moving(self, axis: int, low: Form, high: Form) -> Form:
        """A number that runs through a range of one length; one number needs no count of its own."""
        length = dims.add(high, dims.mul(low, -1))
        if length == 1:
            return low
        inside = Symbol(f"@inside axis {axis}")
        self.counts[inside] = length
        return dims.add(low, Dim((((inside,), 1),)))

    def _runs(self, low: Form, high: Form) -> bool:
        """Whether a range of one length moves on with the blocks."""
        length = dims.add(high, dims.mul(low, -1))
        moves = not self.varying.isdisjoint(dims.symbols(low))
        return moves and self.varying.isdisjoint(dims.symbols(length)) and self.scope.forms.facts.nonnegative(length)

    def _all_known(self) -> bool:
        return all(
            block in self.fixed or block in self.within or block in self.of_segments for block in self.scope.blocks
        )

    def _ragged(self, low: Form, high: Form) -> Ragged | None:
        """The segments whose current one is all of `low` to `high`, where they are known to follow one another."""
        found = self.scope.forms.segment_within(low, high)
        return found if found is not None and found.end is not None else None

    def _over_blocks(self, form: Form) -> Form:
        """An index in which what runs over a block's or a segment's indices runs through those of all of them."""
        moved = {
            blocks.ordinal_name(loop): dims.add(
                dims.add(Dim((((_inside(loop),), 1),)), block.first), dims.mul(loop.first, -1)
            )
            for loop, block in self.within.items()
            if loop.block == 1
        }
        for block, (_, start) in self.of_segments.items():
            number = dims.add(Dim((((_inside(block),), 1),)), dims.mul(start, -1))
            moved[blocks.at_name(block)] = dims.add(number, block.first)
            if block.block == 1:
                moved[blocks.ordinal_name(block)] = number
        return self._over_pieces(dims.substitute(form, moved))

    def _over_pieces(self, form: Form) -> Form:
        """An index in which positions run through their axes, those in a segment or piece through all of them."""
        for ragged in self.scope.forms.ragged:
            start, length = map(dims.symbol, ragged.names)
            for name in dims.symbols(form):
                if ragged.end is not None and _is_position(name, length):
                    inside = self._through(ragged.segment, ragged.end)
                    form = dims.substitute(form, {name: dims.add(inside, dims.mul(start, -1))})
        for name in dims.symbols(form):
            extent = blocks.position_extent(name)
            if extent is not None and self.varying.isdisjoint(dims.symbols(extent)):
                self.counts[Symbol(name)] = extent
        for name, block, (low, high), end in blocks.pieces_in(form, self.scope.blocks):
            first = dims.substitute(low, {blocks.ordinal_name(block): 0})
            if self.scope.forms.facts.at_most(low, high):
                inside = self._through(block, dims.add(end, dims.mul(first, -1)))
                form = dims.substitute(form, {name: dims.add(dims.add(inside, first), dims.mul(low, -1))})
        return form

    def _through(self, block: BlockType, count: Form) -> Form:
        """The number that runs through all indices of a block's segments or pieces."""
        self.counts[_inside(block)] = count
        self.names[_inside(block)] = (block.name,)
        return Dim((((_inside(block),), 1),))

    def _range(self, low: Form, high: Form) -> Interval:
        """A range; of pieces or segments that follow one another, all that they make up."""
        ragged = self._ragged(low, high)
        if ragged is not None and ragged.end is not None:
            self.spent.append(ragged.segment.name)
            return (0, ragged.end)
        piece = blocks.piece_of(low, high, self.scope.blocks)
        if piece is None or not self.scope.forms.facts.at_most(low, high):
            return (low, high)
        block, end = piece
        self.spent.append(block.name)
        return (dims.substitute(low, {blocks.ordinal_name(block): 0}), end)

    def _needs(self) -> tuple[Form, ...]:
        """Extents without which the store never runs, and quotients that no axis shows."""
        shown = {*self.spent, *(loop.name for loop in self.within)}  # a block has an index
        idle = [b.length for b in self.scope.blocks if b.name not in shown and not _exists(b)]
        hidden = [n for atom, n in self.counts.items() if isinstance(atom, FloorDiv) and str(atom) not in self.spent]
        return (*idle, *hidden)

    def _take_remainders(self, waiting: dict[int, Form], sides: dict[int, Interval]) -> None:
        """While an axis is `n % d`, n running through 0 to w: the axis fills d, and `n // d` runs through w // d."""
        progress = True
        while progress:
            progress = False
            for axis, form in list(waiting.items()):
                found = _remainder(form)
                run = self._swept(dims.add(found.numerator, 0)) if found is not None else None
                if found is None or run is None or run[0] != 0:
                    continue
                whole = dims.exact_quotient(run[1], found.denominator)
                self.exact &= whole is not None
                self.counts[found] = whole if whole is not None else dims.floordiv(run[1], found.denominator)
                sides[axis] = (0, found.denominator)
                del waiting[axis]
                progress = True

    def _swept(self, form: Form) -> Interval | None:
        """The range that `base + number0 + count0 * number1 + ...` runs through; any number may count down."""
        if isinstance(form, int):
            return (form, form + 1)
        base: Form = 0
        factors: dict[Atom, Form] = {}
        for monomial, coefficient in form.terms:
            moving = [a for a in monomial if a in self.counts]
            rest = tuple(a for a in monomial if a not in self.counts)
            if len(moving) > 1 or any(self._varies(a) for a in rest):
                return None
            term: Form = Dim(((rest, coefficient),)) if rest else coefficient
            if moving:
                factors[moving[0]] = dims.add(factors.get(moving[0], 0), term)
            else:
                base = dims.add(base, term)
        width: Form = 1
        spent: list[str] = []
        while factors:
            atom = next((a for a, factor in factors.items() if factor in (width, dims.mul(width, -1))), None)
            if atom is None:
                return None
            if factors.pop(atom) != width:
                # a number that counts down runs through the same range from its other end
                base = dims.add(base, dims.mul(width, dims.add(1, dims.mul(self.counts[atom], -1))))
            spent += self.names.get(atom, (str(atom),))
            width = dims.mul(width, self.counts[atom])
        self.spent += spent
        return (base, dims.add(base, width))

    def _varies(self, atom: Atom) -> bool:
        return not self.varying.isdisjoint(dims.symbols(Dim((((atom,), 1),))))


def _inside(loop: BlockType) -> Symbol:
    """The number that runs through all indices of a block's axis as blocks and the steps in them do."""
    return Symbol(f"@inside {loop.name}")


def _is_position(name: str, extent: Form) -> bool:
    """Whether a symbol runs through all positions of an axis of this extent."""
    return blocks.position_extent(name) == extent


def _loops_over_blocks(scope: Scope) -> dict[BlockType, BlockType]:
    """Loops whose indices are those of a block around them, or of a piece of a range: what all of them run through."""
    found: dict[BlockType, BlockType] = {}
    for place, loop in enumerate(scope.blocks):
        for block in scope.blocks[:place]:
            if block.block is not None and (loop.first, loop.extent) == (blocks.start(block), blocks.end(block)):
                found[loop] = block
        piece = blocks.piece_of(loop.first, loop.extent, scope.blocks[:place])
        if piece is not None and scope.forms.facts.at_most(loop.first, loop.extent):
            block, end = piece
            first = dims.substitute(loop.first, {blocks.ordinal_name(block): 0})
            found[loop] = BlockType(block.name, end, None, first)
    return found


def _exists(block: BlockType) -> bool:
    return isinstance(block.length, int) and block.length > 0


def _remainder(form: Form) -> FloorDiv | None:
    """The quotient `n // d` where a form is `n - d * (n // d)`."""
    if isinstance(form, int):
        return None
    for monomial, _ in form.terms:
        for atom in monomial:
            if isinstance(atom, FloorDiv):
                whole = dims.add(form, dims.mul(Dim((((atom,), 1),)), atom.denominator))
                if whole == atom.numerator:
                    return atom
    return None
