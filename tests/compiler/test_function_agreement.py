"""Interpreter and simulator agree bit for bit on every function, for every float type that computes."""

from pathlib import Path

import numpy as np
import pytest

from agentkern.compiler.ir.function_table import FUNCTIONS
from tests.cases.runs import Case, run
from tests.compiler.agreement import disagreements

CALLS = {name: f"ak.{name}({{}})" for name in FUNCTIONS} | {"gelu_tanh": 'ak.gelu({}, approximate="tanh")'}
GROUPS = [FUNCTIONS[k : k + 4] for k in range(0, len(FUNCTIONS), 4)]
EXACT = ("abs", "sign", "sqrt", "rsqrt", "floor", "ceil", "round", "trunc")
CALLS |= {name: f"ak.{name}({{}})" for name in EXACT}


def kernel(dtype: str, names: tuple[str, ...]) -> str:
    """One output a function."""
    outs = "".join(f", {name}_out: ak.Out[ak.{dtype},N]" for name in names)
    lines = "".join(f"        {name}_out[n]={CALLS[name].format('x[n]')}\n" for name in names)
    return f"def k(x: ak.In[ak.{dtype},N]{outs}):\n    for n in ak.grid(N):\n{lines}"


@pytest.mark.parametrize("dtype", ["f32", "bf16", "f16"])
@pytest.mark.parametrize("names", GROUPS, ids="-".join)
def test_functions_have_the_interpreters_bits(dtype: str, names: tuple[str, ...], simulator_cache: Path):
    body = kernel(dtype, names)
    assert disagreements(body, {}, {"N": 1000}, ("random", "special"), 1, simulator_cache) == []


@pytest.mark.parametrize("dtype", ["bf16", "f16"])
@pytest.mark.parametrize("names", [*GROUPS, EXACT], ids="-".join)
def test_every_16_bit_value_has_the_interpreters_bits(dtype: str, names: tuple[str, ...], simulator_cache: Path):
    """In order, where most neighbours take the short form for usual operands, and mixed, where hardly any may."""
    codes = np.arange(1 << 16, dtype=np.uint32).astype(np.uint16)
    x = np.concatenate([codes, np.random.default_rng(4).permutation(codes)])
    given = {"x": x if dtype == "bf16" else x.view(np.float16)}
    found = run(Case(kernel(dtype, names), {"N": len(x)}, count=1), given, simulator_cache)
    places = np.argsort(x[1 << 16 :], kind="stable")
    for name in names:
        bits = found[f"{name}_out"].view(np.uint16)
        assert (bits[: 1 << 16] == bits[1 << 16 :][places]).all()


def test_numbers_sizes_and_scalars_have_the_bits_of_elements(simulator_cache: Path):
    body = (
        "def k(x: ak.In[ak.bf16,N], y: ak.Out[ak.bf16,N], z: ak.Out[ak.f32,N], s: ak.f32 = 0.7):\n"
        "    for n in ak.grid(N):\n"
        "        y[n]=x[n]*ak.log(2.0)\n"
        "        z[n]=ak.exp(s)+ak.tanh(0.5)+ak.log2(N.to(ak.f32))+x[n].to(ak.f32)\n"
    )
    assert disagreements(body, {}, {"N": 37}, ("random", "special"), 1, simulator_cache) == []


def test_softmax_has_the_interpreters_bits_over_schedules(simulator_cache: Path):
    body = (
        "def k(x: ak.In[ak.bf16,T,H], o: ak.Out[ak.bf16,T,H]):\n"
        "    for t in ak.grid(T):\n"
        "        r=x[t,:].to(ak.f32)\n"
        "        e=ak.exp(r-ak.max(r,axis=1,keepdims=True))\n"
        "        o[t,:]=(e/ak.sum(e,axis=1,keepdims=True)).to(ak.bf16)\n"
    )
    assert disagreements(body, {"H": 1000}, {"T": 3}, ("random", "special"), 3, simulator_cache) == []
