"""Walks along rows too long to keep: what guards and index arithmetic their steps have, and the interpreter's bits."""

from pathlib import Path

import pytest

from agentkern.compiler.abi import Variant
from agentkern.compiler.driver import CompileRequest, compile_kernel
from tests.compiler.agreement import HEADER, disagreements

Sizes = dict[str, int]

LARGEST = """\
def k(x: ak.In[ak.{dtype},T,{length}], o: ak.Out[ak.i64,T], p: ak.Out[ak.{dtype},T]):
    for t in ak.grid(T):
        row=x[t,:]
        o[t]=ak.arg{kind}(row,axis=1)
        p[t]=ak.{kind}(row,axis=1)
"""
SUMS = """\
def k(x: ak.In[ak.bf16,T,{length}], o: ak.Out[ak.f32,T], p: ak.Out[ak.f32,T]):
    for t in ak.grid(T):
        row=x[t,:].to(ak.f32)
        o[t]=ak.sum(row,axis=1)
        p[t]=ak.sum(ak.exp(row-ak.max(row,axis=1,keepdims=True)),axis=1)
"""
CASES: list[tuple[str, Sizes, Sizes]] = [
    *((LARGEST.format(dtype=d, kind=k, length="H"), {"H": h}, {"T": 3}) for d, k, h in [
        ("bf16", "max", 8200), ("f32", "min", 8193), ("i32", "max", 12288), ("u8", "min", 9001), ("i64", "max", 8200),
        ("f16", "max", 70000)]),
    *((LARGEST.format(dtype=d, kind=k, length="N+1"), {}, {"T": 3, "N": n}) for d, k, n in [
        ("bf16", "max", 0), ("f32", "min", 4096), ("i16", "max", 8191), ("bf16", "min", 10000)]),
    *((SUMS.format(length="H"), {"H": h}, {"T": 2}) for h in (8200, 10240, 9001)),
    *((SUMS.format(length="N"), {}, {"T": 2, "N": n}) for n in (1, 2048, 5000)),
]  # fmt: skip


@pytest.mark.parametrize(("body", "statics", "sizes"), CASES)
def test_walks_keep_the_bits(body: str, statics: Sizes, sizes: Sizes, simulator_cache: Path) -> None:
    assert disagreements(body, statics, sizes, ("random", "special"), 2, simulator_cache) == []


def _cuda(length: int, row: str = "ak.In[ak.bf16,T,H]") -> str:
    body = LARGEST.format(dtype="bf16", kind="max", length="H").replace("ak.In[ak.bf16,T,H]", row)
    found = compile_kernel(
        CompileRequest(HEADER + body, "kernel.py", dims={"H": length}, variant=Variant(alignment=16))
    )
    assert found.status == "ok", found.diagnostics
    return found.cuda


def _loop(text: str) -> str:
    """The body of the walk, up to the loop's end."""
    return text.split("for (int chunk", 1)[1].split("\n  }\n", 1)[0]


def test_only_the_step_behind_the_walk_asks_what_exists() -> None:
    text = _cuda(32000)
    assert "chunk < 7" in text and " < 3328" in text and " < 3328" not in _loop(text)


def test_a_row_of_whole_steps_has_none_behind_the_walk() -> None:
    assert _cuda(32768).count("ak_ldg_v4u32(x_block") == 1


@pytest.mark.parametrize(("length", "one_by_one"), [(32000, False), (32001, True)])
def test_accesses_are_taken_apart_only_where_a_row_may_end_inside_one(length: int, one_by_one: bool) -> None:
    text = _cuda(length, "ak.In[ak.bf16,T,H].strides(ak.align(H,8),1).aligned(16)")
    assert "ak_ldg_v4u32(x_block" in text
    assert ("ak_unpack_u16x1(row" in text) == one_by_one


def test_positions_of_a_row_are_words() -> None:
    assert "(int)chunk_start" in _loop(_cuda(32768)) and "unsigned int" in _loop(_cuda(32768))


@pytest.mark.parametrize(("length", "warps"), [(8448, 4), (32000, 4), (131072, 16)])
def test_longer_rows_are_walked_by_more_warps(length: int, warps: int) -> None:
    assert f"__launch_bounds__({32 * warps})" in _cuda(length)
