"""Look into a DLPack capsule without taking it over.

The capsule stays the producer's: while it lives the memory does, and its destructor frees it. Layouts are those of
`dlpack.h` 1.1: `DLTensor`, `DLManagedTensor` and `DLManagedTensorVersioned`.
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from typing import Any

_MAX_VERSION = (1, 0)
_FLAG_READ_ONLY = 1
_LEGACY_DEFAULT_STREAM = 1


class NotDLPack(Exception):
    """The object's `__dlpack__` gave nothing that can be read."""


@dataclass(frozen=True, slots=True)
class DLPackTensor:
    """What a capsule says. `device_kind` is None for a device that is neither host nor CUDA."""

    pointer: int
    dtype_text: str
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    device_code: int
    device_kind: str | None
    device_index: int
    read_only: bool
    owner: object


class _Tensor(ctypes.Structure):
    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device_code", ctypes.c_int32),
        ("device_index", ctypes.c_int32),
        ("rank", ctypes.c_int32),
        ("type_code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    )


class _Versioned(ctypes.Structure):
    _fields_ = (
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("manager", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
        ("flags", ctypes.c_uint64),
        ("tensor", _Tensor),
    )


_DEVICE_KINDS = {1: "cpu", 2: "cuda", 3: "cpu", 13: "cuda"}
_CUDA_DEVICES = (2, 13)
_TYPE_NAMES = {0: "int{bits}", 1: "uint{bits}", 2: "float{bits}", 4: "bfloat{bits}", 6: "bool"}
# DLPack 1.1 gave the 8-bit floats codes of their own.
_FLOAT8_NAMES = {10: "float8_e4m3fn", 12: "float8_e5m2", 14: "float8_e8m0fnu"}


def read_dlpack(producer: Any, stream: int | None) -> DLPackTensor:
    """Read what `producer` exports, ready for use on `stream` of its device.

    Errors: NotDLPack.
    """
    capsule = _export(producer, stream)
    if _is_capsule(capsule, b"dltensor_versioned"):
        versioned = ctypes.cast(_pointer(capsule, b"dltensor_versioned"), ctypes.POINTER(_Versioned)).contents
        if versioned.major != _MAX_VERSION[0]:
            raise NotDLPack(f"DLPack version {versioned.major} is not known here")
        return _describe(versioned.tensor, capsule, read_only=bool(versioned.flags & _FLAG_READ_ONLY))
    if _is_capsule(capsule, b"dltensor"):
        tensor = ctypes.cast(_pointer(capsule, b"dltensor"), ctypes.POINTER(_Tensor)).contents
        return _describe(tensor, capsule, read_only=False)
    raise NotDLPack(f"`__dlpack__` of `{type(producer).__name__}` returned no DLPack capsule")


def _export(producer: Any, stream: int | None) -> object:
    code, _ = producer.__dlpack_device__()
    # DLPack calls the default stream 1, since 0 could be either of CUDA's two.
    arguments = {"stream": _LEGACY_DEFAULT_STREAM if stream == 0 else stream} if int(code) in _CUDA_DEVICES else {}
    try:
        try:
            return producer.__dlpack__(max_version=_MAX_VERSION, **arguments)
        except TypeError:
            # A producer from before DLPack 1.0 does not know the argument.
            return producer.__dlpack__(**arguments)
    except (BufferError, RuntimeError, ValueError) as e:
        raise NotDLPack(f"`__dlpack__` of `{type(producer).__name__}` refused: {e}") from e


def _describe(tensor: _Tensor, capsule: object, *, read_only: bool) -> DLPackTensor:
    rank = tensor.rank
    shape = tuple(tensor.shape[axis] for axis in range(rank))
    strides = tuple(tensor.strides[axis] for axis in range(rank)) if tensor.strides else _row_major(shape)
    return DLPackTensor(
        pointer=(tensor.data or 0) + tensor.byte_offset,
        dtype_text=_type_text(tensor),
        shape=shape,
        strides=strides,
        device_code=tensor.device_code,
        device_kind=_DEVICE_KINDS.get(tensor.device_code),
        device_index=tensor.device_index,
        read_only=read_only,
        owner=capsule,
    )


def _type_text(tensor: _Tensor) -> str:
    if tensor.lanes == 1 and tensor.type_code in _FLOAT8_NAMES:
        return _FLOAT8_NAMES[tensor.type_code]
    if tensor.lanes == 1 and tensor.type_code in _TYPE_NAMES:
        return _TYPE_NAMES[tensor.type_code].format(bits=tensor.bits)
    return f"DLPack type {tensor.type_code} of {tensor.lanes} times {tensor.bits} bits"


def _row_major(shape: tuple[int, ...]) -> tuple[int, ...]:
    strides: list[int] = []
    step = 1
    for extent in reversed(shape):
        strides.append(step)
        step *= extent
    return tuple(reversed(strides))


def _is_capsule(value: object, name: bytes) -> bool:
    check = ctypes.pythonapi.PyCapsule_IsValid
    check.argtypes = (ctypes.py_object, ctypes.c_char_p)
    return bool(check(value, name))


def _pointer(capsule: object, name: bytes) -> int:
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.argtypes, get.restype = (ctypes.py_object, ctypes.c_char_p), ctypes.c_void_p
    return get(capsule, name)
