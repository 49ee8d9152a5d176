"""The printed f32 functions against the interpreter's evaluation of their definitions, and their recorded scans."""

import hashlib
import json
from pathlib import Path

import numpy as np
import pytest

from agentkern.compiler.codegen.prelude import prelude_text
from agentkern.compiler.codegen.prelude.functions import FUNCTIONS as ROWS
from agentkern.compiler.codegen.prelude.functions import function_name
from agentkern.compiler.ir.function_coefficients import CONSTANTS, POLYNOMIALS, WORDS
from agentkern.compiler.ir.function_table import DEFINITIONS, FUNCTIONS
from agentkern.compiler.ir.reference_formats import decode
from agentkern.compiler.ir.reference_functions import evaluate, unary_function
from evals.functions import fit as generator
from tests.compiler.codegen.host_prelude import HostPrelude, same_bits, sampled_floats

ROOT = Path(__file__).parents[3]
RESULTS = ROOT / "evals" / "functions" / "results"


@pytest.fixture(scope="module")
def host(tmp_path_factory) -> HostPrelude:
    return HostPrelude.build(ROWS, tmp_path_factory.mktemp("functions"))


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
