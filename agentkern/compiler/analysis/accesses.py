"""Every load and store of a kernel as one index set per axis of its tensor, with the grid that runs it. Facts only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from agentkern.compiler.analysis.blocks import at_name, label, ordinal_name
from agentkern.compiler.analysis.element_forms import ALWAYS, Condition, ElementForms
from agentkern.compiler.analysis.index_forms import Form, IndexForms, Required, parameter_forms
from agentkern.compiler.analysis.promised_conditions import with_promises
from agentkern.compiler.analysis.ragged import ragged_axes
from agentkern.compiler.analysis.requirements import assume, forget, required_by, with_required
from agentkern.compiler.ir import dims
from agentkern.compiler.ir.core import Kernel, Op, Value
from agentkern.compiler.ir.subscripts import FIXED_OPERANDS, Entry, entries_of, mask_of, tile_of
from agentkern.compiler.ir.types import BlockType, TensorType, TileType
from agentkern.compiler.ir.views import View, accessed, spelled_view, view_of, viewed

AxisKind = Literal["block", "scalar", "range", "data"]
WRITES = ("store", "atomic")


@dataclass(frozen=True, slots=True)
class AxisIndex:
    """What one access reads or writes along one axis: the current block, or all of `low <= i < high`.

    `spread`: a block has many, one for each element of a tile of indices. `data`: any.
    """

    kind: AxisKind
    text: str
    low: Form = 0
    high: Form = 0
    block: BlockType | None = None
    spread: bool = False


@dataclass(frozen=True, slots=True)
class Access:
    """One load or store. `axes` has one entry per axis of the tensor, or of the view of it that is subscripted.

    It touches what `condition` holds for. `frame`: the view that `axes` are of, where it is not the operation's own.
    `elements` are the forms of tiles of indices by axis of the tensor, their symbols bound to axes of the access' tile.
    `choices` are the conditions of the regions it stands in, and which side.
    """

    op: Op
    tensor: Value
    axes: tuple[AxisIndex, ...]
    condition: Condition = ALWAYS
    elements: tuple[Form | None, ...] = ()
    choices: tuple[tuple[Value, bool], ...] = ()
    frame: View | None = None

    @property
    def view(self) -> View:
        """The view of the tensor that `axes` are of."""
        return view_of(self.op) if self.frame is None else self.frame

    @property
    def masked(self) -> bool:
        """Whether some of its elements may be left out."""
        return bool(self.op.attrs.get("masked"))

    @property
    def writes(self) -> bool:
        """Whether the access is a store."""
        return self.op.name in WRITES

    @property
    def is_atomic(self) -> bool:
        """Whether the access combines with what is there."""
        return self.op.name == "atomic"

    @property
    def type(self) -> TensorType:
        """The tensor's type, as the view has it."""
        assert isinstance(self.tensor.type, TensorType)
        return viewed(self.tensor.type, self.view)

    def picks(self, axis: int) -> bool:
        """Whether an axis counts the tensors of a table."""
        return axis == 0 and isinstance(self.tensor.type, TensorType) and self.tensor.type.table

    @property
    def name(self) -> str:
        """The tensor, or its view, as the kernel spells it."""
        assert isinstance(self.tensor.type, TensorType)
        name = self.tensor.name or ""
        picked = f"{name}[{self.axes[0].text}]" if self.picks(0) else name
        return spelled_view(picked, self.tensor.type, self.view)

    @property
    def text(self) -> str:
        """The access as the kernel spells it."""
        axes = self.axes[1:] if self.picks(0) else self.axes
        return f"{self.name}[{', '.join(axis.text for axis in axes)}]"


