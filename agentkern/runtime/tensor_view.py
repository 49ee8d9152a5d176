"""See the memory of any library's tensor: address, dtype, shape, strides, device. Copies and checks nothing.

Torch tensors, NumPy arrays and every object with `__dlpack__`. Imports neither torch nor NumPy: who has such a tensor
has the library loaded already.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any, Literal

from agentkern.dsl import dtypes
from agentkern.dsl.dtypes import DType
from agentkern.runtime.call_errors import CallError
from agentkern.runtime.dlpack import NotDLPack, read_dlpack

Library = Literal["torch", "numpy", "dlpack"]


@dataclass(frozen=True, slots=True)
class Device:
    """Where memory lies; host memory that the GPU can see counts as `cpu`."""

    kind: str
    index: int = 0

    def __str__(self) -> str:
        return f"{self.kind}:{self.index}" if self.kind != "cpu" else self.kind


@dataclass(frozen=True, slots=True)
class TensorView:
    """One tensor's memory. Strides count elements. `dtype` is None for a type that the language lacks."""

    pointer: int
    dtype: DType | None
    dtype_text: str
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    device: Device
    read_only: bool
    library: Library
    owner: object

    @property
    def elements(self) -> int:
        """Number of elements."""
        total = 1
        for extent in self.shape:
            total *= extent
        return total

    @property
    def contiguous(self) -> bool:
        """Whether the elements lie in row-major order without gaps; axes of extent 1 may have any stride."""
        expected = 1
        for extent, stride in zip(reversed(self.shape), reversed(self.strides), strict=True):
            if extent != 1 and stride != expected:
                return self.elements == 0
            expected *= extent
        return True


_CPU = Device("cpu")

# Names of element types in torch, NumPy (with the ml_dtypes package's) and as printed by DLPack's code and width.
_FOREIGN: dict[str, DType] = {
    "float64": dtypes.f64,
    "float32": dtypes.f32,
    "float16": dtypes.f16,
    "bfloat16": dtypes.bf16,
    "float8_e4m3fn": dtypes.e4m3,
    "float8_e5m2": dtypes.e5m2,
    "float8_e8m0fnu": dtypes.e8m0,
    "int8": dtypes.i8,
    "int16": dtypes.i16,
    "int32": dtypes.i32,
    "int64": dtypes.i64,
    "uint8": dtypes.u8,
    "uint16": dtypes.u16,
    "uint32": dtypes.u32,
    "uint64": dtypes.u64,
    "bool": dtypes.bool_,
}
FOREIGN_NAMES: dict[str, str] = {dtype.name: name for name, dtype in _FOREIGN.items()}
"""What torch calls each dtype."""

# NumPy has no type for these: arrays of the unsigned type of the same width stand for them.
RAW_IN_NUMPY = ("bf16", "e4m3", "e5m2", "e8m0")


def view_tensor(value: object, parameter: str, stream: int | None = None) -> TensorView:
    """Return the view of `value`, an argument for `parameter`; `stream` is where the caller will use it.

    Errors: AK702 no tensor; AK704 a tensor without plain strides; AK701 one on no device that has memory.
    """
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(value, torch.Tensor):
        return _view_torch(value, parameter)
    numpy = sys.modules.get("numpy")
    if numpy is not None and isinstance(value, numpy.ndarray):
        return _view_numpy(value, parameter)
    if hasattr(value, "__dlpack__") and hasattr(value, "__dlpack_device__"):
        return _view_dlpack(value, parameter, stream)
    raise CallError("AK702", name=parameter, got=f"a `{type(value).__name__}`", expected="a tensor")


def holds(view: TensorView, dtype: DType) -> bool:
    """Whether the memory of `view` can be that of a parameter of `dtype`."""
    if view.dtype is None:
        return False
    if view.dtype.name == dtype.name:
        return True
    return view.library == "numpy" and dtype.name in RAW_IN_NUMPY and view.dtype_text == dtype.storage


def _view_torch(tensor: Any, parameter: str) -> TensorView:
    if str(tensor.layout) != "torch.strided":
        raise CallError("AK704", name=parameter, got=f"none (`{tensor.layout}`)", expected="a strided tensor")
    if tensor.is_neg() or tensor.is_conj():
        raise CallError("AK704", name=parameter, got="of a lazily negated view", expected="plain memory")
    device = tensor.device
    if device.type not in ("cpu", "cuda"):
        raise _no_such_device(parameter, str(device))
    text = str(tensor.dtype).removeprefix("torch.")
    return TensorView(
        pointer=tensor.data_ptr(),
        dtype=_FOREIGN.get(text),
        dtype_text=text,
        shape=tuple(tensor.shape),
        strides=tuple(tensor.stride()),
        device=_CPU if device.type == "cpu" else Device("cuda", device.index),
        read_only=False,
        library="torch",
        owner=tensor,
    )


def _view_numpy(array: Any, parameter: str) -> TensorView:
    if not array.dtype.isnative:
        raise CallError("AK702", name=parameter, got=array.dtype.str, expected="in the machine's byte order")
    item_bytes = array.dtype.itemsize
    if any(stride % item_bytes for stride, extent in zip(array.strides, array.shape, strict=True) if extent > 1):
        expected = f"multiples of its {item_bytes}-byte elements"
        raise CallError("AK704", name=parameter, got=f"{array.strides} in bytes", expected=expected)
    return TensorView(
        pointer=array.ctypes.data,
        dtype=_FOREIGN.get(array.dtype.name),
        dtype_text=array.dtype.name,
        shape=array.shape,
        strides=tuple(stride // item_bytes for stride in array.strides),
        device=_CPU,
        read_only=not array.flags.writeable,
        library="numpy",
        owner=array,
    )


def _view_dlpack(value: Any, parameter: str, stream: int | None) -> TensorView:
    try:
        seen = read_dlpack(value, stream)
    except NotDLPack as e:
        raise CallError("AK702", name=parameter, got=f"a `{type(value).__name__}` ({e})", expected="a tensor") from e
    if seen.device_kind is None:
        raise _no_such_device(parameter, f"DLPack device {seen.device_code}")
    return TensorView(
        pointer=seen.pointer,
        dtype=_FOREIGN.get(seen.dtype_text),
        dtype_text=seen.dtype_text,
        shape=seen.shape,
        strides=seen.strides,
        device=_CPU if seen.device_kind == "cpu" else Device("cuda", seen.device_index),
        read_only=seen.read_only,
        library="dlpack",
        owner=seen.owner,
    )


def _no_such_device(parameter: str, got: str) -> CallError:
    return CallError("AK701", name=parameter, got=f"`{got}`", expected="`cpu` or `cuda`")
