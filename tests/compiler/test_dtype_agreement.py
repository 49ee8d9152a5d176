"""Casts between all element types and every operation of f64: interpreter and simulator have the same bits."""

from pathlib import Path

import numpy as np
import pytest

from agentkern.compiler.driver import ARCHITECTURES, CompileRequest, compile_kernel
from agentkern.compiler.ir.reference_formats import STORAGE, decode
from agentkern.runtime.nvrtc import NvrtcOptions, compile_cuda
from agentkern.tools.inputs import KINDS
from tests.cases.runs import Case, run
from tests.compiler.agreement import HEADER, disagreements
from tests.compiler.dtype_kernels import (
    DOUBLES,
    ELEMENTS,
    LOOP,
    NAMES,
    REDUCTIONS,
    SATURATING,
    SCANS,
    SMALL,
    SMALL_FLOATS,
    casts,
)

Sizes = dict[str, int]


@pytest.mark.parametrize("source", NAMES)
def test_casts_to_every_type_have_the_interpreters_bits(source: str, simulator_cache: Path) -> None:
    assert disagreements(casts(source, NAMES), {}, {"N": 3001}, KINDS, 1, simulator_cache) == []


@pytest.mark.parametrize("source", SMALL)
def test_every_code_of_at_most_16_bits_casts_to_every_type(source: str, simulator_cache: Path) -> None:
    kind = np.dtype(STORAGE[source])
    count = 2 if source == "bool" else 1 << (8 * kind.itemsize)
    x = np.arange(count, dtype=np.dtype(f"u{kind.itemsize}")).view(kind)
    run(Case(casts(source, NAMES), {"N": count}, count=1), {"x": x}, simulator_cache)


@pytest.mark.parametrize("source", ["f64", "f32", "bf16", "f16", "e5m2", "e8m0", "i64", "u32", "i16"])
def test_casts_without_saturation_have_the_interpreters_bits(source: str, simulator_cache: Path) -> None:
    body = casts(source, SATURATING, ",saturate=False")
    assert disagreements(body, {}, {"N": 3001}, KINDS, 1, simulator_cache) == []


def near_ties(target: str) -> np.ndarray:
    """Values and midpoints of a narrow format, each with its f64 neighbours."""
    width = np.dtype(STORAGE[target]).itemsize
    codes = np.arange(1 << (8 * width), dtype=np.dtype(f"u{width}")).view(STORAGE[target])
    values = decode(target, codes).astype(np.float64)
    values = np.unique(np.abs(values[np.isfinite(values)]))
    middles = np.concatenate([values, (values[1:] + values[:-1]) / 2])
    near = np.concatenate([np.nextafter(middles, 0), middles, np.nextafter(middles, np.inf), [1e39, 1e300, 5e-324]])
    return np.concatenate([near, -near])


@pytest.mark.parametrize(("target", "ties"), [("f32", "bf16"), ("tf32", "f16"), *((n, n) for n in SMALL_FLOATS)])
def test_doubles_and_wide_integers_next_to_ties_round_once(target: str, ties: str, simulator_cache: Path) -> None:
    x = near_ties(ties)
    run(Case(casts("f64", (target,)), {"N": len(x)}, count=1), {"x": x}, simulator_cache)
    whole = np.unique(np.concatenate([x[np.abs(x) < 2.0**62], 1.5 * 2.0 ** np.arange(61)]).astype(np.int64))
    whole = np.concatenate([whole - 1, whole, whole + 1, [-(1 << 63), (1 << 63) - 1]])
    for dtype in ("i64", "u64", "i32", "u32"):
        case = Case(casts(dtype, (target,)), {"N": len(whole)}, count=1)
        run(case, {"x": whole.astype(STORAGE[dtype])}, simulator_cache)


CASES = [
    pytest.param(body, statics, sizes, id="-".join([name, *(f"{k}{v}" for k, v in (statics | sizes).items())]))
    for name, (body, grid) in DOUBLES.items()
    for statics, sizes in grid
]


@pytest.mark.parametrize(("body", "statics", "sizes"), CASES)
def test_doubles_have_the_interpreters_bits(body: str, statics: Sizes, sizes: Sizes, simulator_cache: Path) -> None:
    assert disagreements(body, statics, sizes, ("random", "special", "wide"), 2, simulator_cache) == []


def test_doubles_keep_all_their_bits(simulator_cache: Path) -> None:
    body = """\
def k(x: ak.In[ak.f64,T,H], o: ak.Out[ak.f64,T], q: ak.Out[ak.f64,T,H]):
    for t in ak.grid(T):
        o[t]=ak.sum(x[t,:],axis=1)
        q[t,:]=x[t,:]/3.0
"""
    x = np.random.default_rng(3).normal(size=(5, 300))
    found = run(Case(body, {"T": 5}, {"H": 300}), {"x": x}, simulator_cache)
    assert np.allclose(found["o"], x.sum(axis=1), rtol=1e-14, atol=1e-13)
    assert (found["q"] == x / 3.0).all()


@pytest.mark.toolchain
@pytest.mark.parametrize("target", ARCHITECTURES)
@pytest.mark.parametrize("body", [casts("f64", NAMES), casts("e8m0", NAMES), ELEMENTS, REDUCTIONS, SCANS, LOOP])
def test_text_assembles_on_every_target(body: str, target: str) -> None:
    request = CompileRequest(HEADER + body, "kernel.py", target=target, dims={"H": 8, "G": 2})
    result = compile_kernel(request)
    assert result.status == "ok", [d.message for d in result.diagnostics]
    built = compile_cuda(result.cuda, NvrtcOptions(target))
    assert [m for m in built.messages if m.severity != "info"] == []
