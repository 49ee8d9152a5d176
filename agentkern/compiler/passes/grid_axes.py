"""Facts about one grid that planning and placing share: classes, the fast axis, vector widths, caps from sum orders."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import gcd, prod

from agentkern.compiler.abi import Variant
from agentkern.compiler.analysis.axes import AxisClasses, axis_classes
from agentkern.compiler.analysis.windows import Makers, Window, makers_of, window_of
from agentkern.compiler.ir import dims
from agentkern.compiler.ir.core import Kernel, Op, Region, Value, walk
from agentkern.compiler.ir.dims import Dim
from agentkern.compiler.ir.loop_ops import loop_parts
from agentkern.compiler.ir.order import COLUMN, SumOrder, sum_order
from agentkern.compiler.ir.subscripts import FIXED_OPERANDS, Entry, entries_of, tile_of
from agentkern.compiler.ir.types import TensorType, TileType, entry_names
from agentkern.compiler.ir.views import accessed, own_strides, strided, view_of
from agentkern.compiler.layout.layout import WARP_LANES

RESIDENT_ELEMS = 8192  # longest row whose values one block of threads keeps: 64 registers for each of 128 threads
GUESSED_BLOCK = 64
GUESSED_EXTENT = 4096
MAX_ACCESS_BYTES = 16
SLIDING_VECTOR = 2
SLIDING_LANES = 16
"""Of an image's row 32 indices: images are often narrower than what a warp reads, and wider steps between lanes touch
more sectors than they use."""


def is_kept(extent: int | Dim, blocks: Mapping[str, int]) -> bool:
    """Whether a block of threads keeps an axis of this extent; `blocks` are the written ones."""
    whole = dims.substitute(extent, blocks)
    if isinstance(whole, int):
        return whole <= RESIDENT_ELEMS
    return all(name.startswith("%") for name in dims.symbols(whole))


@dataclass(frozen=True, slots=True)
class Access:
    """One load or store: its tensor as it is viewed, tile and subscripts; `windows` are of entries that are windows.

    `strides` and `offset`: where the elements of the view lie in a tensor without gaps. `rows`: the tensor's own
    strides in bits, at whose multiples the host has found rows to begin as a build assumes; `aligned`: what its address
    is a multiple of in every build, in bytes.
    """

    op: Op
    tensor: TensorType
    tile: Value
    entries: tuple[Entry, ...]
    windows: Mapping[Value, Window]
    strides: tuple[int | Dim, ...]
    offset: int | Dim
    rows: tuple[int | Dim, ...]
    aligned: int

    def begins_rows(self, offset: int | Dim) -> bool:
        """Whether an offset, in elements of the view, is a multiple of the tensor's own run-time strides."""
        bits = dims.mul(offset, self.tensor.dtype.bits)
        runs = [row for row in self.rows if isinstance(row, Dim)]
        return any(bits == row or dims.exact_quotient(bits, row) is not None for row in runs)

    def window(self, entry: Entry) -> Window | None:
        """How a window runs along its block, where that is known."""
        return self.windows.get(entry.operand) if entry.is_window and entry.operand is not None else None


def access_of(op: Op, makers: Makers | None = None) -> Access | None:
    """A load's or store's access; None for other operations. Without `makers` no window is known."""
    if op.name not in FIXED_OPERANDS:
        return None
    tensor = op.operands[0].type
    assert isinstance(tensor, TensorType)
    place = strided(tensor, view_of(op))
    entries = entries_of(op)
    windows: dict[Value, Window] = {}
    for entry in entries:
        if entry.is_window and entry.operand is not None:
            found = window_of(entry.operand, makers or {})
            windows.update({entry.operand: found} if found is not None else {})
    rows = tuple(dims.mul(stride, tensor.dtype.bits) for stride in own_strides(tensor.entry))
    return Access(op, accessed(op), tile_of(op), entries, windows, place.strides, place.offset, rows, tensor.aligned)


def accesses(region: Region) -> tuple[Access, ...]:
    """Every load and store of a grid, in order."""
    makers = makers_of(region.ops)
    return tuple(found for op in walk(region.ops) if (found := access_of(op, makers)) is not None)


