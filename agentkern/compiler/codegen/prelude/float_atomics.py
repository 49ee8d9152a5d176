"""Atomics of floats in global memory: sums in one instruction, extremes by integers that order as the floats do.

Values travel as raw bits. A sum rounds to nearest even; of f32, numbers below 2^-126 count as 0 of their sign (PTX ISA,
red: `.add.f32` on global memory flushes). Extremes propagate NaN as the canonical one, and -0 < +0: the bits of two
floats of one sign order as unsigned integers do, upwards or downwards, and signed integers tell the signs apart. A NaN
that stands in memory may lose there; who finds that it did, puts one back.
"""

from __future__ import annotations

from dataclasses import dataclass

from agentkern.compiler.codegen.prelude.table import PreludeFunction


@dataclass(frozen=True, slots=True)
class _Float:
    """One float dtype: C type of its bits, asm constraint, the type's words in PTX, what reads the bits as a float."""

    name: str
    bits: int
    c_type: str
    constraint: str
    infinity: str
    nan: str
    ptx_add: str
    as_float: str = "{}"
    add_constraint: str = ""
    add_min_arch: int = 80


_FLOATS = (
    _Float("f16", 16, "unsigned short", "h", "0x7c00u", "0x7fffu", "add.noftz.f16"),
    _Float("bf16", 16, "unsigned short", "h", "0x7f80u", "0x7fffu", "add.noftz.bf16", add_min_arch=90),
    _Float("f32", 32, "unsigned int", "r", "0x7f800000u", "0x7fffffffu", "add.f32", "__uint_as_float({})", "f"),
    _Float(
        "f64",
        64,
        "unsigned long long",
        "l",
        "0x7ff0000000000000ull",
        "0x7fffffffffffffffull",
        "add.f64",
        "__longlong_as_double((long long){})",
        "d",
    ),
)
_ADDRESS = '"l"(__cvta_generic_to_global(p))'


def _sum(dtype: _Float) -> PreludeFunction:
    value = dtype.as_float.format("v")
    return PreludeFunction(
        declaration=f"void ak_red_add_{dtype.name}(void* p, {dtype.c_type} v)",
        kind="instruction",
        body=(
            f'asm volatile("red.relaxed.gpu.global.{dtype.ptx_add} [%0], %1;"'
            f' :: {_ADDRESS}, "{dtype.add_constraint or dtype.constraint}"({value}) : "memory");'
        ),
        note=f"add {dtype.name} to global memory, in one step; rounds in the order of threads",
        source="PTX ISA: red",
        min_arch=dtype.add_min_arch,
    )


def _atomic(dtype: _Float, operation: str) -> str:
    return (
        f'asm volatile("atom.relaxed.gpu.global.{operation} %0, [%1], %2;"'
        f' : "={dtype.constraint}"(old) : {_ADDRESS}, "{dtype.constraint}"(v) : "memory");'
    )


def _extreme(dtype: _Float, kind: str) -> PreludeFunction:
    """By integers of the width: of one sign upwards, of the other downwards."""
    upwards, downwards = (f"max.s{dtype.bits}", f"min.u{dtype.bits}")
    if kind == "min":
        upwards, downwards = (f"min.s{dtype.bits}", f"max.u{dtype.bits}")
    body = f"""
{dtype.c_type} old = v;
if ((v & {dtype.nan}) <= {dtype.infinity}) {{
  if (v <= {dtype.nan}) {_atomic(dtype, upwards)}
  else {_atomic(dtype, downwards)}
}}
v = {dtype.nan};
if ((old & v) > {dtype.infinity}) {_atomic(dtype, f"exch.b{dtype.bits}")}
"""
    return _extreme_row(dtype, kind, body)


def _narrow_extreme(dtype: _Float, kind: str) -> PreludeFunction:
    """By comparing and exchanging: there is nothing else for 16 bits."""
    better = "<" if kind == "max" else ">"
    body = f"""
unsigned short old, found;
asm volatile("ld.relaxed.gpu.global.u16 %0, [%1];" : "=h"(old) : {_ADDRESS} : "memory");
for (;;) {{
  unsigned int a = old & 0x8000u ? 0xffffu ^ old : 0x8000u | old, b = v & 0x8000u ? 0xffffu ^ v : 0x8000u | v;
  unsigned short next = a {better} b ? v : old;
  if ((old & 0x7fffu) > {dtype.infinity} || (v & 0x7fffu) > {dtype.infinity}) next = {dtype.nan};
  if (next == old) return;
  asm volatile("atom.relaxed.gpu.global.cas.b16 %0, [%1], %2, %3;"
               : "=h"(found) : {_ADDRESS}, "h"(old), "h"(next) : "memory");
  if (found == old) return;
  old = found;
}}
"""
    return _extreme_row(dtype, kind, body)


def _extreme_row(dtype: _Float, kind: str, body: str) -> PreludeFunction:
    return PreludeFunction(
        declaration=f"void ak_red_{kind}_{dtype.name}(void* p, {dtype.c_type} v)",
        kind="instruction",
        body=body,
        note=f"{kind} of {dtype.name} to global memory; NaN propagates, -0 < +0, free of order",
        source="PTX ISA: atom, ld",
    )


FLOAT_ATOMICS: tuple[PreludeFunction, ...] = (
    *(_sum(dtype) for dtype in _FLOATS),
    *((_narrow_extreme if dtype.bits == 16 else _extreme)(dtype, kind) for dtype in _FLOATS for kind in ("max", "min")),
)
