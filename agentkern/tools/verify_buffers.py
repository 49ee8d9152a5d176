"""Buffers that show what a run did to them: poisoned outputs, guard bands, inputs compared afterwards."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from agentkern.compiler.abi import TensorParam
from agentkern.compiler.ir.reference_formats import STORAGE, Raw
from agentkern.dsl.dtypes import DType
from agentkern.tools.verify_model import Call, Signature, concrete

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
        size = self.array.nbytes
        front, back = self.memory[:GUARD_BYTES], self.memory[GUARD_BYTES + size :]
        found: list[str] = []
        if (front != GUARD_PATTERN).any():
            found.append(f"bytes before `{self.name}` were overwritten")
        if (back != GUARD_PATTERN).any():
            at = int(np.argmax(back != GUARD_PATTERN))
            found.append(f"byte {at} past the end of `{self.name}` was overwritten")
        if not writable and self.array.tobytes() != self.before.tobytes():
            found.append(f"input `{self.name}` was changed")
        return tuple(found)


def guarded(name: str, contents: Raw) -> GuardedArray:
    """Return a guarded copy of `contents`, its first element at an address that 256 divides, as on a GPU."""
    allocation = np.full(contents.nbytes + 3 * GUARD_BYTES, GUARD_PATTERN, np.uint8)
    start = -allocation.ctypes.data % GUARD_BYTES
    memory = allocation[start : start + contents.nbytes + 2 * GUARD_BYTES]
    array = memory[GUARD_BYTES : GUARD_BYTES + contents.nbytes].view(contents.dtype).reshape(contents.shape)
    array[...] = contents
    return GuardedArray(name, memory, array, contents)


def initial(param: TensorParam, call: Call, which: int) -> Raw:
    """Return what a parameter holds before a run: the call's array, or poison."""
    if param.access in ("in", "inout"):
        return call.tensors[param.name]
    return poison(param.dtype, concrete(param.shape, call.sizes), which)


def lay_out(signature: Signature, call: Call, which: int) -> dict[str, GuardedArray]:
    """Return one guarded array for each tensor parameter."""
    return {p.name: guarded(p.name, initial(p, call, which)) for p in signature.tensors}


def inspect(signature: Signature, buffers: Mapping[str, GuardedArray]) -> tuple[str, ...]:
    """Return all damage that a run did."""
    found = [buffers[p.name].damage(writable=p.access != "in") for p in signature.tensors]
    return tuple(message for messages in found for message in messages)


def outputs_of(signature: Signature, buffers: Mapping[str, GuardedArray]) -> dict[str, Raw]:
    """Return copies of the outputs."""
    return {p.name: buffers[p.name].array.copy() for p in signature.outputs}
