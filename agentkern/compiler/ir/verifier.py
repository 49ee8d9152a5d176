"""Check a kernel of any stage against the operation tables. A failure is a bug of ours: AK9xx, never the user's."""

from collections.abc import Sequence

from agentkern.compiler.ir.core import Kernel, Op, Value, VerifyRule, walk
from agentkern.compiler.ir.nondeterminism import ATTRIBUTE, is_nondeterministic, is_order_dependent


class IrError(ValueError):
    """An operation breaks a rule of the IR; `op` is the operation."""

    def __init__(self, op: Op, message: str) -> None:
        super().__init__(f"`{op.spec.name}`: {message}")
        self.op = op


def _check(op: Op, stage: str) -> None:
    spec = op.spec
    if stage not in spec.stages:
        raise IrError(op, f"does not exist in stage {stage}")
    if spec.operands is not None and len(op.operands) != spec.operands:
        raise IrError(op, f"takes {spec.operands} operands, got {len(op.operands)}")
    if spec.results >= 0 and len(op.results) != spec.results:
        raise IrError(op, f"has {spec.results} results, got {len(op.results)}")
    if len(op.regions) != spec.regions:
        raise IrError(op, f"has {spec.regions} regions, got {len(op.regions)}")
    if op.attrs or spec.attrs:
        for name in op.attrs:
            if name not in spec.attrs:
                raise IrError(op, f"has no attribute `{name}`")
        for name, required in spec.attrs.items():
            if required and name not in op.attrs:
                raise IrError(op, f"lacks the attribute `{name}`")
    if spec.rule is not None:
        _check_rule(op, spec.rule)


def _check_rule(op: Op, rule: VerifyRule) -> None:
    try:
        wrong = rule(op)
    except (ArithmeticError, AssertionError, AttributeError, IndexError, TypeError, ValueError) as error:
        # Rules take operands and attributes of the right kind for granted; text from outside may hold any.
        raise IrError(op, "operands or attributes of the wrong kind") from error
    if wrong is not None:
        raise IrError(op, wrong)


def _check_region(ops: Sequence[Op], visible: set[Value], stage: str) -> None:
    defined: list[Value] = []
    for op in ops:
        for operand in op.operands:
            if operand not in visible:
                raise IrError(op, f"uses {operand} before its definition")
        _check(op, stage)
        for region in op.regions:
            visible.update(region.args)
            _check_region(region.ops, visible, stage)
            visible.difference_update(region.args)
        for value in op.results:
            if value in visible:
                raise IrError(op, f"defines {value} twice")
            visible.add(value)
            defined.append(value)
    visible.difference_update(defined)


def verify_kernel(kernel: Kernel) -> None:
    """Check definitions before uses, attributes, types and every row's rule. Errors: IrError."""
    _check_region(kernel.body, set(kernel.params), kernel.stage)
    if not is_nondeterministic(kernel):
        for op in walk(kernel.body):
            if is_order_dependent(op):
                raise IrError(op, f"sums floats in any order, and the kernel is not `{ATTRIBUTE}`")
