"""Element operations that have a short form for usual operands, on several neighbouring registers at once.

Operations before one with a usual form run on each of a thread's registers, that one on all of them: a thread decides
once which form it takes. Decisions by smaller vectors were measured: their branches cost more than they save (softmax
of 8192 x 7168 on an H200: 77 us by eights, 66 by whole rows).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from agentkern.compiler.analysis.masked_values import is_masked
from agentkern.compiler.ir.core import Op, Value
from agentkern.compiler.ir.function_usual import USUAL
from agentkern.compiler.ir.types import TileType
from agentkern.compiler.passes.lower.arithmetic import BOOL
from agentkern.compiler.passes.lower.function import FunctionLowering, use_location


class VectorElements(Protocol):
    """What this file needs of `elements.py`'s class.

    `vectors`: arrays of the vector at hand, of values that a later run of its operations reads; `place`: where in it;
    `flags`: for results of usual forms, the flag that their operands were usual, and the bounds that then hold.
    """

    function: FunctionLowering
    vectors: dict[Value, Value]
    place: int | Value
    flags: dict[Value, tuple[Value, tuple[float, float]]]

    def base_of(self, value: Value) -> tuple[Value, bool]:
        """The value behind all views, and whether the numbering is unchanged."""
        ...

    def element(self, value: Value, register: int | Value) -> Value:
        """A register of a value."""
        ...

    def emit_run(self, ops: Sequence[Op], arrays: Mapping[Value, Value], register: int | Value) -> None:
        """Operations on one register."""
        ...


def has_usual_form(op: Op) -> bool:
    """Whether an operation has a short form."""
    return op.name in USUAL and _tile(op.result).dtype.name == "f32"


def _tile(value: Value) -> TileType:
    assert isinstance(value.type, TileType)
    return value.type


def _runs(ops: Sequence[Op]) -> list[list[Op]]:
    """Operations in order; each that has a usual form stands alone."""
    runs: list[list[Op]] = [[]]
    for op in ops:
        if has_usual_form(op):
            runs += [[op], []]
        else:
            runs[-1].append(op)
    return [run for run in runs if run]


def emit_vector(elements: VectorElements, ops: Sequence[Op], arrays: Mapping[Value, Value], count: int) -> None:
    """Operations on all of a thread's `count` registers; results with `arrays` are kept there."""
    function = elements.function
    runs = _runs(ops)
    for number, run in enumerate(runs):
        read_later = {elements.base_of(v)[0] for later in runs[number + 1 :] for op in later for v in op.operands}
        for op in run:
            if op.result in read_later and op.result not in arrays:
                use_location(function, op)
                elements.vectors[op.result] = function.registers(_tile(op.result).dtype, count, op.result.name)
        if has_usual_form(run[0]):
            _emit_usual(elements, run[0], arrays, count)
            continue
        with function.loop(0, count, unroll=True, name="e") as place:
            elements.place = place
            elements.emit_run(run, arrays, place)
    for op in ops:
        elements.vectors.pop(op.result, None)


def _emit_usual(elements: VectorElements, op: Op, arrays: Mapping[Value, Value], count: int) -> None:
    """One operation on a whole vector; a result that nothing reads is not computed."""
    function = elements.function
    use_location(function, op)
    into = arrays.get(op.result) or elements.vectors.get(op.result)
    if into is None:
        return
    given = [_operand(elements, operand, count) for operand in op.operands]
    operands = [into, function.index.value(0), *(value for values in given for value in values)]
    attrs: dict[str, object] = {"name": op.name, "count": count}
    known = elements.flags.get(elements.base_of(op.operands[0])[0])
    wide = USUAL[op.name].wide
    masked = wide is not None and is_masked(op.operands[0], function.makers, zeros=wide.takes_zeros)
    if masked:
        attrs["masked"] = True
    elif known is not None and all(len(values) == 1 for values in given[1:]):
        attrs["within"] = known[1]
        operands.append(known[0])
    flag = function.builder.value("usual", tuple(operands), BOOL, attrs, f"{op.result.name or op.name}_usual")
    gives = USUAL[op.name].gives
    if gives is not None and not masked:
        elements.flags[op.result] = (flag, gives)


def _operand(elements: VectorElements, value: Value, count: int) -> tuple[Value, ...]:
    """A scalar, or an array and the register that it begins at."""
    function, index = elements.function, elements.function.index
    base, same = elements.base_of(value)
    held = function.held.get(base)
    if held is not None and isinstance(held.type, TileType):
        return (held,)
    if same and base in elements.vectors:
        return (elements.vectors[base], index.value(0))
    if same and held is not None:
        return (held, index.value(0))
    copy = function.registers(_tile(value).dtype, count, value.name)
    with function.loop(0, count, unroll=True, name="e") as place:
        elements.place = place
        function.set(copy, place, elements.element(value, place))
    return (copy, index.value(0))
