"""Conditions that a kernel requires, in the interpreter: the first element that does not hold, with its values.

Shares no code with the lowering and must not import it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from agentkern.compiler.ir.core import Location, Op, Value
from agentkern.compiler.ir.interpreter_frame import Block, Frame, InterpreterError
from agentkern.compiler.ir.reference_formats import decode
from agentkern.compiler.ir.types import TileType

SIGNS = {"lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==", "ne": "!="}


class RequirementError(InterpreterError):
    """A condition that the kernel requires does not hold."""


class BrokenPromise(RequirementError):
    """A store that was promised places of its own for each element of `tensor` writes one twice."""

    def __init__(self, tensor: str, reason: str, location: Location | None) -> None:
        super().__init__(f"`{tensor}`: {reason}", location)
        self.tensor = tensor
        self.reason = reason


def require(op: Op, ops: Sequence[Op], frame: Frame) -> None:
    """Look at every element. `ops` are those around `op`. Errors: RequirementError at the first that does not hold."""
    held = np.asarray(frame.array(op.operands[0]))
    failed = np.argwhere(~held.astype(np.bool_))
    if not len(failed):
        return
    place = tuple(int(k) for k in failed[0])
    parts = [
        f"block {_blocks(frame)}",
        *([f"position {list(place)}"] if place else []),
        *_values(op, ops, frame, place),
    ]
    raise RequirementError(f"{op.attrs['message']} ({', '.join(parts)})", op.location)


def _blocks(frame: Frame) -> str:
    """The indices of the blocks of the moment, outermost first."""
    found = [datum for datum in frame.values.values() if isinstance(datum, Block)]
    return ", ".join(f"{b.start}:{b.stop}" if b.stop - b.start > 1 else f"{b.start}" for b in found) or "0"


def _values(op: Op, ops: Sequence[Op], frame: Frame, place: tuple[int, ...]) -> list[str]:
    """The two sides of the first comparison of a condition that does not hold there."""
    makers = {value: other for other in ops for value in other.results}
    waiting = [op.operands[0]]
    while waiting:
        value = waiting.pop(0)
        maker = makers.get(value)
        if maker is None:
            continue
        if maker.name in SIGNS and not bool(_at(frame, value, place)):
            left, right = (_shown(frame, side, place) for side in maker.operands)
            return [f"{left} {SIGNS[maker.name]} {right}"]
        if maker.name in ("and", "broadcast"):
            waiting += maker.operands
    return []


def _at(frame: Frame, value: Value, place: tuple[int, ...]) -> object:
    array = np.asarray(frame.array(value))
    near = place[len(place) - array.ndim :] if array.ndim else ()
    return array[tuple(min(k, n - 1) for k, n in zip(near, array.shape, strict=True))]


def _shown(frame: Frame, value: Value, place: tuple[int, ...]) -> str:
    assert isinstance(value.type, TileType)
    raw = np.asarray(_at(frame, value, place))
    return str(decode(value.type.dtype.name, raw) if value.type.dtype.is_float else raw)
