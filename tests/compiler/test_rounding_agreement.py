"""Casts that round toward zero, half away, or by random bits: the simulator has the interpreter's bits for every code."""

from pathlib import Path

import numpy as np
import pytest

from agentkern.compiler.driver import CompileRequest, compile_kernel
from agentkern.compiler.ir.reference_casts import cast, cast_stochastic
from tests.cases.runs import Case, run
from tests.compiler.agreement import HEADER, disagreements

CASTS = """\
def k(x: ak.In[ak.{s},N], b: ak.In[ak.u32,N], o: ak.Out[ak.{d},N], p: ak.Out[ak.{d},N], q: ak.Out[ak.{d},N]):
    for n in ak.grid(N):
        o[n]=x[n].to(ak.{d},rounding="toward_zero"{e})
        p[n]=x[n].to(ak.{d},rounding="nearest_away"{e})
        q[n]=x[n].to(ak.{d},rounding="stochastic",bits=b[n]{e})
"""
ALL = np.arange(1 << 16, dtype=np.uint16)
RANDOM = np.random.default_rng(5)


@pytest.mark.parametrize("source", ["bf16", "f16"])
@pytest.mark.parametrize("target", ["e4m3", "e5m2"])
@pytest.mark.parametrize("saturate", [True, False])
def test_every_16_bit_code_rounds_as_the_interpreter_says(
    source: str, target: str, saturate: bool, simulator_cache: Path
) -> None:
    body = CASTS.format(s=source, d=target, e="" if saturate else ",saturate=False")
    x = ALL.view(np.float16) if source == "f16" else ALL
    bits = RANDOM.integers(0, 1 << 32, ALL.size, np.uint32)
    run(Case(body, {"N": ALL.size}, count=1), {"x": x, "b": bits}, simulator_cache)


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ("f32", "bf16"),
        ("f32", "f16"),
        ("f32", "e4m3"),
        ("f64", "f32"),
        ("f64", "bf16"),
        ("f64", "e5m2"),
        ("bf16", "f16"),
    ],
)
def test_wide_sources_round_as_the_interpreter_says(source: str, target: str, simulator_cache: Path) -> None:
    body = CASTS.format(s=source, d=target, e="")
    assert disagreements(body, {}, {"N": 4099}, ("random", "special", "wide"), 1, simulator_cache) == []


def test_random_bits_round_up_in_the_share_that_is_dropped() -> None:
    x = np.full(1 << 16, 1 + 2.0**-9, np.float32)  # a quarter of the way to bf16's next number
    bits = (np.arange(1 << 16) << 16).astype(np.uint32)
    found = cast_stochastic("f32", "bf16", x, bits)
    assert (found == 0x3F81).mean() == 0.25
    assert set(found.tolist()) == {0x3F80, 0x3F81}


def test_no_random_bits_are_toward_zero_and_exact_numbers_stay() -> None:
    x = RANDOM.standard_normal(4096).astype(np.float32)
    zero, most = np.zeros(4096, np.uint32), np.full(4096, 0xFFFFFFFF, np.uint32)
    assert np.array_equal(cast_stochastic("f32", "f16", x, zero), cast("f32", "f16", x, rounding="toward_zero"))
    exact = x.astype(np.float16).astype(np.float32)
    assert np.array_equal(cast_stochastic("f32", "f16", exact, most), exact.astype(np.float16))


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ('x[n].to(ak.bf16,rounding="up")', "AK122"),
        ('x[n].to(ak.bf16,rounding="stochastic")', "AK122"),
        ("x[n].to(ak.bf16,bits=b[n])", "AK122"),
        ('x[n].to(ak.i32,rounding="toward_zero")', "AK122"),
        ('b[n].to(ak.bf16,rounding="toward_zero")', "AK122"),
        ('x[n].to(ak.bf16,rounding="stochastic",bits=b[n].to(ak.i32))', "AK206"),
    ],
)
def test_roundings_that_do_not_exist_are_refused(line: str, code: str) -> None:
    body = f"""\
def k(x: ak.In[ak.f32,N], b: ak.In[ak.u32,N], o: ak.Out[ak.f32,N]):
    for n in ak.grid(N):
        o[n]=({line}).to(ak.f32)
"""
    assert [d.code for d in compile_kernel(CompileRequest(HEADER + body, "kernel.py")).diagnostics] == [code]
