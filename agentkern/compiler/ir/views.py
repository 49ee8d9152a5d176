"""Views of tensors: the same memory under another shape, as steps on a load's or store's `view` attribute.

Steps: `("reshape", extents)`, `("transpose", permutation)`, `("slice", starts, stops)`, `("bitcast", dtype)`, this one
between widths along the last axis, and `("field", path)`, which names what the steps before it cut out of a record. A
view must have strides on a tensor that is contiguous; where a call brings other strides, the lowering computes with the
tensor's own indices. Pure: no operation is looked at but for its attribute.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

from agentkern.compiler.ir import dims
from agentkern.compiler.ir.core import Kernel, Op, walk
from agentkern.compiler.ir.dims import Dim
from agentkern.compiler.ir.regroup import reshape_groups
from agentkern.compiler.ir.types import TensorType
from agentkern.dsl.dtypes import DTYPES, DType

Extent = int | Dim
Step = tuple[object, ...]
View = tuple[Step, ...]


class ViewError(ValueError):
    """The steps describe no view; the message says why."""


@dataclass(frozen=True, slots=True)
class Strided:
    """Where a view's elements lie: `offset + sum of index * stride`, in elements of `dtype`."""

    dtype: DType
    shape: tuple[Extent, ...]
    strides: tuple[Extent, ...]
    offset: Extent = 0


def view_of(op: Op) -> View:
    """The steps from an access' tensor to what its subscript subscripts. Errors: ViewError for text from outside."""
    view = op.attrs.get("view", ())
    if not isinstance(view, tuple) or not all(isinstance(step, tuple) for step in view):
        raise ViewError(f"`{view}` is no view")
    return view


def accessed(op: Op) -> TensorType:
    """The tensor that an access' subscript subscripts: its operand's, viewed. Errors: ViewError."""
    tensor = op.operands[0].type
    assert isinstance(tensor, TensorType)
    return viewed(tensor, view_of(op))


def viewed(tensor: TensorType, view: View) -> TensorType:
    """The type of a view. Errors: ViewError."""
    if not view:
        return tensor
    found = strided(tensor, view)
    return TensorType(found.dtype, found.shape, tensor.access, table=tensor.table)


def contiguous_strides(shape: Sequence[Extent]) -> tuple[Extent, ...]:
    """Elements between neighbours of each axis of a tensor without gaps."""
    return tuple(dims.product(tuple(shape[axis + 1 :])) for axis in range(len(shape)))


def own_strides(tensor: TensorType) -> tuple[Extent, ...]:
    """The strides that a tensor has where a call brings no others: those that are prescribed, or without gaps."""
    return contiguous_strides(tensor.shape) if tensor.strides is None else tensor.strides


def strided(tensor: TensorType, view: View, strides: Sequence[Extent] | None = None) -> Strided:
    """Where a view's elements lie in a tensor with these strides; without, with its own, or in a contiguous one.

    Errors: ViewError for a view that is none, or that has no strides there.
    """
    given = own_strides(tensor) if strides is None else tuple(strides)
    found = Strided(tensor.dtype, tensor.shape, given)
    for step in view:
        rule = RULES.get(str(step[0])) if step else None
        if rule is None or len(step) != (3 if step[0] == "slice" else 2):
            raise ViewError(f"`{step}` is no step of a view")
        found = rule(found, *step[1:])
    return found


def _extents(value: object) -> tuple[Extent, ...]:
    if not isinstance(value, tuple) or not all(isinstance(item, int | Dim) for item in value):
        raise ViewError(f"`{value}` is no tuple of extents")
    return tuple(item for item in value if isinstance(item, int | Dim))


def _reshape(place: Strided, extents: object) -> Strided:
    shape = _extents(extents)
    if dims.product(shape) != dims.product(place.shape):
        raise ViewError(f"{list(place.shape)} and {list(shape)} hold different numbers of elements")
    strides: list[Extent] = [0] * len(shape)
    for old, new in reshape_groups(place.shape, shape):
        axes = [axis for axis in old if place.shape[axis] != 1]
        for axis, following in itertools.pairwise(axes):
            if place.strides[axis] != dims.mul(place.strides[following], place.shape[following]):
                raise ViewError(f"axes {axis} and {following} of {list(place.shape)} do not lie one after another")
        inner = place.strides[axes[-1]] if axes else 1
        for position, axis in enumerate(new):
            strides[axis] = dims.mul(dims.product(tuple(shape[a] for a in new[position + 1 :])), inner)
    return Strided(place.dtype, shape, tuple(strides), place.offset)


def _transpose(place: Strided, permutation: object) -> Strided:
    order = _extents(permutation)
    axes = [axis for axis in order if isinstance(axis, int)]
    if sorted(axes) != list(range(len(place.shape))) or len(axes) != len(order):
        raise ViewError(f"{list(order)} is not a permutation of the axes")
    shape, strides = tuple(place.shape[a] for a in axes), tuple(place.strides[a] for a in axes)
    return Strided(place.dtype, shape, strides, place.offset)


def _slice(place: Strided, starts: object, stops: object) -> Strided:
    low, high = _extents(starts), _extents(stops)
    if not len(low) == len(high) == len(place.shape):
        raise ViewError("one start and stop per axis")
    offset = place.offset
    for start, stride in zip(low, place.strides, strict=True):
        offset = dims.add(offset, dims.mul(start, stride))
    shape = tuple(dims.add(b, dims.mul(a, -1)) for a, b in zip(low, high, strict=True))
    return Strided(place.dtype, shape, place.strides, offset)


