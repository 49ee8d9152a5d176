"""Loops and choices in the interpreter: blocks as written or in pieces of any size, every step run.

Shares no code with the lowering and must not import it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from agentkern.compiler.ir import dims
from agentkern.compiler.ir.core import Op
from agentkern.compiler.ir.interpreter_frame import Block, Frame
from agentkern.compiler.ir.loop_ops import LoopParts, high_name, loop_parts, low_name

FREE_STEP = 256
"""Indices of a step whose block is nobody's: long enough for NumPy, short enough for a tile of many rows."""

Run = Callable[[Sequence[Op], Frame], None]


def _bounds(parts: LoopParts, frame: Frame) -> dict[str, int]:
    """The numbers of the bounds that operands give."""
    name = parts.type.name
    given = ((low_name(name), parts.low), (high_name(name), parts.high))
    return {bound: int(frame.array(value)) for bound, value in given if value is not None}


def run_loop(op: Op, frame: Frame, run: Run) -> None:
    """Run the steps in order. Limits of skipping are not looked at: a step past them changes nothing."""
    parts = loop_parts(op)
    type_ = parts.type
    sizes = frame.sizes | _bounds(parts, frame)
    static = frame.static | ({type_.name: type_.block} if type_.block is not None else {})
    first, end = dims.evaluate(type_.first, sizes), dims.evaluate(type_.extent, sizes)
    step = type_.block or frame.free_block or FREE_STEP
    carried = [frame.array(value) for value in parts.inits]
    for ordinal, start in enumerate(range(first, end, step)):
        block = Block(start, min(start + step, end), ordinal)
        inner_sizes = sizes | {type_.name: block.stop - start}
        inner = Frame(dict(frame.values), inner_sizes, static, frame.free_block, orders=frame.orders)
        inner.values[id(parts.block)] = block
        inner.values.update({id(arg): value for arg, value in zip(parts.args, carried, strict=True)})
        run(op.regions[0].ops, inner)
        carried = [inner.array(value) for value in parts.yields]
        if parts.stop is not None and bool(inner.array(parts.stop)):
            break
    frame.values.update({id(result): value for result, value in zip(op.results, carried, strict=True)})


def run_branch(op: Op, frame: Frame, run: Run) -> None:
    """Run the region that the condition picks."""
    region = op.regions[0 if bool(frame.array(op.operands[0])) else 1]
    run(region.ops, frame)
    yielded = region.ops[-1].operands
    frame.values.update({id(result): frame.array(v) for result, v in zip(op.results, yielded, strict=True)})
