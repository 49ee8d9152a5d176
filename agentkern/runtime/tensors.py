"""Bind a call's arguments to a kernel's parameters: names, dtypes, shapes, sizes, devices, strides, overlap, scalars.

The one place where a call is checked; the simulator, the interpreter and the GPU get what it returns. Every failure is
a `CallError` that names the parameter. Reads no element of any tensor.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from agentkern.compiler.abi import KernelAbi, ListParam, ScalarParam, TensorParam, Variant
from agentkern.compiler.ir.core import Kernel
from agentkern.compiler.variants import fitting_variant
from agentkern.runtime.allocation import allocate
from agentkern.runtime.call_errors import CallError
from agentkern.runtime.layouts import prescribed
from agentkern.runtime.list_arguments import with_entries
from agentkern.runtime.overlap import same_elements, share_memory
from agentkern.runtime.scalar_arguments import BoundScalar, bind_scalar
from agentkern.runtime.signature import Signature, arguments_by_name, callers_names, form_of, named_sizes
from agentkern.runtime.sizes import shape_of, solve_sizes
from agentkern.runtime.tensor_checks import check_layout, check_tensor
from agentkern.runtime.tensor_view import Device, Library, TensorView, view_tensor

WIDEST_ALIGNMENT = 16
"""Bytes of the widest access; alignment beyond it is of no use."""


@dataclass(frozen=True, slots=True)
class BoundTensor:
    """A tensor argument; `allocated` tells one made here from the caller's."""

    param: TensorParam
    view: TensorView
    allocated: bool

    @property
    def strided(self) -> bool:
        """Whether it needs a build with free strides."""
        return not self.view.contiguous and self.param.strides is None

    @property
    def alignment(self) -> int:
        """Largest power of two up to 16 that divides the address of every row, in bytes."""
        if self.view.elements == 0:
            return WIDEST_ALIGNMENT
        bits = self.view.pointer | WIDEST_ALIGNMENT
        if self.strided:
            for axis, (extent, stride) in enumerate(zip(self.view.shape, self.view.strides, strict=True)):
                innermost = axis == len(self.view.shape) - 1 and stride == 1
                if extent > 1 and not innermost:
                    bits |= stride * self.param.dtype.nbytes
        return bits & -bits


@dataclass(frozen=True, slots=True)
class BoundCall:
    """A call that is in order. `tensors` and `scalars` in the order of the parameters.

    `names` are its arguments in order, one for all tensors of a list; `left_out` are the lists that were not given;
    `shared` are outputs that are inputs too, each with that input.
    """

    name: str
    tensors: tuple[BoundTensor, ...]
    scalars: tuple[BoundScalar, ...]
    sizes: Mapping[str, int]
    device: Device
    names: tuple[str, ...] = ()
    lists: tuple[ListParam, ...] = ()
    left_out: frozenset[str] = frozenset()
    shared: tuple[tuple[str, str], ...] = ()

    def tensor(self, name: str) -> BoundTensor:
        """Return the tensor bound to parameter `name`."""
        return next(bound for bound in self.tensors if bound.param.name == name)

    def scalar(self, name: str) -> BoundScalar:
        """Return the scalar bound to parameter `name`."""
        return next(bound for bound in self.scalars if bound.name == name)

    @property
    def strided(self) -> tuple[str, ...]:
        """Names of the tensors that are not contiguous."""
        return tuple(bound.param.name for bound in self.tensors if bound.strided)

    @property
    def alignment(self) -> int:
        """Largest power of two up to 16 that every tensor is aligned to, in bytes."""
        return min((bound.alignment for bound in self.tensors), default=WIDEST_ALIGNMENT)

    @property
    def outputs(self) -> dict[str, object]:
        """The tensors that the kernel writes, as the caller knows them."""
        return {b.param.name: b.view.owner for b in self.tensors if b.param.access in ("out", "inout")}