@dataclass(frozen=True, slots=True)
class Scope:
    """What runs as one grid, or outside any: its blocks, its accesses in order, the forms of its index scalars.

    `conditional` holds accesses inside a choice between regions, which may not run. `loops` gives each operation the
    blocks of the loops around it, outermost first. `inner` are blocks that exist besides, whichever they are.
    `conditions` holds what the choices around an operation say where it runs.
    """

    grid: Op | None
    blocks: tuple[BlockType, ...]
    accesses: tuple[Access, ...]
    conditional: frozenset[Op]
    ops: tuple[Op, ...]
    forms: IndexForms
    by_op: Mapping[Op, Access] = field(default_factory=dict)
    loops: Mapping[Op, tuple[BlockType, ...]] = field(default_factory=dict)
    inner: tuple[BlockType, ...] = ()
    conditions: Mapping[Op, Condition] = field(default_factory=dict)
    required: Mapping[Op, tuple[Required, ...]] = field(default_factory=dict)
    known: tuple[Required, ...] = ()

    @property
    def present(self) -> tuple[BlockType, ...]:
        """Every block that has a number."""
        return (*self.blocks, *self.inner)

    def around(self, *ops: Op) -> Scope:
        """The scope as these operations see it: `blocks` are the grid's and the loops around them all.

        What is required before all of them is `known`, and in the facts.
        """
        chains = [self.loops.get(op, ()) for op in ops]
        common = tuple(block for block in chains[0] if all(block in chain for chain in chains))
        inner = tuple(dict.fromkeys(b for chain in chains for b in chain if b not in common))
        found = replace(self, blocks=(*self.blocks, *common), inner=inner) if common or inner else self
        known = self.required.get(ops[0], ())
        for op in ops[1:]:
            known = tuple(one for one in known if one in self.required.get(op, ()))
        if not known:
            return found
        forms = replace(self.forms, facts=with_required(self.forms.facts, known), required=known)
        return replace(found, forms=forms, known=known)


@dataclass(frozen=True, slots=True)
class KernelFacts:
    """A kernel's accesses by scope, in the order in which they run.

    `shown_only`: nothing but what the presolver shows is asked.
    """

    kernel: Kernel
    scopes: tuple[Scope, ...]
    forms: IndexForms
    shown_only: bool = False

    @property
    def required(self) -> tuple[Required, ...]:
        """What holds of sizes and parameters where the kernel ends."""
        return self.forms.required


def _axis(entry: Entry, element: Form | None, tensor: TensorType, forms: IndexForms) -> AxisIndex:
    value = entry.operand
    if value is None:
        assert entry.axis is not None
        low, high = ("0", str(tensor.shape[entry.axis])) if entry.text == ":" else entry.text.split(":")
        first, end = dims.parse(low), dims.parse(high)
        ragged = forms.segment_within(first, end)
        return AxisIndex("range", entry.text if ragged is None else label(ragged.segment), first, end)
    if isinstance(value.type, BlockType):
        return AxisIndex("block", label(value.type), block=forms.resolved(value.type))
    spread = bool(entry.tile_axes)
    form = element if spread else forms.form(value)
    if form is None:
        return AxisIndex("data", value.name or "...", spread=spread)
    return AxisIndex("scalar", spelled(value, form, forms), form, dims.add(form, 1), spread=spread)


def _spell_block_numbers(text: str, blocks: Sequence[BlockType]) -> str:
    """The one index of a block of one, and the index that an element has, is the variable itself."""
    for block in blocks:
        shown = label(block) if block.block == 1 else f"{label(block)}.ordinal"
        text = text.replace(ordinal_name(block), shown).replace(at_name(block), label(block))
    return text


def spelled(value: Value, form: Form, forms: IndexForms) -> str:
    """An index as the kernel has it: by its name, or what it is made of; `...` where that has no words."""
    if value.name:
        return value.name
    single = {  # the one index of a step, or of an axis that does not start at 0, is the variable
        ordinal_name(one): dims.add(dims.symbol(f"%{label(one)}"), dims.mul(one.first, -1))
        for one in (*forms.loops.values(), *forms.blocks)
        if one.block == 1 and (one.first != 0 or one not in forms.blocks)
    }
    loaded = {n: dims.symbol(access_of(op, forms).text) for n, op in forms.origins.items() if n in dims.symbols(form)}
    plain = str(dims.substitute(dims.substitute(form, loaded), single))
    text = _spell_block_numbers(plain, forms.blocks).replace("%", "").replace("$", "")
    return "..." if "#" in text or "@" in text else text


