"""Divisors that are never zero, offsets that fit 32 bits, runs that start aligned."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

from agentkern.compiler.analysis import blocks
from agentkern.compiler.analysis.accesses import Access, KernelFacts, Scope
from agentkern.compiler.analysis.element_forms import ALWAYS, Condition, ElementForms
from agentkern.compiler.analysis.extents import Facts
from agentkern.compiler.analysis.intervals import IndexRange
from agentkern.compiler.ir import dims
from agentkern.compiler.ir.core import Op, Value
from agentkern.compiler.ir.dims import Dim, FloorDiv
from agentkern.compiler.ir.types import BlockType, TensorType, TileType
from agentkern.compiler.ir.views import Strided, strided
from agentkern.compiler.proofs import wording
from agentkern.compiler.proofs.bounds import conditions
from agentkern.compiler.proofs.obligation import Case, Obligation
from agentkern.compiler.proofs.violation import (
    Form,
    Violation,
    equal,
    make_violation,
    scope_unknowns,
    size_unknowns,
)

SPAN_LIMIT = 1 << 31
VECTOR_BITS = 128
DIVISIONS = {"floor_div": "//", "mod": "%", "trunc_div": "ak.trunc_div", "trunc_mod": "ak.trunc_mod"}


def division_obligations(facts: KernelFacts) -> Iterator[Obligation]:
    """One obligation per integer division, and one per divisor in an extent."""
    for divisor in _extent_divisors(facts):
        yield _extent_division(facts, divisor)
    for scope in facts.scopes:
        for op in scope.ops:
            if op.name in DIVISIONS and _is_integer(op):
                yield _division(facts, scope.around(op), op)


def _is_integer(op: Op) -> bool:
    return isinstance(op.result.type, TileType) and op.result.type.dtype.is_integer


def _division(facts: KernelFacts, scope: Scope, op: Op) -> Obligation:
    divisor = op.operands[1]
    operator = DIVISIONS[op.name]
    statement = f"the divisor{f' `{divisor.name}`' if divisor.name else ''} of `{operator}` is never 0"
    form, element = scope.forms.form(divisor), ElementForms(scope.forms).form(divisor)
    runs = scope.conditions.get(op, ALWAYS)
    known = scope.forms.facts.positive(block.length for block in scope.blocks).assuming(runs.nonnegative)
    shown = scope.forms.range(divisor).excludes(0) or (form is not None and _is_nonzero(known, form, runs))
    shown = shown or _is_nonzero(known, element, runs)
    shown = shown or _replaces_zero(facts, scope, divisor) or _is_required(scope, divisor)
    if form is None:
        return Obligation("division", statement, op.location, shown=shown, access=operator)
    return Obligation(
        "division",
        statement,
        op.location,
        shown=shown,
        cases=(
            Case(
                lambda: make_violation(
                    [*size_unknowns(facts), *scope_unknowns(scope)],
                    [*equal(form, 0), *conditions(runs)],
                    scope.forms.data,
                ),
                lambda values: _describe(facts, scope, values, f"the divisor of `{operator}` is 0"),
            ),
        ),
        access=operator,
    )


_VIEWS = ("broadcast", "reshape", "transpose", "slice")


def _is_required(scope: Scope, divisor: Value) -> bool:
    """Whether `ak.require` has shown that no element of the divisor is 0."""
    if not scope.known:
        return False
    form = ElementForms(scope.forms).form(divisor)
    found = [*(one for one in scope.known if not one.of)]
    found += [one for name in sorted(dims.symbols(form)) for one in scope.forms.required_of(name)]
    facts = scope.forms.facts.assuming(one.form for one in found if not one.nonzero)
    nonzero = [one.form for one in found if one.nonzero]
    return _is_nonzero(facts, form) or form in nonzero or dims.mul(form, -1) in nonzero


def _replaces_zero(facts: KernelFacts, scope: Scope, divisor: Value) -> bool:
    """Whether the divisor is `where(v == 0, other, v)` or `where(v != 0, v, other)`, `other` never being 0."""
    makers = {value: op for every in facts.scopes for op in every.ops for value in op.results}
    pick = makers.get(divisor)
    while pick is not None and pick.name in _VIEWS:  # the same elements, repeated or in other places
        pick = makers.get(pick.operands[0])
    test = makers.get(pick.operands[0]) if pick is not None and pick.name == "where" else None
    if pick is None or test is None or test.name not in ("eq", "ne"):
        return False
    _, first, second = pick.operands
    kept, other = (second, first) if test.name == "eq" else (first, second)
    zeros = [scope.forms.range(v) == IndexRange(0, 0) for v in test.operands]
    same = [_is_same(makers, v, kept) for v in test.operands]
    tests_kept = (zeros[0] and same[1]) or (zeros[1] and same[0])
    return tests_kept and scope.forms.range(other).excludes(0)


def _is_same(makers: Mapping[Value, Op], a: Value, b: Value) -> bool:
    """Whether two values are equal: one value, or two reads of an input's same elements."""
    if a is b:
        return True
    left, right = makers.get(a), makers.get(b)
    if left is None or right is None or left.name != "load" or right.name != "load":
        return False
    tensor = left.operands[0].type
    assert isinstance(tensor, TensorType)
    return tensor.access == "in" and left.operands == right.operands and left.attrs == right.attrs


def _is_nonzero(facts: Facts, form: Form, runs: Condition = ALWAYS) -> bool:
    if form in runs.nonzero or dims.mul(form, -1) in runs.nonzero:
        return True
    return facts.nonnegative(dims.add(form, -1)) or facts.nonnegative(dims.add(dims.mul(form, -1), -1))


