"""When a step's block is part of the answer: the law of free carried values, on a loop as it was lowered.

Free of the block is what is updated once a step by maximum, minimum, an integer or bitwise sum of a reduction over the
step, by a dot that accumulates over the step, or by a value that does not depend on the step; nothing else reads it.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence

from agentkern.compiler.frontend.lowering import Lowering
from agentkern.compiler.ir.core import Op, Value, walk
from agentkern.compiler.ir.loop_ops import LoopParts, loop_parts
from agentkern.compiler.ir.tile_ops import REDUCTIONS
from agentkern.compiler.ir.types import TileType

# Update by operation: the reductions whose results it may combine.
_COMBINES: Mapping[str, tuple[str, ...]] = {
    "add": ("sum", "bincount"),
    "maximum": ("max", "absmax"),
    "minimum": ("min",),
    "or": ("any",),
    "and": ("all",),
}
_IDEMPOTENT = ("maximum", "minimum", "or", "and")
_MOVES = ("broadcast", "reshape", "transpose")


class _Body:
    """A loop's operations: who makes and who reads each value, and what depends on the step."""

    def __init__(self, op: Op) -> None:
        self.parts: LoopParts = loop_parts(op)
        self.ops = list(walk(op.regions[0].ops))
        self.makers = {value: inner for inner in self.ops for value in inner.results}
        self.uses: dict[Value, list[Op]] = {}
        for inner in self.ops:
            for value in inner.operands:
                self.uses.setdefault(value, []).append(inner)
        self.moving = self._moving()
        self.updates: set[Op] = set()

    def _moving(self) -> set[Value]:
        """Values that depend on the step or on what is carried."""
        found: set[Value] = {self.parts.block, *self.parts.args}
        for inner in self.ops:
            nested = {v for region in inner.regions for each in walk(region.ops) for v in each.operands}
            if not found.isdisjoint([*inner.operands, *nested]):
                found.update(inner.results)
                found.update(arg for region in inner.regions for arg in region.args)
        return found

    def over_step(self, value: Value) -> bool:
        """Whether a tile has an axis of the step's indices."""
        return isinstance(value.type, TileType) and self.parts.type.current in value.type.shape

    def is_free(self, arg: Value, given: Value) -> bool:
        """Whether a carried value is the same however the steps are cut."""
        if given is arg or given not in self.moving:
            return len(self.uses.get(arg, [])) == (given is arg)
        uses = self.uses.get(arg, [])
        if len(uses) != 1 or len(self.uses[given]) != 1:
            return False
        (update,) = uses
        if update.name == "loop":
            inner = loop_parts(update)
            place = next((k for k, v in enumerate(inner.inits) if v is arg), None)
            if place is None or update.results[place] is not given or inner.inits.count(arg) != 1:
                return False
            return self.is_free(inner.args[place], inner.yields[place])
        free = update.results[:1] == (given,) and self._updates(update, arg)
        self.updates.update((update,) if free else ())
        return free

    def _updates(self, update: Op, arg: Value) -> bool:
        if update.name == "dot":
            return len(update.operands) == 3 and update.operands[2] is arg and self.over_step(update.operands[0])
        if update.name not in _COMBINES or update.operands.count(arg) != 1:
            return False
        other = next(v for v in update.operands if v is not arg)
        type_ = other.type
        assert isinstance(type_, TileType)
        if update.name == "add" and type_.dtype.is_float:
            return False
        if update.name in _IDEMPOTENT and other not in self.moving:
            return True
        while (maker := self.makers.get(other)) is not None and maker.name in _MOVES:
            other = maker.operands[0]
        return maker is not None and maker.name in _COMBINES[update.name] and self.reduces_step(maker)

    def reduces_step(self, op: Op) -> bool:
        """Whether an operation takes away the axis of the step."""
        axes, source = op.attrs.get("axes"), op.operands[0].type
        if not isinstance(axes, tuple) or not isinstance(source, TileType):
            return self.over_step(op.operands[0]) and not self.over_step(op.result)
        return any(source.shape[int(axis)] == self.parts.type.current for axis in axes)

    def reads_of_block(self) -> list[Op]:
        """Reductions over the step whose results go anywhere but into a free update."""
        reductions = [op for op in self.ops if op.name in (*REDUCTIONS, "bincount") and self.reduces_step(op)]
        return [op for op in reductions if not self._feeds(op.result)]

    def _feeds(self, value: Value) -> bool:
        """Whether a reduction's result goes into free updates alone."""
        uses = self.uses.get(value, [])
        return bool(uses) and all(u in self.updates or (u.name in _MOVES and self._feeds(u.result)) for u in uses)


def check_free(lw: Lowering, op: Op, names: Sequence[str], block: str, call: ast.Call) -> None:
    """Report what depends on a block that the compiler chooses. Errors: AK403, AK422."""
    parts = loop_parts(op)
    if parts.type.block is not None:
        return
    body = _Body(op)
    fixes = (lw.source.insert_before_end(call, ", block=128", "write a block of 128"),)
    reported: set[str] = set()
    for name, arg, given in zip(names, parts.args, parts.yields, strict=True):
        if name not in reported and not body.is_free(arg, given):
            reported.add(name)
            lw.diagnostics.append(lw.diagnostic("AK422", call, name=name, block=block, fixes=fixes))
    if reported:
        return
    for inner in body.reads_of_block():
        lw.diagnostics.append(
            lw.diagnostic(
                "AK403", call, operation=f"ak.{inner.name}", axis=inner.attrs.get("axes", 0), block=block, fixes=fixes
            )
        )