def access_of(op: Op, forms: IndexForms) -> Access:
    """The index sets of one load or store."""
    tensor, type_ = op.operands[0], accessed(op)
    entries = tuple(entry for entry in entries_of(op) if entry.axis is not None)
    if not op.attrs.get("masked") and not any(e.is_window or e.is_gather for e in entries):
        return Access(op, tensor, tuple(_axis(e, None, type_, forms) for e in entries))
    found = _framed(op, entries, forms)
    axes = tuple(_axis(e, form, type_, forms) for e, form in zip(entries, found.indices, strict=True))
    return Access(op, tensor, axes, found.condition, found.elements)


@dataclass(frozen=True, slots=True)
class _Framed:
    """Forms of an access in the axes of its tile: of its indices, as they are and with plain block symbols."""

    elements: tuple[Form | None, ...]
    indices: tuple[Form | None, ...]
    condition: Condition


def _framed(op: Op, entries: tuple[Entry, ...], forms: IndexForms) -> _Framed:
    state = ElementForms(forms)
    tile = tile_of(op).type
    assert isinstance(tile, TileType)
    elements: list[Form | None] = []
    for entry in entries:
        if entry.operand is None or not (entry.is_window or entry.is_gather):
            elements.append(None)
            continue
        rank = len(entry.tile_axes)
        moved = {str(rank - k): str(tile.rank - axis) for k, axis in enumerate(entry.tile_axes)}
        elements.append(state.moved(state.form(entry.operand), moved))
    mask = mask_of(op)
    condition = state.condition(mask) if mask is not None else ALWAYS
    plain = _plain_names(
        entries, tile.rank, [*filter(None, elements), *condition.nonnegative, *condition.nonzero], forms
    )
    condition = with_promises(condition.renamed(lambda form: dims.substitute(form, plain)), elements, forms)
    indices = tuple(dims.substitute(form, plain) if form is not None else None for form in elements)
    return _Framed(tuple(elements), indices, condition)


def _plain_names(entries: Sequence[Entry], rank: int, used: Sequence[Form], forms: IndexForms) -> dict[str, Form]:
    """For each block the one of its symbols that stands for the index of its own axis, or else the first."""
    names = sorted({name for form in used for name in dims.symbols(form)})
    found: dict[str, Form] = {}
    for block in (*forms.blocks, *forms.loops.values()):
        own = [
            f"{at_name(block)}@{rank - e.tile_axes[0]}"
            for e in entries
            if e.operand is not None and isinstance(e.operand.type, BlockType) and e.operand.type.name == block.name
        ]
        mine = [name for name in names if name.startswith(f"{at_name(block)}@") and name[-1] != "@"]
        for name in own[:1] or mine[:1]:
            found[name] = dims.symbol(at_name(block))
    return found


