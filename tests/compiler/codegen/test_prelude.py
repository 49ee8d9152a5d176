"""Prelude functions: the table, their text under NVRTC, and their values against the reference."""

import ctypes
import re
import subprocess
from pathlib import Path

import numpy as np
import pytest

import agentkern.runtime
from agentkern.compiler.codegen.prelude import PRELUDE, PreludeFunction, prelude_names, prelude_text
from agentkern.compiler.ir import reference_math
from agentkern.compiler.ir.reference_casts import cast
from agentkern.compiler.ir.reference_formats import STORAGE, decode, encode
from agentkern.runtime.nvrtc import NvrtcError, NvrtcOptions, compile_cuda

SHIM = Path(agentkern.runtime.__file__).parent / "simulator" / "shim"
TARGETS = {"sm_80": 80, "sm_90a": 90, "sm_100a": 100}
STORAGE_C = {"float": "f32", "double": "f64", "int": "i32", "unsigned int": "u32", "long long": "i64"}
STORAGE_C |= {"unsigned long long": "u64", "short": "i16", "unsigned short": "u16", "signed char": "i8"}
STORAGE_C |= {"unsigned char": "u8", "bool": "bool"}


def test_requirements_stand_before_their_users():
    position = {name: i for i, name in enumerate(PRELUDE)}
    for row in PRELUDE.values():
        assert all(position[name] < position[row.name] for name in row.requires)


def test_requirements_are_exactly_the_functions_called():
    for row in PRELUDE.values():
        called = set(re.findall(r"\bak_\w+(?=\()", row.body))
        assert called == set(row.requires), row.name


def test_text_holds_each_needed_function_once_whatever_the_order_asked():
    text = prelude_text(["ak_floor_f32", "ak_copysign_f32", "ak_floor_f32"])
    assert text == prelude_text(["ak_copysign_f32", "ak_floor_f32"])
    assert prelude_names(["ak_floor_f32"]) == ("ak_copysign_f32", "ak_round_f32", "ak_floor_f32")
    assert text.count("float ak_round_f32(float x) {") == 1


def test_unknown_function_is_rejected():
    with pytest.raises(KeyError, match="ak_sine_f32"):
        prelude_text(["ak_sine_f32"])


def test_inline_ptx_stands_only_in_instruction_functions_hidden_from_the_simulator():
    for row in PRELUDE.values():
        assert ("asm" in row.body) == (row.kind == "instruction"), row.name
        assert row.text.startswith("#ifndef AK_SIMULATOR\n") == (row.kind == "instruction"), row.name


def test_row_without_a_name_is_rejected():
    with pytest.raises(ValueError, match="not the declaration"):
        PreludeFunction("float rsqrt(float x)", "math", "return x;", "note", "source")


def test_shim_gives_every_instruction_function_a_meaning():
    shim = "\n".join(path.read_text() for path in sorted(SHIM.glob("*.h")))
    accessors = {
        f"{prefix}_{width}"
        for prefix in ("ak_ldg", "ak_ld", "ak_st", "ak_lds", "ak_sts")
        for width in re.findall(r"^AK_SIM_ACCESSORS\((\w+),", shim, re.MULTILINE)
    }
    known = accessors | set(re.findall(r"\b(ak_\w+)\(", shim))
    assert [row.name for row in PRELUDE.values() if row.kind == "instruction" and row.name not in known] == []


def kernels_of(names: list[str]) -> str:
    """Return the functions and one kernel around each, so that all of their text reaches ptxas."""
    text = [prelude_text(names)]
    for row in (PRELUDE[name] for name in names):
        result, _, rest = row.declaration.partition(f" {row.name}(")
        parameters = rest.rstrip(")")
        call = f"{row.name}({', '.join(p.rsplit(' ', maxsplit=1)[1] for p in parameters.split(', '))})"
        out = "" if result == "void" else f", {result}* out"
        statement = call if result == "void" else f"*out = {call}"
        text.append(f'extern "C" __global__ void k_{row.name}({parameters}{out}) {{ {statement}; }}\n')
    return "\n".join(text)


@pytest.mark.toolchain
@pytest.mark.parametrize("arch", TARGETS)
def test_every_supported_row_builds(arch):
    names = [name for name, row in PRELUDE.items() if row.min_arch <= TARGETS[arch]]
    built = compile_cuda(kernels_of(names), NvrtcOptions(arch))
    assert [m for m in built.messages if m.severity != "info"] == []


@pytest.mark.toolchain
@pytest.mark.parametrize("name", [name for name, row in PRELUDE.items() if row.min_arch > 80])
def test_row_above_its_architecture_does_not_build(name):
    with pytest.raises(NvrtcError):
        compile_cuda(kernels_of([name]), NvrtcOptions("sm_80"))


