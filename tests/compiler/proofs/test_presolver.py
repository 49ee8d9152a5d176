"""The ordinary kernels are decided without a solver, quickly."""

import time

import pytest

from agentkern.compiler.ir.core import Kernel, SizeInfo
from agentkern.compiler.proofs import prove_kernel
from tests.compiler.tile_sketch import Sketch


def vector_add(n: str | int = "N") -> Kernel:
    k = Sketch("N")
    x, y, out = (k.tensor(name, access, n) for name, access in (("x", "in"), ("y", "in"), ("out", "out")))
    with k.grid(n) as (t,):
        k.load(x, t)
        k.load(y, t)
        k.store(out, t)
    return k.done()


def rms_norm(h: str | int = "H") -> Kernel:
    k = Sketch("T", "H")
    x, w, out = k.tensor("x", "in", "T", h), k.tensor("weight", "in", h), k.tensor("out", "out", "T", h)
    with k.grid("T") as (t,):
        k.load(x, t, ":")
        k.load(w, ":")
        k.store(out, t, ":")
    return k.done()


def per_token_cast(h: str | int = "H", scales: str | int = "(H + 127) // 128") -> Kernel:
    k = Sketch("T", "H")
    x, out, sf = k.tensor("x", "in", "T", h), k.tensor("out", "out", "T", h), k.tensor("sf", "out", "T", scales)
    with k.grid("T", (h, 128)) as (t, b):
        k.load(x, t, b)
        k.store(sf, t, k.op("ordinal", b))
        k.store(out, t, b)
    return k.done()


def three_dimensional() -> Kernel:
    k = Sketch("B", "S", "D")
    x, out = k.tensor("x", "in", "B", "S", "D"), k.tensor("out", "out", "B", "S", "D")
    with k.grid(("B", 1), "S", names="bs") as (b, s):
        k.load(x, k.op("ordinal", b), s, ":")
        k.store(out, k.op("ordinal", b), s, ":")
    return k.done()


def halves() -> Kernel:
    """Rows of 2 * H written as two static halves, from a block reshape's point of view two stores."""
    k = Sketch("T", "H")
    x, out = k.tensor("x", "in", "T", "2 * H"), k.tensor("out", "out", "T", "2 * H")
    with k.grid("T") as (t,):
        k.load(x, t, "0:H")
        k.load(x, t, "H:2 * H")
        k.store(out, t, "0:H")
        k.store(out, t, "H:2 * H")
    return k.done()


def flat_groups() -> Kernel:
    """One value a group, the groups of all rows in one flat output: a mixed radix with a symbolic base."""
    k = Sketch("T", "H")
    x = k.tensor("x", "in", "T", "H")
    out = k.tensor("sf", "out", "T * ((H + 127) // 128)")
    with k.grid(("T", 1), ("H", 128)) as (t, h):
        k.load(x, t, h)
        row = k.op("mul", k.op("ordinal", t), k.size("(H + 127) // 128"))
        k.store(out, k.op("add", row, k.op("ordinal", h)))
    return k.done()


def unflattened(*divisors: str | int) -> Kernel:
    """One flat number taken apart by division: `y[n // N // M, n // M % N, n % M]`."""
    k = Sketch("T", "N", "M")
    y = k.tensor("y", "out", "T", *divisors)
    with k.grid((" * ".join(["T", *map(str, divisors)]), 1)) as (t,):
        rest, index = k.op("ordinal", t), []
        for divisor in reversed(divisors):
            by = k.number(divisor) if isinstance(divisor, int) else k.size(divisor)
            index.insert(0, k.op("mod", rest, by))
            rest = k.op("floor_div", rest, by)
        k.store(y, rest, *index)
    return k.done()


ORDINARY = {
    "vector_add": vector_add(),
    "vector_add_1000": vector_add(1000),
    "rms_norm": rms_norm(),
    "rms_norm_7168": rms_norm(7168),
    "per_token_cast": per_token_cast(),
    "per_token_cast_7168": per_token_cast(7168, 56),
    "per_token_cast_576": per_token_cast(576, 5),
    "three_dimensional": three_dimensional(),
    "halves": halves(),
    "flat_groups": flat_groups(),
    "unflattened_4": unflattened(4),
    "unflattened_N": unflattened("N"),
    "unflattened_N_3": unflattened("N", 3),
    "unflattened_N_M": unflattened("N", "M"),
}


@pytest.mark.parametrize("name", ORDINARY)
def test_ordinary_kernel_is_proved_safe_without_a_solver(name: str) -> None:
    report = prove_kernel(ORDINARY[name])
    safety = [r for r in report.records if r.is_safety]
    assert safety
    assert {(r.outcome, r.method) for r in safety} == {("proved", "presolver")}, [
        r.statement for r in safety if r.outcome != "proved"
    ]


@pytest.mark.parametrize("name", ORDINARY)
def test_ordinary_kernel_is_proved_in_few_milliseconds(name: str) -> None:
    best = min(_seconds(ORDINARY[name]) for _ in range(5))
    assert best < 0.015  # measured 0.1 to 3 ms alone on one core; the margin is for a busy machine


def _seconds(kernel: Kernel) -> float:
    began = time.process_time()
    prove_kernel(kernel)
    return time.process_time() - began


def test_promise_makes_a_result_assumed() -> None:
    k = Sketch(SizeInfo("H", multiple_of=128), "T")
    out = k.tensor("out", "out", "T", "H // 128")
    with k.grid("T", ("H", 128)) as (t, h):
        k.store(out, t, k.op("ordinal", h))
    report = prove_kernel(k.done())
    assumed = [r for r in report.records if r.outcome == "assumed"]
    assert [r.obligation for r in assumed] == ["bounds"]
    assert assumed[0].assumptions == ("`H` is a multiple of 128",)


def test_promise_that_decides_whether_an_index_wraps_keeps_the_report_whole() -> None:
    k = Sketch(SizeInfo("T", maximum=1000), "N")
    y = k.tensor("y", "inout", "N")
    with k.grid("N") as (t,):
        for _ in range(2):
            squared = k.op("mul", k.op("mul", k.size("T"), k.size("T")), k.size("T"))
            k.store(y, k.op("mul", squared, k.size("T")))
        k.store(y, t)
    records = prove_kernel(k.done()).records
    assert [r.obligation for r in records if r.is_safety] == ["bounds"] * 3 + ["disjoint"] * 3
