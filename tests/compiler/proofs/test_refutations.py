"""Each wrong kernel is refuted with a small counterexample in its own names; its near miss is proved."""

import pytest

from agentkern.compiler.ir.core import Kernel, SizeInfo
from agentkern.compiler.proofs import ProofRecord, diagnose, prove_kernel
from tests.compiler.tile_sketch import Sketch


def _unsafe(kernel: Kernel) -> list[ProofRecord]:
    return list(prove_kernel(kernel).unsafe())


def _text(record: ProofRecord) -> str:
    assert record.counterexample is not None
    return str(record.counterexample["text"])


def copy(extent: str, *sizes: str | SizeInfo) -> Kernel:
    k = Sketch(*sizes)
    x, y = k.tensor("x", "in", "T"), k.tensor("y", "out", extent)
    with k.grid("T") as (t,):
        k.load(x, t)
        k.store(y, t)
    return k.done()


def test_block_past_a_shorter_tensor_is_refuted_with_the_smallest_sizes() -> None:
    bounds, *_ = _unsafe(copy("N", "T", "N"))
    assert bounds.obligation == "bounds"
    assert _text(bounds) == "T = 1, N = 0: `y[t]` writes index 0 of extent 0"
    assert bounds.counterexample is not None
    assert bounds.counterexample["sizes"] == {"T": 1, "N": 0}


def test_block_in_a_tensor_of_its_own_extent_is_proved() -> None:
    assert not _unsafe(copy("T", "T"))


def test_block_in_a_longer_tensor_misses_only_coverage() -> None:
    (coverage,) = _unsafe(copy("T + 1", "T"))
    assert coverage.obligation == "coverage"
    assert _text(coverage) == "T = 0: no store writes `y[0]`"


def picked(index: str, extent: str = "T", block: int = 1) -> Kernel:
    """Store one value a block at an index made by name from the block's number."""
    k = Sketch("T")
    y = k.tensor("y", "out", extent)
    with k.grid(("T", block)) as (t,):
        o = k.op("ordinal", t)
        made = {
            "o": lambda: o,
            "o + 1": lambda: k.op("add", o, k.number(1)),
            "2 * o": lambda: k.op("mul", o, k.number(2)),
            "o // 2": lambda: k.op("floor_div", o, k.number(2)),
            "o // 0": lambda: k.op("floor_div", o, k.number(0)),
            "o // T": lambda: k.op("floor_div", o, k.size("T")),
            "min": lambda: k.op("minimum", k.op("add", o, k.number(1)), k.op("sub", k.size("T"), k.number(1))),
            "start": lambda: k.op("start", t),
            "end": lambda: k.op("end", t),
            "last": lambda: k.op("sub", k.op("end", t), k.number(1)),
        }
        k.store(y, made[index]())
    return k.done()


@pytest.mark.parametrize(
    ("index", "block", "text"),
    [
        ("o + 1", 1, "T = 1: `y[t + 1]` writes index 1 of extent 1 at t = 0"),
        ("end", 1, "T = 1: `y[t + 1]` writes index 1 of extent 1 at t = 0"),
        ("2 * o", 1, "T = 2: `y[2 * t]` writes index 2 of extent 2 at t = 1"),
    ],
)
def test_scalar_index_past_the_edge_is_refuted(index: str, block: int, text: str) -> None:
    bounds = [r for r in _unsafe(picked(index, block=block)) if r.obligation == "bounds"]
    assert [_text(r) for r in bounds] == [text]


@pytest.mark.parametrize(("index", "block"), [("o", 1), ("start", 3), ("last", 3), ("min", 1), ("o // 2", 1)])
def test_scalar_index_inside_is_proved(index: str, block: int) -> None:
    assert not [r for r in _unsafe(picked(index, block=block)) if r.obligation == "bounds"]


def test_two_blocks_writing_one_element_are_refuted() -> None:
    disjoint = [r for r in _unsafe(picked("o // 2")) if r.obligation == "disjoint"]
    assert [_text(r) for r in disjoint] == ["T = 2: (t = 0) and (t = 1) both write `y[0]`"]


