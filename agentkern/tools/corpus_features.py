"""What a kernel uses of the language, read off its TILE IR: nothing of it is kept by hand.

A feature is a row of `FEATURES`: its name, what it means, and whether a kernel's operations show it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from agentkern.compiler.ir.core import Kernel, Op, Value, walk
from agentkern.compiler.ir.loop_ops import loop_parts
from agentkern.compiler.ir.nondeterminism import is_nondeterministic
from agentkern.compiler.ir.order_ops import ARGUMENTS, SCANS
from agentkern.compiler.ir.subscripts import FIXED_OPERANDS, entries_of
from agentkern.compiler.ir.tile_ops import REDUCTIONS
from agentkern.compiler.ir.types import BlockType, TensorType, TileType

_NOT_TOLD = frozenset({"load", "store", "constant", "broadcast", "reshape", "grid", "size", "yield", "index", "cast"})
"""Operations that nearly every kernel has: their names say nothing of one."""


@dataclass(frozen=True, slots=True)
class Uses:
    """A kernel's operations, and the values that what it loads decides."""

    kernel: Kernel
    ops: tuple[Op, ...]
    loaded: frozenset[Value]

    def has(self, *names: str) -> bool:
        """Whether one of these operations is there."""
        return any(op.name in names for op in self.ops)

    def indexed_by_data(self, *names: str) -> bool:
        """Whether a subscript of one of these operations is an integer that was loaded."""
        return any(entry.operand in self.loaded for op in self.ops if op.name in names for entry in entries_of(op))

    def has_attr(self, name: str) -> bool:
        """Whether an operation has this attribute, and not as nothing."""
        return any(op.attrs.get(name) not in (None, False, ()) for op in self.ops)


@dataclass(frozen=True, slots=True)
class Feature:
    """A name that people search for, one line about it, and how it shows."""

    name: str
    meaning: str
    shows: Callable[[Uses], bool]


def features_of(kernel: Kernel) -> tuple[str, ...]:
    """Return the names of the features of a kernel, in the order of the table."""
    uses = _uses(kernel)
    return tuple(feature.name for feature in FEATURES if feature.shows(uses))


def operations_of(kernel: Kernel) -> tuple[str, ...]:
    """Return the names of the operations that tell one kernel from others, once each, sorted."""
    return tuple(sorted({op.name for op in walk(kernel.body)} - _NOT_TOLD))


def dtypes_of(kernel: Kernel) -> tuple[str, ...]:
    """Return the dtypes of a kernel's tensors, once each, in their order."""
    types = [param.type for param in kernel.params]
    return tuple(dict.fromkeys(type_.dtype.name for type_ in types if isinstance(type_, TensorType)))


def _uses(kernel: Kernel) -> Uses:
    ops = tuple(walk(kernel.body))
    loaded: set[Value] = set()
    for op in ops:
        if op.name == "load" or not loaded.isdisjoint(op.operands):
            loaded.update(op.results)
            loaded.update(arg for region in op.regions for arg in region.args if not isinstance(arg.type, BlockType))
    return Uses(kernel, ops, frozenset(loaded))


def _has_carried(uses: Uses) -> bool:
    return any(op.name == "loop" and loop_parts(op).inits for op in uses.ops)


def _has_given_block(uses: Uses) -> bool:
    args = [arg.type for op in uses.ops for region in op.regions for arg in region.args]
    return any(isinstance(type_, BlockType) and (type_.block or 1) > 1 for type_ in args)


def _has_window(uses: Uses) -> bool:
    entries = [entry for op in uses.ops if op.name in FIXED_OPERANDS for entry in entries_of(op)]
    moved = [e for e in entries if (e.is_gather or e.is_scalar) and e.operand not in uses.loaded]
    return any(entry.is_window for entry in entries) or any(_is_computed(entry.operand, uses) for entry in moved)


def _is_computed(value: Value | None, uses: Uses) -> bool:
    """Whether an index is arithmetic of a block's indices, not such an index or number itself."""
    return any(value in op.results and op.name not in ("index", "ordinal", "constant", "size") for op in uses.ops)


def _is_narrowed(uses: Uses) -> bool:
    casts = [op for op in uses.ops if op.name == "cast"]
    types = [(op.operands[0].type, op.result.type) for op in casts]
    return any(
        isinstance(a, TileType) and isinstance(b, TileType) and a.dtype.is_float and b.dtype.bits <= 8 < a.dtype.bits
        and b.dtype.kind != "bool"
        for a, b in types
    )  # fmt: skip


