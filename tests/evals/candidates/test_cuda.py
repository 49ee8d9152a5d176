"""CUDA submissions: the plan, the text, and what runs on the CPU simulator."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from agentkern.compiler.abi import ScalarParam, TensorParam
from agentkern.compiler.ir import dims
from agentkern.dsl.dtypes import DTYPES
from agentkern.evals.candidates.cuda import CudaCandidate
from agentkern.evals.candidates.cuda_plan import BadPlan, evaluate, read_plan
from agentkern.evals.candidates.isolated import Isolation
from agentkern.evals.candidates.protocol import CandidateUnavailable
from agentkern.tools.verify_model import Call, ExecutionError, RunOptions, Signature

pytestmark = pytest.mark.toolchain

N = dims.symbol("N")
SIGNATURE = Signature(
    (TensorParam("x", DTYPES["f32"], (N,), "in"), TensorParam("out", DTYPES["f32"], (N,), "out")),
    (ScalarParam("a", DTYPES["f32"]),),
)
PLAN: dict[str, Any] = {
    "launches": [{"kernel": "scale", "grid": ["ceil_div(N, 256)"], "block": [256], "arguments": ["x", "out", "a", "N"]}]
}
SCALE = """extern "C" __global__ void scale(const float* x, float* out, float a, long long n) {
    long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = a * x[i];
}"""


@pytest.fixture(scope="module")
def isolation() -> Iterator[Isolation]:
    made = Isolation()
    yield made
    made.close()


def text(code: str, plan: Any = PLAN) -> str:
    return f"/* launches\n{json.dumps(plan)}\n*/\n{code}\n"


def candidate(isolation: Isolation, code: str, plan: Any = PLAN, signature: Signature = SIGNATURE) -> CudaCandidate:
    return CudaCandidate(signature, ("N",), text(code, plan), isolation)


def call(n: int) -> Call:
    return Call({"x": np.arange(n, dtype=np.float32)}, {"N": n}, {"a": 3.0})


@pytest.mark.parametrize("n", [0, 1, 255, 256, 257, 1000])
def test_a_plain_kernel_runs_on_the_simulator(isolation: Isolation, n: int):
    made = candidate(isolation, SCALE)
    assert made.prepare() is None
    run = made.run(call(n), RunOptions(poison=1, order=2))
    np.testing.assert_array_equal(run.outputs["out"], 3 * np.arange(n, dtype=np.float32))
    assert run.findings == run.damage == ()


def test_a_size_may_be_an_int(isolation: Isolation):
    made = candidate(isolation, SCALE.replace("long long n", "int n"))
    assert made.prepare() is None
    assert made.run(call(5), RunOptions()).outputs["out"].tolist() == [0, 3, 6, 9, 12]


def test_shared_memory_barriers_shuffles_and_2d_blocks_work(isolation: Isolation):
    code = """
    template <class T> __device__ T warp_sum(T v) {
        for (int d = 16; d; d /= 2) v += __shfl_xor_sync(0xffffffffu, v, d);
        return v;
    }
    extern "C" __global__ void scale(const float* __restrict__ x, float* out, float a, long long n) {
        __shared__ float warps[8];
        extern __shared__ float4 held[];
        int t = threadIdx.y * blockDim.x + threadIdx.x;
        float v = 0;
        for (int i = t; i < n; i += 256) v += x[i];
        v = warp_sum(v);
        if (t % 32 == 0) warps[t / 32] = v;
        __syncthreads();
        if (t == 0) { float s = 0; for (int w = 0; w < 8; ++w) s += warps[w]; held[1].y = s; }
        __syncthreads();
        for (int i = t; i < n; i += 256) out[i] = held[1].y * a + blockIdx.y;
    }"""
    plan = {"launches": [{**PLAN["launches"][0], "grid": [1, 1], "block": [32, 8], "shared_bytes": 64}]}
    made = candidate(isolation, code, plan)
    assert made.prepare() is None
    assert made.run(call(100), RunOptions()).outputs["out"].tolist() == [4950.0 * 3] * 100


def test_half_types_round_once(isolation: Isolation):
    code = """#include <cuda_fp16.h>
    #include <cuda_bf16.h>
    #include <cstdint>
    extern "C" __global__ void scale(const float* x, float* out, float a, int64_t n) {
        int i = threadIdx.x;
        if (i < n) out[i] = i % 2 ? __half2float(__float2half(x[i] + 0.1f)) : __bfloat162float(__float2bfloat16(x[i] + 0.1f));
    }"""
    made = candidate(isolation, code)
    assert made.prepare() is None
    got = made.run(call(64), RunOptions()).outputs["out"]
    want = np.arange(64, dtype=np.float32) + np.float32(0.1)
    assert (got[1::2] == want[1::2].astype(np.float16).astype(np.float32)).all()
    bits = want[::2].view(np.uint32)
    assert (got[::2].view(np.uint32) == (bits + 0x7FFF + (bits >> 16 & 1) & 0xFFFF0000)).all()


def test_scratch_and_several_launches_work_in_order(isolation: Isolation):
    code = """
    extern "C" __global__ void first(const float* x, float* t, int n) { int i = threadIdx.x; if (i < n) t[i] = x[i] + 1; }
    extern "C" __global__ void second(const float* t, float* out, float a, int n) { int i = threadIdx.x; if (i < n) out[i] = t[i] * a; }"""
    launches = [
        {"kernel": "first", "grid": 1, "block": 64, "arguments": ["x", "t", "N"]},
        {"kernel": "second", "grid": 1, "block": 64, "arguments": ["t", "out", "a", "N"]},
    ]
    plan = {"scratch": {"t": {"dtype": "f32", "shape": ["N"]}}, "launches": launches}
    made = candidate(isolation, code, plan)
    assert made.prepare() is None
    assert made.run(call(3), RunOptions()).outputs["out"].tolist() == [3, 6, 9]


def test_a_write_past_the_end_is_damage(isolation: Isolation):
    made = candidate(isolation, SCALE.replace("i < n", "i <= n"))
    assert made.prepare() is None
    assert made.run(call(5), RunOptions()).damage == ("byte 0 past the end of `out` was overwritten",)


def test_a_write_far_outside_ends_the_launch(isolation: Isolation):
    made = candidate(isolation, SCALE.replace("out[i] =", "out[i + (1 << 20)] ="))
    assert made.prepare() is None
    with pytest.raises(ExecutionError):
        made.run(call(5), RunOptions())


def test_an_input_that_is_changed_is_damage(isolation: Isolation):
    made = candidate(isolation, SCALE.replace("out[i] = a * x[i]", "((float*)x)[i] = out[i] = 0"))
    assert made.prepare() is None
    assert made.run(call(5), RunOptions()).damage == ("input `x` was changed",)


def test_an_endless_kernel_is_ended(isolation: Isolation, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("agentkern.evals.candidates.cuda.TIME_LIMIT_S", 0.5)
    made = candidate(isolation, SCALE.replace("if (i < n)", "volatile int go = 1; while (go) ;"))
    assert made.prepare() is None
    with pytest.raises(ExecutionError):
        made.run(call(5), RunOptions())


@pytest.mark.parametrize(
    ("code", "plan", "reason"),
    [
        ("int x;", PLAN, "no kernel `scale`"),
        (SCALE.replace("a * x[i]", "b * x[i]"), PLAN, '"b" is undefined'),
        ('#include "/etc/passwd"\n' + SCALE, PLAN, "`/etc/passwd` cannot be included"),
        ("#define F </etc/passwd>\n#include F\n" + SCALE, PLAN, "cannot be included"),
        (SCALE, {"launches": [{**PLAN["launches"][0], "arguments": ["x", "out"]}]}, "has 4 parameters"),
        (SCALE, {"launches": [{**PLAN["launches"][0], "arguments": ["x", "y", "a", "N"]}]}, "`y` is none of"),
        (
            SCALE,
            {"launches": [{**PLAN["launches"][0], "arguments": ["x", "x", "a", "N"]}]},
            "no launch gets the output",
        ),
        (SCALE, {**PLAN, "scratch": {"t": {"dtype": ["f32"], "shape": [1]}}}, "`dtype` of scratch `t` is one of"),
        (SCALE, {"launches": []}, "1 to 64 are possible"),
        (SCALE, {"launches": [{"kernel": "scale"}]}, "has no `grid`"),
        (SCALE, {"launches": [{**PLAN["launches"][0], "stream": 1}]}, "there is no `stream`"),
    ],
)
def test_what_is_wrong_is_said(isolation: Isolation, code: str, plan: Any, reason: str):
    refused = candidate(isolation, code, plan).prepare()
    assert refused is not None
    assert reason in refused.reason


@pytest.mark.parametrize(
    ("plan", "reason"),
    [
        ({**PLAN, "scratch": {f"t{k}": {"dtype": "f32", "shape": [1 << 24]} for k in range(5)}}, "`t4` needs 67108864"),
        ({"launches": [{**PLAN["launches"][0], "grid": [10**300]}]}, "a grid of 10^18 or more, 1, 1 blocks"),
        ({"launches": [{**PLAN["launches"][0], "block": [10**300]}]}, "has 10^18 or more threads"),
    ],
)
def test_what_takes_too_much_is_said_in_few_words(isolation: Isolation, plan: Any, reason: str):
    made = candidate(isolation, SCALE, plan)
    assert made.prepare() is None
    with pytest.raises(ExecutionError) as caught:
        made.run(call(5), RunOptions())
    assert reason in str(caught.value)
    assert len(str(caught.value)) < 200


def test_a_text_without_a_plan_is_refused(isolation: Isolation):
    refused = CudaCandidate(SIGNATURE, ("N",), SCALE, isolation).prepare()
    assert refused is not None
    assert "does not begin with a comment" in refused.reason


def test_what_only_a_gpu_can_run_is_not_judged_here(isolation: Isolation):
    code = SCALE.replace("out[i] = a * x[i]", 'asm volatile("mov.b32 %0, %1;" : "=f"(out[i]) : "f"(x[i]))')
    with pytest.raises(CandidateUnavailable, match="the CPU simulator cannot run this text"):
        candidate(isolation, code).prepare()


@pytest.mark.parametrize(
    ("expression", "value"), [("ceil_div(N, 256)", 4), ("N * 2 - 1", 1999), ("max(1, N // 7 % 5)", 2), (7, 7)]
)
def test_expressions_are_evaluated(expression: str | int, value: int):
    assert evaluate(expression, {"N": 1000}) == value


@pytest.mark.parametrize(
    "expression", ["M", "N ** N", "N.real", "__import__('os')", "N // 0", "1 if N else 2", "(" * 150]
)
def test_other_expressions_are_refused(expression: str):
    with pytest.raises(BadPlan, match="is no expression over N"):
        evaluate(expression, {"N": 1000})


def test_deep_json_is_refused():
    with pytest.raises(BadPlan):
        read_plan("/* launches " + "[" * 100_000 + " */")