class HostPrelude:
    """The math functions compiled for this machine with the simulator's arithmetic."""

    def __init__(self, library: Path) -> None:
        self.library = ctypes.CDLL(str(library))

    def __call__(self, name: str, *arrays: np.ndarray) -> np.ndarray:
        declaration = PRELUDE[name].declaration
        result = STORAGE[STORAGE_C[declaration.split(" ak_")[0]]]
        operands = [np.ascontiguousarray(a) for a in np.broadcast_arrays(*arrays)]
        out = np.empty(operands[0].shape, result)
        pointers = [ctypes.c_void_p(a.ctypes.data) for a in (*operands, out)]
        self.library[f"each_{name}"](ctypes.c_longlong(out.size), *pointers)
        return out


def each(row: PreludeFunction) -> str:
    """Return an exported loop over arrays around one function."""
    result, _, rest = row.declaration.partition(f" {row.name}(")
    types = [parameter.rsplit(" ", maxsplit=1)[0] for parameter in rest.rstrip(")").split(", ")]
    parameters = "".join(f", const {t}* p{i}" for i, t in enumerate(types))
    values = ", ".join(f"p{i}[k]" for i in range(len(types)))
    return (
        f'extern "C" void each_{row.name}(long long n{parameters}, {result}* out) {{\n'
        f"  for (long long k = 0; k < n; ++k) out[k] = {row.name}({values});\n}}\n"
    )


@pytest.fixture(scope="module")
def host(tmp_path_factory) -> HostPrelude:
    folder = tmp_path_factory.mktemp("prelude")
    rows = [row for row in PRELUDE.values() if row.kind == "math"]
    shim = "\n".join((SHIM / name).read_text() for name in ("abi.h", "threads.h", "arithmetic.h", "instructions.h"))
    text = "\n".join([shim, prelude_text(row.name for row in rows), *map(each, rows)])
    (folder / "prelude.cpp").write_text(text)
    flags = ["-O1", "-std=c++17", "-march=x86-64-v3", "-ffp-contract=off", "-w", "-shared", "-fPIC"]
    command = ["g++", *flags, "-o", str(folder / "prelude.so"), str(folder / "prelude.cpp")]
    subprocess.run(command, check=True, capture_output=True)
    return HostPrelude(folder / "prelude.so")


def sampled_floats() -> np.ndarray:
    """All upper halves of an f32 with the lower halves that decide roundings, then random ones."""
    upper = np.arange(1 << 16, dtype=np.uint32)[:, None] << np.uint32(16)
    lower = np.array([0, 1, 0xFFF, 0x1000, 0x1001, 0x7FFF, 0x8000, 0x8001, 0xFFFF], np.uint32)
    random = np.random.default_rng(7).integers(0, 1 << 32, 1 << 18, dtype=np.uint32)
    return np.concatenate([(upper | lower).reshape(-1), random]).view(np.float32)


def same_bits(got: np.ndarray, want: np.ndarray) -> bool:
    """Whether two arrays are equal bit for bit, NaN payloads aside."""
    unsigned = np.dtype(f"u{got.dtype.itemsize}")
    equal = got.view(unsigned) == want.view(unsigned)
    if got.dtype.kind == "f":
        equal = equal | (np.isnan(got) & np.isnan(want))
    return got.dtype == want.dtype and bool(equal.all())


toolchain = pytest.mark.toolchain


@toolchain
@pytest.mark.parametrize("dtype", ["bf16", "f16", "e4m3", "e5m2"])
def test_every_code_widens_as_the_reference_does(host, dtype):
    width = np.dtype(STORAGE[dtype]).itemsize
    codes = np.arange(1 << (8 * width), dtype=np.dtype(f"u{width}"))
    assert same_bits(host(f"ak_{dtype}_to_f32", codes), decode(dtype, codes.view(STORAGE[dtype])))


@toolchain
@pytest.mark.parametrize("dtype", ["e4m3", "e5m2"])
def test_soft_encoding_is_the_references(host, dtype):
    x = sampled_floats()
    assert same_bits(host(f"ak_soft_cvt_{dtype}_f32", x), encode(dtype, x))


@toolchain
def test_tf32_rounding_is_the_references(host):
    x = sampled_floats()
    assert same_bits(host("ak_cvt_tf32_f32", x), encode("tf32", x))


@toolchain
@pytest.mark.parametrize(
    ("name", "function"),
    [
        ("ak_rsqrt_f32", reference_math.rsqrt),
        ("ak_floor_f32", reference_math.floor),
        ("ak_ceil_f32", reference_math.ceil),
        ("ak_trunc_f32", reference_math.trunc),
        ("ak_round_f32", reference_math.round_half_even),
        ("ak_sign_f32", reference_math.sign),
        ("ak_neg_f32", reference_math.neg),
        ("ak_abs_f32", reference_math.absolute),
        ("ak_isnan_f32", reference_math.isnan),
        ("ak_isinf_f32", reference_math.isinf),
    ],
)
def test_float_function_is_the_references(host, name, function):
    x = sampled_floats()
    assert same_bits(host(name, x), function("f32", x))


