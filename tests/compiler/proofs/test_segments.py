"""Segments of promised offsets: inside their axis, apart from one another, together all of it; nothing without promise."""

from dataclasses import replace

import pytest

from agentkern.compiler.proofs import diagnose, prove_kernel
from tests.compiler.frontend.kernels import accepted, text_of

SIGNATURE = "x: ak.In[ak.f32, T, N], offsets: ak.In[ak.i32, E + 1].offsets(T), {}: ak.Out[ak.f32, {}]"
SHAPES = {"out": "T, N", "total": "E, N", "twice": "2 * T, N", "flat": "T * N"}
SEGMENTS = "for s, n in ak.grid(ak.segments(offsets), N):\n"
ROWS = "for (s, m), n in ak.grid(ak.segments(offsets).blocks(), N):\n"


def kernel(body: str):
    name, shape = next((n, s) for n, s in SHAPES.items() if f"{n}[" in body)
    text = text_of(SIGNATURE.format(name, shape), body)
    return accepted(text.replace("\n\n", '\n\nE = ak.dim("E")\n', 1))


def codes_of(body: str) -> list[str]:
    return [d.code for d in diagnose(prove_kernel(kernel(body)), "kernel.py")]


SAFE = [
    SEGMENTS + "    out[s, n] = x[s, n]",
    SEGMENTS + "    total[s.ordinal, n] = ak.sum(x[s, n], axis=0)",
    SEGMENTS + "    for t in ak.steps(s.start, s.end):\n        out[t, n] = x[t, n]",
    SEGMENTS + "    for t in ak.steps(s.start, s.end, block=64):\n        out[t, n] = x[t, n]",
    SEGMENTS + "    for t in ak.steps(ak.each(s.start, s.end)):\n        out[t, n] = x[t, n]",
    SEGMENTS
    + "    for t in ak.steps(s.end - s.start, block=8):\n        out[t.index + s.start, n] = x[t.index + s.start, n]",
    SEGMENTS + "    total[s.ordinal, n] = ak.load(x[s.start, n], where=s.end > s.start, fill=0)",
    ROWS + "    out[m, n] = x[m, n]",
    ROWS + "    out[m.index, n] = x[m, n]",
    ROWS + "    out[m, n] = ak.load(x[m + 1, n], where=(m.index + 1 < s.end)[:, None], fill=0)",
    ROWS + "    out[m, n] = x[s.start, n] + x[s.end - 1, n]",
    "for n, (s, m) in ak.grid(N, ak.segments(offsets).blocks(block=16)):\n    out[m, n] = x[m, n]",
    *(
        grid + stores
        for grid, of in ((SEGMENTS, "s"), (ROWS, "m"), (ROWS.replace("()", "(block=1)"), "m"))
        for stores in (
            f"    twice[2 * {of}, n] = x[{of}, n]\n    twice[2 * {of} + 1, n] = x[{of}, n]",
            f"    out[T - 1 - {of}, n] = x[{of}, n]",
            f"    flat[{of}.index[:, None] * N + n.index] = x[{of}, n]",
        )
    ),
    SEGMENTS
    + "    for t in ak.steps(s.start, s.end, block=8):\n        twice[2 * t, n] = x[t, n]\n        twice[2 * t + 1, n] = 0.0",
]
UNSAFE = [
    (SEGMENTS + "    out[s, n] = x[s.start, n]", "AK302"),
    (SEGMENTS + "    out[s, :] = x[s, :]", "AK304"),
    (SEGMENTS + "    out[s.index + 1, n] = x[s, n]", "AK302"),
    (SEGMENTS + "    total[s.ordinal, 0] = ak.sum(x[s, 0], axis=0)", "AK303"),
    (SEGMENTS + "    for t in ak.steps(s.start, s.end + 1):\n        out[t, n] = x[t, n]", "AK302"),
    (SEGMENTS + "    for t in ak.steps(0, s.end):\n        out[t, n] = x[t, n]", "AK304"),
    (SEGMENTS + "    for t in ak.steps(s.start + 1, s.end):\n        out[t, n] = x[t, n]", "AK306"),
    (ROWS + "    total[s.ordinal, n] = 0.0", "AK304"),
    (ROWS + "    total[s.ordinal, n] = 0.0", "AK306"),  # an empty segment has no block
    (ROWS + "    out[m + 1, n] = x[m, n]", "AK302"),
    (ROWS + "    out[m, n] = x[m, n]\n    out[s.start, n] = 0.0", "AK304"),
    (ROWS + "    out[m, 0:N] = x[m, 0:N]", "AK304"),
    (
        ROWS
        + "    twice[2 * m, n] = x[m, n]\n    ak.store(twice[2 * m + 2, n], x[m, n], where=m.index[:, None] + 1 < T)",
        "AK304",
    ),
    (ROWS + "    out[m.index - s.start, n] = x[m, n]", "AK304"),
    (SEGMENTS + "    twice[2 * s, n] = x[s, n]\n    twice[2 * s.index // 2, n] = x[s, n]", "AK304"),
    (SEGMENTS + "    twice[2 * s, n] = x[s, n]", "AK306"),
    (SEGMENTS + "    twice[s.index + s.start, n] = x[s, n]", "AK306"),
    (SEGMENTS + "    out[s.index - s.start, n] = x[s, n]", "AK304"),
]


