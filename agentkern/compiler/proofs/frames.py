"""Accesses through one view of a tensor as index sets of another view of it, so that the two can be compared.

A step of a view is undone or done axis by axis. Axes that a reshape joins become one: its index is their sum in a mixed
radix; axes that it parts are quotients and remainders. What comes out holds every element that the access touches; it
is `exact` where it holds no other.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from agentkern.compiler.analysis import blocks
from agentkern.compiler.analysis.accesses import Access, AxisIndex, Scope
from agentkern.compiler.analysis.extents import Facts
from agentkern.compiler.ir import dims
from agentkern.compiler.ir.dims import Dim
from agentkern.compiler.ir.regroup import reshape_groups
from agentkern.compiler.ir.types import TensorType
from agentkern.compiler.ir.views import Step, View, viewed
from agentkern.compiler.proofs.violation import Form

Shape = Sequence[Form]
Indices = list[AxisIndex]


@dataclass(frozen=True, slots=True)
class Framed:
    """An access with the axes of a frame; `exact` where these hold no element that the access does not touch."""

    access: Access
    exact: bool


def frames_of(*accesses: Access) -> list[View]:
    """Views in which accesses of one tensor may be compared, the most telling first."""
    views = [access.view for access in accesses]
    if all(view == views[0] for view in views):
        return views[:1]
    shared = itertools.starmap(_common, itertools.pairwise(views))
    return list(dict.fromkeys([*views, *map(_whole_part, views), *shared, ()]))


def _common(a: View, b: View) -> View:
    """The steps that two views begin with."""
    return tuple(x for x, _ in itertools.takewhile(lambda pair: pair[0] == pair[1], zip(a, b, strict=False)))


def _whole_part(view: View) -> View:
    """A view up to the first step that leaves elements out."""
    return tuple(itertools.takewhile(lambda step: step[0] != "slice", view))


def in_frame(scope: Scope, access: Access, frame: View) -> Framed | None:
    """The access in the axes of `frame`; None where they do not hold it."""
    if access.view == frame:
        return Framed(access, exact=True)
    own = [index.block.name for index in access.axes if index.block is not None]
    if len(set(own)) != len(own):
        return None  # two axes of one block move apart, and share a symbol
    tensor = access.tensor.type
    assert isinstance(tensor, TensorType)
    shared = len(_common(access.view, frame))
    state = _Change(scope.forms.facts, list(access.axes))
    for position in range(len(access.view), shared, -1):
        old, new = viewed(tensor, access.view[:position]), viewed(tensor, access.view[: position - 1])
        state.undo(access.view[position - 1], old, new)
    for position in range(shared, len(frame)):
        if frame[position][0] == "slice":
            return None
        state.do(frame[position], viewed(tensor, frame[:position]), viewed(tensor, frame[: position + 1]))
    return Framed(replace(access, axes=tuple(state.axes), frame=frame), state.exact)


def whole_of(scope: Scope, access: Access, view: View, frame: View) -> tuple[tuple[Form, Form], ...] | None:
    """All of a view of an access' tensor as a box of `frame`; None where it is none."""
    tensor = access.tensor.type
    assert isinstance(tensor, TensorType)
    axes = tuple(AxisIndex("range", "...", 0, extent, spread=True) for extent in viewed(tensor, view).shape)
    found = in_frame(scope, replace(access, axes=axes, frame=view), frame)
    if found is None or not found.exact:
        return None
    return tuple(_bounds(index) for index in found.access.axes)


