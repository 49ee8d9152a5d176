"""Every load and store of a kernel as one index set per axis of its tensor, with the grid that runs it. Facts only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from agentkern.compiler.analysis.blocks import label, ordinal_name
from agentkern.compiler.analysis.index_forms import Form, IndexForms, parameter_forms
from agentkern.compiler.ir import dims
from agentkern.compiler.ir.core import Kernel, Op, Value
from agentkern.compiler.ir.types import BlockType, TensorType, TileType

AxisKind = Literal["block", "scalar", "range", "data"]


@dataclass(frozen=True, slots=True)
class AxisIndex:
    """What one access reads or writes along one axis: the current block, or all of `low <= i < high`.

    `data`: any element that a tile of indices names.
    """

    kind: AxisKind
    text: str
    low: Form = 0
    high: Form = 0
    block: BlockType | None = None


@dataclass(frozen=True, slots=True)
class Access:
    """One load or store. `axes` has one entry per axis of the tensor."""

    op: Op
    tensor: Value
    axes: tuple[AxisIndex, ...]

    @property
    def writes(self) -> bool:
        """Whether the access is a store."""
        return self.op.name == "store"

    @property
    def type(self) -> TensorType:
        """The tensor's type."""
        assert isinstance(self.tensor.type, TensorType)
        return self.tensor.type

    @property
    def text(self) -> str:
        """The access as the kernel spells it."""
        return f"{self.tensor.name}[{', '.join(axis.text for axis in self.axes)}]"


@dataclass(frozen=True, slots=True)
class Scope:
    """What runs as one grid, or outside any: its blocks, its accesses in order, the forms of its index scalars.

    `conditional` holds accesses inside a nested region: it may run any number of times.
    """

    grid: Op | None
    blocks: tuple[BlockType, ...]
    accesses: tuple[Access, ...]
    conditional: frozenset[Access]
    ops: tuple[Op, ...]
    forms: IndexForms


@dataclass(frozen=True, slots=True)
class KernelFacts:
    """A kernel's accesses by scope, in the order in which they run."""

    kernel: Kernel
    scopes: tuple[Scope, ...]
    forms: IndexForms


def _axis(entry: str, op: Op, first_index: int, tensor: TensorType, axis: int, forms: IndexForms) -> AxisIndex:
    if entry == ":":
        return AxisIndex("range", ":", 0, tensor.shape[axis])
    if not entry.startswith("$"):
        low, high = entry.split(":")
        return AxisIndex("range", entry, dims.parse(low), dims.parse(high))
    value = op.operands[first_index + int(entry[1:])]
    if isinstance(value.type, BlockType):
        return AxisIndex("block", label(value.type), block=value.type)
    form = forms.form(value)
    if form is None:
        assert isinstance(value.type, TileType)
        return AxisIndex("data", value.name or "...")
    return AxisIndex("scalar", _spelled(value, form, forms.blocks), form, dims.add(form, 1))


def _spell_block_numbers(text: str, blocks: Sequence[BlockType]) -> str:
    """The one index of a block of one is the variable itself."""
    for block in blocks:
        shown = label(block) if block.block == 1 else f"{label(block)}.ordinal"
        text = text.replace(ordinal_name(block), shown)
    return text


def _spelled(value: Value, form: Form, blocks: Sequence[BlockType]) -> str:
    if value.name:
        return value.name
    text = _spell_block_numbers(str(form), blocks).replace("%", "").replace("$", "")
    return "..." if "#" in text else text


def access_of(op: Op, forms: IndexForms) -> Access:
    """The index sets of one load or store."""
    first_index = 2 if op.name == "store" else 1
    tensor = op.operands[0]
    assert isinstance(tensor.type, TensorType)
    index = op.attrs["index"]
    assert isinstance(index, tuple)
    entries = [str(e) for e in index if e != "+"]
    axes = tuple(_axis(e, op, first_index, tensor.type, k, forms) for k, e in enumerate(entries))
    return Access(op, tensor, axes)


class _Collector:
    """Walk one scope: forms of its scalars, its accesses, its operations."""

    def __init__(self, forms: IndexForms) -> None:
        self.forms = forms
        self.accesses: list[Access] = []
        self.conditional: list[Access] = []
        self.ops: list[Op] = []

    def walk(self, ops: Sequence[Op], *, nested: bool) -> None:
        for op in ops:
            self.ops.append(op)
            if op.name in ("load", "store"):
                access = access_of(op, self.forms)
                self.accesses.append(access)
                if nested:
                    self.conditional.append(access)
            self.forms.visit(op)
            for region in op.regions:
                for arg in region.args:
                    if isinstance(arg.type, BlockType):
                        self.forms.enter(arg.type)
                self.walk(region.ops, nested=True)

    def scope(self, grid: Op | None, blocks: tuple[BlockType, ...]) -> Scope:
        found = (tuple(self.accesses), frozenset(self.conditional), tuple(self.ops))
        return Scope(grid, blocks, *found, self.forms)


def _grid_scope(grid: Op, outer: IndexForms) -> Scope:
    forms = outer.copy()
    blocks = tuple(v.type for v in grid.regions[0].args if isinstance(v.type, BlockType))
    for block in blocks:
        forms.enter(block)
    forms.facts = forms.facts.positive(block.extent for block in blocks)  # else no block runs
    collector = _Collector(forms)
    collector.walk(grid.regions[0].ops, nested=False)
    return collector.scope(grid, blocks)


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