def _extent_divisors(facts: KernelFacts) -> list[Dim]:
    """Divisors that are no numbers, in the extents of parameters and grids, in order."""
    found: dict[Dim, None] = {}
    extents: list[Form] = []
    for param in facts.kernel.params:
        if isinstance(param.type, TensorType):
            extents += param.type.shape
    for scope in facts.scopes:
        extents += [extent for access in scope.accesses if access.view for extent in access.type.shape]
        extents += [block.extent for block in scope.blocks]
        extents += [e for op in scope.ops for arg in _blocks_of(op) for e in (arg.first, arg.extent)]
        extents += [e for op in scope.ops if isinstance(e := op.attrs.get("extent"), Dim)]
    for extent in extents:
        _collect_divisors(extent, found)
    return list(found)


def _blocks_of(op: Op) -> list[BlockType]:
    return [arg.type for region in op.regions for arg in region.args if isinstance(arg.type, BlockType)]


def _collect_divisors(extent: Form, found: dict[Dim, None]) -> None:
    if isinstance(extent, int):
        return
    for monomial, _ in extent.terms:
        for atom in monomial:
            if isinstance(atom, FloorDiv):
                if isinstance(atom.denominator, Dim):
                    found[atom.denominator] = None
                _collect_divisors(atom.numerator, found)
                _collect_divisors(atom.denominator, found)


def _extent_division(facts: KernelFacts, divisor: Dim) -> Obligation:
    known = facts.forms.facts

    def violation() -> Violation:
        return make_violation(size_unknowns(facts), equal(divisor, 0), ())

    return Obligation(
        "division",
        f"the divisor `{divisor}` of an extent is never 0",
        None,
        shown=_is_nonzero(known, divisor),
        cases=(Case(violation, lambda values: _describe(facts, None, values, f"the divisor `{divisor}` is 0")),),
        access=f"// {divisor}",
    )


def _describe(facts: KernelFacts, scope: Scope | None, values: Mapping[str, int], text: str) -> Mapping[str, object]:
    return {
        "text": wording.with_setting(facts, values, text),
        "sizes": wording.sizes_of(facts, values),
        "scalars": wording.scalars_of(facts, values),
        "blocks": wording.blocks_of(scope, values) if scope is not None else {},
    }


# ---- offsets ---------------------------------------------------------------------------------------------------------


def span_elems(access: Access) -> Form:
    """Elements from the first to the last that one block touches, both included, in a contiguous tensor.

    A block that the compiler sizes counts as one index: its size is chosen to fit.
    """
    strides = _strided(access).strides
    span: Form = 1
    for index, stride in zip(access.axes, strides, strict=True):
        if index.block is not None:
            width: Form = 1 if index.block.block is None else index.block.block
        else:
            width = dims.add(index.high, dims.mul(index.low, -1)) if index.kind == "range" else 1
        span = dims.add(span, dims.mul(stride, dims.add(width, -1)))
    return span


def _strided(access: Access) -> Strided:
    """Where the elements lie, in a tensor without gaps."""
    assert isinstance(access.tensor.type, TensorType)
    return strided(access.tensor.type, access.view)


def overflow_obligations(facts: KernelFacts) -> Iterator[Obligation]:
    """One obligation per access: offsets inside one block are less than 2^31. Only permits narrower arithmetic."""
    for scope in facts.scopes:
        for access in scope.accesses:
            span = span_elems(access)
            known = scope.forms.facts
            yield Obligation(
                "overflow",
                f"`{access.text}` spans fewer than 2^31 elements in one block",
                access.op.location,
                shown=not any(index.spread for index in access.axes) and known.at_most(span, SPAN_LIMIT - 1),
                tensor=access.tensor.name or "",
                access=access.text,
            )


# ---- alignment -------------------------------------------------------------------------------------------------------


def run_alignment(facts: Facts, access: Access) -> int:
    """Elements that divide the offset of every contiguous run of an access, at most 16 bytes' worth; a power of two.

    The tensor's first element is 16-byte aligned, and blocks that the compiler sizes start where it likes.
    """
    place = _strided(access)
    widest = max(VECTOR_BITS // place.dtype.bits, 1)
    common = facts.divisor(facts.simplify(place.offset))
    for axis, (index, stride) in enumerate(zip(access.axes, place.strides, strict=True)):
        innermost = axis == len(place.strides) - 1 and stride == 1
        step = 1
        if index.kind == "range":
            first = facts.divisor(facts.simplify(index.low))
            step = first if innermost else math.gcd(first, 1)
        elif index.kind == "scalar":
            step = facts.divisor(facts.simplify(index.low))
        elif index.block is not None and innermost:
            step = 0 if index.block.block is None else index.block.block
            if blocks.has_one(index.block):
                step = 0
            step = math.gcd(step, facts.divisor(facts.simplify(index.block.first)))
        common = math.gcd(common, step * facts.divisor(facts.simplify(stride)))
    return math.gcd(common, widest) if common else widest


def alignment_obligations(facts: KernelFacts) -> Iterator[Obligation]:
    """One record per access, of the alignment that is known. Only permits wider accesses."""
    for scope in facts.scopes:
        for access in scope.accesses:
            elems = run_alignment(scope.forms.facts, access)
            unit = "element" if elems == 1 else "elements"
            yield Obligation(
                "alignment",
                f"runs of `{access.text}` start at multiples of {elems} {unit}",
                access.op.location,
                shown=True,
                tensor=access.tensor.name or "",
                access=access.text,
            )