def test_clamped_index_of_two_blocks_is_refuted() -> None:
    disjoint = [r for r in _unsafe(picked("min")) if r.obligation == "disjoint"]
    assert [_text(r) for r in disjoint] == ["T = 2: (t = 0) and (t = 1) both write `y[1]`"]


@pytest.mark.parametrize(("index", "block"), [("o", 1), ("2 * o", 1), ("start", 3), ("end", 3), ("last", 3)])
def test_indices_that_tell_the_blocks_apart_are_disjoint(index: str, block: int) -> None:
    assert not [r for r in _unsafe(picked(index, block=block)) if r.obligation == "disjoint"]


def divided(divisor: int | str) -> Kernel:
    k = Sketch("T", SizeInfo("N", minimum=1))
    y = k.tensor("y", "out", "T")
    with k.grid(("T", 1)) as (t,):
        by = k.number(divisor) if isinstance(divisor, int) else k.size(divisor)
        k.op("floor_div", k.op("ordinal", t), by)
        k.store(y, t)
    return k.done()


def test_division_by_a_size_that_may_be_zero_is_refuted() -> None:
    assert [(_text(r), r.obligation) for r in _unsafe(divided("T - 1"))] == [
        ("T = 1: the divisor of `//` is 0", "division")
    ]


def test_the_message_names_the_operator_whose_divisor_is_zero() -> None:
    (found,) = diagnose(prove_kernel(divided("T - 1")), "kernel.py")
    assert found.message == "`//` may divide by zero: T = 1: the divisor of `//` is 0"


@pytest.mark.parametrize("divisor", ["T", "T + 1", "N", 3, -2])
def test_division_by_what_is_never_zero_in_a_block_is_shown(divisor: int | str) -> None:
    assert not _unsafe(divided(divisor))


def test_division_by_zero_in_an_extent_is_refuted_unless_promised() -> None:
    k = Sketch("T", "G")
    y = k.tensor("y", "out", "T // G")
    with k.grid("T // G") as (t,):
        k.store(y, t)
    assert [_text(r) for r in _unsafe(k.done())] == ["G = 0: the divisor `G` is 0"]


def rows(*stored: str, access: str = "out") -> Kernel:
    """Rows of H columns, of which each store writes a static range."""
    k = Sketch("T", "H")
    y = k.tensor("y", access, "T", "2 * H")
    with k.grid("T") as (t,):
        for part in stored:
            k.store(y, t, part)
    return k.done()


def test_missing_half_of_a_row_is_refuted() -> None:
    assert [_text(r) for r in _unsafe(rows("0:H"))] == ["T = 1, H = 1: no store writes `y[0, 1]`"]


@pytest.mark.parametrize("parts", [("0:H", "H:2 * H"), ("H:2 * H", "0:H"), (":",), ("0:H", "0:2 * H")])
def test_ranges_that_fill_a_row_cover_it(parts: tuple[str, ...]) -> None:
    assert not _unsafe(rows(*parts))


def test_inout_needs_no_coverage() -> None:
    assert not _unsafe(rows("0:H", access="inout"))


def test_axis_that_no_subscript_names_collides() -> None:
    k = Sketch("T", "H")
    y = k.tensor("y", "out", "T")
    with k.grid("T", ("H", 128)) as (t, _):
        k.store(y, t)
    texts = {r.obligation: _text(r) for r in _unsafe(k.done())}
    assert texts["disjoint"] == ("T = 1, H = 129: (t = 0, block h = 0) and (t = 0, block h = 1) both write `y[0]`")
    assert texts["coverage"] == "T = 1, H = 0: no store writes `y[0]`"


def neighbours(access: str, *, shifted: bool) -> Kernel:
    """Read the element before the one that the block writes, or the very one."""
    k = Sketch("T")
    y = k.tensor("y", access, "T + 1")
    with k.grid(("T", 1)) as (t,):
        o = k.op("ordinal", t)
        after = k.op("add", o, k.number(1))
        k.load(y, o if shifted else after)
        k.store(y, after)
    return k.done()


def test_reading_what_another_block_writes_is_refuted() -> None:
    reads = [r for r in _unsafe(neighbours("inout", shifted=True)) if r.obligation == "own_reads"]
    assert [_text(r) for r in reads] == ["T = 2: (t = 1) reads `y[1]`, which (t = 0) writes"]


