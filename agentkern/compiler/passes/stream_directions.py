"""Which way a walk over a long axis goes: from the end where it needs a reverse scan. One way serves one walk."""

from __future__ import annotations

from collections.abc import Sequence

from agentkern.compiler.analysis.axes import AxisClasses
from agentkern.compiler.ir.core import Op, Value
from agentkern.compiler.ir.order_ops import SCANS
from agentkern.compiler.ir.types import TileType
from agentkern.compiler.passes.unsupported import UnsupportedError


def by_direction(ops: Sequence[Op], classes: AxisClasses, number: int, sinks: list[Op]) -> list[tuple[bool, list[Op]]]:
    """The sinks of one level and axis by direction (`reverse`, sinks). Errors: UnsupportedError where none serves."""
    makers = {value: op for op in ops for value in op.results}
    ways = {op: _ways(op, makers, classes, number) for op in sinks}
    for op, found in ways.items():
        if len(found) > 1:
            raise UnsupportedError(
                "a scan from the start and one from the end of an axis too long to keep, in one value",
                "store one of them, and use it in a second grid",
                op.location,
            )
        if True in found and _is_ordered(op):
            raise UnsupportedError(
                "a sum over a scan from the end of an axis too long to keep",
                "store the scan, and add it up in a second grid",
                op.location,
            )
    backward = [op for op in sinks if True in ways[op]]
    forward = [op for op in sinks if True not in ways[op]]
    if backward and forward:
        _check_memory(ops, sinks)
    return [(reverse, group) for reverse, group in ((False, forward), (True, backward)) if group]


def _ways(sink: Op, makers: dict[Value, Op], classes: AxisClasses, number: int) -> set[bool]:
    """The directions of the scans along the axis that a sink depends on."""
    waiting, seen, found = list(sink.operands), set[Value](), set[bool]()
    while waiting:
        value = waiting.pop()
        is_long = isinstance(value.type, TileType) and number in classes.axes(value)
        if value in seen or not is_long or value not in makers:
            continue
        seen.add(value)
        op = makers[value]
        axis = op.attrs.get("axis")
        if op.name in SCANS and isinstance(axis, int) and classes.of[value, axis] == number:
            found.add(bool(op.attrs["reverse"]))
        waiting += op.operands
    return found


def _is_ordered(op: Op) -> bool:
    """Whether a sink is a reduction whose order is fixed from the start on."""
    type_ = op.operands[0].type
    return op.name in ("sum", "prod") and isinstance(type_, TileType) and type_.dtype.is_float


def _check_memory(ops: Sequence[Op], sinks: Sequence[Op]) -> None:
    """Two walks in place of one must not see each other's stores."""
    loaded = {op.operands[0] for op in ops if op.name == "load"}
    for op in sinks:
        if op.name == "store" and op.operands[0] in loaded:
            raise UnsupportedError(
                f"`{op.operands[0].name}` is written in place beside a scan from the end of an axis too long to keep",
                "write the new values to an `ak.Out` tensor",
                op.location,
            )
