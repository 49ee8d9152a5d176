"""Choose the calls that verification runs: sizes from the kernel's own facts, inputs from seeded generators."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from agentkern.compiler.abi import ScalarParam
from agentkern.compiler.ir import dims
from agentkern.compiler.ir.core import Kernel, Op, SizeInfo, walk
from agentkern.compiler.ir.types import BlockType, TensorType
from agentkern.compiler.ir.views import View, view_of, viewed
from agentkern.tools.inputs import Kind, generate_for
from agentkern.tools.promised_inputs import ImpossiblePromise, keep_promises
from agentkern.tools.verify_model import Call, Case, Scalars, Signature, Sizes, concrete, signature_of

BASE_ELEMS = {"quick": 1 << 16, "full": 1 << 18}
"""Elements of the largest tensor of the base case: a fraction of a second on the CPU simulator."""
MOST_ELEMS = {"quick": 1 << 20, "full": 1 << 21}
"""Larger shapes than this are left out of a level."""
EXTENTS = (0, 1, 2, 7, 31, 131)
"""Nothing, one, even, odd, one below a warp, prime."""
STATIC_EXTENTS = {"quick": (131,), "full": (0, 1, 7, 131, 576, 8200)}
"""Static sizes tried beside the given one; 8200 is one short chunk past a panel of a long row's sum."""
DEFAULT_SIZE = 3


@dataclass(frozen=True, slots=True)
class Plan:
    """Sizes to run at. `base` is the case in the middle, `small` the cheapest one that is not trivial.

    `note` says where a given size was too large to run.
    """

    base: Sizes
    small: Sizes
    shapes: tuple[Sizes, ...]
    static_shapes: tuple[Sizes, ...]
    note: str = ""


def plan_sizes(
    kernel: Kernel,
    sizes: tuple[SizeInfo, ...],
    given: Sizes,
    level: str,
    tiles: Iterable[int],
    most_elems: int | None = None,
) -> Plan:
    """Choose sizes for a kernel built for the static ones of `given`.

    sizes: every named size. tiles: block extents of the default schedule; one below and one above each is tried.
    most_elems: elements of the largest tensor that can be run here; a larger given size is cut.
    """
    run_time = [info for info in sizes if not info.static]
    fixed = {info.name: given[info.name] for info in sizes if info.static}
    least = {info.name: _legal(info, DEFAULT_SIZE) for info in run_time}
    small = fixed | {name: min(given.get(name, n), n) for name, n in least.items()}
    free = [info for info in run_time if info.name not in given]
    wanted = fixed | {info.name: given[info.name] for info in run_time if info.name in given}
    base = wanted | _fill(kernel, wanted, free, BASE_ELEMS[level])
    base = base if most_elems is None else _shrunk(kernel, base, run_time, most_elems)
    small = small if _is_possible(kernel, small) else base
    cut = [f"{name} = {base[name]} for the {n} given" for name, n in wanted.items() if base[name] != n]
    around = [t + d for t in (*tiles, *_written_blocks(kernel)) for d in (-1, 1)]
    shapes = [
        small | {info.name: _legal(info, n)}
        for info in run_time
        for n in (*EXTENTS, *around, 2 * base[info.name] + 1)
        if info.maximum is None or n <= info.maximum
    ]
    kept = [s for s in _unique(shapes) if elements(kernel, s) <= MOST_ELEMS[level] and _is_possible(kernel, s)]
    static = [info for info in sizes if info.static]
    others = [small | {info.name: _legal(info, n)} for info in static for n in STATIC_EXTENTS[level]]
    different = [s for s in _unique(others) if s != small]
    return Plan(base, small, tuple(kept), tuple(different), ", ".join(cut))


def _is_possible(kernel: Kernel, sizes: Sizes) -> bool:
    """Whether there are inputs that keep the kernel's promises at these sizes."""
    try:
        check_promises(signature_of(kernel), sizes)
    except ImpossiblePromise:
        return False
    return True


def check_promises(signature: Signature, sizes: Sizes) -> None:
    """Refuse sizes at which no inputs keep what the kernel promises of them. Errors: ImpossiblePromise."""
    shapes = {p.name: concrete(p.shape, sizes) for p in signature.inputs if p.name in signature.promises}
    keep_promises(signature.promises, {name: np.zeros(s, np.int64) for name, s in shapes.items()}, sizes)


def elements(kernel: Kernel, sizes: Sizes) -> int:
    """Return the number of elements of the largest tensor."""
    counts = [math.prod(concrete(p.shape, sizes)) for p in signature_of(kernel).tensors]
    return max(counts, default=0)


