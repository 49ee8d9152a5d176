"""Sums over several axes whose blocks the tensor's edge clips: flattened over the blocks' whole extents."""

from pathlib import Path

import pytest

from agentkern.compiler.ir.core import walk
from agentkern.compiler.ir.types import TileType
from agentkern.compiler.passes.split_reductions import split_reductions
from tests.compiler.agreement import disagreements
from tests.compiler.passes.kernels import tile

WHOLE = """\
def k(x: ak.In[ak.f32,N,M], o: ak.Out[ak.f32,ak.cdiv(N,32),ak.cdiv(M,64)], p: ak.Out[ak.f32,ak.cdiv(N,32),ak.cdiv(M,64)]):
    for n,m in ak.grid(N,M,block=(32,64)):
        v=x[n,m]
        o[n.ordinal,m.ordinal]=ak.sum(v,axis=(0,1))
        p[n.ordinal,m.ordinal]=ak.mean(v*v,axis=(1,0))
"""
TURNED = """\
def k(x: ak.In[ak.bf16,N,M], o: ak.Out[ak.bf16,ak.cdiv(N,4),ak.cdiv(M,24)], p: ak.Out[ak.f32,ak.cdiv(N,4),ak.cdiv(M,24)]):
    for n,m in ak.grid(N,M,block=(4,24)):
        v=x[n,m]
        o[n.ordinal,m.ordinal]=ak.sum(v.T,axis=(0,1))
        p[n.ordinal,m.ordinal]=ak.prod(v.to(ak.f32),axis=(0,1))
"""
PARTS = """\
def k(x: ak.In[ak.f32,N,M,5], o: ak.Out[ak.f32,ak.cdiv(N,8),ak.cdiv(M,8),5], q: ak.Out[ak.f32,N,ak.cdiv(M,8)]):
    for n,m in ak.grid(N,M,block=(8,8)):
        v=x[n,m,:]
        o[n.ordinal,m.ordinal,:]=ak.sum(v,axis=(0,1))
        q[n,m.ordinal]=ak.sum(v,axis=(1,2))
"""
ENDS = """\
def k(x: ak.In[ak.f32,N,5,M], o: ak.Out[ak.f32,ak.cdiv(N,8),ak.cdiv(M,8),5]):
    for n,m in ak.grid(N,M,block=(8,8)):
        o[n.ordinal,m.ordinal,:]=ak.sum(x[n,:,m],axis=(0,2))
"""
SIZES = [(1, 1), (33, 65), (32, 64), (5, 7), (64, 129), (40, 23)]


@pytest.mark.parametrize("size", SIZES, ids=str)
@pytest.mark.parametrize("body", [WHOLE, TURNED, PARTS, ENDS], ids=["whole", "turned", "parts", "ends"])
def test_sum_over_blocks_has_the_interpreters_bits(body: str, size: tuple[int, int], simulator_cache: Path) -> None:
    sizes = {"N": size[0], "M": size[1]}
    assert disagreements(body, {}, sizes, ("random", "special"), 3, simulator_cache) == []


def _extended(body: str) -> list[tuple[object, float]]:
    found: list[tuple[object, float]] = []
    for op in walk(split_reductions(tile(body)).body):
        if op.name == "extend":
            value = op.attrs["value"]
            assert isinstance(op.result.type, TileType) and isinstance(value, float)
            found.append((op.result.type.shape, value))
    return found


def test_blocks_are_made_whole_with_the_reductions_identity() -> None:
    assert [str(found) for found in _extended(TURNED)] == ["((24, 4), -0.0)", "((4, 24), 1.0)"]


def test_sum_over_one_block_or_of_integers_is_not_extended() -> None:
    assert (
        _extended(
            WHOLE.replace("axis=(0,1)", "axis=1")
            .replace("ak.mean(v*v,axis=(1,0))", "1.0")
            .replace("o[n.ordinal,", "o[n,")
            .replace("o: ak.Out[ak.f32,ak.cdiv(N,32)", "o: ak.Out[ak.f32,N")
        )
        == []
    )
    assert _extended(WHOLE.replace("ak.f32", "ak.i32").replace("ak.mean(v*v,axis=(1,0))", "1")) == []
