"""Sizes that verify chooses, and which size makes independent rows."""

from __future__ import annotations

import pytest

from agentkern.compiler.frontend import lower_source
from agentkern.compiler.ir.core import SizeInfo
from agentkern.compiler.ir.parser import parse_kernel
from agentkern.tools.verify_cases import Plan, batch_size_name, elements, make_case, plan_sizes
from agentkern.tools.verify_model import signature_of
from tests.compiler.ir.tile_kernels import PER_TOKEN_CAST, RMS_NORM, VECTOR_ADD

ROWS = parse_kernel(RMS_NORM)


def plan_of(given: dict[str, int], level: str = "quick", **options: object) -> Plan:
    return plan_sizes(ROWS, ROWS.sizes, given, level, (8,), **options)


def test_shapes_hold_nothing_one_odd_prime_both_sides_of_a_block_and_more_than_the_base() -> None:
    plan = plan_of({"H": 64})
    rows = {sizes["T"] for sizes in plan.shapes}
    assert {0, 1, 7, 131, 9, 2 * plan.base["T"] + 1} <= rows
    assert all(sizes["H"] == 64 for sizes in plan.shapes)


def test_static_sizes_vary_in_builds_of_their_own() -> None:
    assert {sizes["H"] for sizes in plan_of({"H": 64}).static_shapes} == {131}
    assert {0, 1, 576, 8200} <= {sizes["H"] for sizes in plan_of({"H": 64}, "full").static_shapes}


def test_a_given_run_time_size_is_the_base_and_the_small_case_stays_small() -> None:
    plan = plan_of({"H": 64, "T": 100})
    assert plan.base["T"] == 100
    assert plan.small["T"] == 3
    assert plan.note == ""


def test_a_given_size_that_is_too_large_to_run_is_cut_and_said() -> None:
    plan = plan_of({"H": 7168, "T": 8192}, most_elems=1 << 20)
    assert elements(ROWS, plan.base) <= 1 << 20
    assert plan.note == f"T = {plan.base['T']} for the 8192 given"


def test_promises_about_sizes_are_kept() -> None:
    sizes = (SizeInfo("T", multiple_of=16, minimum=32, maximum=64), SizeInfo("H", static=True))
    plan = plan_sizes(ROWS, sizes, {"H": 64}, "quick", (), None)
    rows = {sizes["T"] for sizes in (plan.base, plan.small, *plan.shapes)}
    assert all(n % 16 == 0 and n >= 32 for n in rows)


@pytest.mark.parametrize(("text", "name"), [(VECTOR_ADD, "N"), (RMS_NORM, "T"), (PER_TOKEN_CAST, "T")])
def test_rows_are_independent_where_every_access_goes_by_the_row(text: str, name: str) -> None:
    assert batch_size_name(parse_kernel(text)) == name


def test_rows_are_not_independent_where_one_reads_them_all_or_knows_its_number() -> None:
    weight_per_row = RMS_NORM.replace("%weight: in<bf16, [H]>", "%weight: in<bf16, [T]>")
    whole = weight_per_row.replace("tile<bf16, [H]>", "tile<bf16, [T]>")
    assert batch_size_name(parse_kernel(whole)) is None
    numbered = VECTOR_ADD.replace("    %c = add", "    %k = index(%i) : tile<i64, [%i]>\n    %c = add")
    assert batch_size_name(parse_kernel(numbered)) is None


SCATTER = """\
import agentkern as ak

T, S = ak.dim("T"), ak.dim("S")


@ak.kernel
def put(x: ak.In[ak.f32, T], at: ak.In[ak.i32, T].values(0, S).distinct(), out: ak.InOut[ak.f32, S]):
    for t in ak.grid(T):
        ak.store(out[at[t]], x[t])
"""


def test_rows_that_are_scattered_to_another_tensor_are_not_independent() -> None:
    scatter = lower_source(SCATTER, "kernel.py").kernel
    assert scatter is not None
    assert batch_size_name(scatter) is None
    own = lower_source(SCATTER.replace("out[at[t]]", "out[t]").replace("ak.f32, S]", "ak.f32, T]"), "kernel.py").kernel
    assert own is not None
    assert batch_size_name(own) == "T"


def test_wide_inputs_take_another_scalar_than_the_default() -> None:
    signature = signature_of(ROWS)
    cases = [make_case(signature, kind, {"T": 1, "H": 2}, {}, 0) for kind in ("random", "wide")]
    assert cases[0].call.scalars != cases[1].call.scalars
    given = make_case(signature, "wide", {"T": 1, "H": 2}, {"eps": 0.5}, 0)
    assert given.call.scalars == {"eps": 0.5}
