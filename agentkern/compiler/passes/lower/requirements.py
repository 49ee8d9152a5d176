"""Conditions that a kernel requires: every thread looks at the elements that it holds, and stops the launch."""

from __future__ import annotations

from agentkern.compiler.ir.core import Op
from agentkern.compiler.ir.types import TileType
from agentkern.compiler.passes.lower.elements import Elements
from agentkern.compiler.passes.lower.function import FunctionLowering, use_location


def lower_require(function: FunctionLowering, elements: Elements, op: Op) -> None:
    """Trap where an element that exists does not hold; no thread goes on before all have looked."""
    use_location(function, op)
    condition = op.operands[0]
    type_ = condition.type
    assert isinstance(type_, TileType)
    layout = function.layout(condition)
    with function.loop(0, layout.register_count, unroll=True) as register:
        with function.when(function.present(type_, layout, register)):
            held = elements.element(condition, register)
            with function.when(function.builder.value("not", (held,), held.type)):
                function.builder.emit("trap")
    if type_.shape:
        function.barrier()
