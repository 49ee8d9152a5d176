"""A tile language for GPU kernels: write the dataflow, get proofs, bits and speed from tools.

Kernel files say `import agentkern as ak`. Importing this loads the language only: no compiler, no
torch, no numpy.
"""

from agentkern.dsl.dtypes import bf16, e4m3, e5m2, f16, f32, f64, i8, i16, i32, i64, tf32, u8, u16, u32, u64
from agentkern.dsl.dtypes import bool_ as bool
from agentkern.dsl.iteration import each, grid
from agentkern.dsl.kernel import Kernel, compile, kernel
from agentkern.dsl.operations import (
    abs,
    absmax,
    all,
    any,
    broadcast_to,
    ceil,
    clip,
    copysign,
    floor,
    fma,
    full,
    isinf,
    isnan,
    max,
    maximum,
    mean,
    min,
    minimum,
    prod,
    round,
    rsqrt,
    sign,
    sqrt,
    sum,
    trunc,
    where,
    zeros,
)
from agentkern.dsl.parameters import In, Out, static_bool, static_float, static_int
from agentkern.dsl.sizes import align, cdiv, dim, static

__version__ = "0.1.0"

inf = float("inf")
nan = float("nan")

__all__ = [
    "In",
    "Kernel",
    "Out",
    "abs",
    "absmax",
    "align",
    "all",
    "any",
    "bf16",
    "bool",
    "broadcast_to",
    "cdiv",
    "ceil",
    "clip",
    "compile",
    "copysign",
    "dim",
    "e4m3",
    "e5m2",
    "each",
    "f16",
    "f32",
    "f64",
    "floor",
    "fma",
    "full",
    "grid",
    "i8",
    "i16",
    "i32",
    "i64",
    "inf",
    "isinf",
    "isnan",
    "kernel",
    "max",
    "maximum",
    "mean",
    "min",
    "minimum",
    "nan",
    "prod",
    "round",
    "rsqrt",
    "sign",
    "sqrt",
    "static",
    "static_bool",
    "static_float",
    "static_int",
    "sum",
    "tf32",
    "trunc",
    "u8",
    "u16",
    "u32",
    "u64",
    "where",
    "zeros",
]
