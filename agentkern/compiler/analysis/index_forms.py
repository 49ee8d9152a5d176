"""Index scalars as exact extents over sizes, block numbers and parameters. Facts only.

An integer value that is the same everywhere has a form where its arithmetic provably does not wrap. Any other scalar
becomes a symbol of its own: `#n` for data (a load, a value that may wrap), `#n` with a definition for `minimum`,
`maximum` and `abs`. A tile whose elements differ has a range only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from agentkern.compiler.analysis import blocks
from agentkern.compiler.analysis.extents import Facts, SymbolFact
from agentkern.compiler.analysis.intervals import IndexRange
from agentkern.compiler.analysis.promises import Promise, Promises, element_fact, lasting_promises
from agentkern.compiler.analysis.ragged import Ragged
from agentkern.compiler.analysis.ranges import dtype_range, positions_range, value_range
from agentkern.compiler.analysis.value_bounds import with_bounds
from agentkern.compiler.ir import dims
from agentkern.compiler.ir.core import Kernel, Op, Value
from agentkern.compiler.ir.dims import Dim
from agentkern.compiler.ir.loop_ops import loop_parts
from agentkern.compiler.ir.subscripts import fill_of
from agentkern.compiler.ir.types import BlockType, TensorType, TileType

Form = int | Dim
Clause = tuple[Form, ...]
VALUE_RANK = 5
LEVEL_RANKS = 1000
"""Ranks between one loop's symbols and the next one's, more than the values that one region defines."""


@dataclass(frozen=True, slots=True)
class Required:
    """A form that `ak.require` has shown to be nonnegative, or not zero: a scalar's, or any element's of a tile.

    The elements of a tile are called by the base of their symbol, `of`.
    """

    form: Form
    nonzero: bool = False
    of: str = ""


@dataclass(slots=True)
class IndexForms:
    """Forms of index values met so far, with the facts of every symbol that they use.

    `values` are what symbols stand for, `fixed` the parameters: the same throughout a launch; `carriers` are loops by
    what they carry. `extents` are products that i64 holds, because the caller passes tensors, and the launch counts
    blocks, of that many. `definitions` are clauses that define a symbol: of each, at least one member is nonnegative.
    `data` names symbols that stand for what no analysis sees.
    """

    facts: Facts
    extents: tuple[Form, ...] = ()
    blocks: tuple[BlockType, ...] = ()
    forms: dict[Value, Form] = field(default_factory=dict)
    ranges: dict[Value, IndexRange] = field(default_factory=dict)
    definitions: dict[str, tuple[Clause, ...]] = field(default_factory=dict)
    data: list[str] = field(default_factory=list)
    scalars: list[str] = field(default_factory=list)
    derived: list[str] = field(default_factory=list)
    makers: dict[Value, Op] = field(default_factory=dict[Value, Op])
    origins: dict[str, Op] = field(default_factory=dict[str, Op])
    promises: Promises = field(default_factory=dict[str, Promise])
    elements: dict[Value, Form] = field(default_factory=dict)
    loops: dict[str, BlockType] = field(default_factory=dict[str, BlockType])
    required: tuple[Required, ...] = ()
    unassumed: dict[str, SymbolFact] = field(default_factory=dict[str, SymbolFact])
    ragged: tuple[Ragged, ...] = ()
    values: dict[str, Value] = field(default_factory=dict[str, Value])
    fixed: frozenset[Value] = frozenset()
    carriers: dict[Value, Op] = field(default_factory=dict[Value, Op])

    def copy(self) -> IndexForms:
        """An independent copy, for the body of a grid."""
        lists = (dict(self.definitions), list(self.data), list(self.scalars), list(self.derived))
        made = (dict(self.makers), dict(self.origins), self.promises, dict(self.elements), dict(self.loops))
        first = (self.facts, self.extents, self.blocks, dict(self.forms), dict(self.ranges))
        found = IndexForms(*first, *lists, *made, self.required, ragged=self.ragged, fixed=self.fixed)
        found.values.update(self.values)
        found.carriers.update(self.carriers)
        return found

    def required_of(self, name: str) -> Iterator[Required]:
        """What is required of the elements that a symbol stands for, in terms of that symbol."""
        for each in self.required:
            if each.of and name.startswith(f"{each.of}@"):
                yield replace(each, form=dims.substitute(each.form, {each.of: dims.symbol(name)}))

    def form(self, value: Value) -> Form | None:
        """The form of an integer value that is the same everywhere, if it has one."""
        return self.forms.get(value)

    def range(self, value: Value) -> IndexRange:
        """Bounds of an integer value; for a tile, of each of its elements."""
        form = self.forms.get(value)
        if form is not None:
            return self.facts.interval(form)
        return self.ranges.get(value) or dtype_range(value)

    def enter(self, block: BlockType) -> None:
        """Add the symbols of a block variable."""
        self.facts = self.facts.with_symbols(blocks.block_facts(block))
        self.blocks = (*self.blocks, block)

    def enter_segments(self, ragged: Ragged) -> None:
        """Add the symbols of a segment: data, bounded where offsets are promised."""
        self.facts = self.facts.with_symbols(ragged.facts())
        self.data += ragged.names
        self.ragged = (*self.ragged, ragged)

    def segment_within(self, low: Form, high: Form) -> Ragged | None:
        """The segments whose current one is all of `low` to `high`."""
        return next((each for each in self.ragged if each.bounds == (low, high)), None)

    def enter_loop(self, op: Op) -> BlockType:
        """Add the symbols of a loop's steps and carried values; returns its block with bounds as forms."""
        parts = loop_parts(op)
        first, extent = parts.type.first, parts.type.extent
        if parts.low is not None:
            first = self.forms[parts.low]
        if parts.high is not None:
            extent = self.forms[parts.high]
        block = BlockType(parts.type.name, extent, parts.type.block, first)
        self.loops[block.name] = block
        self.facts = self.facts.with_symbols(blocks.block_facts(block, self._rank()))
        self.carriers.update(dict.fromkeys(parts.args, op))
        for arg in parts.args:
            self.unknown(arg)
        return block

    def resolved(self, block: BlockType) -> BlockType:
        """A block whose bounds are forms."""
        return self.loops.get(block.name, block)

    def unknown(self, value: Value) -> None:
        """Give an integer that no analysis sees its symbol or its range."""
        if _is_index(value):
            self.forms[value] = self._opaque(value, dtype_range(value))
        elif _is_integer(value):
            self.ranges[value] = dtype_range(value)

    def _rank(self) -> int:
        return LEVEL_RANKS * len(self.loops)

    def visit(self, op: Op) -> None:
        """Give the results of one operation their forms, where they are index scalars."""
        self.makers.update(dict.fromkeys(op.results, op))
        if op.name in ("loop", "branch"):
            for value in op.results:
                self.unknown(value)
            return
        if op.name == "topk":
            self.unknown(op.results[0])
            self.ranges[op.results[1]] = positions_range(op)
            return
        if len(op.results) != 1 or not _is_integer(op.result):
            return
        if op.name == "index":
            block = op.operands[0].type
            assert isinstance(block, BlockType)
            self.ranges[op.result] = self.facts.symbol_interval(blocks.at_name(block))
            return
        rule = FORM_RULES.get(op.name)
        form = rule(self, op) if rule is not None else None
        if form is not None and (self._is_exact(op) or self.fits(form, op.result)):
            self.forms[op.result] = form
        elif _is_index(op.result):
            self.forms[op.result] = self._opaque(op.result, value_range(op, self.range))
        else:
            self.ranges[op.result] = value_range(op, self.range)

    def _is_exact(self, op: Op) -> bool:
        """Whether the result cannot wrap: a block's own number, a quotient or remainder by a positive number."""
        if op.name not in ("floor_div", "mod"):
            return op.name in ("start", "ordinal", "end")
        low = self.range(op.operands[1]).low
        return low is not None and low >= 1

    def scalar_parameter(self, value: Value) -> None:
        """Give a run-time scalar parameter its symbol, `$name`."""
        if _is_index(value):
            name = f"${value.name}"
            bounds = dtype_range(value)
            self._symbol(name, SymbolFact(bounds.low, bounds.high, rank=0))
            self.scalars.append(name)
            self.forms[value] = dims.symbol(name)

    def fits(self, form: Form, value: Value) -> bool:
        """Whether an integer value's type holds a form: the arithmetic that made it does not wrap."""
        assert isinstance(value.type, TileType)
        low, high = value.type.dtype.integer_range
        if isinstance(form, int):
            return low <= form <= high
        found = self.facts.interval(form)
        if found.within(low, high):
            return True
        wide = value.type.dtype.name == "i64" and found.low is not None and found.low >= low
        return wide and any(self.facts.at_most(form, extent) for extent in self.extents)

    def _symbol(self, name: str, fact: SymbolFact) -> None:
        self.facts = self.facts.with_symbols({name: fact})

    def _opaque(self, value: Value, bounds: IndexRange) -> Form:
        name = self._data_symbol(value, bounds)
        self.data.append(name)
        return dims.symbol(name)

    def element_symbol(self, value: Value) -> str:
        """A name for an element of a tile that has no form, known to the facts; it is no unknown by itself."""
        return self._data_symbol(value, self.range(value))

    def _data_symbol(self, value: Value, bounds: IndexRange) -> str:
        name = f"#{len(self.data) + len(self.derived)}"
        fact = SymbolFact(bounds.low, bounds.high, rank=VALUE_RANK + self._rank())
        self.values[name] = value
        op = self.makers.get(value)
        if op is not None and op.name == "load":
            fact = element_fact(self.promise_of(op), fact, self.facts)
            self.origins[name] = op
        elif op is not None:
            # what is required somewhere does not hold wherever the value is read
            always = Facts({**self.facts.symbols, **self.unassumed}, self.facts.meanings)
            fact = with_bounds(op, value, fact, self._known_form, always)
        self._symbol(name, fact)
        return name

    def _known_form(self, value: Value) -> Form | None:
        """The form of a value or of its elements, as far as it has been asked for."""
        return self.forms.get(value, self.elements.get(value))

    def promise_of(self, load: Op) -> Promise | None:
        """What holds of every element of a load's result: its tensor's promise, if what it fills with keeps it."""
        promise = self.promises.get(load.operands[0].name or "")
        if promise is None or not load.attrs.get("masked"):
            return promise
        fill = fill_of(load)
        value = self.forms.get(fill) if fill is not None else 0
        if value is None:
            return None
        keeps = value == promise.ignore
        if not keeps and promise.low is not None and promise.high is not None:
            keeps = self.facts.at_most(promise.low, value) and self.facts.at_most(dims.add(value, 1), promise.high)
        return replace(promise, distinct=False, end=None) if keeps else None

    def choice(self, a: Form, b: Form, *, largest: bool) -> Form:
        """The larger or the smaller of two forms, as a defined symbol."""
        if self.facts.at_most(a, b):
            return b if largest else a
        if self.facts.at_most(b, a):
            return a if largest else b
        name = f"#{len(self.data) + len(self.derived)}"
        ranges = (self.facts.interval(a), self.facts.interval(b))
        lows, highs = [r.low for r in ranges], [r.high for r in ranges]
        pick = max if largest else min
        low = _bound(lows, pick, any_side=largest)
        high = _bound(highs, pick, any_side=not largest)
        rank = VALUE_RANK + self._rank() + len(self.derived)
        bounds = (a, b)
        self._symbol(name, SymbolFact(low, high, 1, bounds if largest else (), () if largest else bounds, rank, bounds))
        self.derived.append(name)
        value = dims.symbol(name)
        gaps = [dims.add(value, dims.mul(x, -1)) if largest else dims.add(x, dims.mul(value, -1)) for x in bounds]
        self.definitions[name] = ((gaps[0],), (gaps[1],), (dims.mul(gaps[0], -1), dims.mul(gaps[1], -1)))
        return value