@toolchain
def test_reciprocal_is_the_references(host):
    x = sampled_floats()
    assert same_bits(host("ak_rcp_f32", x), reference_math.div("f32", np.float32(1), x))


@toolchain
def test_canonical_nan_replaces_every_payload_and_nothing_else(host):
    x = sampled_floats()
    got = host("ak_canonical_nan_f32", x).view(np.uint32)
    assert (got == np.where(np.isnan(x), np.uint32(0x7FFFFFFF), x.view(np.uint32))).all()


DIVISORS = [3.0, -7168.0, 0.1, 1.0000001, 1.9999999, 2.0**-126, 2.0**126, 2.0**-140, 3e38, 0.0, -0.0, np.inf, np.nan]


@toolchain
@pytest.mark.parametrize("divisor", DIVISORS)
def test_division_by_a_row_constant_is_ieee_division(host, divisor):
    x, b = sampled_floats(), np.full(1, divisor, np.float32)
    y = host("ak_div_row_rcp", b)
    assert same_bits(host("ak_div_row_f32", x, b, y), reference_math.div("f32", x, b))


@toolchain
def test_clip_orders_zeros_and_keeps_nan(host):
    x = sampled_floats()
    low, high = np.float32(-1.5), np.float32(0.0)
    assert same_bits(host("ak_clip_f32", x, low, high), reference_math.clip("f32", x, low, high))


@toolchain
def test_copysign_keeps_payloads(host):
    x = sampled_floats()
    got = host("ak_copysign_f32", x, x[::-1].copy())
    want = reference_math.copysign("f32", x, x[::-1].copy())
    assert (got.view(np.uint32) == want.view(np.uint32)).all()


@toolchain
@pytest.mark.parametrize("dtype", ["i32", "i64"])
@pytest.mark.parametrize(
    ("name", "function"),
    [
        ("ak_trunc_div", reference_math.trunc_div),
        ("ak_trunc_mod", reference_math.trunc_mod),
        ("ak_floor_div", reference_math.floor_div),
        ("ak_floor_mod", reference_math.floor_mod),
    ],
)
def test_integer_division_is_the_references(host, dtype, name, function):
    limits = np.iinfo(STORAGE[dtype])
    values = [limits.min, limits.min + 1, -1000003, -8, -7, -2, -1, 0, 1, 2, 7, 8, 1000003, limits.max]
    grid = np.meshgrid(values, [v for v in values if v != 0])
    a, b = (np.array(g, STORAGE[dtype]).reshape(-1) for g in grid)
    assert same_bits(host(f"{name}_{dtype}", a, b), function(dtype, a, b))


CONVERSIONS = [
    (target, source)
    for source in ("f32", "f64")
    for target in ("i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64")
    if PRELUDE.get(f"ak_cvt_{target}_{source}", PRELUDE["ak_st_u8"]).kind == "math"
]


@toolchain
@pytest.mark.parametrize(("target", "source"), CONVERSIONS)
def test_float_to_integer_is_the_references(host, target, source):
    x = sampled_floats()
    if source == "f64":
        edges = [2.0**e + d for e in (7, 8, 15, 16, 31, 32) for d in (-1.0, -0.5, 0.0, 0.5)]
        x = np.concatenate([decode("f32", x).astype(np.float64), edges, np.negative(edges)])
    assert same_bits(host(f"ak_cvt_{target}_{source}", x), cast(source, target, x))


@toolchain
@pytest.mark.parametrize(("target", "source"), [("f32", "u32"), ("f32", "u64"), ("f64", "i64"), ("f64", "u64")])
def test_integer_to_float_is_the_references(host, target, source):
    raw = np.random.default_rng(3).integers(0, 1 << 64, 1 << 16, dtype=np.uint64)
    shifted = raw >> np.arange(1 << 16, dtype=np.uint64) % np.uint64(64)
    x = shifted.astype(np.dtype(f"u{np.dtype(STORAGE[source]).itemsize}")).view(STORAGE[source])
    assert same_bits(host(f"ak_cvt_{target}_{source}", x), cast(source, target, x))


@toolchain
def test_f64_narrows_to_f32_as_the_reference_does(host):
    x = np.random.default_rng(5).integers(0, 1 << 64, 1 << 16, dtype=np.uint64).view(np.float64)
    single = sampled_floats()
    ties = single[np.isfinite(single)].astype(np.float64) * (1 + 2.0**-24)
    x = np.concatenate([x, ties])
    assert same_bits(host("ak_cvt_f32_f64", x), cast("f64", "f32", x))
