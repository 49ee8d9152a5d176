"""Every kind of conversion, lowered, keeps the interpreter's bits."""

from pathlib import Path

import pytest

from agentkern.compiler.layout.conversion import Conversion, Tile, plan_conversion
from agentkern.compiler.layout.exchange import Atom
from agentkern.compiler.layout.layout import contiguous_run, parse_layout
from agentkern.compiler.layout.shared_exchange import Side
from agentkern.compiler.passes.lower import conversions
from tests.compiler.agreement import compiled, disagreements

SYMMETRIC = """\
def k(x: ak.In[ak.TYPE,T,H,H], o: ak.Out[ak.TYPE,T,H,H]):
    for t in ak.grid(T):
        v=x[t,:,:]
        o[t,:,:]=v+v.transpose(0,2,1)
"""
HALVES = """\
def k(x: ak.In[ak.TYPE,T,H], o: ak.Out[ak.TYPE,T,H//2]):
    for t in ak.grid(T):
        v=x[t,:]
        o[t,:]=v[:,H//2:]-v[:,:H//2]
"""
QUARTERS = """\
def k(x: ak.In[ak.TYPE,T,H], o: ak.Out[ak.TYPE,T,H//4]):
    for t in ak.grid(T):
        v=x[t,:]
        o[t,:]=v[:,H//4:H//2]-v[:,H//2:H//2+H//4]
"""
OUTER = """\
def k(x: ak.In[ak.TYPE,T,H], o: ak.Out[ak.TYPE,T,H,H]):
    for t in ak.grid(T):
        a=x[t,:]
        o[t,:,:]=a[:,:,None]*a[:,None,:]
"""
REGROUPED = """\
def k(x: ak.In[ak.TYPE,T,H], o: ak.Out[ak.TYPE,T,H//G,G]):
    for t in ak.grid(T):
        v=x[t,:].reshape(t,H//G,G)
        o[t,:,:]=v/ak.max(v,axis=2,keepdims=True)
"""

CASES = [
    (HALVES, "f32", {"H": 512}, {"registers"}),
    (HALVES, "i64", {"H": 2}, {"registers"}),
    (QUARTERS, "f16", {"H": 4096}, {"registers"}),
    (HALVES, "bf16", {"H": 64}, {"take"}),
    (QUARTERS, "i32", {"H": 64}, {"take"}),
    (HALVES, "f32", {"H": 10}, {"take", "shared"}),
    (QUARTERS, "f16", {"H": 12}, {"shared"}),
    (SYMMETRIC, "i64", {"H": 2}, {"lanes"}),
    (SYMMETRIC, "f32", {"H": 5}, {"swap", "shared"}),
    (SYMMETRIC, "bf16", {"H": 16}, {"shared"}),
    (SYMMETRIC, "i8", {"H": 8}, {"swizzled", "swap"}),
    (SYMMETRIC, "i8", {"H": 32}, {"shared"}),
    (OUTER, "f32", {"H": 7}, {"spread", "pick_by_warp", "lanes"}),
    (OUTER, "bf16", {"H": 16}, {"pick_by_lane", "swap"}),
    (OUTER, "bf16", {"H": 9}, {"spread", "shared"}),
    (REGROUPED, "f32", {"H": 72, "G": 9}, {"shared"}),
    (REGROUPED, "bf16", {"H": 96, "G": 24}, {"shared"}),
]


def _features(plan: Conversion) -> set[str]:
    steps = {step.kind for step in plan.exchange.steps} if plan.exchange is not None else set[str]()
    swizzled = plan.shared is not None and plan.shared.swizzle.bits > 0
    return {plan.kind, *steps, *(("swizzled",) if swizzled else ())}


@pytest.mark.parametrize(("body", "dtype", "statics", "wanted"), CASES)
def test_conversion_keeps_the_bits(
    body: str,
    dtype: str,
    statics: dict[str, int],
    wanted: set[str],
    simulator_cache: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen: set[str] = set()

    def planned(
        before: Side, after: Side, tile: Tile, *, fixed: dict[Atom, int] | None = None, whole_atoms: bool = True
    ) -> Conversion:
        plan = plan_conversion(before, after, tile, fixed=fixed, whole_atoms=whole_atoms)
        seen.update(_features(plan))
        return plan

    monkeypatch.setattr(conversions, "plan_conversion", planned)
    text = body.replace("TYPE", dtype)
    assert disagreements(text, statics, {"T": 5}, ("random", "special"), 4, simulator_cache) == []
    assert wanted <= seen


ADDED_TURNED = """\
def k(x: ak.In[ak.f32,N,M], y: ak.In[ak.f32,M,N], o: ak.Out[ak.f32,N,M]):
    for n,m in ak.grid(N,M):
        o[n,m]=x[n,m]+y[m,n].T
"""


@pytest.mark.parametrize("size", [(1, 1), (7, 65), (133, 130)], ids=str)
def test_load_across_the_fast_axis_reads_whole_sectors(size: tuple[int, int], simulator_cache: Path) -> None:
    sizes = {"N": size[0], "M": size[1]}
    placed = compiled(ADDED_TURNED, {}, sizes).texts["placed"]
    across = next(line for line in placed.splitlines() if "load(%y" in line)
    layout = parse_layout(across[across.index("(2 |") : across.rindex(">")])
    assert contiguous_run(layout, 1) * 4 >= 32
    assert "convert" in placed
    assert disagreements(ADDED_TURNED, {}, sizes, ("random", "special"), 4, simulator_cache) == []
