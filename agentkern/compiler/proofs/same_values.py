"""What has one value in two runs of a grid's body.

Two runs whose block and steps are the same are one run, up to the loops that their steps are of: what is computed
there is one value. Besides, a value is a function of what its operations read, whatever they are, loops and choices
included: where that is inputs at equal places and values that are equal, it is equal too.
"""

from __future__ import annotations

from collections.abc import Iterable

from agentkern.compiler.analysis import blocks
from agentkern.compiler.analysis.accesses import Scope
from agentkern.compiler.ir import dims
from agentkern.compiler.ir.core import Op, Value, walk
from agentkern.compiler.ir.dims import Atom, Dim, FloorDiv, Symbol
from agentkern.compiler.ir.types import BlockType, TensorType

Form = int | Dim
Item = Form | Atom | Value


class SameValues:
    """`settled` are the blocks that are equal in both runs, `atoms` what else is known to be; both only grow.

    Of a block that begins where its segment or piece does, to be settled says that it is as far from there in both.
    """

    def __init__(self, scope: Scope) -> None:
        self.scope = scope
        self.forms = scope.forms
        self.block_of = {n: block.name for block in scope.present for n in blocks.block_facts(block)}
        self.bases = {block.name: block.first for block in scope.present}
        self.owner = {**self.block_of, **{n: each.segment.name for each in scope.forms.ragged for n in each.names}}
        self.varying = {*self.block_of, *scope.forms.data, *scope.forms.derived}
        self.settled: set[str] = set()
        self.atoms: set[Atom] = set()

    def is_same(self, item: Item) -> bool:
        """Whether a form, a part of one, or a value is the same in both runs."""
        waiting, seen = [item], set[Item]()
        while waiting:
            one = waiting.pop()
            if isinstance(one, int) or one in seen:
                continue
            seen.add(one)
            sources = self._sources(one)
            if sources is None:
                return False
            waiting += sources
        return True

    def _sources(self, item: Dim | Atom | Value) -> Iterable[Item] | None:
        """What an item is a function of; None where nothing is known."""
        match item:
            case Symbol(name):
                return () if item in self.atoms else self._of_symbol(name)
            case FloorDiv(numerator, denominator):
                return () if item in self.atoms else (numerator, denominator)
            case Dim(terms):
                return [atom for monomial, _ in terms for atom in monomial]
            case Value():
                return self._of_value(item)

    def _of_symbol(self, name: str) -> Iterable[Item] | None:
        if name not in self.varying:
            return ()
        owner = self.owner.get(name)
        if owner in self.settled:
            return () if name.endswith(".ordinal") else (self.bases.get(owner, 0),)
        cases = self.forms.facts.fact(name).cases
        if cases:
            return cases
        value = self.forms.values.get(name)
        return self._of_maker(value) if value is not None and "@" not in name else None

    def _of_value(self, value: Value) -> Iterable[Item] | None:
        if isinstance(value.type, BlockType):
            return (value.type.first,) if value.type.name in self.settled else None
        if isinstance(value.type, TensorType):
            return () if value.type.access == "in" else None
        if value in self.forms.fixed:
            return ()
        form = self.forms.form(value)
        if form is None or self._names(form, value):
            return self._of_maker(value)
        return (form,)

    def _names(self, form: Form, value: Value) -> bool:
        """Whether a form is nothing but the value's own symbol."""
        names = dims.symbols(form)
        return len(names) == 1 and form == dims.symbol(names[0]) and self.forms.values.get(names[0]) is value

    def _of_maker(self, value: Value) -> Iterable[Item] | None:
        op = self.forms.makers.get(value)
        loop = self.forms.carriers.get(value)
        if op is not None:
            return () if self._runs_once(op) else [*op.operands, *_free(op)]
        if loop is None:
            return None
        # what a loop carries is a function of what the loop is given and of the step
        step = loop.regions[0].args[0]
        return (step,) if self._runs_once(loop) else [*loop.operands, *_free(loop), step]

    def _runs_once(self, op: Op) -> bool:
        """Whether both runs have one and the same execution of an operation."""
        grid = self.scope.grid
        around = [arg.type for arg in grid.regions[0].args] if grid is not None else []
        names = [t.name for t in (*around, *self.scope.loops.get(op, ())) if isinstance(t, BlockType)]
        return all(name in self.settled for name in names)


def _free(op: Op) -> list[Value]:
    """Values from outside that the results of an operation's regions follow from: what they store is none."""
    inside = [inner for region in op.regions for inner in walk(region.ops)]
    own = {arg for region in op.regions for arg in region.args}
    own.update(arg for inner in inside for region in inner.regions for arg in region.args)
    own.update(result for inner in inside for result in inner.results)
    read = (v for inner in inside if "writes" not in inner.spec.traits for v in inner.operands)
    return [value for value in dict.fromkeys(read) if value not in own]