def _bound(sides: Sequence[int | None], pick: Callable[[list[int]], int], *, any_side: bool) -> int | None:
    """A bound of a choice: of the side that always holds one known bound is enough, of the other both are needed."""
    known = [s for s in sides if s is not None]
    return pick(known) if known and (any_side or len(known) == len(sides)) else None


def _is_integer(value: Value) -> bool:
    return isinstance(value.type, TileType) and value.type.dtype.is_integer


def _is_index(value: Value) -> bool:
    return isinstance(value.type, TileType) and not value.type.shape and value.type.dtype.is_integer


def _operands(state: IndexForms, op: Op) -> list[Form] | None:
    found = [state.forms.get(v) for v in op.operands]
    return [f for f in found if f is not None] if None not in found else None


def _binary(combine: Callable[[Form, Form], Form]) -> Callable[[IndexForms, Op], Form | None]:
    def rule(state: IndexForms, op: Op) -> Form | None:
        operands = _operands(state, op)
        return combine(operands[0], operands[1]) if operands is not None else None

    return rule


def _division(combine: Callable[[Form, Form], Form]) -> Callable[[IndexForms, Op], Form | None]:
    def rule(state: IndexForms, op: Op) -> Form | None:
        operands = _operands(state, op)
        if operands is None or not state.facts.interval(operands[1]).excludes(0):
            return None
        return combine(operands[0], operands[1])

    return rule


