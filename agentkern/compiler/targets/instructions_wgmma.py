"""Rows of `wgmma`: products of a warpgroup with B, and A unless in registers, in shared memory behind descriptors.

Rows are made from their names, since there are about 850 of them. Operands of 16 bits may lie along k or along m or n;
all others along k only, by the hardware.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from agentkern.compiler.targets.instructions import Instruction, MatrixOperand, Parameter, registers, scalar
from agentkern.compiler.targets.instructions_matrix import (
    ACCUMULATOR_ELEMENTS,
    INTEGERS,
    OPERAND_BITS,
    PRODUCT_TYPES,
    PTX_TYPES,
    STEP_BYTES,
    a_fragment,
    accumulator_fragment,
    accumulator_of,
    types_text,
)

FLOAT_WIDTHS: tuple[int, ...] = tuple(range(8, 257, 8))
INTEGER_WIDTHS: tuple[int, ...] = (8, 16, 24, *range(32, 257, 16))
"""Values of n. Source: PTX ISA, Matrix shape."""

_SOURCE = "PTX ISA: wgmma.mma_async; Register Fragments and Shared Memory Matrix Layouts; Matrix Descriptor Format"
_NAME = re.compile(r"ak_wgmma_m64n(\d+)k(\d+)_(f32|s32)_(\w+?)_(ss|rs)(_at)?(_bt)?$")
_TYPES = {types_text(a, b): (a, b) for a, b in PRODUCT_TYPES}


def widths_of(operand: str) -> tuple[int, ...]:
    """Values of n for operands of a type."""
    return INTEGER_WIDTHS if operand in INTEGERS else FLOAT_WIDTHS


def forms_of(operand: str) -> tuple[str, ...]:
    """Suffixes for operands of a type: where A is, then which operands do not lie along k."""
    if OPERAND_BITS[operand] == 16:
        return ("ss", "ss_bt", "ss_at", "ss_at_bt", "rs", "rs_bt")
    return ("ss", "rs")


def wgmma_names() -> Iterator[str]:
    """Names of all product functions."""
    for a, b in PRODUCT_TYPES:
        k = STEP_BYTES * 8 // OPERAND_BITS[a]
        for n in widths_of(a):
            for form in forms_of(a):
                yield f"ak_wgmma_m64n{n}k{k}_{PTX_TYPES[accumulator_of(a)]}_{types_text(a, b)}_{form}"


def find_wgmma(name: str) -> Instruction | None:
    """The row of a product function; None if there is no such instruction."""
    match = _NAME.match(name)
    if match is None or match[4] not in _TYPES:
        return None
    a, b = _TYPES[match[4]]
    n, form = int(match[1]), f"{match[5]}{match[6] or ''}{match[7] or ''}"
    is_known = (
        n in widths_of(a)
        and int(match[2]) == STEP_BYTES * 8 // OPERAND_BITS[a]
        and match[3] == PTX_TYPES[accumulator_of(a)]
        and form in forms_of(a)
    )
    return _wgmma(n, a, b, form) if is_known else None


def _tail(operand: str, form: str) -> str:
    """Immediates: signs of a and b (floats), then the major axes of those in shared memory (16 bits)."""
    if operand in INTEGERS:
        return ""
    if OPERAND_BITS[operand] != 16:
        return ", 1, 1"
    a_major = f", {int('_at' in form)}" if form.startswith("ss") else ""
    return f", 1, 1{a_major}, {int('_bt' in form)}"


def _wgmma(n: int, a: str, b: str, form: str) -> Instruction:
    k, d = STEP_BYTES * 8 // OPERAND_BITS[a], accumulator_of(a)
    in_registers = form.startswith("rs")
    first: Parameter = registers("a", "read", "unsigned int", 4) if in_registers else scalar("desc_a", "u64")
    shape = f"m64n{n}k{k}"
    types = f"{PTX_TYPES[d]}.{PTX_TYPES[a]}.{PTX_TYPES[b]}"
    a_operand = (
        MatrixOperand("a", a, (64, k), a_fragment(64, a))
        if in_registers
        else MatrixOperand("a", a, (64, k), major="mn" if "_at" in form else "k")
    )
    return Instruction(
        name=f"ak_wgmma_{shape}_{PTX_TYPES[d]}_{types_text(a, b)}_{form}",
        family="wgmma",
        ptx="{\n.reg .pred p;\nsetp.ne.b32 p, $scale_d, 0;\n"
        f"wgmma.mma_async.sync.aligned.{shape}.{types} $d, ${first.name}, $desc_b, p{_tail(a, form)};\n}}",
        parameters=(
            registers("d", "updated", ACCUMULATOR_ELEMENTS[d], n // 2),
            first,
            scalar("desc_b", "u64"),
            scalar("scale_d", "i32"),
        ),
        source=_SOURCE,
        note="start d = a b + d (d = a b where scale_d is 0) by one warpgroup"
        + ("; integers wrap" if d == "i32" else ""),
        min_target=90,
        only_targets=("sm_90a",),
        operands=(
            a_operand,
            MatrixOperand("b", b, (k, n), major="mn" if "_bt" in form else "k"),
            MatrixOperand("d", d, (64, n), accumulator_fragment(64, n)),
        ),
        shape_mnk=(64, n, k),
        executors="warpgroup",
        completion="wgmma group",
        is_async_proxy=True,
    )


def _ordering(name: str, ptx: str, note: str, section: str, number: int | None = None) -> Instruction:
    return Instruction(
        name=name,
        family="wgmma_order",
        ptx=ptx,
        parameters=(),
        source=f"PTX ISA: {section}",
        note=note,
        min_target=90,
        only_targets=("sm_90a",),
        number=number,
        executors="warpgroup",
    )


def _pin(element: str, type_: str, count: int) -> Instruction:
    return Instruction(
        name=f"ak_wgmma_pin_{type_}_{count}",
        family="wgmma_order",
        ptx="",
        parameters=(registers("d", "updated", element, count),),
        source="PTX ISA: wgmma.fence: registers of a running product are not to be touched",
        note="no instruction: the compiler moves no use of these registers across it",
        min_target=80,
        number=count,
    )


def wgmma_order_rows() -> tuple[Instruction, ...]:
    """Fence, commit and waits of products, and pins of their registers."""
    fence = "registers and shared memory written before are seen by the products that follow"
    waits = (
        _ordering(
            f"ak_wgmma_wait_{n}",
            f"wgmma.wait_group.sync.aligned {n};",
            f"wait until at most {n} groups of products run",
            "wgmma.wait_group",
            n,
        )
        for n in range(8)
    )
    widths = sorted({n // 2 for n in FLOAT_WIDTHS})
    return (
        _ordering("ak_wgmma_fence", "wgmma.fence.sync.aligned;", fence, "wgmma.fence"),
        _ordering(
            "ak_wgmma_commit", "wgmma.commit_group.sync.aligned;", "close a group of products", "wgmma.commit_group"
        ),
        *waits,
        *(_pin("float", "f32", n) for n in widths),
        *(_pin("int", "s32", n // 2) for n in INTEGER_WIDTHS),
        _pin("unsigned int", "u32", 4),
    )