@pytest.mark.parametrize("body", SAFE)
def test_safe_segments_are_proved(body: str):
    assert codes_of(body) == []


@pytest.mark.parametrize(("body", "code"), UNSAFE)
def test_unsafe_segments_are_found(body: str, code: str):
    assert code in codes_of(body)


@pytest.mark.parametrize("body", [SAFE[0], SAFE[3], SAFE[7]])
def test_what_rests_on_the_promise_is_assumed(body: str):
    found = prove_kernel(kernel(body)).records
    outcomes = {(r.obligation, r.outcome) for r in found if r.obligation in ("disjoint", "coverage")}
    assert outcomes == {("disjoint", "assumed"), ("coverage", "assumed")}
    assert all("offsets that end at T" in r.assumptions[0] for r in found if r.outcome == "assumed")


def test_nothing_holds_without_the_promise():
    bare = kernel(SAFE[7])
    bare = replace(bare, attrs={**bare.attrs, "promises": ()})
    codes = [d.code for d in diagnose(prove_kernel(bare), "kernel.py")]
    assert {"AK302", "AK304", "AK306"} <= set(codes)


def test_loops_over_loaded_offsets_are_sent_to_segments():
    body = (
        "for e in ak.grid(ak.each(E)):\n    for t in ak.steps(offsets[e], offsets[e + 1]):\n        out[t, :] = x[t, :]"
    )
    found = {d.code: d.hint for d in diagnose(prove_kernel(kernel(body)), "kernel.py")}
    assert found["AK304"] == "iterate over the segments: `for s in ak.grid(ak.segments(offsets)):`"


def test_the_last_row_of_a_segment_wants_one():
    body = SEGMENTS + "    total[s.ordinal, n] = ak.last(x[s, n], axis=0)"
    (found,) = diagnose(prove_kernel(kernel(body)), "kernel.py")
    assert found.code == "AK332" and found.hint is not None and "ak.require(s.end - s.start >= 1" in found.hint
    shown = body.replace("    total", "    ak.require(s.end > s.start, 'one')\n    total")
    assert codes_of(shown) == []


@pytest.mark.parametrize(("second", "codes"), [("2 * m", []), ("2 * m + 3", ["AK304"])])
def test_rows_of_one_block_are_those_of_their_own_segment(second: str, codes: list[str]):
    """A segment that is one block at most begins where it does: its rows are no others' because the block is one."""
    text = f"""import agentkern as ak
@ak.kernel
def k(f: ak.In[ak.i64, 3].offsets(3), x: ak.In[ak.f32, 3], y: ak.Out[ak.f32, 10].partial()):
    for s, m in ak.grid(ak.segments(f).blocks(block=8)):
        y[2 * m + 1] = x[m]
        y[{second}] = x[m]
"""
    assert [d.code for d in diagnose(prove_kernel(accepted(text)), "kernel.py")] == codes
