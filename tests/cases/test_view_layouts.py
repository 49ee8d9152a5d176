"""Views of tensors with strides of their own, at addresses and rows of any alignment: the same bits as without gaps."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from agentkern.compiler.ir.interpreter import interpret
from agentkern.runtime.simulate import simulate
from agentkern.runtime.simulator import SimulatorOptions, build
from tests.cases.runs import Case, builds
from tests.compiler.agreement import scalars

RANDOM = np.random.default_rng(11)
Given = dict[str, np.ndarray]


def with_gaps(array: np.ndarray, fill: int = 0x55) -> np.ndarray:
    """The array in memory where every second element of each axis belongs to nobody."""
    whole = np.full([2 * n for n in array.shape], fill, np.uint8).astype(array.dtype)
    view = whole[tuple(slice(None, None, 2) for _ in array.shape)]
    view[...] = array
    return view


def with_rows_apart(array: np.ndarray) -> np.ndarray:
    """The array with gaps between its rows only."""
    whole = np.zeros((*array.shape[:-1], array.shape[-1] + 8), array.dtype)
    view = whole[..., : array.shape[-1]]
    view[...] = array
    return view


def same_bits(case: Case, given: Given, placed: Given, cache: Path) -> None:
    """What a build for `placed` gives, in memory with gaps, is what the interpreter gives for `given`, without."""
    for result in builds(case):
        assert result.kernel is not None and result.abi is not None
        want = {name: array.copy() for name, array in given.items()}
        again = {name: array.copy() for name, array in given.items()}
        interpret(result.kernel, want, case.sizes, scalars(result))
        turned = {name: placed[name] if name in placed else array for name, array in again.items()}
        before = {name: array.base.copy() for name, array in placed.items() if array.base is not None}
        options = SimulatorOptions(line_map=result.lines)
        reports = simulate(result.abi, build(result.cuda, cache), turned, case.sizes, scalars(result), options)
        assert [finding.message for report in reports for finding in report.findings] == []
        assert [name for name in want if want[name].tobytes() != turned[name].tobytes()] == []
        interpreted = {name: placed_again(placed[name], given[name]) if name in placed else given[name].copy() for name in given}  # fmt: skip
        interpret(result.kernel, interpreted, case.sizes, scalars(result))
        assert [name for name in want if want[name].tobytes() != interpreted[name].tobytes()] == []
        for name, base in before.items():
            untouched = placed[name].base.copy()
            placed[name][...] = given[name]
            place_of(untouched, placed[name])[...] = 0
            place_of(base, placed[name])[...] = 0
            assert untouched.tobytes() == base.tobytes()


def place_of(base: np.ndarray, view: np.ndarray) -> np.ndarray:
    return np.lib.stride_tricks.as_strided(base, view.shape, view.strides)


def placed_again(view: np.ndarray, values: np.ndarray) -> np.ndarray:
    found = place_of(view.base.copy(), view)
    found[...] = values
    return found


JOINED = """\
def k(x: ak.In[ak.f32,T,H], o: ak.InOut[ak.f32,T,H]):
    for n in ak.grid(T*H):
        o.reshape(T*H)[n]=x.reshape(T*H)[n]*2.0
"""
SHIFTED = """\
def k(x: ak.In[ak.f32,T,H], o: ak.InOut[ak.f32,T,H]):
    for n in ak.grid(T*H-3):
        o.reshape(T*H)[3:][n]=ak.load(x.reshape(T*H)[n-1],fill=-1.0)
"""
TURNED = """\
def k(x: ak.In[ak.f32,T,H], o: ak.InOut[ak.f32,T,H]):
    for h,t in ak.grid(H,T):
        o.T[h,t]=x.T[h,t]+1.0
"""
PARTED = """\
def k(x: ak.In[ak.f32,T,H], o: ak.InOut[ak.f32,T,H]):
    for t in ak.grid(T):
        o.reshape(T,2,H//2)[:,1][t,:]=ak.sum(x.reshape(T,2,H//2)[t,:,:],axis=1)
"""
BYTES = """\
def k(x: ak.In[ak.f32,T,H], o: ak.InOut[ak.f32,T,H]):
    for t in ak.grid(T):
        o.bitcast(ak.u8)[t,:]=x.bitcast(ak.u8)[t,:]
"""
GATHERED = """\
def k(x: ak.In[ak.f32,T,H], o: ak.InOut[ak.f32,T,H]):
    for n in ak.grid(T*H):
        ak.store(o.reshape(T*H)[T*H-1-n],x.reshape(T*H)[n],where=n.index%3!=0)
"""
KERNELS = {"joined": JOINED, "shifted": SHIFTED, "turned": TURNED, "parted": PARTED, "bytes": BYTES, "gathered": GATHERED}  # fmt: skip


@pytest.mark.parametrize("gaps", [with_gaps, with_rows_apart])
@pytest.mark.parametrize("name", KERNELS)
def test_a_view_of_a_tensor_with_gaps_is_that_of_one_without(
    name: str, gaps: Callable[[np.ndarray], np.ndarray], simulator_cache: Path
):
    given = {k: RANDOM.normal(size=(7, 6)).astype(np.float32) for k in "xo"}
    case = Case(KERNELS[name], {"T": 7}, {"H": 6}, strided=("x", "o"))
    same_bits(case, given, {k: gaps(v) for k, v in given.items()}, simulator_cache)


@pytest.mark.parametrize("columns", [1, 3, 5, 8])
def test_rows_that_only_a_view_has_begin_anywhere(columns: int, simulator_cache: Path):
    body = """\
def k(x: ak.In[ak.f32,T*N], o: ak.Out[ak.f32,T,N]):
    for t in ak.grid(T):
        o[t,:]=x.reshape(T,N)[t,:]
"""
    given = {"x": RANDOM.normal(size=4 * columns).astype(np.float32), "o": np.zeros((4, columns), np.float32)}
    same_bits(Case(body, {"T": 4, "N": columns}), given, {}, simulator_cache)


@pytest.mark.parametrize("start", [1, 2, 3, 4])
def test_a_part_begins_anywhere_in_a_row(start: int, simulator_cache: Path):
    body = """\
def k(x: ak.In[ak.bf16,T,64], o: ak.Out[ak.bf16,T,32]):
    for t in ak.grid(T):
        o[t,:]=x[:,START:START+32][t,:]
""".replace("START", str(start))
    given = {"x": RANDOM.integers(0, 2**16, (5, 64)).astype(np.uint16), "o": np.zeros((5, 32), np.uint16)}
    same_bits(Case(body, {"T": 5}), given, {}, simulator_cache)