def _bitcast(place: Strided, name: object) -> Strided:
    dtype = DTYPES.get(str(name))
    if dtype is None or "bool" in (dtype.kind, place.dtype.kind) or min(dtype.bits, place.dtype.bits) % 8:
        raise ViewError(f"the bits of {place.dtype} are not those of {name}")
    if dtype.bits == place.dtype.bits:
        return Strided(dtype, place.shape, place.strides, place.offset)
    if not place.shape:
        raise ViewError(f"{place.dtype} and {dtype} differ in width, and there is no axis")
    if place.strides[-1] != 1 and place.shape[-1] != 1:
        raise ViewError("neighbours along the last axis are not neighbours in memory")
    old, new = place.dtype.bits, dtype.bits
    rescaled = [_rescaled(value, old, new) for value in (place.shape[-1], *place.strides[:-1], place.offset)]
    kept = [value for value in rescaled if value is not None]
    if len(kept) != len(rescaled):
        raise ViewError(f"rows of {list(place.shape)} {place.dtype} are no whole number of {dtype}")
    return Strided(dtype, (*place.shape[:-1], kept[0]), (*kept[1:-1], 1), kept[-1])


def _rescaled(value: Extent, old: int, new: int) -> Extent | None:
    """A number of elements of `old` bits in elements of `new`; None where that is no whole number."""
    bits = dims.mul(value, old)
    found = dims.floordiv(bits, new)
    return found if dims.mul(found, new) == bits else None


def _field(place: Strided, path: object) -> Strided:
    if not isinstance(path, str):
        raise ViewError(f"`{path}` names no field")
    return place


RULES = {"reshape": _reshape, "transpose": _transpose, "slice": _slice, "bitcast": _bitcast, "field": _field}


def in_table(view: View, count: int) -> View:
    """The view of every tensor of a table that is a view of each: its steps leave the leading axis alone."""
    found: list[Step] = []
    for name, *given in view:
        if name == "reshape":
            given = [(count, *_extents(given[0]))]
        elif name == "transpose":
            given = [(0, *(axis + 1 for axis in _extents(given[0]) if isinstance(axis, int)))]
        elif name == "slice":
            given = [(0, *_extents(given[0])), (count, *_extents(given[1]))]
        found.append((name, *given))
    return tuple(found)


def of_entry(view: View) -> View:
    """What a view of a table is of each of its tensors. Errors: ViewError where it moves the leading axis."""
    found: list[Step] = []
    for name, *given in view:
        if name == "reshape":
            given = [_extents(given[0])[1:]]
        elif name == "transpose":
            given = [tuple(axis - 1 for axis in _extents(given[0])[1:] if isinstance(axis, int))]
        elif name == "slice":
            given = [_extents(given[0])[1:], _extents(given[1])[1:]]
        found.append((name, *given))
    return tuple(found)


def granules_of(kernel: Kernel) -> dict[str, int]:
    """For each tensor with a view of wider elements, by name: how many of its own such an element takes."""
    noted = kernel.attrs.get("granules", ())
    assert isinstance(noted, tuple)
    found = {str(name): int(number) for name, number in noted}
    for op in walk(kernel.body):
        if view_of(op) and isinstance(op.operands[0].type, TensorType):
            name, number = op.operands[0].name or "", granule(op.operands[0].type, view_of(op))
            found[name] = max(found.get(name, 1), number)
    return {name: number for name, number in found.items() if number > 1}


def granule(tensor: TensorType, view: View) -> int:
    """How many elements one behind another the widest element of a view takes: 1 where none is wider."""
    widest = max((DTYPES[str(step[1])].bits for step in view if step[0] == "bitcast"), default=0)
    return max(widest // tensor.dtype.bits, 1)


def names_in(view: View) -> tuple[str, ...]:
    """The sizes that a view's steps mention, each once."""
    found: dict[str, None] = {}
    for step in view:
        for part in step[1:]:
            for extent in part if isinstance(part, tuple) else ():
                found.update(dict.fromkeys(dims.symbols(extent) if isinstance(extent, Dim) else ()))
    return tuple(found)


def spelled_view(name: str, tensor: TensorType, view: View) -> str:
    """A view as a kernel spells it: `x.reshape(T * K)`; of a table that of each of its tensors."""
    if tensor.table:
        tensor, view = tensor.entry, of_entry(view)
    text, shape = name, tensor.shape
    for position, step in enumerate(view):
        if step[0] == "slice":
            low, high = _extents(step[1]), _extents(step[2])
            sides = [_range_text(a, b, n) for a, b, n in zip(low, high, shape, strict=True)]
            text += f"[{', '.join(sides)}]"
        elif step[0] == "bitcast":
            text += f".bitcast(ak.{step[1]})"
        elif step[0] == "field":
            text = f"{name}.{step[1]}"
        else:
            text += f".{step[0]}({', '.join(map(str, _extents(step[1])))})"
        shape = viewed(tensor, view[: position + 1]).shape
    return text


def _range_text(low: Extent, high: Extent, extent: Extent) -> str:
    return f"{low if low != 0 else ''}:{high if high != extent else ''}"
