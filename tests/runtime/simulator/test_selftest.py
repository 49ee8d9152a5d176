from fractions import Fraction

import numpy as np
import pytest
import torch

from agentkern.compiler.codegen.prelude import PRELUDE, PreludeFunction, prelude_text
from agentkern.runtime.simulator import Buffer, build, module, selftest_reference
from agentkern.runtime.simulator.selftest import conversion_operands, self_test

pytestmark = pytest.mark.toolchain


def test_this_machine_computes_as_ieee_and_the_gpu_do(simulator_cache):
    assert [str(failure) for failure in self_test(simulator_cache)] == []


@pytest.mark.parametrize(
    ("correct", "broken", "operation"),
    [
        ("if (__builtin_expect(v != v, 0)) return __uint_as_float(0x7fffffffu);", "", "div"),
        ("return ak_sim_result(__builtin_fmaf(a, b, c));", "return ak_sim_result(a * b + c);", "fma"),
        ("return ak_sim_result(a + b); }", "return ak_sim_result(a + b + 0.0f); }", "add"),
        ("kept += rest > half || (rest == half && (kept & 1u));", "kept += rest >= half;", "f16(f32)"),
        ("if (v >= 0x1p31f) return 0x7fffffff;", "", "i32(f32)"),
        ("if (a == b) return __uint_as_float(__float_as_uint(a) & __float_as_uint(b));", "", "max"),
    ],
)
def test_self_test_catches_wrong_arithmetic(simulator_cache, monkeypatch, correct, broken, operation):
    text = module.shim_text(module._SHIM_PARTS)
    assert correct in text
    monkeypatch.setattr(module, "shim_text", lambda _parts: text.replace(correct, broken))
    assert operation in {failure.operation for failure in self_test(simulator_cache)}


def test_reference_casts_agree_with_torch():
    values = torch.from_numpy(conversion_operands().view(np.int32)).view(torch.float32)
    numbers = values[~values.isnan()]
    for dtype, narrow in ((torch.bfloat16, selftest_reference.BF16), (torch.float16, selftest_reference.F16)):
        want = numbers.to(dtype).view(torch.int16).numpy().view(np.uint16)
        assert (selftest_reference.to_narrow(numbers.numpy(), narrow) == want).all()
    for dtype, narrow, largest in (
        (torch.float8_e4m3fn, selftest_reference.E4M3, 448.0),
        (torch.float8_e5m2, selftest_reference.E5M2, 57344.0),
    ):
        inside = numbers[numbers.abs() <= largest]
        want = inside.to(dtype).view(torch.uint8).numpy()
        assert (selftest_reference.to_narrow(inside.numpy(), narrow) == want).all()
        codes = np.arange(256)
        widened = torch.arange(256, dtype=torch.uint8).view(dtype).to(torch.float32).numpy()
        known = np.isfinite(widened)
        assert (selftest_reference.from_narrow(codes, narrow)[known] == widened.view(np.uint32)[known]).all()


def test_reference_saturates_the_eight_bit_formats():
    values = np.array([449, 1e30, np.inf, -np.inf, -500], np.float32)
    assert selftest_reference.to_narrow(values, selftest_reference.E4M3).tolist() == [0x7E, 0x7E, 0x7E, 0xFE, 0xFE]
    assert selftest_reference.to_narrow(values, selftest_reference.E5M2).tolist() == [0x5F, 0x7B, 0x7B, 0xFB, 0xE0]


def test_reference_fused_multiply_add_is_exact():
    rng = np.random.default_rng(5)
    bits = rng.integers(0, 1 << 32, (3, 20_000), dtype=np.uint32)
    close = rng.integers(0x3F000000, 0x40000000, (3, 20_000), dtype=np.uint32)
    tiny = rng.integers(0, 0x02000000, (3, 20_000), dtype=np.uint32)
    for operands in (bits, close, tiny, np.stack([close[0], tiny[0], tiny[1]])):
        a, b, c = operands.view(np.float32)
        with np.errstate(all="ignore"):
            got = selftest_reference.fused_multiply_add(a, b, c)
        for i in np.flatnonzero(np.isfinite(a) & np.isfinite(b) & np.isfinite(c) & np.isfinite(got))[:3000]:
            exact = Fraction(float(a[i])) * Fraction(float(b[i])) + Fraction(float(c[i]))
            error = abs(Fraction(float(got[i])) - exact)
            for side in (np.float32(-np.inf), np.float32(np.inf)):
                neighbour = np.nextafter(got[i], side)
                if np.isfinite(neighbour):
                    other = abs(Fraction(float(neighbour)) - exact)
                    assert error < other or (error == other and got[i].view(np.uint32) % 2 == 0)


def use_of(row: PreludeFunction) -> str:
    """A block that names a math function or calls an instruction function with default values."""
    result, _, parameters = row.declaration.partition(row.name)
    kinds = [part.rsplit(" ", 1)[0] for part in parameters.strip("()").split(", ")]
    if row.kind == "math":
        return f"{{ {result}(*f)({', '.join(kinds)}) = {row.name}; (void)f; }}"
    declared = " ".join(f"{kind} a{i}{{}};" for i, kind in enumerate(kinds))
    call = f"{row.name}({', '.join(f'a{i}' for i in range(len(kinds)))})"
    return f"{{ {declared} {'' if result.strip() == 'void' else f'{result}r = '}{call}; }}"


def test_every_prelude_function_has_a_meaning_here(simulator_cache):
    uses = "\n".join(map(use_of, PRELUDE.values()))
    text = f'{prelude_text(PRELUDE)}\nextern "C" __global__ void all() {{\n{uses}\n}}\n'
    assert build(text, simulator_cache).kernels == ("all",)


def test_machine_without_fused_multiply_add_computes_the_same(simulator_cache, monkeypatch):
    monkeypatch.setattr(module, "machine_flags", tuple)
    assert [str(failure) for failure in self_test(simulator_cache)] == []


def test_flushing_of_subnormals_in_the_process_does_not_reach_the_kernels(simulator_cache):
    torch.set_flush_denormal(True)
    try:
        tiny = Buffer("x", np.full(32, 3, np.uint32))
        out = Buffer("out", np.zeros(32, np.uint32), writable=True)
        text = """
extern "C" __global__ void twice(const unsigned* x, unsigned* out) {
    float v = __uint_as_float(ak_ldg_u32(x + threadIdx.x));
    ak_st_u32(out + threadIdx.x, __float_as_uint(__fadd_rn(v, v)));
}
"""
        assert build(text, simulator_cache).launch("twice", 1, 32, 0, [tiny, out]).clean
        assert (out.array == 6).all()
        assert float(torch.tensor(1e-40) * 1.0) == 0.0  # the process's own setting is back
    finally:
        torch.set_flush_denormal(False)
