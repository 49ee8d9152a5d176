"""Prelude functions: the table, their text under NVRTC, and their values against the reference."""

import hashlib
import json
import re
from pathlib import Path

import numpy as np
import pytest

from agentkern.compiler.codegen.prelude import PRELUDE, PreludeFunction, prelude_names, prelude_text
from agentkern.compiler.ir import reference_math
from agentkern.compiler.ir.reference_casts import cast
from agentkern.compiler.ir.reference_formats import STORAGE, decode, encode
from agentkern.runtime.nvrtc import NvrtcError, NvrtcOptions, compile_cuda
from tests.compiler.codegen.host_prelude import SHIM, HostPrelude, same_bits, sampled_floats, value_rows

TARGETS = {"sm_80": 80, "sm_90a": 90, "sm_100a": 100}


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
    assert prelude_names(["ak_floor_f32"]) == (
        "ak_canonical_nan_f32",
        "ak_copysign_f32",
        "ak_round_f32",
        "ak_floor_f32",
    )
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


RESULTS = Path(__file__).parents[3] / "evals" / "numerics" / "results"
SCANNED = ("rsqrt", "floor", "ceil", "trunc", "round", "cast_e4m3_soft", "cast_e5m2_soft", "div_row")


@pytest.mark.parametrize("name", SCANNED)
def test_recorded_scan_is_of_the_present_text_and_found_no_mismatch(name):
    result = json.loads((RESULTS / f"{name}.json").read_text())
    text = prelude_text([result["prelude_function"]])
    assert result["text_sha256"] == hashlib.sha256(text.encode()).hexdigest()
    sets = [row for row in result.get("sets", [result]) if not row.get("set", "").startswith("control")]
    assert [row["mismatches"] for row in sets] == [0] * len(sets)


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


@pytest.fixture(scope="module")
def host(tmp_path_factory) -> HostPrelude:
    return HostPrelude.build(value_rows(), tmp_path_factory.mktemp("prelude"))


def payload_free(got: np.ndarray, want: np.ndarray) -> bool:
    """Whether two float arrays agree bit for bit but for the bits of NaN."""
    nans = np.isnan(got)
    return bool((nans == np.isnan(want)).all()) and same_bits(got[~nans], want[~nans])


toolchain = pytest.mark.toolchain


@toolchain
@pytest.mark.parametrize("dtype", ["bf16", "f16", "e4m3", "e5m2"])
def test_every_code_widens_as_the_reference_does(host, dtype):
    width = np.dtype(STORAGE[dtype]).itemsize
    codes = np.arange(1 << (8 * width), dtype=np.dtype(f"u{width}"))
    got, want = host(f"ak_{dtype}_to_f32", codes), decode(dtype, codes.view(STORAGE[dtype]))
    assert payload_free(got, want) if dtype == "bf16" else same_bits(got, want)


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
@pytest.mark.parametrize(("name", "function"), [("neg", reference_math.neg), ("abs", reference_math.absolute)])
def test_sign_operation_is_the_references_but_for_nan_payloads(host, name, function):
    x = sampled_floats()
    assert payload_free(host(f"ak_{name}_f32", x), function("f32", x))


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


@toolchain
@pytest.mark.parametrize("target", ["f16", "bf16", "e4m3", "e5m2"])
def test_rounding_to_odd_first_rounds_once(host, target):
    """f64 and 64-bit integers next to the midpoints of a narrow format."""
    codes = np.arange(1 << (8 * np.dtype(STORAGE[target]).itemsize - 1), dtype=np.int64)
    values = decode(target, codes.astype(np.dtype(f"u{np.dtype(STORAGE[target]).itemsize}"))).astype(np.float64)
    middles = (values[:-1] + values[1:]) / 2
    middles = middles[np.isfinite(middles)]
    x = np.concatenate([np.nextafter(middles, 0), middles, np.nextafter(middles, np.inf), values, [1e300]])
    x = np.concatenate([x, -x])
    assert same_bits(encode(target, host("ak_odd_f32_f64", x)), cast("f64", target, x))
    whole = np.concatenate([x[np.abs(x) < 2.0**62], 2.0 ** np.arange(62) * 1.5]).astype(np.int64)
    near = np.concatenate([whole - 1, whole, whole + 1, np.array([-(1 << 63), (1 << 63) - 1])])
    assert same_bits(encode(target, host("ak_odd_f32_i64", near)), cast("i64", target, near))


@toolchain
@pytest.mark.parametrize("dtype", ["f16", "bf16", "e4m3", "e5m2"])
@pytest.mark.parametrize("name", ["rsqrt", "floor", "ceil", "trunc", "round", "sign"])
def test_every_code_goes_through_f32_and_is_rounded_once(host, dtype, name):
    function = {"round": "round_half_even"}.get(name, name)
    width = np.dtype(STORAGE[dtype]).itemsize
    codes = np.arange(1 << (8 * width), dtype=np.dtype(f"u{width}"))
    wide = host(f"ak_{name}_f32", host(f"ak_{dtype}_to_f32", codes))
    narrow = f"ak_cvt_{dtype}_f32" if width == 2 else f"ak_soft_cvt_{dtype}_f32"
    want = getattr(reference_math, function)(dtype, codes.view(STORAGE[dtype]))
    assert same_bits(host(narrow, wide), want.view(codes.dtype))


@toolchain
def test_extremes_of_the_shim_are_the_references(host):
    x, y = sampled_floats(), sampled_floats()[::-1].copy()
    x[:4], y[:4] = [0.0, -0.0, -0.0, 0.0], [-0.0, 0.0, -0.0, 0.0]
    assert same_bits(host("ak_max_nan_f32", x, y), reference_math.maximum("f32", x, y))
    assert same_bits(host("ak_min_nan_f32", x, y), reference_math.minimum("f32", x, y))


@toolchain
@pytest.mark.parametrize("dtype", ["f16", "bf16", "e4m3", "e5m2"])
def test_conversion_instructions_of_the_shim_are_the_references(host, dtype):
    x = sampled_floats()
    bits = 8 * np.dtype(STORAGE[dtype]).itemsize
    pairs = host(f"ak_cvt_{dtype}x2_f32", x, x[::-1].copy())
    low, high = pairs & ((1 << bits) - 1), pairs >> bits
    want = encode(dtype, x)
    want = want.view(np.dtype(f"u{want.dtype.itemsize}"))
    assert (low == want[::-1]).all()
    assert (high == want).all()
