"""Rebuild a kernel operation by operation under a rule. The one way in which passes change a kernel."""

from collections.abc import Callable, Mapping
from dataclasses import replace

from agentkern.compiler.ir.core import Builder, Kernel, Op, OpSpec, Region, Value
from agentkern.compiler.ir.tables import OPS

Rule = Callable[[Op, Builder], "tuple[Value, ...] | None"]


def _region(region: Region, rule: Rule, table: Mapping[str, OpSpec], mapped: dict[Value, Value]) -> Region:
    builder = Builder(table)
    for op in region.ops:
        builder.location = op.location
        operands = op.operands
        for value in operands:
            if value in mapped:
                operands = tuple([mapped.get(v, v) for v in operands])
                break
        if op.regions:
            regions = tuple(_region(r, rule, table, mapped) for r in op.regions)
            op = Op(op.spec, operands, op.attrs, op.results, regions, op.location)
        elif operands is not op.operands:
            op = Op(op.spec, operands, op.attrs, op.results, (), op.location)
        results = rule(op, builder)
        if results is None:
            builder.ops.append(op)
        else:
            mapped.update(zip(op.results, results, strict=True))
    return Region(region.args, tuple(builder.ops))


def rewrite(kernel: Kernel, rule: Rule) -> Kernel:
    """Apply a rule to every operation, inner regions first.

    The rule sees an operation with its operands already replaced. It returns None to keep it, or the values that stand
    for its results, having emitted what computes them.
    """
    body = _region(Region((), kernel.body), rule, OPS, {}).ops
    return replace(kernel, body=body)
