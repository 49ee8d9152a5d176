"""Rows of `mma.sync`, `ldmatrix` and `stmatrix`, and the fragments that they share with `wgmma`.

Only the k-steps of the numerics are here (16 for 16-bit operands, 8 for tf32, 32 for 8-bit ones): another step gives
other bits. Measured meaning of every row: the product model of the simulator.
"""

from __future__ import annotations

from agentkern.compiler.layout import fragments
from agentkern.compiler.targets.instructions import (
    Fragment,
    Instruction,
    MatrixOperand,
    Refusal,
    address,
    registers,
    target_address,
)

PTX_TYPES: dict[str, str] = {
    "bf16": "bf16",
    "f16": "f16",
    "tf32": "tf32",
    "e4m3": "e4m3",
    "e5m2": "e5m2",
    "i8": "s8",
    "u8": "u8",
    "f32": "f32",
    "i32": "s32",
}
"""Names of element types in PTX, and in the names of product functions."""

STEP_BYTES = 32
"""Bytes of one row of A in one step, whatever the type."""

OPERAND_BITS: dict[str, int] = {"bf16": 16, "f16": 16, "tf32": 32, "e4m3": 8, "e5m2": 8, "i8": 8, "u8": 8}

FP8 = ("e4m3", "e5m2")
INTEGERS = ("i8", "u8")

PRODUCT_TYPES: tuple[tuple[str, str], ...] = (
    ("bf16", "bf16"),
    ("f16", "f16"),
    ("tf32", "tf32"),
    *((a, b) for a in FP8 for b in FP8),
    *((a, b) for a in INTEGERS for b in INTEGERS),
)
"""Operand types (a, b) of a product."""

ACCUMULATOR_ELEMENTS: dict[str, str] = {"f32": "float", "i32": "int"}


def accumulator_of(operand: str) -> str:
    """The accumulator's type for operands of a type."""
    return "i32" if operand in INTEGERS else "f32"


def types_text(a: str, b: str) -> str:
    """How a function's name says the operand types: one name for 16 bits and tf32, two for 8 bits."""
    return PTX_TYPES[a] if OPERAND_BITS[a] > 8 else f"{PTX_TYPES[a]}_{PTX_TYPES[b]}"


def accumulator_fragment(m: int, n: int) -> Fragment:
    """D and C: pairs along n, then 8 rows on, then 8 columns on; m = 16 for a warp, 64 for a warpgroup."""
    return Fragment(fragments.accumulator(m, n), 1)


def a_fragment(m: int, dtype: str) -> Fragment:
    """A in registers: 4 bytes along k, then 8 rows on, then 16 bytes on."""
    return Fragment(fragments.operand_a(m, OPERAND_BITS[dtype]), 32 // OPERAND_BITS[dtype])


def b_fragment(dtype: str) -> Fragment:
    """B in registers, 8 columns: 4 bytes along k, then 16 bytes on."""
    return Fragment(fragments.operand_b(OPERAND_BITS[dtype]), 32 // OPERAND_BITS[dtype])


_FP8_REFUSAL = Refusal(
    "sm_90a",
    "the assembler widens to f16 and adds the accumulator by an ordinary addition: slower than `wgmma` and another "
    "function, and each operand type has one model on an architecture",
)


def _mma(a: str, b: str) -> Instruction:
    k, d = STEP_BYTES * 8 // OPERAND_BITS[a], accumulator_of(a)
    types = f"{PTX_TYPES[d]}.{PTX_TYPES[a]}.{PTX_TYPES[b]}.{PTX_TYPES[d]}"
    return Instruction(
        name=f"ak_mma_m16n8k{k}_{PTX_TYPES[d]}_{types_text(a, b)}",
        family="mma",
        ptx=f"mma.sync.aligned.m16n8k{k}.row.col.{types} $d, $a, $b, $d;",
        parameters=(
            registers("d", "updated", ACCUMULATOR_ELEMENTS[d], 4),
            registers("a", "read", "unsigned int", 4),
            registers("b", "read", "unsigned int", 2),
        ),
        source="PTX ISA: mma; Matrix Fragments for mma.m16n8k8, m16n8k16, m16n8k32",
        note="d = a b + d by one warp" + ("; integers wrap" if d == "i32" else ""),
        min_target=89 if a in FP8 else 80,
        operands=(
            MatrixOperand("a", a, (16, k), a_fragment(16, a)),
            MatrixOperand("b", b, (k, 8), b_fragment(b)),
            MatrixOperand("d", d, (16, 8), accumulator_fragment(16, 8)),
        ),
        shape_mnk=(16, 8, k),
        executors="warp",
        effect="convergent",
        refusals=(_FP8_REFUSAL,) if a in FP8 else (),
    )


def matrix_fragment(count: int, *, transposed: bool) -> Fragment:
    """What `ldmatrix` and `stmatrix` move: axes (matrix, row, column), `row` being the one that an address names.

    Lane l's address is that of row l % 8 of matrix l // 8: eight elements of 16 bits.
    """
    return Fragment(fragments.matrix_registers(count, transposed=transposed), 2)


def _ldmatrix(count: int, *, transposed: bool) -> Instruction:
    suffix = "_trans" if transposed else ""
    return Instruction(
        name=f"ak_ldmatrix_x{count}{suffix}",
        family="ldmatrix",
        ptx=f"ldmatrix.sync.aligned.m8n8.x{count}{suffix.replace('_', '.')}.shared.b16 $r, [$p];",
        parameters=(registers("r", "written", "unsigned int", count), address("p", "shared")),
        source="PTX ISA: ldmatrix",
        note=f"load {count} 8x8 matrices of 16-bit elements; lane l gives the address of row l % 8 of matrix l / 8",
        data=matrix_fragment(count, transposed=transposed),
        number=count,
        executors="warp",
    )


def _stmatrix(count: int, *, transposed: bool) -> Instruction:
    suffix = "_trans" if transposed else ""
    return Instruction(
        name=f"ak_stmatrix_x{count}{suffix}",
        family="stmatrix",
        ptx=f"stmatrix.sync.aligned.m8n8.x{count}{suffix.replace('_', '.')}.shared.b16 [$p], $r;",
        parameters=(target_address("p", "shared"), registers("r", "read", "unsigned int", count)),
        source="PTX ISA: stmatrix",
        note=f"store {count} 8x8 matrices of 16-bit elements; lane l gives the address of row l % 8 of matrix l / 8",
        min_target=90,
        data=matrix_fragment(count, transposed=transposed),
        number=count,
        executors="warp",
    )


def mma_rows() -> tuple[Instruction, ...]:
    """Rows of `mma.sync`."""
    return tuple(_mma(a, b) for a, b in PRODUCT_TYPES)


def matrix_move_rows() -> tuple[Instruction, ...]:
    """Rows of `ldmatrix` and `stmatrix`."""
    forms = [(count, transposed) for count in (1, 2, 4) for transposed in (False, True)]
    loads = (_ldmatrix(count, transposed=transposed) for count, transposed in forms)
    stores = (_stmatrix(count, transposed=transposed) for count, transposed in forms)
    return (*loads, *stores)