def free_steps(region: Region) -> tuple[Value, ...]:
    """Blocks of loops whose size the schedule gives, in order."""
    loops = [op for op in walk(region.ops) if op.name == "loop"]
    return tuple(part.block for op in loops if (part := loop_parts(op)).type.block is None)


def step_blocks(region: Region) -> tuple[Value, ...]:
    """Blocks of all loops and walks, in order."""
    return tuple(op.regions[0].args[0] for op in walk(region.ops) if op.name in ("loop", "stream"))


def contiguous_axis(access: Access) -> int | None:
    """The tile's axis along which neighbours are neighbours in memory, if it has one; of a run, the outermost."""
    run = memory_run(access)
    return run[-1].tile_axes[0] if run else None


def memory_run(access: Access) -> tuple[Entry, ...]:
    """The entries of the tile's axes that memory runs along, innermost first.

    There are several where all but the last are read whole and are shorter than an access: pairs, pixels of channels.
    """
    inner = _contiguous_entry(access)
    if inner is None:
        return ()
    found = [inner]
    reach = _short_whole(access, inner)
    before = [entry for entry in access.entries[: access.entries.index(inner)] if entry.axis is not None]
    for entry in reversed(before):
        if reach * access.tensor.dtype.nbytes >= MAX_ACCESS_BYTES or not reach or not _continues(access, entry, reach):
            break
        found.append(entry)
        reach *= _short_whole(access, entry)
    return tuple(found)


def _contiguous_entry(access: Access) -> Entry | None:
    """The entry of the axis whose neighbours are neighbours in memory."""
    for entry in reversed(access.entries):
        if entry.axis is None and entry is access.entries[-1]:
            return None
        if entry.axis is None or access.strides[entry.axis] != 1 or entry.is_scalar or entry.is_gather:
            continue
        window = access.window(entry)
        if not entry.is_window or (window is not None and window.step == 1):
            return entry
    return None


def _short_whole(access: Access, entry: Entry) -> int:
    """The extent of an axis that is read whole, where it is written and more than 1; 0 of others."""
    assert entry.axis is not None
    extent = access.tensor.shape[entry.axis]
    return extent if entry.text == ":" and isinstance(extent, int) and extent > 1 else 0


def _continues(access: Access, entry: Entry, reach: int) -> bool:
    """Whether memory goes on along this axis where `reach` elements of the axes inside it end."""
    assert entry.axis is not None
    if entry.is_scalar or entry.is_gather or entry.is_window or access.tensor.table:
        return False
    return access.strides[entry.axis] == reach


def inner_classes(region: Region, classes: AxisClasses, fast: int | None) -> tuple[int, ...]:
    """Short classes inside the fast one in memory, innermost first: a thread holds all of them of its vector."""
    found: list[int] = []
    for access in accesses(region):
        numbers = [classes.of[access.tile, entry.tile_axes[0]] for entry in memory_run(access)]
        found += [n for n in numbers[:-1] if numbers[-1] == fast and n not in (fast, *found)]
    return tuple(found)


def inner_elems(access: Access) -> int:
    """Elements that lie together at each index of the contiguous axis."""
    return prod(_short_whole(access, entry) for entry in memory_run(access)[:-1])


def power_below(number: int) -> int:
    """The largest power of two that is at most this, at least 1."""
    return 1 << max(number.bit_length() - 1, 0)


def index_bytes(access: Access) -> int:
    """Bytes at each index of the contiguous axis."""
    return inner_elems(access) * access.tensor.dtype.nbytes


def slides(region: Region, classes: AxisClasses) -> bool:
    """Whether windows slide along several of the grid's axes: over images."""
    free = {classes.of[arg, 0] for arg in region.args}
    windows = (window for access in accesses(region) for window in access.windows.values())
    return len(free & {classes.of[window.block, 0] for window in windows}) > 1


def lanes_along(region: Region, classes: AxisClasses) -> int:
    """Lanes along the fast axis, where it is one of the grid's."""
    return SLIDING_LANES if slides(region, classes) else WARP_LANES