class _Change:
    """Index sets on their way from one view to another."""

    def __init__(self, facts: Facts, axes: Indices) -> None:
        self.facts = facts
        self.axes = axes
        self.exact = True

    def undo(self, step: Step, old: TensorType, new: TensorType) -> None:
        """Take back a step that led from `new` to `old`."""
        if step[0] == "transpose":
            order = step[1]
            assert isinstance(order, tuple)
            self.axes = [self.axes[order.index(axis)] for axis in range(len(order))]
        elif step[0] == "slice":
            starts = step[1]
            assert isinstance(starts, tuple)
            self.axes = [_shifted(index, start) for index, start in zip(self.axes, starts, strict=True)]
        else:
            self._convert(step, old, new)

    def do(self, step: Step, old: TensorType, new: TensorType) -> None:
        """Take a step from `old` to `new`."""
        if step[0] == "transpose":
            order = step[1]
            assert isinstance(order, tuple)
            self.axes = [self.axes[axis] for axis in order]
        else:
            self._convert(step, old, new)

    def _convert(self, step: Step, old: TensorType, new: TensorType) -> None:
        if step[0] == "field":
            return
        if step[0] == "bitcast":
            if old.dtype.bits != new.dtype.bits:
                self.axes[-1] = self._rescaled(self.axes[-1], old.dtype.bits, new.dtype.bits)
            return
        axes: dict[int, AxisIndex] = {}
        for source, target in reshape_groups(old.shape, new.shape):
            shape = [new.shape[axis] for axis in target]
            found = self._regrouped([self.axes[a] for a in source], [old.shape[a] for a in source], shape)
            axes.update(zip(target, found, strict=True))
        self.axes = [axes[axis] for axis in range(len(new.shape))]

    def _regrouped(self, axes: Indices, old: Shape, new: Shape) -> Indices:
        if len(axes) == len(new) == 1:
            return axes
        if any(index.kind == "data" for index in axes):
            return [AxisIndex("data", "...", spread=True) for _ in new]
        return list(self._parted(self._joined(axes, old), new))

    def _joined(self, axes: Indices, extents: Shape) -> tuple[Form, Form]:
        """Several axes as one."""
        total_low: Form = 0
        total_high: Form = 1
        for index, extent in zip(axes, extents, strict=True):
            first, end = _bounds(index)
            single = dims.add(total_high, dims.mul(total_low, -1)) == 1
            whole = first == 0 and self.facts.equal(end, extent)
            last = total_high if whole and not single else dims.add(total_high, -1)
            self.exact &= single or whole
            total_low = dims.add(dims.mul(total_low, extent), first)
            total_high = dims.add(dims.mul(last, extent), 0 if whole and not single else end)
        return total_low, total_high

    def _parted(self, place: tuple[Form, Form], extents: Shape) -> Iterator[AxisIndex]:
        """One axis as several."""
        low, high = place
        for position in range(len(extents)):
            inner = dims.product(tuple(extents[position + 1 :]))
            if inner == 1:
                yield _index(low, high)
                yield from (_index(0, 1) for _ in extents[position + 1 :])
                return
            first, rest = self._divided(low, inner)
            last, over = self._divided(dims.add(high, -1), inner)
            if first == last:
                yield _index(first, dims.add(first, 1))
                low, high = rest, dims.add(over, 1)
                continue
            self.exact &= rest == 0 and dims.add(over, 1) == inner
            yield _index(first, dims.add(last, 1))
            yield from (_index(0, one) for one in extents[position + 1 :])
            return

    def _divided(self, form: Form, divisor: Form) -> tuple[Form, Form]:
        """Quotient and remainder; terms that are multiples of the divisor are taken out where the rest is below it."""
        whole: Form = 0
        rest: Form = 0
        if divisor == 0:  # a tensor without elements
            return form, 0
        for monomial, coefficient in [((), form)] if isinstance(form, int) else form.terms:
            term = dims.mul(Dim(((monomial, 1),)), coefficient) if monomial else coefficient
            quotient = dims.exact_quotient(term, divisor) if term != 0 else 0
            whole, rest = (dims.add(whole, quotient), rest) if quotient is not None else (whole, dims.add(rest, term))
        if isinstance(rest, int) and isinstance(divisor, int):
            return dims.add(whole, rest // divisor), rest % divisor
        if not (self.facts.nonnegative(rest) and self.facts.at_most(dims.add(rest, 1), divisor)):
            if rest == -1:
                return dims.add(whole, -1), dims.add(divisor, -1)
            quotient = dims.floordiv(rest, divisor)
            whole, rest = dims.add(whole, quotient), dims.add(rest, dims.mul(dims.mul(quotient, divisor), -1))
        return whole, rest

    def _rescaled(self, index: AxisIndex, old: int, new: int) -> AxisIndex:
        """An index of elements of `old` bits as one of elements of `new` bits."""
        if index.kind == "data":
            return index
        low, high = _bounds(index)
        if new < old:
            count = old // new
            return _index(dims.mul(low, count), dims.mul(high, count))
        count = new // old
        self.exact &= dims.mod(low, count) == 0 and dims.mod(high, count) == 0
        return _index(dims.floordiv(low, count), dims.add(dims.floordiv(dims.add(high, -1), count), 1))


def _bounds(index: AxisIndex) -> tuple[Form, Form]:
    """First and one past the last of an index set; of a block, those of one of its indices."""
    if index.block is not None:
        place = dims.symbol(blocks.at_name(index.block))
        return place, dims.add(place, 1)
    return index.low, index.high


def _index(low: Form, high: Form) -> AxisIndex:
    single = dims.add(high, dims.mul(low, -1)) == 1
    return AxisIndex("scalar" if single else "range", "...", low, high, spread=True)


def _shifted(index: AxisIndex, start: Form) -> AxisIndex:
    if start == 0 or index.kind == "data":
        return index
    low, high = _bounds(index)
    return _index(dims.add(low, start), dims.add(high, start))
