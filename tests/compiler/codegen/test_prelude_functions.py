"""The printed f32 functions against the interpreter's evaluation of their definitions, and their recorded scans."""

import hashlib
import json
from pathlib import Path

import numpy as np
import pytest

from agentkern.compiler.codegen.prelude import PRELUDE, prelude_text
from agentkern.compiler.codegen.prelude.functions import FUNCTIONS as ROWS
from agentkern.compiler.codegen.prelude.functions import USUAL_FORMS, function_name
from agentkern.compiler.codegen.usual_forms import definition_function, form_functions
from agentkern.compiler.ir.function_coefficients import CONSTANTS, POLYNOMIALS, WORDS
from agentkern.compiler.ir.function_table import DEFINITIONS, FUNCTIONS
from agentkern.compiler.ir.function_usual import USUAL
from agentkern.compiler.ir.reference_formats import decode
from agentkern.compiler.ir.reference_functions import evaluate, unary_function
from evals.functions import fit as generator
from evals.functions.scan_usual import text_digest
from tests.compiler.codegen.host_prelude import HostPrelude, same_bits, sampled_floats

ROOT = Path(__file__).parents[3]
RESULTS = ROOT / "evals" / "functions" / "results"


@pytest.fixture(scope="module")
def host(tmp_path_factory) -> HostPrelude:
    return HostPrelude.build(
        [*ROWS, *USUAL_FORMS, PRELUDE["ak_div_row_rcp"], PRELUDE["ak_div_row_f32"]],
        tmp_path_factory.mktemp("functions"),
    )


@pytest.mark.toolchain
@pytest.mark.parametrize("name", FUNCTIONS)
def test_printed_function_has_the_bits_of_its_definition(host, name):
    rng = np.random.default_rng(11)
    near = np.concatenate([rng.uniform(-1, 1, 50000), rng.uniform(-20, 20, 50000), rng.uniform(-110, 100, 50000)])
    x = np.concatenate([sampled_floats()[::5], near.astype(np.float32)])
    assert same_bits(host(function_name(name), x), evaluate(name, x))