def _is_widened(uses: Uses) -> bool:
    types = [param.type for param in uses.kernel.params]
    small = [t for t in types if isinstance(t, TensorType) and t.access != "out" and t.dtype.bits <= 8]
    return any(t.dtype.kind != "bool" for t in small) and uses.has("cast", "bitcast", "bitcast_axis")


def _n_grids(uses: Uses) -> int:
    return sum(op.name == "grid" for op in uses.kernel.body)


def _is_in_place(uses: Uses) -> bool:
    return any(isinstance(p.type, TensorType) and p.type.access == "inout" for p in uses.kernel.params)


def _is_random(uses: Uses) -> bool:
    return any(op.attrs.get("rounding") == "stochastic" for op in uses.ops)


def _is_elementwise(uses: Uses) -> bool:
    traits = {"elementwise", "reads", "writes", "region"}
    plain = {"constant", "size", "broadcast", "reshape", "index", "yield"}
    pure = all(op.name in plain or op.spec.traits & traits for op in uses.ops)
    return (
        pure and not uses.has("loop", "atomic") and not _has_window(uses) and not uses.indexed_by_data("load", "store")
    )


FEATURES: tuple[Feature, ...] = (
    Feature("elementwise", "each output element from the inputs' elements at its place", _is_elementwise),
    Feature("reduction", "a sum, mean, maximum and the like over axes", lambda u: u.has(*REDUCTIONS)),
    Feature("argument", "the place of an extreme value: argmax, argmin", lambda u: u.has(*ARGUMENTS)),
    Feature("scan", "running sums or extremes along an axis", lambda u: u.has(*SCANS)),
    Feature("sort", "elements put in order", lambda u: u.has("sort")),
    Feature("topk", "the k largest with their places", lambda u: u.has("topk")),
    Feature("histogram", "how often each number occurs", lambda u: u.has("bincount", "occurrence")),
    Feature("take", "elements of a tile at places that a tile names", lambda u: u.has("take")),
    Feature("gather", "a load whose places were loaded", lambda u: u.indexed_by_data("load")),
    Feature("scatter", "a store whose places were loaded", lambda u: u.indexed_by_data("store", "atomic")),
    Feature("window", "a load at computed places beside a block: stencils, pooling", _has_window),
    Feature("mask", "a load or store of some places only", lambda u: u.has_attr("masked")),
    Feature("loop", "blocks of an axis in order", lambda u: u.has("loop")),
    Feature("carried loop", "values that go from one step of a loop to the next", _has_carried),
    Feature("branch", "one of two ways, chosen by the run", lambda u: u.has("branch")),
    Feature("several grids", "more than one grid, one after another", lambda u: _n_grids(u) > 1),
    Feature("ragged", "segments of different lengths, by offsets", lambda u: u.has_attr("segments")),
    Feature("block", "a block whose size means something", _has_given_block),
    Feature("atomics", "elements combined in place by many blocks", lambda u: u.has("atomic")),
    Feature("nondeterministic", "bits that may differ from run to run", lambda u: is_nondeterministic(u.kernel)),
    Feature("in place", "a tensor that is read and written", _is_in_place),
    Feature("quantise", "floats rounded to 8 bits or fewer", _is_narrowed),
    Feature("dequantise", "elements of 8 bits or fewer made wide", _is_widened),
    Feature("random", "rounding by random bits", _is_random),
    Feature("bits", "the same bits as another type", lambda u: u.has("bitcast", "bitcast_axis")),
    Feature("transpose", "axes in another order", lambda u: u.has("transpose")),
    Feature("view", "a tensor under another shape", lambda u: u.has_attr("view")),
    Feature("concat", "tiles one after another", lambda u: u.has("concat")),
    Feature("promise", "what the caller assures of the inputs", lambda u: bool(u.kernel.attrs.get("promises"))),
    Feature("requirement", "a check at run time that stops the kernel", lambda u: u.has("require")),
    Feature("setting", "a compile-time value or an optional tensor", lambda u: bool(u.kernel.attrs.get("settings"))),
    Feature("list", "a list of tensors", lambda u: bool(u.kernel.attrs.get("lists"))),
    Feature("record", "rows of bytes with named fields", lambda u: bool(u.kernel.attrs.get("records"))),
)  # fmt: skip
FEATURE_NAMES = tuple(feature.name for feature in FEATURES)
