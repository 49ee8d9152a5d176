"""Profile without a GPU, and what it makes of times."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from agentkern.compiler.abi import KernelAbi, TensorParam, Variant
from agentkern.compiler.analysis.promises import Promise
from agentkern.compiler.driver import CompileRequest
from agentkern.compiler.ir import dims
from agentkern.runtime.driver import NoDriver, driver
from agentkern.runtime.programs import compile_program
from agentkern.runtime.timing import Ceilings, Work
from agentkern.tools.profile import DEFAULT_BYTES, ProfileRequest, profile
from agentkern.tools.profile_judge import Measured, bound_of, levers_of
from agentkern.tools.profile_measure import (
    Timed,
    _called,
    _input,
    _named_sizes,
    _parameters,
    _peers_names,
    usable_peers,
)
from agentkern.tools.sources import UsageError

KERNEL = """import agentkern as ak

T = ak.dim("T")
H = ak.static("H")


@ak.kernel
def twice(x: ak.In[ak.bf16, T, H], out: ak.Out[ak.bf16, T, H]):
    for t in ak.grid(T):
        out[t, :] = x[t, :] + x[t, :]
"""


def request_of(**changes: object) -> ProfileRequest:
    return ProfileRequest(**{"source": KERNEL, "dims": {"H": 128, "T": 1000}, **changes})


def gpu_is_there() -> bool:
    try:
        return driver().device_count > 0
    except NoDriver:
        return False


def test_without_a_gpu_the_time_is_unavailable_and_the_roofline_stands() -> None:
    if gpu_is_there():
        pytest.skip("this machine has a GPU")
    result = profile(request_of())
    assert (result.status, result.median_us) == ("unavailable", None)
    assert [d.code for d in result.diagnostics] == ["AK806"]
    assert result.roofline is not None
    assert result.roofline.bytes == 2 * 2 * 128 * 1000
    assert result.roofline.flops == 128 * 1000
    assert result.floor_us == result.roofline.floor_us


def test_a_run_time_size_left_out_is_chosen_so_large_that_caches_do_not_matter() -> None:
    if gpu_is_there():
        pytest.skip("this machine has a GPU")
    result = profile(request_of(dims={"H": 128}))
    assert result.roofline is not None
    assert result.roofline.bytes is not None
    assert DEFAULT_BYTES <= result.roofline.bytes < 2 * DEFAULT_BYTES


def test_a_static_size_left_out_and_a_wrong_kernel_are_not_timed() -> None:
    assert [d.code for d in profile(request_of(dims={"T": 5})).diagnostics] == ["AK803"]
    assert profile(request_of(source=KERNEL.replace("x[t, :]", "z[t, :]"))).status == "rejected"


def test_an_unknown_size_is_wrong_usage() -> None:
    with pytest.raises(UsageError, match="K"):
        profile(request_of(dims={"H": 128, "K": 1}))


MEMORY = Measured(
    median_us=100.0,
    floor_us=90.0,
    least_us=80.0,
    empty_us=2.0,
    work=Work(4 * 10**8 // 2, 4 * 10**8 // 2, 1e6),
    ceilings=Ceilings(4.4e12, 4.8e12, 50 << 20, flops_per_s=6e13),
    blocks=8192,
    sm_count=132,
    spill_bytes=0,
    occupancy=0.75,
    schedule={"grids": [{"tile": [1], "warps": 4, "fast_warps": 4, "vector": 8, "chunk": 0}]},
)


def test_what_is_near_its_floor_is_bound_by_the_floors_resource() -> None:
    assert bound_of(MEMORY) == "memory"
    assert bound_of(replace(MEMORY, work=Work(8, 8, 6e9))) == "compute"


def test_what_is_far_from_its_floor_is_bound_by_latency_or_by_the_launch() -> None:
    assert bound_of(replace(MEMORY, median_us=200.0)) == "latency"
    assert bound_of(replace(MEMORY, median_us=2.5, floor_us=0.1)) == "launch"


def test_within_five_percent_of_the_floor_the_only_lever_is_to_stop() -> None:
    assert levers_of(replace(MEMORY, floor_us=96.0, spill_bytes=8)) == ("within 5% of the floor: stop",)
    assert levers_of(replace(MEMORY, floor_us=94.0)) != ("within 5% of the floor: stop",)


def test_levers_name_what_exists_in_the_schedule_and_are_at_most_three() -> None:
    grid = {"tile": [64], "warps": 4, "fast_warps": 1, "vector": 1, "chunk": 2048}
    worst = replace(MEMORY, spill_bytes=64, blocks=10, occupancy=0.2, schedule={"grids": [grid]})
    levers = levers_of(worst)
    assert len(levers) == 3
    assert "64 bytes spill" in levers[0]
    assert "10 for 132 SMs" in levers[1]
    assert "`fast_warps`" in levers[2]


@pytest.mark.gpu
def test_a_kernel_is_timed_beside_a_copy() -> None:
    result = profile(request_of(dims={"H": 4096, "T": 8192}, seconds=2.0))
    assert result.status == "ok"
    assert result.of_copy is not None
    assert result.runs >= 20


def timed_of(source: str, sizes: dict[str, int], values: dict[str, Promise]) -> Timed:
    compiled = compile_program(CompileRequest(source, "kernel.py", None, "sm_90a", {}, {}), None)
    assert compiled.abi is not None, compiled.diagnostics
    return Timed("k", compiled.abi, b"", sizes, {"scale": 2.0}, values=values)


LOOKED_UP = """import agentkern as ak

