"""Prelude functions compiled for this machine as the simulator compiles them, callable on arrays."""

import ctypes
import subprocess
from collections.abc import Iterable
from pathlib import Path

import numpy as np

import agentkern.runtime
from agentkern.compiler.codegen.prelude import PRELUDE, PreludeFunction, prelude_text
from agentkern.compiler.codegen.prelude.accessors import ACCESSORS
from agentkern.compiler.ir.reference_formats import STORAGE

SHIM = Path(agentkern.runtime.__file__).parent / "simulator" / "shim"
FLAGS = ("-O1", "-std=c++17", "-march=x86-64-v3", "-ffp-contract=off", "-w", "-shared", "-fPIC")
DTYPE_OF = {"float": "f32", "double": "f64", "bool": "bool"}
DTYPE_OF |= {"signed char": "i8", "short": "i16", "int": "i32", "long long": "i64"}
DTYPE_OF |= {"unsigned char": "u8", "unsigned short": "u16", "unsigned int": "u32", "unsigned long long": "u64"}


def value_rows() -> list[PreludeFunction]:
    """Functions from values to a value: neither accesses of memory nor what whole blocks do to it."""
    return [row for row in PRELUDE.values() if row not in ACCESSORS and row.kind != "block"]


def signature(row: PreludeFunction) -> tuple[str, list[str]]:
    """The C types of a function's result and parameters."""
    result, _, rest = row.declaration.partition(f" {row.name}(")
    return result, [parameter.rsplit(" ", maxsplit=1)[0] for parameter in rest.rstrip(")").split(", ")]


def each(row: PreludeFunction) -> str:
    """An exported loop over arrays around one function."""
    result, types = signature(row)
    parameters = "".join(f", const {t}* p{i}" for i, t in enumerate(types))
    values = ", ".join(f"p{i}[k]" for i in range(len(types)))
    return (
        f'extern "C" void each_{row.name}(long long n{parameters}, {result}* out) {{\n'
        f"  for (long long k = 0; k < n; ++k) out[k] = {row.name}({values});\n}}\n"
    )


class HostPrelude:
    """Functions by name, over arrays that broadcast."""

    def __init__(self, library: Path) -> None:
        self.library = ctypes.CDLL(str(library))

    @classmethod
    def build(cls, rows: Iterable[PreludeFunction], folder: Path) -> "HostPrelude":
        """Compile the functions behind the simulator's arithmetic and instructions."""
        rows = list(rows)
        shim = [(SHIM / name).read_text() for name in ("abi.h", "threads.h", "arithmetic.h", "instructions.h")]
        text = "\n".join([*shim, prelude_text(row.name for row in rows), *map(each, rows)])
        source, library = folder / "prelude.cpp", folder / "prelude.so"
        source.write_text(text)
        subprocess.run(["g++", *FLAGS, "-o", str(library), str(source)], check=True)
        return cls(library)

    def __call__(self, name: str, *arrays: np.ndarray) -> np.ndarray:
        result, _ = signature(PRELUDE[name])
        operands = [np.ascontiguousarray(a) for a in np.broadcast_arrays(*arrays)]
        out = np.empty(operands[0].shape, STORAGE[DTYPE_OF[result]])
        pointers = [ctypes.c_void_p(a.ctypes.data) for a in (*operands, out)]
        self.library[f"each_{name}"](ctypes.c_longlong(out.size), *pointers)
        return out


def sampled_floats() -> np.ndarray:
    """All upper halves of an f32 with the lower halves that decide roundings, then random ones."""
    upper = np.arange(1 << 16, dtype=np.uint32)[:, None] << np.uint32(16)
    lower = np.array([0, 1, 0xFFF, 0x1000, 0x1001, 0x7FFF, 0x8000, 0x8001, 0xFFFF], np.uint32)
    random = np.random.default_rng(7).integers(0, 1 << 32, 1 << 18, dtype=np.uint32)
    return np.concatenate([(upper | lower).reshape(-1), random]).view(np.float32)


def same_bits(got: np.ndarray, want: np.ndarray) -> bool:
    """Whether two arrays are equal bit for bit, NaN included."""
    unsigned = np.dtype(f"u{got.dtype.itemsize}")
    return got.dtype == want.dtype and bool((got.view(unsigned) == want.view(unsigned)).all())