def _choice(state: IndexForms, op: Op) -> Form | None:
    operands = _operands(state, op)
    if operands is None:
        return None
    return state.choice(operands[0], operands[1], largest=op.name == "maximum")


def _absolute(state: IndexForms, op: Op) -> Form | None:
    operands = _operands(state, op)
    if operands is None:
        return None
    return state.choice(operands[0], dims.mul(operands[0], -1), largest=True)


def _constant(state: IndexForms, op: Op) -> Form | None:
    value = op.attrs["value"]
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _extent(state: IndexForms, op: Op) -> Form | None:
    value = op.attrs["extent"]
    return value if isinstance(value, int | Dim) else None


def _same(state: IndexForms, op: Op) -> Form | None:
    return state.forms.get(op.operands[0])


def _negated(state: IndexForms, op: Op) -> Form | None:
    form = state.forms.get(op.operands[0])
    return dims.mul(form, -1) if form is not None else None


def _of_block(number: Callable[[BlockType], Form]) -> Callable[[IndexForms, Op], Form | None]:
    def rule(state: IndexForms, op: Op) -> Form | None:
        block = op.operands[0].type
        assert isinstance(block, BlockType)
        return number(state.resolved(block)) if block.block is not None else None

    return rule


FORM_RULES: Mapping[str, Callable[[IndexForms, Op], Form | None]] = {
    "constant": _constant,
    "size": _extent,
    "add": _binary(dims.add),
    "sub": _binary(lambda a, b: dims.add(a, dims.mul(b, -1))),
    "mul": _binary(dims.mul),
    "neg": _negated,
    "floor_div": _division(dims.floordiv),
    "mod": _division(dims.mod),
    "minimum": _choice,
    "maximum": _choice,
    "abs": _absolute,
    "cast": _same,
    "broadcast": _same,
    "reshape": _same,
    "transpose": _same,
    "ordinal": _of_block(blocks.ordinal),
    "start": _of_block(blocks.start),
    "end": _of_block(blocks.end),
}


def _grid_extents(grid: Op) -> list[Form]:
    return [arg.type.extent for arg in grid.regions[0].args if isinstance(arg.type, BlockType)]


def _is_product(extent: Dim) -> bool:
    return any(len(monomial) > 1 for monomial, _ in extent.terms)


def parameter_forms(kernel: Kernel, values: Mapping[str, int] | None = None) -> IndexForms:
    """Forms of a kernel's parameters; `values` gives some sizes their numbers."""
    shapes = [param.type.shape for param in kernel.params if isinstance(param.type, TensorType)]
    shapes += [tuple(_grid_extents(op)) for op in kernel.body if op.name == "grid"]
    extents = dict.fromkeys(e for shape in shapes for e in shape if isinstance(e, Dim) and _is_product(e))
    forms = IndexForms(Facts.of_sizes(kernel.sizes, values), tuple(extents), promises=lasting_promises(kernel))
    forms.fixed = frozenset(kernel.params)
    for param in kernel.params:
        forms.scalar_parameter(param)
    return forms