T = ak.dim("T")
S = ak.dim("S", min=1)


@ak.kernel
def look_up(table: ak.In[ak.f32, S], ids: ak.In[ak.i32, T], out: ak.Out[ak.f32, T], scale: ak.f32):
    for t in ak.grid(T):
        out[t] = ak.load(table[ids[t]], where=(ids[t] >= 0) & (ids[t] < S), fill=0) * scale
"""


def test_inputs_hold_what_the_caller_says_of_them() -> None:
    timed = timed_of(LOOKED_UP, {"T": 500, "S": 7}, {"ids": Promise(0, dims.parse("S"), ignore=-1)})
    params = {param.name: param for param in timed.abi.params if isinstance(param, TensorParam)}
    given = _input(timed, params["ids"], torch.Generator().manual_seed(1))
    assert set(given.tolist()) == {-1, 0, 1, 2, 3, 4, 5, 6}
    free = _input(replace(timed, values={}), params["ids"], torch.Generator().manual_seed(1))
    assert int(free.max()) > 7


def test_a_peer_gets_inputs_and_scalars_in_order_and_sizes_by_name() -> None:
    timed = timed_of(LOOKED_UP, {"T": 2, "S": 7}, {})
    names = _peers_names(timed)
    assert names == ["table", "ids", "scale"]
    given = {"table": 1, "ids": 2, "scale": 3, "out": 4}

    def peer(table: int, ids: int, factor: int, S: int, more: int = 9) -> tuple[int, ...]:
        return table, ids, factor, S, more

    assert _called(timed, peer, names)(given) == (1, 2, 3, 7, 9)
    assert _parameters(torch.compile(peer, backend="eager")) == _parameters(peer)
    assert _called(timed, torch.add, ["table", "ids"])({"table": torch.ones(2), "ids": 1}).tolist() == [2, 2]


def test_a_peer_that_does_not_run_is_named_with_its_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    def runs() -> None:
        return None

    def needs_a_compiler() -> None:
        raise RuntimeError("no C compiler\nand a long trace")

    def is_wrong() -> None:
        raise TypeError("a bug of the peer")

    monkeypatch.setattr(torch.cuda, "synchronize", lambda device: None)
    monkeypatch.setattr("agentkern.tools.profile_measure.make_arguments", lambda timed, number: {})
    timed = Timed("k", KernelAbi("k", (), (), (), (), Variant()), b"", {}, {})
    found, left_out = usable_peers(timed, {"torch": runs, "torch.compile": needs_a_compiler})
    assert found == {"torch": runs}
    assert left_out == {"torch.compile": "no C compiler"}
    with pytest.raises(TypeError):
        usable_peers(timed, {"torch": is_wrong})


NAMED = """
import agentkern as ak

T, P, E, H = ak.dim("T"), ak.dim("P"), ak.dim("E"), ak.static("H")


@ak.kernel
def kernel(x: ak.In[ak.f32, T, H], e: ak.In[ak.i32, E + 1], out: ak.Out[ak.f32, P, H], z: ak.Out[ak.f32, T]):
    for p in ak.grid(P):
        out[p, :] = ak.zeros((p, H), ak.f32)
    for t in ak.grid(T):
        z[t] = ak.sum(x[t, :], axis=1) + (e[0] + E).to(ak.f32)
"""


def test_sizes_that_no_input_shows_by_itself_are_named_at_the_call():
    """A size of outputs alone is asked for by a call, and so by a timed one."""
    compiled = compile_program(CompileRequest(NAMED, "kernel.py", None, "sm_90a", {"H": 8}, {}), None)
    assert compiled.abi is not None
    assert _named_sizes(compiled.abi, {"T": 3, "P": 5, "E": 2, "H": 8}) == {"P": 5, "E": 2}