def test_reading_its_own_inout_element_is_proved() -> None:
    assert not [r for r in _unsafe(neighbours("inout", shifted=False)) if r.obligation == "own_reads"]


def test_reading_its_own_out_element_is_refuted() -> None:
    reads = [r for r in _unsafe(neighbours("out", shifted=False)) if r.obligation == "reads"]
    assert [_text(r) for r in reads] == ["T = 1: (t = 0) reads `y[1]`, which it also writes"]


def two_grids(*, filled: bool) -> Kernel:
    k = Sketch("T")
    s, y = k.tensor("s", "scratch", "T"), k.tensor("y", "out", "T")
    if filled:
        with k.grid("T") as (t,):
            k.store(s, t)
    with k.grid("T") as (t,):
        k.load(s, t)
        k.store(y, t)
    return k.done()


def test_reading_scratch_that_an_earlier_grid_filled_is_proved() -> None:
    assert not _unsafe(two_grids(filled=True))


def test_reading_scratch_that_nothing_filled_is_refuted() -> None:
    assert [(_text(r), r.tensor) for r in _unsafe(two_grids(filled=False))] == [("T = 1: no store writes `s[0]`", "s")]


def test_run_time_scalar_as_an_index_is_refuted_with_its_value() -> None:
    k = Sketch("T")
    i, x, y = k.scalar("i"), k.tensor("x", "in", "T"), k.tensor("y", "out", "T")
    with k.grid("T") as (t,):
        k.load(x, i)
        k.store(y, t)
    assert [_text(r) for r in _unsafe(k.done())] == ["T = 1, i = 1: `x[i]` reads index 1 of extent 1 at t = 0"]


def test_loaded_index_is_unproved_not_refuted() -> None:
    k = Sketch("T")
    ids, x, y = k.tensor("ids", "in", "T", dtype="i64"), k.tensor("x", "in", "T"), k.tensor("y", "out", "T")
    with k.grid(("T", 1)) as (t,):
        k.load(x, k.load(ids, k.op("ordinal", t)))
        k.store(y, t)
    assert [(r.obligation, r.outcome) for r in _unsafe(k.done())] == [("bounds", "unknown")]


def test_static_size_without_a_number_is_assumed_where_some_number_works() -> None:
    k = Sketch("T", SizeInfo("H", static=True))
    x, y = k.tensor("x", "in", "T", "H"), k.tensor("y", "out", "T")
    with k.grid("T") as (t,):
        k.load(x, t, "0:64")
        k.store(y, t)
    report = prove_kernel(k.done())
    assert not report.unsafe()
    assumed = [r for r in report.records if r.outcome == "assumed"]
    assert [(r.obligation, r.assumptions) for r in assumed] == [("bounds", ("`H` is given at build time",))]


def test_static_size_that_no_number_saves_is_refuted() -> None:
    k = Sketch("T", SizeInfo("H", static=True))
    x, y = k.tensor("x", "in", "T", "H"), k.tensor("y", "out", "T")
    with k.grid("T") as (t,):
        k.load(x, t, "0:H + 1")
        k.store(y, t)
    assert [r.obligation for r in _unsafe(k.done())] == ["bounds"]


@pytest.mark.parametrize(
    ("kernel", "codes"),
    [
        (copy("N", "T", "N"), ["AK301", "AK305"]),
        (picked("o // 2"), ["AK303", "AK305"]),
        (divided("T - 1"), ["AK307"]),
        (neighbours("inout", shifted=True), ["AK314"]),
        (copy("T", "T"), []),
    ],
)
def test_unsafe_records_become_diagnostics_at_their_place(kernel: Kernel, codes: list[str]) -> None:
    found = diagnose(prove_kernel(kernel), "kernel.py")
    assert [d.code for d in found] == codes
    assert all(d.span.file == "kernel.py" and d.span.start[0] >= 1 for d in found)


def test_bounds_message_shows_the_input_that_fails() -> None:
    message = diagnose(prove_kernel(copy("N", "T", "N")), "kernel.py")[0].message
    assert message == "`y[t]` reaches past the edge of `y`: T = 1, N = 0: writes index 0 of extent 0"