def _legal(info: SizeInfo, number: int) -> int:
    """Return the smallest permitted size of at least `number`, the largest where there is none."""
    step = max(info.multiple_of, 1)
    found = -(-max(number, info.minimum) // step) * step
    return found if info.maximum is None else min(found, info.maximum // step * step)


def _fill(kernel: Kernel, base: Sizes, free: list[SizeInfo], budget: int) -> dict[str, int]:
    """Give all free sizes one odd number that brings the largest tensor near the budget."""
    if not free:
        return {}
    number = DEFAULT_SIZE
    while elements(kernel, {**base, **{info.name: 2 * number + 1 for info in free}}) <= budget and number < budget:
        number = 2 * number + 1
    return {info.name: _legal(info, number) for info in free}


def _shrunk(kernel: Kernel, base: Sizes, run_time: list[SizeInfo], most_elems: int) -> dict[str, int]:
    """Halve the largest run-time size until the largest tensor fits."""
    found = dict(base)
    while elements(kernel, found) > most_elems:
        largest = max(run_time, key=lambda info: found[info.name], default=None)
        if largest is None or found[largest.name] <= DEFAULT_SIZE:
            return found
        found[largest.name] = _legal(largest, found[largest.name] // 2)
        if found[largest.name] == base[largest.name]:
            return found
    return found


def _written_blocks(kernel: Kernel) -> list[int]:
    found: list[int] = []
    for op in walk(kernel.body):
        for region in op.regions:
            blocks = (value.type for value in region.args)
            found += [b.block for b in blocks if isinstance(b, BlockType) and b.block is not None]
    return found


def _unique(shapes: list[dict[str, int]]) -> list[dict[str, int]]:
    return list({tuple(sorted(s.items())): s for s in shapes}.values())


def make_call(signature: Signature, kind: Kind, sizes: Sizes, scalars: Scalars, seed: int) -> Call:
    """Return a call with seeded inputs, and seeded values in partial outputs: those are to stay, poison is no value."""
    given = {p.name: scalars.get(p.name, _scalar(p, kind)) for p in signature.scalars}
    made, held = (
        {p.name: generate_for(kind, p, concrete(p.shape, sizes), seed) for p in params}
        for params in (signature.inputs, signature.partial)
    )
    return Call(keep_promises(signature.promises, made, sizes) | held, sizes, given)


def make_case(signature: Signature, kind: Kind, sizes: Sizes, scalars: Scalars, seed: int) -> Case:
    """Return a named call with seeded inputs."""
    shown = ", ".join(f"{name}={n}" for name, n in sizes.items())
    return Case(f"{kind}, {shown}", make_call(signature, kind, sizes, scalars, seed))


def _scalar(param: ScalarParam, kind: Kind) -> int | float | bool:
    """Return the default, or a number that neither vanishes nor dominates; for wide inputs not the default.

    A kernel that has a default baked in gives the right answer for the default only.
    """
    default = param.default if param.default is not None else (0.75 if param.dtype.is_float else 1)
    if kind == "wide" and isinstance(default, float):
        return 1.375 * default + 0.125
    return default


def other_scalars(signature: Signature, given: Scalars) -> dict[str, int | float | bool]:
    """Return another number for each scalar that was not given: the usual one may be neutral, as 1 is in a product."""
    return {p.name: _other_scalar(p) for p in signature.scalars if p.name not in given}


def _other_scalar(param: ScalarParam) -> int | float | bool:
    usual = _scalar(param, "random")
    if isinstance(usual, bool):
        return not usual
    if param.dtype.is_float:
        return 1.375 * usual + 0.125
    return int(usual) - 1 if usual == param.dtype.integer_range[1] else int(usual) + 1


def batch_size_name(kernel: Kernel) -> str | None:
    """Return the run-time size whose indices are independent of one another in the whole kernel, if there is one.

    So it is when every grid has a block over exactly that size, of the compiler's own choice, and every access to a
    tensor that has the size indexes it there by that block, and every store is to such a tensor.
    """
    for info in kernel.sizes:
        if not info.static and _is_batch(kernel, info.name):
            return info.name
    return None


def _is_batch(kernel: Kernel, name: str) -> bool:
    grids = [op for op in kernel.body if op.name == "grid"]
    return bool(grids) and all(_grid_is_batch(op, name) for op in grids)


def _grid_is_batch(grid: Op, name: str) -> bool:
    whole = dims.symbol(name)
    region = grid.regions[0]
    rows = {v for v in region.args if isinstance(v.type, BlockType) and v.type.extent == whole and v.type.block is None}
    if len(rows) != 1:
        return False
    row = next(iter(rows))
    for op in walk(region.ops):
        if op.name in ("index", "ordinal", "start", "end") and op.operands[0] is row:
            return False
        if op.name == "size" and name in dims.symbols(_extent(op)):
            return False
        if op.name == "atomic":
            return False
        if op.name in ("load", "store") and not _access_is_batch(op, name, whole, row):
            return False
    return True


def _extent(op: Op) -> int | dims.Dim:
    extent = op.attrs["extent"]
    assert isinstance(extent, int | dims.Dim)
    return extent


def _access_is_batch(op: Op, name: str, whole: object, row: object) -> bool:
    tensor = op.operands[0].type
    assert isinstance(tensor, TensorType)
    spanned = [axis for axis, extent in enumerate(tensor.shape) if name in dims.symbols(extent)]
    if spanned and not _keeps_axes(tensor, view_of(op), max(spanned) + 1):
        return False  # an axis of a view may be several of the tensor's, or a part of one
    if op.name == "store" and not spanned:
        return False  # rows that others are scattered to are no row's own
    index = op.attrs["index"]
    assert isinstance(index, tuple)
    subscripts = [str(entry) for entry in index if entry != "+"]
    first = 1 if op.name == "load" else 2
    for axis in spanned:
        extent, text = tensor.shape[axis], subscripts[axis]
        if extent != whole or not text.startswith("$") or op.operands[first + int(text[1:])] is not row:
            return False
    return True


def _keeps_axes(tensor: TensorType, view: View, count: int) -> bool:
    """Whether a view's first axes are the tensor's, as those of a field of records are."""
    kept = tensor.shape[:count]
    for position, step in enumerate(view):
        sides = [part[:count] for part in step[1:] if isinstance(part, tuple)]
        is_cut = step[0] == "slice" and sides != [(0,) * count, kept]
        if step[0] == "transpose" or is_cut or viewed(tensor, view[: position + 1]).shape[:count] != kept:
            return False
    return True


def batch_slices(signature: Signature, arrays: Mapping[str, object], name: str) -> dict[str, int]:
    """Return the axis of each named array that the size `name` spans."""
    whole = dims.symbol(name)
    axes = {p.name: k for p in signature.tensors for k, extent in enumerate(p.shape) if extent == whole}
    return {array: axes[array] for array in arrays if array in axes}
