"""What kernel texts may and may not do with indices and divisors, each shape of access with its near miss."""

import pytest

from agentkern.compiler.frontend import lower_source
from agentkern.compiler.proofs import diagnose, prove_kernel

HEADER = """import agentkern as ak

N = ak.dim("N")


@ak.kernel
def k(x: ak.In[ak.f32, 16], p: ak.In[ak.u8, N], i: ak.In[ak.i8, N], q: ak.In[ak.i8, N], y: ak.Out[ak.i8, N],
      z: ak.Out[ak.f32, N]):
    for n in ak.grid(ak.each(N)):
"""


def unsafe(divided: str = "i[n]", read: str = "0", place: str = "n") -> set[str]:
    body = f"        y[n] = {divided}\n        z[{place}] = x[{read}]\n"
    kernel = lower_source(HEADER + body, "kernel.py", None, {}, {}).kernel
    assert kernel is not None
    return {record.obligation for record in prove_kernel(kernel).unsafe()}


@pytest.mark.parametrize("divisor", ["ak.where(q[n] == 0, 1, q[n])", "ak.where(q[n] != 0, q[n], -1)"])
def test_a_divisor_whose_zeros_are_replaced_is_never_zero(divisor: str) -> None:
    assert unsafe(f"i[n] // {divisor}") == set()


@pytest.mark.parametrize(
    "divisor",
    [
        "ak.where(q[n] == 1, 1, q[n])",
        "ak.where(i[n] == 0, 1, q[n])",
        "ak.where(q[n] == 0, q[n], 1) - 1",
        "ak.where(q[n] != 0, 1, q[n])",
        "ak.where(q[n] == 0, 0, q[n])",
    ],
)
def test_a_divisor_whose_zeros_are_not_replaced_may_be_zero(divisor: str) -> None:
    assert "division" in unsafe(f"i[n] // {divisor}")


@pytest.mark.parametrize("index", ["p[n] >> 4", "(p[n] >> 1) >> 3", "p[n] >> 7", "p[n] >> (q[n] & 3).to(ak.u8) >> 4"])
def test_a_right_shift_bounds_an_index(index: str) -> None:
    assert unsafe(read=index) == set()


@pytest.mark.parametrize("index", ["p[n] >> 3", "i[n] >> 4", "p[n] >> (q[n] & 7).to(ak.u8)", "i[n] >> 7"])
def test_a_right_shift_of_too_little_or_of_a_negative_number_bounds_no_index(index: str) -> None:
    assert unsafe(read=index) == {"bounds"}


@pytest.mark.parametrize(
    ("place", "found"),
    [
        ("N - 1 - n", set()),
        ("N - n", {"bounds", "coverage"}),
        ("N - 2 - n", {"bounds", "coverage"}),
        ("-n", {"bounds", "coverage"}),
    ],
)
def test_indices_that_count_down_cover_what_counting_up_does(place: str, found: set[str]) -> None:
    assert unsafe(place=place) == found


@pytest.mark.parametrize(
    ("extent", "places", "found"),
    [
        ("2 * N", ("2 * n", "2 * n + 1"), set()),
        ("3 * N", ("3 * n + 2", "3 * n", "3 * n + 1"), set()),
        ("3 * N", ("3 * n", "3 * n + 2"), {"coverage"}),
        ("2 * N", ("2 * n", "2 * n"), {"coverage"}),
        ("2 * N + 1", ("2 * n", "2 * n + 1"), {"coverage"}),
        ("2 * N", ("2 * (N - 1 - n)", "2 * (N - 1 - n) + 1"), set()),
        ("4 * N", ("4 * n", "4 * n + 1"), {"coverage"}),
        ("N + 1", ("n", "n + 1"), {"coverage", "disjoint"}),
    ],
)
def test_stores_that_take_turns_cover_together(extent: str, places: tuple[str, ...], found: set[str]) -> None:
    stores = "".join(f"        y[{place}] = 1.0\n" for place in places)
    text = f"""import agentkern as ak
N = ak.dim("N")
@ak.kernel
def k(x: ak.In[ak.f32, N], y: ak.Out[ak.f32, {extent}]):
    for n in ak.grid(ak.each(N)):
{stores}"""
    kernel = lower_source(text, "kernel.py", None, {}, {}).kernel
    assert kernel is not None
    assert {record.obligation for record in prove_kernel(kernel).unsafe()} == found


@pytest.mark.parametrize(
    ("divisor", "found"),
    [("ak.where(s == 0, 1, s)", []), ("ak.where(s == 0, 0, s)", ["AK308"]), ("ak.where(s == 1, 1, s)", ["AK308"])],
)
def test_a_divisor_without_zeros_may_be_repeated_along_an_axis(divisor, found):
    text = f"""import agentkern as ak

T = ak.dim("T")


@ak.kernel
def kernel(x: ak.In[ak.i32, T, 8], o: ak.Out[ak.i32, T, 8]):
    for t in ak.grid(T):
        s = ak.sum(x[t, :], axis=1, keepdims=True)
        o[t, :] = x[t, :] // {divisor}
"""
    lowered = lower_source(text, "kernel.py", None, {}, {})
    assert lowered.kernel is not None
    assert [d.code for d in diagnose(prove_kernel(lowered.kernel), "kernel.py")] == found
