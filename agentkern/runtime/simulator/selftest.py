"""Check this machine's host compiler: the shim's arithmetic must give the bits of IEEE 754 and of the GPU.

Signed zeros, infinities, NaN, subnormals, ties and limits through every f32 operation and conversion, compared with
NumPy. A compiler that fuses, folds or flushes shows here before it shows in a kernel.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from agentkern.runtime.simulator import selftest_reference as reference
from agentkern.runtime.simulator.module import Argument, SimulatorModule, build
from agentkern.runtime.simulator.records import Buffer, Checks, SimulatorOptions

_TEXT = Path(__file__).with_name("selftest.cu")
_SPECIAL_BITS = (
    *(0x00000000, 0x00000001, 0x00000002, 0x007FFFFF, 0x00800000, 0x00800001),  # zero, subnormal, smallest normal
    *(0x33800000, 0x3F7FFFFF, 0x3F800000, 0x3F800001, 0x40400000, 0x4B800000, 0x4B800001),  # ties of 1 + x
    *(0x1FFFFFFF, 0x5F800000, 0x7F7FFFFF, 0x7F800000),  # square near the smallest, square overflows, largest, infinity
    *(0x7FC00000, 0x7F800001, 0x7FFFFFFF),  # NaN, quiet and signalling
)
_FAILURES_KEPT = 3


@dataclass(frozen=True, slots=True)
class SelfTestFailure:
    """One result that differs; `operands` are the bits given."""

    operation: str
    operands: tuple[int, ...]
    got: int
    want: int

    def __str__(self) -> str:
        operands = ", ".join(f"{operand:#010x}" for operand in self.operands)
        return f"{self.operation}({operands}) is {self.got:#010x}, not {self.want:#010x}"


def self_test(cache_dir: Path) -> tuple[SelfTestFailure, ...]:
    """Run all checks; nothing returned is the good outcome. A few failures per operation are kept.

    Errors: SimulatorUnavailableError when there is no compiler.
    """
    module = build(_TEXT.read_text(), cache_dir)
    with np.errstate(all="ignore"):
        return (
            *_check_arithmetic(module),
            *_check_from_f32(module),
            *_check_from_codes(module),
            *_check_from_integers(module),
        )


def _run(module: SimulatorModule, kernel: str, shape: tuple[int, int], inputs: tuple[np.ndarray, ...]) -> np.ndarray:
    out = np.zeros(shape, np.uint32)
    arguments: list[Argument] = [Buffer(f"input{i}", array) for i, array in enumerate(inputs)]
    arguments.append(Buffer("out", out, writable=True))
    if inputs:
        arguments.append(shape[0])
    report = module.launch(kernel, 1, 32, 0, arguments, SimulatorOptions(checks=Checks.FAST))
    assert report.clean, report.findings
    return out


def _compare(got: np.ndarray, want: Mapping[str, np.ndarray], operands: np.ndarray) -> list[SelfTestFailure]:
    """`got`: (operands, operations), `want`: by operation, `operands`: (operands, operands of one operation)."""
    failures: list[SelfTestFailure] = []
    for column, (operation, expected) in enumerate(want.items()):
        for row in np.flatnonzero(got[:, column] != expected)[:_FAILURES_KEPT]:
            given = tuple(int(operand) for operand in operands[row])
            failures.append(SelfTestFailure(operation, given, int(got[row, column]), int(expected[row])))
    return failures


def _check_arithmetic(module: SimulatorModule) -> list[SelfTestFailure]:
    special = [bits | sign for bits in _SPECIAL_BITS for sign in (0, 0x80000000)]
    operands = np.array(list(itertools.product(special, special, special[::3])), np.uint32)
    a, b, c = np.ascontiguousarray(operands.T).view(np.float32)
    fma, canonical = reference.fused_multiply_add, reference.canonical
    negated = np.uint32(0x80000000)
    want = {
        "add": canonical(a + b),
        "sub": canonical(a - b),
        "mul": canonical(a * b),
        "div": canonical(a / b),
        "sqrt": canonical(np.sqrt(a)),
        "fma": canonical(fma(a, b, c)),
        "-fma": canonical(fma(a, b, c)) ^ negated,
        "fma(-a, b, c)": canonical(fma(-a, b, c)),
        "fma(a, b, -c)": canonical(fma(a, b, -c)),
        "a * b + c": canonical(a * b + c),
        "c - a * b": canonical(c - a * b),
        "-a + b": canonical(-a + b),
        "-(-a * b)": canonical(-a * b) ^ negated,
        "max": reference.larger(a, b),
        "min": reference.smaller(a, b),
    }
    return _compare(_run(module, "self_test_arithmetic", (len(operands), len(want)), (operands,)), want, operands)


def conversion_operands() -> np.ndarray:
    """Return f32 bits: every upper half with five lower halves, and every f16 tie with both neighbours."""
    upper = np.arange(1 << 16, dtype=np.uint32) << 16
    parts = [upper | np.uint32(low) for low in (0, 1, 0x7FFF, 0x8000, 0x8001, 0xFFFF)]
    f16_grid = np.arange(0x70000000 >> 13, dtype=np.uint32) << 13
    parts += [f16_grid[0x33000000 >> 13 :] | np.uint32(low) for low in (0xFFF, 0x1000, 0x1001)]
    return np.concatenate(parts)


def _check_from_f32(module: SimulatorModule) -> list[SelfTestFailure]:
    operands = conversion_operands()
    values = operands.view(np.float32)
    wide = reference.to_integer(values, 64).view(np.uint64)
    want = {
        "bf16(f32)": reference.to_narrow(values, reference.BF16),
        "f16(f32)": reference.to_narrow(values, reference.F16),
        "e4m3(f32)": reference.to_narrow(values, reference.E4M3),
        "e5m2(f32)": reference.to_narrow(values, reference.E5M2),
        "i32(f32)": reference.to_integer(values, 32).astype(np.uint32),
        "low half of i64(f32)": wide.astype(np.uint32),
        "high half of i64(f32)": (wide >> np.uint64(32)).astype(np.uint32),
    }
    got = _run(module, "self_test_from_f32", (len(operands), len(want)), (operands,))
    return _compare(got, want, operands[:, None])


def _check_from_codes(module: SimulatorModule) -> list[SelfTestFailure]:
    codes = np.arange(1 << 16)

    def f16_pair(narrow: reference.NarrowFormat) -> np.ndarray:
        halves = [
            reference.to_narrow(reference.from_narrow(part, narrow).view(np.float32), reference.F16)
            for part in (codes >> 8, codes & 0xFF)
        ]
        return halves[0] << 16 | halves[1]

    want = {
        "f32(f16)": reference.from_narrow(codes, reference.F16),
        "f16x2(e4m3x2)": f16_pair(reference.E4M3),
        "f16x2(e5m2x2)": f16_pair(reference.E5M2),
    }
    return _compare(_run(module, "self_test_from_codes", (len(codes), len(want)), ()), want, codes[:, None])


def _check_from_integers(module: SimulatorModule) -> list[SelfTestFailure]:
    near = [(1 << bit) + delta for bit in range(64) for delta in (-129, -3, -1, 0, 1, 2, 3, 129)]
    ties = [(1 << bit) + (1 << (bit - 24)) + delta for bit in range(25, 63) for delta in (-1, 0, 1)]
    unsigned = np.array([value % (1 << 64) for size in (*near, *ties) for value in (size, -size)], np.uint64)
    values = unsigned.view(np.int64)
    want = {
        "f32(i32)": values.astype(np.int32).astype(np.float32).view(np.uint32),
        "f32(i64)": values.astype(np.float32).view(np.uint32),
    }
    got = _run(module, "self_test_from_integers", (len(values), len(want)), (unsigned,))
    return _compare(got, want, unsigned[:, None])
