"""Conversions inside warps: registers by other numbers, values shuffled between lanes or chosen by thread number."""

from __future__ import annotations

from collections.abc import Sequence

from agentkern.compiler.ir.core import Op, Value
from agentkern.compiler.ir.types import TileType
from agentkern.compiler.layout.exchange import Exchange, Step
from agentkern.compiler.layout.layout import Layout
from agentkern.compiler.passes.lower.arithmetic import BOOL
from agentkern.compiler.passes.lower.elements import Elements, View
from agentkern.compiler.passes.lower.function import FunctionLowering
from agentkern.dsl.dtypes import DType


def lower_exchange(function: FunctionLowering, elements: Elements, op: Op, plan: Exchange) -> None:
    """The result is a view of the operand's registers, or of an array on which the plan's steps have worked."""
    value, result = op.operands[0], op.result
    type_ = result.type
    assert isinstance(type_, TileType)
    after = function.layout(result)
    terms = tuple((term.divisor, term.extent, term.factor) for term in plan.terms)
    if plan.entry is not None:
        array = _entered(function, elements, value, plan)
        for step in plan.steps:
            _step(function, array, type_.dtype, step)
        value = Value(type_, result.name)
        function.held[value] = array
    view = View(value, terms, after.register_count)
    if not plan.start:
        elements.views[result] = view
        return
    array = function.registers(type_.dtype, after.register_count, result.name)
    with function.loop(0, after.register_count, unroll=True) as register:
        old = function.index.add(elements.renumbered(view, register), plan.start)
        function.set(array, register, elements.element(value, old))
    function.held[result] = array


def _entered(function: FunctionLowering, elements: Elements, value: Value, plan: Exchange) -> Value:
    """A copy of the operand's registers by power-of-two numbers; numbers of no register hold zero."""
    type_ = value.type
    assert isinstance(type_, TileType) and plan.entry is not None
    before = function.layout(value)
    numbers = 1 << plan.bits
    fill = None if before.register_count == numbers else 0
    array = function.registers(type_.dtype, numbers, value.name, fill)
    with function.loop(0, before.register_count, unroll=True) as register:
        function.set(array, _slot(function, before, plan.entry, register), elements.element(value, register))
    return array


def _slot(function: FunctionLowering, before: Layout, entry: Sequence[int], register: int | Value) -> int | Value:
    """The place of a register of the old layout."""
    index = function.index
    total: int | Value = 0
    divisor = 1
    for digit, factor in zip(before.registers, entry, strict=True):
        part = index.quotient(register, divisor)
        if divisor * digit.extent < before.register_count:
            part = index.remainder(part, digit.extent)
        total = index.add(total, index.multiply(part, factor))
        divisor *= digit.extent
    return total


def _scattered(function: FunctionLowering, number: int | Value, bits: Sequence[int], base: int) -> int | Value:
    """`base` plus the number with its bit k moved to place bits[k]."""
    index = function.index
    total: int | Value = base
    first = 0
    while first < len(bits):
        last = first
        while last + 1 < len(bits) and bits[last + 1] == bits[last] + 1:
            last += 1
        part = index.quotient(number, 1 << first)
        if last + 1 < len(bits):
            part = index.remainder(part, 1 << (last + 1 - first))
        total = index.add(total, index.multiply(part, 1 << bits[first]))
        first = last + 1
    return total


def _bit(function: FunctionLowering, number: int | Value, bit: int) -> Value:
    """Whether a bit of the lane's or warp's number is set."""
    return function.index.compare("eq", function.index.bits(number, bit, 2), 1)


def _step(function: FunctionLowering, array: Value, dtype: DType, step: Step) -> None:
    """One step on all live registers."""
    scalar = TileType(dtype)
    pairs = step.kind in ("swap", "pick_by_lane", "pick_by_warp")
    bits = [bit for bit in step.live if not (pairs and bit == step.register)]
    condition = _bit(function, function.warp if step.kind == "pick_by_warp" else function.lane, step.lane)
    if step.kind == "lanes":
        other = _bit(function, function.lane, step.other)
        condition = function.builder.value("ne", (condition, other), BOOL)

    def choose(if_set: Value, if_clear: Value) -> Value:
        return function.builder.value("where", (condition, if_set, if_clear), scalar)

    def partner(value: Value, mask: int) -> Value:
        return function.builder.value("shuffle_xor", (value,), scalar, {"mask": mask})

    mask = 1 << step.lane
    with function.loop(0, 1 << len(bits), unroll=True) as number:
        low = _scattered(function, number, bits, step.base)
        high = function.index.add(low, 1 << step.register)
        first = function.get(array, low)
        if step.kind == "swap":
            second = function.get(array, high)
            theirs = partner(choose(first, second), mask)
            function.set(array, low, choose(theirs, first))
            function.set(array, high, choose(second, theirs))
        elif step.kind == "lanes":
            theirs = partner(first, mask | 1 << step.other)
            function.set(array, low, choose(theirs, first))
        elif step.kind == "spread":
            theirs = partner(first, mask)
            function.set(array, low, choose(theirs, first))
            function.set(array, high, choose(first, theirs))
        elif step.kind == "take":
            theirs = partner(first, mask)
            function.set(array, low, choose(first, theirs) if step.other else choose(theirs, first))
        else:
            function.set(array, low, choose(function.get(array, high), first))
