"""Whether two loads or stores of one tensor touch the same elements, or none in common. Facts only.

Cheap and local: constants, ranges and operands are compared as they stand. `proofs.collision` decides what two blocks
do; this decides what one block does twice.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from agentkern.compiler.ir import dims
from agentkern.compiler.ir.core import Op, Value, walk
from agentkern.compiler.ir.dims import Dim
from agentkern.compiler.ir.subscripts import entries_of
from agentkern.compiler.ir.views import accessed, view_of

Range = tuple[int | Dim, int | Dim]


def constant_positions(ops: Sequence[Op]) -> dict[Value, int]:
    """The numbers of integer constants, nested ones included."""
    found: dict[Value, int] = {}
    for op in walk(ops):
        value = op.attrs.get("value")
        if op.name == "constant" and isinstance(value, int) and not isinstance(value, bool):
            found[op.result] = value
    return found


def _entries(op: Op) -> list[str | Value]:
    """One entry per axis of the tensor: the operand, or the text of a range."""
    entries = [entry for entry in entries_of(op) if entry.axis is not None]
    return [entry.text if entry.operand is None else entry.operand for entry in entries]


def same_subscript(a: Op, b: Op) -> bool:
    """Whether two accesses name the same elements, each at the same place of its tile."""
    index = a.attrs["index"], b.attrs["index"]
    return view_of(a) == view_of(b) and index[0] == index[1] and _entries(a) == _entries(b)


def are_apart(a: Op, b: Op, constants: Mapping[Value, int]) -> bool:
    """Whether two accesses of one tensor share no element, whatever the sizes."""
    if view_of(a) != view_of(b):
        return False
    for extent, one, other in zip(accessed(a).shape, _entries(a), _entries(b), strict=True):
        left, right = _range(one, extent, constants), _range(other, extent, constants)
        if left is not None and right is not None and (_ends(left, right) or _ends(right, left)):
            return True
    return False


def _range(entry: str | Value, extent: int | Dim, constants: Mapping[Value, int]) -> Range | None:
    if isinstance(entry, Value):
        number = constants.get(entry)
        return None if number is None else (number, number + 1)
    if entry == ":":
        return (0, extent)
    low, _, high = entry.partition(":")
    return (dims.parse(low), dims.parse(high))


def _ends(left: Range, right: Range) -> bool:
    """Whether one range ends before the other begins."""
    gap = dims.add(right[0], dims.mul(left[1], -1))
    return isinstance(gap, int) and gap >= 0