@pytest.mark.toolchain
@pytest.mark.parametrize("dtype", ["f16", "bf16"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_16_bit_input_has_the_bits_of_the_reference(host, name, dtype):
    codes = np.arange(1 << 16, dtype=np.uint16)
    raw = codes.view(np.float16) if dtype == "f16" else codes
    narrow = host_narrow(dtype, host(function_name(name), decode(dtype, raw)))
    assert (narrow == np.asarray(unary_function(name)(dtype, raw)).view(np.uint16)).all()


@pytest.mark.toolchain
@pytest.mark.parametrize("name", [name for name in USUAL if name != "divide_by"])
def test_a_form_has_the_bits_of_its_definition_where_it_holds(host, name):
    rng = np.random.default_rng(12)
    x = np.concatenate([sampled_floats()[::3], rng.uniform(-160, 130, 60000).astype(np.float32)])
    before = 0.3
    for value, condition in form_functions(name):
        holds = host(condition, x).astype(bool)
        assert before < holds.mean() < 1
        assert same_bits(host(value, x[holds]), host(definition_function(name), x[holds]))
        before = holds.mean()


@pytest.mark.toolchain
@pytest.mark.parametrize("divisor", [2.0**-126, 0.75, 1.0, 3.0, 1e30, 2.0**126, -7.0, 2.0**127, np.inf, np.nan, 0.0])
def test_a_usual_quotient_has_the_bits_of_the_division_where_it_holds(host, divisor):
    a, b = np.concatenate([sampled_floats()[::3], np.asarray([-0.0, 0.0], np.float32)]), np.asarray(divisor, np.float32)
    y = host("ak_div_row_rcp", b.reshape(1))
    plain, zeros = (host(condition, a, b, y).astype(bool) for _, condition in form_functions("divide_by"))
    is_plain = 2.0**-126 <= abs(divisor) <= 2.0**126
    assert plain.any() == zeros[a == 0].all() == is_plain
    assert not plain[a == 0].any()
    assert (zeros == (plain | ((a == 0) & is_plain))).all()
    for (value, _), holds in zip(form_functions("divide_by"), (plain, zeros), strict=True):
        with np.errstate(all="ignore"):
            assert same_bits(host(value, a[holds], b, y), a[holds] / b)


@pytest.mark.toolchain
@pytest.mark.parametrize("name", ["exp", "exp2"])
def test_what_a_mask_leaves_has_a_wide_form(host, name):
    (_, is_usual), (wide, is_wide) = form_functions(name)
    masked = np.asarray([-np.inf, -3e38, -151.5], np.float32)
    assert not host(is_usual, masked).any()
    assert host(is_wide, masked).astype(bool).all()
    assert (host(wide, masked).view(np.uint32) == 0).all()
    assert not host(is_wide, np.asarray([np.inf, np.nan, 200.0, -100.0], np.float32)[: 4 if name == "exp" else 3]).any()


@pytest.mark.toolchain
@pytest.mark.parametrize("name", [name for name, form in USUAL.items() if form.gives is not None])
def test_results_of_usual_operands_stay_inside_the_bounds_that_a_form_gives(host, name):
    low, high = USUAL[name].gives
    ends = np.float32(56.0 if name == "exp" else 80.0)
    results = host(f"ak_usual_{name}_f32", np.asarray([-ends, ends, 0.0], np.float32))
    outside = np.nextafter(np.asarray([-ends, ends]), np.asarray([-np.inf, np.inf], np.float32)).astype(np.float32)
    assert (host(f"ak_is_usual_{name}_f32", np.asarray([-ends, ends], np.float32)) != 0).all()
    assert not host(f"ak_is_usual_{name}_f32", outside).any()
    assert ((low <= results) & (results <= high)).all()


@pytest.mark.parametrize("name", USUAL)
def test_every_usual_form_has_a_recorded_scan_of_its_present_text(name):
    form = json.loads((RESULTS / "usual" / "forms.json").read_text())["forms"][name]
    assert form["text_sha256"] == text_digest(name)
    assert form["unlike_definition"] == 0
    assert form["usual"] > 1 << 30
    if USUAL[name].wide is not None:
        assert form["wide"]["unlike_definition"] == 0
        assert form["wide"]["usual"] > form["usual"]


LARGEST_ARGUMENTS = {"sigmoid": 60.0, "silu": 60.0, "tanh": 2 * 40.0, "softplus": 87.0}
"""What `exp`'s form is called with at most, where each form that calls it holds."""


def test_the_value_of_a_form_is_called_no_further_than_it_is_right():
    reach = USUAL["exp"].reach
    assert reach is not None
    callers = {name for name, form in USUAL.items() if "usual_exp" in form.value.calls}
    assert callers == set(LARGEST_ARGUMENTS)
    assert max(LARGEST_ARGUMENTS.values()) <= reach
    scanned = json.loads((RESULTS / "usual" / "forms.json").read_text())["forms"]["exp"]["value_alone"]
    assert (scanned["up_to"], scanned["unlike_definition"]) == (reach, 0)


@pytest.mark.toolchain
@pytest.mark.parametrize("name", [name for name, form in USUAL.items() if form.reach is not None])
def test_the_value_of_a_form_alone_has_the_bits_of_its_definition_as_far_as_it_reaches(host, name):
    reach = np.float32(USUAL[name].reach)
    x = np.random.default_rng(13).uniform(-reach, reach, 200000).astype(np.float32)
    x = np.concatenate([x, np.asarray([-reach, reach, 0.0, -0.0], np.float32)])
    usual, _ = form_functions(name)[0]
    assert same_bits(host(usual, x), host(definition_function(name), x))


def host_narrow(dtype: str, x: np.ndarray) -> np.ndarray:
    """Round to nearest even on bits, written apart from the reference."""
    if dtype == "f16":
        with np.errstate(over="ignore"):
            half = x.astype(np.float16).view(np.uint16)
        return np.where(np.isnan(x), np.uint16(0x7FFF), half)
    bits = x.view(np.uint32).astype(np.uint64)
    rounded = (bits + 0x7FFF + (bits >> np.uint64(16) & np.uint64(1))) >> np.uint64(16)
    return np.where(np.isnan(x), np.uint64(0x7FFF), rounded).astype(np.uint16)


RECORDED = {path.stem for path in RESULTS.glob("*.json")}


def test_every_function_with_a_bound_has_a_recorded_scan():
    assert {name for name in FUNCTIONS if DEFINITIONS[name].bound_ulp is not None} <= RECORDED <= set(FUNCTIONS)


@pytest.mark.parametrize("name", sorted(RECORDED))
def test_recorded_scan_is_of_the_present_text_and_within_its_bound(name):
    result = json.loads((RESULTS / f"{name}.json").read_text())
    text = prelude_text([function_name(name)])
    assert result["text_sha256"] == hashlib.sha256(text.encode()).hexdigest()
    assert (result["inputs"], result["wrong_special"], result["unlike_simulator"]) == (1 << 32, 0, 0)
    assert result.get("unlike_mirror", 0) == 0
    bound = DEFINITIONS[name].bound_ulp
    assert bound is None or result["max_ulp"] < bound


def test_constants_are_what_their_generator_gives():
    assert generator.constants() == CONSTANTS
    assert {"TWO_OVER_PI_BITS": tuple(generator.two_over_pi_words())} == WORDS


@pytest.mark.parametrize("row", generator.FITS, ids=[row.name for row in generator.FITS])
def test_polynomial_is_as_near_as_its_generator_comes(row):
    """Not bit by bit: which of two equally good polynomials comes out depends on the linear algebra library."""
    found, error = generator.fit(row)
    stored = POLYNOMIALS[row.name]
    assert len(stored) == len(found)
    assert generator.largest_error(row, stored) <= 1.05 * error