def bind_call(
    signature: Signature,
    positional: tuple[object, ...],
    named: Mapping[str, object],
    *,
    device: Device | None = None,
    stream: int | None = None,
    in_place: frozenset[str] = frozenset(),
) -> BoundCall:
    """Bind the arguments of one call; outputs and scratch that are not given are allocated.

    `device` is where the call must run, None for wherever its tensors lie; `stream` is the one it will run on; outputs
    in `in_place` may be the very memory of an input: whether the kernel reads that in time is the caller's to ask.
    Errors: AK701 to AK713, AK717.
    """
    by_name = arguments_by_name(signature, positional, named)
    given = with_entries(signature, by_name)
    views = {p.name: view_tensor(given[p.name], p.name, stream) for p in signature.tensors if p.name in given}
    for param in signature.tensors:
        if param.name in views:
            check_tensor(param, views[param.name])
    place = _device_of(signature, views, device)
    shapes = {name: view.shape for name, view in views.items()}
    sizes = solve_sizes(signature.tensors, shapes, signature.sizes, named_sizes(signature, given))
    tensors = tuple(
        _bound(param, views.get(param.name), sizes, place, _library_of(views)) for param in signature.tensors
    )
    for bound in tensors:
        check_layout(bound.param, bound.view, sizes)
    shared = _shared(tensors, in_place)
    scalars = tuple(
        bind_scalar(param.name, param.dtype, given.get(param.name, param.default))
        for param in signature.params
        if isinstance(param, ScalarParam)
    )
    names = tuple(callers_names(signature))
    left_out = frozenset(listed.name for listed in signature.lists if listed.name not in by_name)
    return BoundCall(signature.name, tensors, scalars, sizes, place, names, signature.lists, left_out, shared)


def with_scratch(call: BoundCall, abi: KernelAbi) -> BoundCall:
    """Return the call with memory for all scratch of its build: a shape may rest on what the build fixed."""
    if not any(isinstance(p, TensorParam) and p.access == "scratch" for p in abi.params):
        return call
    library = _library_of({bound.param.name: bound.view for bound in call.tensors})
    own = tuple(bound for bound in call.tensors if bound.param.access != "scratch")
    params = [p for p in abi.params if isinstance(p, TensorParam) and p.access == "scratch"]
    made = (_bound(param, None, call.sizes, call.device, library) for param in params)
    return replace(call, tensors=(*own, *made))


def variant_of(kernel: Kernel | KernelAbi, call: BoundCall) -> Variant:
    """Return the build that fits the call best: strided where it must be, and as aligned as all its rows are."""
    return fitting_variant(kernel, call.sizes, call.strided, call.alignment, call.shared)


def check_variant(abi: KernelAbi, call: BoundCall) -> None:
    """Check that this build may run `call`.

    Errors: AK704 a tensor that must be contiguous is not; AK711 a tensor or its rows are not aligned enough.
    """
    for bound in call.tensors:
        name = bound.param.name
        if bound.strided and name not in abi.variant.strided:
            raise CallError("AK704", name=name, got=bound.view.strides, expected="contiguous rows")
        rows = fitting_variant(replace(abi, params=(bound.param,)), call.sizes, call.strided, bound.alignment)
        if rows.alignment < min(abi.variant.alignment, WIDEST_ALIGNMENT):
            raise CallError("AK711", name=name, got=rows.alignment, expected=abi.variant.alignment)


def _device_of(signature: Signature, views: Mapping[str, TensorView], device: Device | None) -> Device:
    place, reason = device, "where the call runs"
    for name, view in views.items():
        if place is None:
            place, reason = view.device, f"where `{name}` is"
        elif view.device != place:
            raise CallError("AK701", name=name, got=view.device, expected=f"{place}, {reason}")
    if place is None:
        raise CallError("AK706", reason="no argument shows the device to run on", form=form_of(signature))
    return place


def _library_of(views: Mapping[str, TensorView]) -> Library | None:
    return next((view.library for view in views.values()), None)


def _bound(
    param: TensorParam, view: TensorView | None, sizes: Mapping[str, int], device: Device, library: Library | None
) -> BoundTensor:
    if view is not None:
        return BoundTensor(param, view, allocated=False)
    tensor = allocate(param, shape_of(param, sizes), prescribed(param, sizes), device, library)
    return BoundTensor(param, view_tensor(tensor, param.name), allocated=True)


def _shared(tensors: tuple[BoundTensor, ...], in_place: frozenset[str]) -> tuple[tuple[str, str], ...]:
    """The outputs that are inputs too, each with that input. Errors: AK709 for any other overlap."""
    found: list[tuple[str, str]] = []
    for index, written in enumerate(tensors):
        if written.param.access == "in" or written.allocated:
            continue
        for other_index, other in enumerate(tensors):
            # Two written tensors are compared once.
            if other_index == index or other.allocated or (other.param.access != "in" and other_index < index):
                continue
            if _is_one(written, other, in_place):
                found.append((written.param.name, other.param.name))
    return tuple(found)


def _is_one(written: BoundTensor, other: BoundTensor, in_place: frozenset[str]) -> bool:
    """Whether an output is an input, as it may be. Errors: AK709 for any other overlap."""
    if not share_memory(written.view, written.param.dtype.nbytes, other.view, other.param.dtype.nbytes):
        return False
    same = same_elements(written.view, other.view)
    if same and other.param.access == "in" and written.param.name in in_place:
        return True
    raise CallError("AK709", name=written.param.name, other=other.param.name)