class _Collector:
    """Walk one scope: forms of its scalars, its accesses, its operations."""

    def __init__(self, forms: IndexForms) -> None:
        self.forms = forms
        self.accesses: list[Access] = []
        self.conditional: list[Op] = []
        self.ops: list[Op] = []
        self.loops: dict[Op, tuple[BlockType, ...]] = {}
        self.conditions: dict[Op, Condition] = {}
        self.condition = ALWAYS
        self.choices: tuple[tuple[Value, bool], ...] = ()
        self.required: dict[Op, tuple[Required, ...]] = {}

    def walk(self, ops: Sequence[Op], *, nested: bool, around: tuple[BlockType, ...] = ()) -> None:
        for op in ops:
            self._note(op, around)
            if op.name in FIXED_OPERANDS:
                access = self._chosen(access_of(op, self.forms))
                self.accesses.append(access)
                if nested:
                    self.conditional.append(op)
            if op.name == "require":
                assume(self.forms, required_by(op, self.forms))
                continue
            self.forms.visit(op)
            if op.name == "loop":
                self._loop(op, nested=nested, around=around)
                continue
            if op.name == "branch":
                self._branch(op, around)
                continue
            for region in op.regions:
                for arg in region.args:
                    if isinstance(arg.type, BlockType):
                        self.forms.enter(arg.type)
                self.region(region.ops, nested=True, around=around)

    def _note(self, op: Op, around: tuple[BlockType, ...]) -> None:
        """Remember what is known where an operation runs."""
        self.ops.append(op)
        if around:
            self.loops[op] = around
        if self.condition is not ALWAYS:
            self.conditions[op] = self.condition
        if self.forms.required:
            self.required[op] = self.forms.required

    def region(self, ops: Sequence[Op], *, nested: bool, around: tuple[BlockType, ...]) -> None:
        """Walk a region; what it requires is not known behind it."""
        before, required = self.forms.facts, self.forms.required
        self.walk(ops, nested=nested, around=around)
        forget(self.forms, before, required)

    def _loop(self, op: Op, *, nested: bool, around: tuple[BlockType, ...]) -> None:
        """Walk a loop's body; whether an earlier step has ended the loop is not understood."""
        outer, breaks = self.condition, bool(op.attrs.get("breaks"))
        block = self.forms.enter_loop(op)
        self.condition = outer.also(Condition(complete=False)) if breaks else outer
        self.region(op.regions[0].ops, nested=nested or breaks, around=(*around, block))
        self.condition = outer

    def _branch(self, op: Op, around: tuple[BlockType, ...]) -> None:
        """Walk both sides of a choice, each under what its condition says there."""
        outer = (self.condition, self.choices)
        state = ElementForms(self.forms)
        for region, holds in zip(op.regions, (True, False), strict=True):
            self.condition = outer[0].also(state.condition(op.operands[0], holds=holds))
            self.choices = (*outer[1], (op.operands[0], holds))
            self.region(region.ops, nested=True, around=around)
            self.condition, self.choices = outer

    def _chosen(self, access: Access) -> Access:
        """An access that touches only what the choices around it let run."""
        if self.condition is ALWAYS:
            return access
        indices = [index.low for index in access.axes if index.kind == "scalar"]
        condition = with_promises(access.condition.also(self.condition), indices, self.forms)
        return replace(access, condition=condition, choices=self.choices)

    def scope(self, grid: Op | None, blocks: tuple[BlockType, ...]) -> Scope:
        found = (tuple(self.accesses), frozenset(self.conditional), tuple(self.ops))
        by_op = {access.op: access for access in self.accesses}
        return Scope(grid, blocks, *found, self.forms, by_op, self.loops, (), self.conditions, self.required)


def _grid_scope(grid: Op, outer: IndexForms) -> Scope:
    forms = outer.copy()
    blocks = tuple(v.type for v in grid.regions[0].args if isinstance(v.type, BlockType))
    for ragged in ragged_axes(grid, forms.promises):
        forms.enter_segments(ragged)
    for block in blocks:
        forms.enter(block)
    forms.facts = forms.facts.positive(block.length for block in blocks)  # else no block runs
    collector = _Collector(forms)
    before = forms.facts
    forms.facts = with_required(before, forms.required)
    collector.walk(grid.regions[0].ops, nested=False)
    always = [] if blocks else [one for one in forms.required if _is_general(one)]
    forget(forms, before, ())
    if not blocks:
        outer.required = tuple(dict.fromkeys((*outer.required, *always)))
    return collector.scope(grid, blocks)


def _is_general(one: Required) -> bool:
    """Whether what is required is about sizes and parameters only: it holds in every grid that follows."""
    return not one.of and not any(name.startswith(("#", "%")) or "@" in name for name in dims.symbols(one.form))


def kernel_facts(kernel: Kernel, values: Mapping[str, int] | None = None) -> KernelFacts:
    """All accesses of a TILE kernel; `values` gives some sizes their numbers."""
    outer = parameter_forms(kernel, values)
    scopes: list[Scope] = []
    between = _Collector(outer)
    for op in kernel.body:
        if op.name != "grid":
            between.walk((op,), nested=False)
            continue
        if between.accesses:
            scopes.append(between.scope(None, ()))
            between = _Collector(outer)
        scopes.append(_grid_scope(op, outer))
    if between.ops:
        scopes.append(between.scope(None, ()))
    return KernelFacts(kernel, tuple(scopes), outer)
