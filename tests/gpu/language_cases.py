"""What the language has beside plain rows of f32, as kernels to run: doubles, records, segments, lists, orders and more.

The kernels are those of the tests that compare interpreter and simulator; here stands which, and on what inputs. Data
only.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from agentkern.compiler.driver import CompileRequest
from agentkern.tools.inputs import Kind
from tests.cases.test_paper_kernels import FOLDER, KERNELS
from tests.compiler import (
    test_list_agreement,
    test_long_orders,
    test_long_values,
    test_order_agreement,
    test_picked_lists,
    test_record_agreement,
    test_segments,
    test_take_agreement,
)
from tests.compiler.agreement import HEADER
from tests.compiler.dtype_kernels import DOUBLES, NAMES, SATURATING, casts
from tests.compiler.test_philox import WORDS

Sizes = Mapping[str, int]
COMMON: tuple[Kind, ...] = ("random", "special")
ORDERED: tuple[Kind, ...] = ("special", "integers")

STOCHASTIC = """\
def k(x: ak.In[ak.f32,T,H], o: ak.Out[ak.bf16,T,H], seed: ak.u64 = 3):
    for t in ak.grid(T):
        r,_,_,_=ak.philox(seed,t.index[:,None]*H+ak.arange(H))
        o[t,:]=x[t,:].to(ak.bf16,rounding="stochastic",bits=r)
"""
PADDED = """\
def k(x: ak.In[ak.f32,T,5].strides(8,1).aligned(16), o: ak.Out[ak.f32,2,T].strides(ak.align(T,4),1)):
    for t in ak.grid(T):
        o[0,t]=ak.sum(x[t,:],axis=1)
        o[1,t]=x[t,4]
"""
TRANSPOSED = """\
def k(x: ak.In[ak.bf16,T,H].strides(1,T), o: ak.Out[ak.bf16,T,H].strides(1,ak.align(T,8)), s: ak.Out[ak.f32,T].strides(3)):
    for t in ak.grid(T):
        v=x[t,:].to(ak.f32)
        o[t,:]=(v*2.0).to(ak.bf16)
        s[t]=ak.sum(v,axis=1)
"""
TURNED = """\
def k(a: ak.InOut[ak.i32,N,M].strides(M+1,1), b: ak.Out[ak.i32,M,N].strides(N+3,1)):
    for n,m in ak.grid(N,M):
        b.T[n,m]=a[n,m]
        a[n,m]=a[n,m]+1
"""


@dataclass(frozen=True, slots=True)
class LanguageCase:
    """A kernel at sizes, run on inputs of these kinds under `schedules` schedules."""

    name: str
    request: CompileRequest
    sizes: Sizes
    kinds: tuple[Kind, ...] = COMMON
    schedules: int = 2


def _case(
    group: str, body: str, statics: Sizes, sizes: Sizes, kinds: tuple[Kind, ...] = COMMON, schedules: int = 2
) -> LanguageCase:
    shown = "-".join(f"{name}{n}" for name, n in {**statics, **sizes}.items())
    request = CompileRequest(HEADER + body, "kernel.py", dims=statics)
    return LanguageCase(f"{group}-{shown}", request, sizes, kinds, schedules)


def _doubles() -> Iterator[LanguageCase]:
    for name, (body, grid) in DOUBLES.items():
        for statics, sizes in grid:
            yield _case(f"doubles-{name}", body, statics, sizes, ("random", "special", "wide"))
    for source in NAMES:
        yield _case(f"cast-{source}", casts(source, NAMES), {}, {"N": 3001}, ("random", "special", "wide"), 1)
    for source in ("f64", "f32", "i64", "u32"):
        yield _case(f"cast-loose-{source}", casts(source, SATURATING, ",saturate=False"), {}, {"N": 3001})


def _records() -> Iterator[LanguageCase]:
    for name, (body, statics, sizes) in test_record_agreement.CASES.items():
        request = CompileRequest(test_record_agreement.HEADER + body, "kernel.py", dims=statics)
        yield LanguageCase(f"records-{name}", request, sizes, schedules=3)


def _segments() -> Iterator[LanguageCase]:
    for name, (body, grid) in test_segments.KERNELS.items():
        for sizes in grid:
            yield _case(f"segments-{name}", body, {}, sizes)


def _kept() -> Iterator[LanguageCase]:
    for name, (body, settings) in test_long_values.KERNELS.items():
        for statics, sizes in settings:
            yield _case(f"kept-{name}", body, statics, sizes, ("random",))


def _placed() -> Iterator[LanguageCase]:
    for body, statics, sizes in [
        *((PADDED, {}, {"T": t}) for t in (0, 1, 37)),
        *((TRANSPOSED, {"H": h}, {"T": t}) for h, t in ((1, 1), (24, 65))),
        *((TURNED, {}, {"N": n, "M": m}) for n, m in ((1, 1), (33, 70), (0, 5))),
    ]:
        yield _case(f"placed-{len(body)}", body, statics, sizes, schedules=3)


def _lists() -> Iterator[LanguageCase]:
    for body, statics, sizes in [
        (test_list_agreement.LAYERS, {"H": 24, "G": 3}, {"T": 37}),
        (test_list_agreement.LAYERS, {"H": 5, "G": 0}, {"T": 9}),
        (test_list_agreement.CHANGED, {"H": 16, "G": 2}, {"T": 33, "N": 11}),
    ]:
        yield _case(f"lists-{len(body)}", body, statics, sizes, schedules=3)


def _picked() -> Iterator[LanguageCase]:
    for name, (body, statics, sizes) in test_picked_lists.CASES.items():
        yield _case(f"picked-{name}", body, statics, sizes)


def _orders() -> Iterator[LanguageCase]:
    for group, cases in (
        ("orders", test_order_agreement.CASES),
        ("taken", test_take_agreement.CASES),
        ("long-orders", test_long_orders.CASES),
    ):
        for body, names, statics, sizes in cases:
            text = body.format(**names)
            yield _case(f"{group}-{'-'.join(map(str, names.values()))}-{len(body)}", text, statics, sizes, ORDERED)


def _random() -> Iterator[LanguageCase]:
    for n in (0, 1, 1000):
        yield _case("philox-words", WORDS, {}, {"N": n}, ("random", "integers"))
    for h, t in ((1, 1), (9, 5), (130, 33)):
        yield _case("philox-rounding", STOCHASTIC, {"H": h}, {"T": t})


def _paper() -> Iterator[LanguageCase]:
    for name in KERNELS:
        source = (FOLDER / f"{name}.py").read_text(encoding="utf-8")
        runs = tomllib.loads((FOLDER / f"{name}.toml").read_text(encoding="utf-8"))["run"]
        for number, run in enumerate(runs):
            request = CompileRequest(source, f"{name}.py", name, dims=run.get("dims", {}), settings=run.get("set", {}))
            yield LanguageCase(f"paper-{name}-{number}", request, run.get("sizes", {}), ("random",))


GROUPS = (_doubles, _records, _segments, _kept, _placed, _lists, _picked, _orders, _random, _paper)
CASES = tuple(case for group in GROUPS for case in group())
SAMPLE = tuple(next(iter(group())) for group in GROUPS)
"""The first case of each group: enough to show, without a GPU, that the comparison itself works."""
