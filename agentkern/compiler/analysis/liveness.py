"""Where each value of a region is used for the last time. Facts only."""

from collections.abc import Mapping, Sequence

from agentkern.compiler.ir.core import Op, Value, walk


def last_uses(ops: Sequence[Op]) -> Mapping[Value, int]:
    """The position in `ops` of each value's last use; a use in a nested region counts as its outer operation's.

    Values defined here and never used map to their definition; values from outside that are used here are included.
    """
    found: dict[Value, int] = {}
    for position, op in enumerate(ops):
        for inner in walk((op,)):
            for value in inner.operands:
                found[value] = position
        for value in op.results:
            found[value] = position
    return found


def live_after(ops: Sequence[Op], position: int) -> frozenset[Value]:
    """Values defined at or before `position` that a later operation of `ops` uses."""
    last = last_uses(ops)
    defined = {v for op in ops[: position + 1] for v in op.results}
    return frozenset(v for v in defined if last[v] > position)


def users(ops: Sequence[Op]) -> Mapping[Value, tuple[Op, ...]]:
    """The operations that use each value, nested ones included, in order."""
    found: dict[Value, list[Op]] = {}
    for op in walk(ops):
        for value in dict.fromkeys(op.operands):
            found.setdefault(value, []).append(op)
    return {value: tuple(uses) for value, uses in found.items()}