def fast_classes(region: Region, classes: AxisClasses) -> tuple[int, ...]:
    """Classes along which neighbours are neighbours in memory, those of most bytes first."""
    weights: dict[int, int] = {}
    for access in accesses(region):
        fast = contiguous_axis(access)
        if fast is None:
            continue
        tile = access.tile.type
        assert isinstance(tile, TileType)
        nbytes = tile.dtype.nbytes
        for axis in range(tile.rank):
            nbytes *= guessed_extent(classes, classes.of[access.tile, axis])
        number = classes.of[access.tile, fast]
        weights[number] = weights.get(number, 0) + nbytes
    return tuple(sorted(weights, key=lambda c: (-weights[c], c)))


def fast_class(region: Region, classes: AxisClasses) -> int | None:
    """The class along which most bytes are neighbours in memory; None for a grid without such an access."""
    found = fast_classes(region, classes)
    return found[0] if found else None


def updates_along(region: Region, classes: AxisClasses, number: int | None) -> bool:
    """Whether neighbours along a class are updated in memory."""
    updates = (access for access in accesses(region) if access.op.name == "atomic")
    axes = ((access.tile, axis) for access in updates if (axis := contiguous_axis(access)) is not None)
    return any(classes.of[place] == number for place in axes)


def guessed_extent(classes: AxisClasses, number: int) -> int:
    """A class's extent, guessed where only the run knows it."""
    block = classes.blocks.get(number)
    if block is not None:
        return block.block or GUESSED_BLOCK
    extent = classes.extents[number]
    return extent if isinstance(extent, int) else GUESSED_EXTENT


def static_extent(classes: AxisClasses, number: int) -> int | None:
    """The extent that decides a sum's order: static, or a written block's; None when only the run knows it."""
    block = classes.blocks.get(number)
    if block is not None:
        return block.written
    extent = classes.extents[number]
    return extent if isinstance(extent, int) else None


def wide_classes(classes: AxisClasses) -> tuple[int, ...]:
    """The classes that are too long to keep; where there is none, the one long column.

    A column is a class that is never a value's last axis: its sum leaves few threads to each of its neighbours, so that
    only short ones fit. One that is regrouped, or has company, is kept.
    """
    inner = [n for n in range(len(classes.extents)) if n not in classes.blocks]
    lengths = {n: e if isinstance(e := classes.extents[n], int) else RESIDENT_ELEMS + 1 for n in inner}
    wide = tuple(n for n in inner if lengths[n] > RESIDENT_ELEMS)
    if wide:
        return wide
    regrouped = {n for split in classes.splits for n in (split.whole, *split.parts)}
    rows = {n for (value, axis), n in classes.of.items() if axis == _rank(value) - 1}
    columns = tuple(n for n in inner if lengths[n] > COLUMN.panel_elems and n not in rows and n not in regrouped)
    return columns if len(columns) == 1 else ()


def _rank(value: Value) -> int:
    return value.type.rank if isinstance(value.type, TileType) else 1


def sum_caps(region: Region, classes: AxisClasses) -> dict[int, SumOrder]:
    """The order of each class that a float sum or product runs over; the fewest partials win."""
    orders: dict[int, SumOrder] = {}
    for op in walk(region.ops):
        if op.name not in ("sum", "prod"):
            continue
        source, axes = op.operands[0].type, op.attrs["axes"]
        assert isinstance(source, TileType) and isinstance(axes, tuple)
        if not source.dtype.is_float or len(axes) != 1:
            continue
        axis = int(axes[0])
        number = classes.of[op.operands[0], axis]
        order = sum_order(axis == source.rank - 1, static_extent(classes, number))
        if number not in orders or order.partials < orders[number].partials:
            orders[number] = order
    return orders


def chunk_of(chunk: int, order: SumOrder | None) -> int:
    """Indices per turn of a long axis with this order of sums: a schedule's, but a panel at most."""
    return chunk if order is None else min(chunk, order.panel_elems)


