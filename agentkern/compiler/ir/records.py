"""Records: what stands in the bytes of one row of a tensor. Data only; operations see the bytes.

A tensor of records is a tensor of `u8` whose last axis is one record. A kernel's attribute `records` says of such
parameters what their bytes are: (parameter, record, bytes, leaves), each leaf (path, dtype, shape, offset, strides).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from agentkern.compiler.ir import dims
from agentkern.compiler.ir.core import Kernel
from agentkern.compiler.ir.dims import Dim
from agentkern.dsl.dtypes import DTYPES, DType

Extent = int | Dim
Row = tuple[object, ...]


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a record: a dtype or a record, and the extents of an array of it."""

    name: str
    item: DType | Record
    shape: tuple[Extent, ...] = ()

    @property
    def count(self) -> Extent:
        """How many items it has."""
        return dims.product(self.shape)

    @property
    def nbytes(self) -> Extent:
        """Its bytes."""
        return dims.mul(self.count, self.item.nbytes)


@dataclass(frozen=True, slots=True)
class Record:
    """Fields in order, without padding."""

    name: str
    fields: tuple[Field, ...]

    @property
    def nbytes(self) -> Extent:
        """The bytes of one record."""
        total: Extent = 0
        for field in self.fields:
            total = dims.add(total, field.nbytes)
        return total

    def placed(self) -> Iterator[tuple[Field, Extent]]:
        """Every field with the byte that it begins at."""
        offset: Extent = 0
        for field in self.fields:
            yield field, offset
            offset = dims.add(offset, field.nbytes)


@dataclass(frozen=True, slots=True)
class Leaf:
    """An array of a dtype in a record: where it begins and how far neighbours of each axis are apart, in bytes."""

    path: str
    dtype: DType
    shape: tuple[Extent, ...]
    offset: Extent
    strides: tuple[Extent, ...]


@dataclass(frozen=True, slots=True)
class Layout:
    """A record as those see it who hold bytes: its name, its bytes, its leaves in order."""

    name: str
    nbytes: Extent
    leaves: tuple[Leaf, ...]

    @property
    def granule(self) -> int:
        """Bytes at whose multiples records must begin: the size of the largest elements that lie so in each record."""
        whole = [leaf for leaf in self.leaves if leaf.dtype.kind != "bool"]
        aligned = [x.dtype.nbytes for x in whole if is_aligned(x.dtype, (x.offset, *x.strides, self.nbytes))]
        return max(aligned, default=1)


def layout_at(layout: Layout, sizes: Mapping[str, int]) -> Layout:
    """A layout with numbers for sizes."""

    def fixed(extents: tuple[Extent, ...]) -> tuple[Extent, ...]:
        return tuple(dims.substitute(extent, sizes) for extent in extents)

    leaves = tuple(
        Leaf(leaf.path, leaf.dtype, fixed(leaf.shape), dims.substitute(leaf.offset, sizes), fixed(leaf.strides))
        for leaf in layout.leaves
    )
    return Layout(layout.name, dims.substitute(layout.nbytes, sizes), leaves)


def is_aligned(dtype: DType, places: Iterable[Extent]) -> bool:
    """Whether elements lie at multiples of their size: offsets and strides in bytes, a whole record's included."""
    return all(dims.mod(place, dtype.nbytes) == 0 for place in places)


def layout_of(record: Record) -> Layout:
    """The layout of a record."""
    return Layout(record.name, record.nbytes, tuple(_leaves(record, "", (), (), 0)))


def _leaves(
    record: Record, path: str, shape: tuple[Extent, ...], strides: tuple[Extent, ...], start: Extent
) -> Iterator[Leaf]:
    for field, offset in record.placed():
        inner = tuple(
            dims.mul(dims.product(field.shape[axis + 1 :]), field.item.nbytes) for axis in range(len(field.shape))
        )
        name, at = path + field.name, dims.add(start, offset)
        if isinstance(field.item, Record):
            yield from _leaves(field.item, f"{name}.", (*shape, *field.shape), (*strides, *inner), at)
        else:
            yield Leaf(name, field.item, (*shape, *field.shape), at, (*strides, *inner))


def record_row(param: str, layout: Layout) -> Row:
    """A row of a kernel's attribute `records`."""
    leaves = tuple((leaf.path, leaf.dtype.name, leaf.shape, leaf.offset, leaf.strides) for leaf in layout.leaves)
    return (param, layout.name, layout.nbytes, leaves)


def records_of(kernel: Kernel) -> dict[str, Layout]:
    """The layouts of a kernel's tensors of records by parameter."""
    rows = kernel.attrs.get("records", ())
    assert isinstance(rows, tuple)
    return {str(row[0]): read_layout(row[1:]) for row in rows}


def read_layout(row: Row) -> Layout:
    """A layout from a row without its parameter."""
    name, nbytes, leaves = row
    assert isinstance(nbytes, int | Dim)
    assert isinstance(leaves, tuple)
    return Layout(str(name), nbytes, tuple(Leaf(path, DTYPES[d], s, o, st) for path, d, s, o, st in leaves))
