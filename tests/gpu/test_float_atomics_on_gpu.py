"""Atomics of floats on the GPU: one at a time they give the simulator's bits, in a crowd what every order gives."""

import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from agentkern.compiler.driver import CompileRequest
from agentkern.compiler.ir.interpreter_orders import ANY_NAN, FIXED, Orders
from agentkern.compiler.ir.reference_formats import decode
from agentkern.dsl.dtypes import DTYPES
from agentkern.runtime.driver import driver
from agentkern.runtime.gpu_job import JOBS
from agentkern.runtime.worker import Worker
from agentkern.tools.inputs import generate
from agentkern.tools.verify_device import DeviceExecutor
from agentkern.tools.verify_executors import run_interpreter
from agentkern.tools.verify_model import Call, Executor, RunOptions
from agentkern.tools.verify_program import CompiledProgram, program_of
from agentkern.tools.verify_simulator import SimulatorExecutor

pytestmark = [pytest.mark.gpu, pytest.mark.toolchain]
FLOATS = ("f16", "bf16", "f32", "f64")
KINDS = ("add", "max", "min")
COUNT = 1 << 15
ONE_AT_A_TIME = """\
import agentkern as ak

N = ak.dim("N")


@ak.kernel(nondeterministic=True)
def k(x: ak.In[ak.{dtype}, N], s: ak.InOut[ak.{dtype}, N]):
    for n in ak.grid(N):
        ak.atomic_{kind}(s[n], x[n])
"""
CROWD = """\
import agentkern as ak

N, M = ak.dim("N"), ak.dim("M")


@ak.kernel(nondeterministic=True)
def k(x: ak.In[ak.{dtype}, N], i: ak.In[ak.i32, N].values(0, M), s: ak.InOut[ak.{dtype}, M]):
    for n in ak.grid(N):
        ak.atomic_{kind}(s[i[n]], x[n])
"""


def program(text: str, dtype: str, kind: str, target: str) -> CompiledProgram:
    found = program_of(CompileRequest(text.format(dtype=dtype, kind=kind), "kernel.py", target=target))
    assert isinstance(found, CompiledProgram)
    return found


@pytest.fixture(scope="module")
def target() -> str:
    found = driver().info(0).target
    assert found is not None
    return found


@pytest.fixture(scope="module")
def worker() -> Iterator[Worker]:
    made = Worker(JOBS, os.environ)
    yield made
    made.close()


def menu(dtype: str, name: str) -> np.ndarray:
    """Specials, tiny numbers that cancel, and ordinary ones."""
    kinds = ("special", "random", "wide", "edge")
    return np.concatenate([generate(kind, DTYPES[dtype], (COUNT,), 11, name) for kind in kinds])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", FLOATS)
def test_one_at_a_time_they_give_the_simulators_bits(dtype, kind, target, worker, simulator_cache: Path):
    made = program(ONE_AT_A_TIME, dtype, kind, target)
    x, s = menu(dtype, "x"), menu(dtype, "s")
    if kind == "add":
        # half of the sums are near 0: what is below the smallest normal number shows
        sign = x.view(f"u{x.itemsize}")[::2] ^ np.array(1 << (8 * x.itemsize - 1), f"u{x.itemsize}")
        s = s.copy()
        s.view(f"u{x.itemsize}")[::2] = sign + (np.arange(sign.size) % 3).astype(sign.dtype)
    call = Call({"x": x, "s": s}, {"N": x.size}, {})
    executors: tuple[Executor, ...] = (
        DeviceExecutor(made, target, None, worker),
        SimulatorExecutor(made, simulator_cache),
    )
    got, want = (executor.run(call, RunOptions()).outputs["s"] for executor in executors)
    nans = np.isnan(decode(dtype, want))
    assert np.array_equal(np.isnan(decode(dtype, got)), nans)
    assert got[~nans].tobytes() == want[~nans].tobytes()
    if kind != "add":
        assert got.tobytes() == want.tobytes()


@pytest.mark.parametrize("data", ["special", "integers"])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", FLOATS)
def test_in_a_crowd_they_give_what_every_order_gives(dtype, kind, data, target, worker):
    made = program(CROWD, dtype, kind, target)
    places = 257
    x = generate(data, DTYPES[dtype], (1 << 14,), 5, "x")
    i = (np.arange(x.size) * 7919 % places).astype(np.int32)
    call = Call({"x": x, "i": i, "s": generate(data, DTYPES[dtype], (places,), 5, "s")}, {"N": x.size, "M": places}, {})
    orders = Orders()
    want = run_interpreter(made, call, orders)["s"]
    states = orders.states.get("s", np.zeros(places, np.uint8))
    assert data == "special" or (states == FIXED).all()
    executor = DeviceExecutor(made, target, None, worker)
    for _ in range(5):
        got = executor.run(call, RunOptions()).outputs["s"]
        assert got[states == FIXED].tobytes() == want[states == FIXED].tobytes()
        assert np.isnan(decode(dtype, got[states == ANY_NAN])).all()