def _divisor(extent: int | Dim, kernel: Kernel, assumed: int) -> int:
    """A power of two that divides an extent; run-time ones by their promise, else as the variant assumes."""
    if isinstance(extent, int):
        return gcd(extent, MAX_ACCESS_BYTES) if extent else MAX_ACCESS_BYTES
    promises = {size.name: size.multiple_of for size in kernel.sizes}
    total = 0
    for monomial, coefficient in extent.terms:
        factor = abs(coefficient)
        for atom in monomial:
            factor *= promises.get(str(atom), 1)
        total = gcd(total, factor)
    return max(gcd(total, MAX_ACCESS_BYTES), assumed)


def aligned_elems(
    access: Access,
    name: str,
    kernel: Kernel,
    variant: Variant,
    tiles: Mapping[Value, int],
    joined: Sequence[Entry] = (),
) -> int:
    """Elements that one access to this tensor may move at once: a power of two, at most 16 bytes.

    `tiles` gives the tile of each block variable, whose multiples its blocks start at. `joined`: the axes that an
    access runs along beside the innermost one, of its memory's run.
    """
    nbytes = access.tensor.dtype.nbytes
    limit = MAX_ACCESS_BYTES // nbytes
    # rows of what the compiler keeps begin where an access may; nothing is promised of those of other strides
    kept = kernel.attrs.get("kept", ())
    assert isinstance(kept, tuple)
    base = max(variant.alignment, access.aligned)
    if any(entry in variant.strided for entry in entry_names(name, access.tensor)) or base < nbytes:
        return 1
    assumed = max(variant.alignment // nbytes, 1) if name not in kept else 1
    begins = access.begins_rows(access.offset)
    width = gcd(min(limit, base // nbytes), _divisor(access.offset, kernel, assumed if begins else 1))
    for entry in access.entries:
        if entry.axis is None or (access.tensor.table and entry.axis == 0):
            continue  # each tensor of a table is aligned by itself
        stride = access.strides[entry.axis]
        if entry in joined:
            assert isinstance(stride, int)
            width = gcd(width, stride * _last_start(access, entry, tiles) or width)
        elif stride != 1:
            width = gcd(width, _divisor(stride, kernel, assumed if access.begins_rows(stride) else 1))
        else:
            width = gcd(width, _last_start(access, entry, tiles) or width)
    return width


def _last_start(access: Access, entry: Entry, tiles: Mapping[Value, int]) -> int:
    """A number that divides the first index of every block along the tensor's last axis; 0 where that is 0."""
    if entry.text == ":":
        return 0
    if entry.operand is None:
        start = dims.parse(entry.text.split(":")[0])
        return start if isinstance(start, int) else 1
    window = access.window(entry)
    if window is not None:
        return 1 if window.scalars else gcd(window.step * tiles.get(window.block, 1), window.start)
    return tiles.get(entry.operand, 1)


def grid_classes(op: Op) -> AxisClasses:
    """The axis classes of a grid operation."""
    return axis_classes(op.regions[0])


def extent_divisor(extent: int | Dim, kernel: Kernel, variant: Variant) -> int:
    """A power of two up to 16 that divides an extent: by its form and promises, or because rows are as long.

    Rows of a tensor begin at multiples of what a build assumes, however many of them there are.
    """
    known = _divisor(extent, kernel, 1)
    kept = kernel.attrs.get("kept", ())
    assert isinstance(kept, tuple)
    for value in kernel.params if isinstance(extent, Dim) else ():
        tensor, name = value.type, value.name or ""
        if not isinstance(tensor, TensorType) or name in kept:
            continue
        if any(entry in variant.strided for entry in entry_names(name, tensor)):
            continue
        rows = [stride for stride in own_strides(tensor.entry)[:-1] if isinstance(stride, Dim)]
        if any(extent == row or dims.exact_quotient(extent, row) is not None for row in rows):
            known = max(known, variant.alignment // tensor.dtype.nbytes)
    return min(known, MAX_ACCESS_BYTES)


def first_divisor(first: int | Dim, kernel: Kernel) -> int:
    """A power of two that divides the first index of a loop; any of index 0."""
    return _divisor(first, kernel, 1) if first != 0 else 0
