"""Buffers that show what a run did to them: poisoned outputs, guard bands, inputs compared afterwards."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from agentkern.compiler.abi import TensorParam
from agentkern.compiler.ir.reference_formats import STORAGE, Raw
from agentkern.dsl.dtypes import DType
from agentkern.runtime.layouts import granule_of, prescribed, span
from agentkern.tools.verify_model import Call, RunOptions, Signature, concrete

GUARD_BYTES = 256
GUARD_PATTERN = 0xC7

# Two patterns a dtype: an element that keeps its poison differs between runs, one that is written does not.
# Floats: signalling NaNs, which no arithmetic produces; e4m3 has one NaN of each sign.
_POISON: dict[str, tuple[int, int]] = {
    "f64": (0x7FF5A5A5A5A5A5A5, 0x7FF45A5A5A5A5A5A),
    "f32": (0x7FA5A5A5, 0x7F9A5A5A),
    "tf32": (0x7FA5A000, 0x7F9A4000),
    "f16": (0x7DA5, 0x7D5A),
    "bf16": (0x7FA5, 0x7F9A),
    "e4m3": (0x7F, 0xFF),
    "e5m2": (0x7D, 0xFD),
    "bool": (0, 1),
}


def poison(dtype: DType, shape: tuple[int, ...], which: int) -> Raw:
    """Return an array full of the dtype's poison 0 or 1."""
    width = dtype.nbytes
    repeated = (int("A5" * width, 16), int("5A" * width, 16))
    pattern = _POISON.get(dtype.name, repeated)[which]
    return np.full(shape, pattern, dtype=f"u{width}").view(STORAGE[dtype.name])


@dataclass(frozen=True, slots=True)
class GuardedArray:
    """An array inside a larger allocation whose both ends hold a pattern; `before` is what it held."""

    name: str
    memory: Raw
    array: Raw
    before: Raw

    def damage(self, *, writable: bool) -> tuple[str, ...]:
        """Return what a run did that it must not: bytes changed outside the array, or in an input."""
        around = self.memory.copy()
        start = self.array.ctypes.data - self.memory.ctypes.data if self.array.size else GUARD_BYTES
        end = start + _span_bytes(self.array)
        inner = around[start:end].view(np.uint8)
        _elements(inner, self.array)[...] = GUARD_PATTERN
        found: list[str] = []
        if (around[:start] != GUARD_PATTERN).any():
            found.append(f"bytes before `{self.name}` were overwritten")
        if (inner != GUARD_PATTERN).any():
            at = int(np.argmax(inner != GUARD_PATTERN))
            found.append(f"byte {at} of `{self.name}`, which lies between its elements, was overwritten")
        if (around[end:] != GUARD_PATTERN).any():
            at = int(np.argmax(around[end:] != GUARD_PATTERN))
            found.append(f"byte {at} past the end of `{self.name}` was overwritten")
        if not writable and self.array.tobytes() != self.before.tobytes():
            found.append(f"input `{self.name}` was changed")
        return tuple(found)


def _span_bytes(array: Raw) -> int:
    """Return the bytes from the first element to the end of the last."""
    if not array.size:
        return 0
    return array.itemsize + sum((n - 1) * s for n, s in zip(array.shape, array.strides, strict=True))


def _elements(memory: Raw, array: Raw) -> Raw:
    """Return the bytes of `memory` that are elements of an array laid out as `array`, one more axis for the bytes."""
    if not array.size:
        return memory[:0]
    shape, strides = (*array.shape, array.itemsize), (*array.strides, 1)
    return np.lib.stride_tricks.as_strided(memory, shape, strides)


def guarded(
    name: str, contents: Raw, *, strided: bool = False, granule: int = 0, strides: tuple[int, ...] | None = None
) -> GuardedArray:
    """Return a guarded copy of `contents`, with `strides` in elements where they are given.

    Contiguous: its first element at an address that 256 divides, as on a GPU. Strided: every other element of rows of
    odd length, from an address that only an element's size divides; with a granule, rows without gaps that begin at
    odd multiples of as many elements.
    """
    itemsize, shape = contents.itemsize, contents.shape
    spread = strided and contents.ndim > 0 and contents.size > 0
    step, unit = (1, granule) if granule else (2, 1)
    taken = step * shape[-1] if spread else 0
    held = (*shape[:-1], (taken // unit + 1 + taken // unit % 2) * unit) if spread else shape
    n_held = math.prod(held) if strides is None else span(shape, strides)
    n_bytes, offset = n_held * itemsize, GUARD_BYTES + (itemsize * unit if spread else 0)
    allocation = np.full(n_bytes + 4 * GUARD_BYTES, GUARD_PATTERN, np.uint8)
    start = -allocation.ctypes.data % GUARD_BYTES
    memory = allocation[start : start + n_bytes + offset + GUARD_BYTES]
    array = memory[offset : offset + n_bytes].view(contents.dtype)
    if strides is not None:
        array = np.lib.stride_tricks.as_strided(array, shape, tuple(stride * itemsize for stride in strides))
    else:
        array = array.reshape(held)
    array = array[..., :taken:step] if spread else array
    array[...] = contents
    return GuardedArray(name, memory, array, contents)


def initial(param: TensorParam, call: Call, which: int) -> Raw:
    """Return what a parameter holds before a run: the call's array, or poison where the call has none."""
    if param.name in call.tensors:
        return call.tensors[param.name]
    return poison(param.dtype, concrete(param.shape, call.sizes), which)


def lay_out(signature: Signature, call: Call, options: RunOptions) -> dict[str, GuardedArray]:
    """Return one guarded array for each tensor parameter."""
    found: dict[str, GuardedArray] = {}
    for param in signature.tensors:
        source, strides = dict(options.shared).get(param.name), prescribed(param, call.sizes)
        contents = initial(param, call, options.poison) if source is None else call.tensors[source]
        strided = options.strided and has_free_strides(param)
        granule = granule_of(param, call.sizes)
        # rows of wider elements, and of records, have no gaps
        whole_rows = granule if granule > 1 or param.record is not None else 0
        found[param.name] = guarded(param.name, contents, strided=strided, granule=whole_rows, strides=strides)
    return found


def has_free_strides(param: TensorParam) -> bool:
    """Whether a call may bring gaps anywhere in the tensor."""
    return param.strides is None and param.aligned <= param.dtype.nbytes and bool(param.shape)


def inspect(signature: Signature, buffers: Mapping[str, GuardedArray]) -> tuple[str, ...]:
    """Return all damage that a run did."""
    found = [buffers[p.name].damage(writable=p.access != "in") for p in signature.tensors]
    return tuple(message for messages in found for message in messages)


def outputs_of(signature: Signature, buffers: Mapping[str, GuardedArray]) -> dict[str, Raw]:
    """Return copies of the outputs."""
    return {p.name: buffers[p.name].array.copy() for p in signature.outputs}
