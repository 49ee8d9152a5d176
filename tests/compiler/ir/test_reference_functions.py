"""The f32 functions: definitions, values against many digits, special values, every input of narrow types."""

import mpmath
import numpy as np
import pytest

from agentkern.compiler.ir.function_steps import define
from agentkern.compiler.ir.function_table import DEFINITIONS, FUNCTIONS
from agentkern.compiler.ir.reference_formats import decode, encode
from agentkern.compiler.ir.reference_functions import evaluate, unary_function
from evals.functions.scan import EXACT

FAITHFUL = tuple(name for name in FUNCTIONS if DEFINITIONS[name].bound_ulp is not None)
INF, NAN = float("inf"), float("nan")


def bits(values: object) -> list[int]:
    return np.asarray(values, np.float32).view(np.uint32).reshape(-1).tolist()


def ulps(exact: mpmath.mpf, got: float) -> float:
    """Error in units of the last place of the exact value."""
    exponent = max(int(mpmath.floor(mpmath.log(abs(exact), 2))), -126)
    return float(abs(got - exact) / mpmath.mpf(2) ** (exponent - 23))


def test_a_line_with_an_unknown_operation_is_rejected():
    with pytest.raises(ValueError, match="no operation `sine`"):
        define("f", "x", "sin(x)", "y = sine x")


def test_a_name_that_no_line_binds_is_rejected():
    with pytest.raises(ValueError, match="`z` of `y = add x z` is not bound"):
        define("f", "x", "x + z", "y = add x z")


def test_calls_stand_before_their_users():
    seen: set[str] = set()
    for definition in DEFINITIONS.values():
        assert set(definition.calls) <= seen
        seen.add(definition.name)


@pytest.mark.parametrize("name", FAITHFUL)
def test_error_is_below_one_unit_of_the_last_place(name):
    rng = np.random.default_rng(3)
    x = np.concatenate([rng.uniform(-1, 1, 400), rng.uniform(-20, 20, 400), rng.uniform(-100, 88, 400)])
    x = np.concatenate([x, np.exp(rng.uniform(-80, 80, 300))]).astype(np.float32)
    x = x[x > 0] if name in ("log", "log2") else x[x > -1] if name == "log1p" else x
    for given, got in zip(x.tolist(), evaluate(name, x).tolist(), strict=True):
        if got not in (INF, 0.0):
            assert ulps(EXACT[name](mpmath.mpf(given)), got) < DEFINITIONS[name].bound_ulp, given


SPECIAL: dict[str, list[tuple[float, float]]] = {
    "exp": [(0.0, 1), (-0.0, 1), (INF, INF), (-INF, 0), (89, INF), (-103.98, 0), (-103.9, 2.0**-149)],
    "exp2": [(0.0, 1), (-0.0, 1), (INF, INF), (-INF, 0), (127, 2.0**127), (128, INF), (-149, 2.0**-149), (-150, 0), (-126, 2.0**-126), (3, 8)],
    "expm1": [(0.0, 0.0), (-0.0, -0.0), (INF, INF), (-INF, -1), (89, INF), (-30, -1), (2.0**-149, 2.0**-149), (-1e-20, -1e-20)],
    "log": [(0.0, -INF), (-0.0, -INF), (INF, INF), (-INF, NAN), (-1e-30, NAN), (1, 0.0)],
    "log2": [(0.0, -INF), (-0.0, -INF), (INF, INF), (-1, NAN), (1, 0.0), (8, 3), (2.0**-149, -149), (0.5, -1), (2.0**127, 127)],
    "log1p": [(0.0, 0.0), (-0.0, -0.0), (INF, INF), (-1, -INF), (-1.5, NAN), (-INF, NAN), (2.0**-149, 2.0**-149)],
    "tanh": [(0.0, 0.0), (-0.0, -0.0), (INF, 1), (-INF, -1), (2.0**-149, 2.0**-149), (-20, -1)],
    "erf": [(0.0, 0.0), (-0.0, -0.0), (INF, 1), (-INF, -1), (5, 1), (-5, -1)],
    "sin": [(0.0, 0.0), (-0.0, -0.0), (INF, NAN), (-INF, NAN), (2.0**-149, 2.0**-149), (-1e-20, -1e-20)],
    "cos": [(0.0, 1), (-0.0, 1), (INF, NAN), (-INF, NAN), (1e-20, 1)],
    "sigmoid": [(0.0, 0.5), (-0.0, 0.5), (INF, 1), (-INF, 0), (-100, 0), (100, 1)],
    "silu": [(0.0, 0.0), (-0.0, -0.0), (INF, INF), (-INF, NAN), (-100, -0.0), (100, 100)],
    "softplus": [(INF, INF), (-INF, 0.0), (100, 100), (-110, 0.0)],
    "gelu": [(0.0, 0.0), (-0.0, -0.0), (INF, INF), (-INF, NAN), (10, 10), (-10, -0.0)],
    "gelu_tanh": [(0.0, 0.0), (-0.0, -0.0), (INF, INF), (-INF, NAN), (20, 20), (-20, -0.0)],
}  # fmt: skip


@pytest.mark.parametrize("name", FUNCTIONS)
def test_special_values(name):
    given, values = zip(*SPECIAL[name], (NAN, NAN), strict=True)
    got = bits(evaluate(name, np.array(given, np.float32)))
    want = [0x7FFFFFFF if np.isnan(value) else bits([value])[0] for value in values]
    assert list(zip(given, got, strict=True)) == list(zip(given, want, strict=True))


# some next to a multiple of pi / 2, where digits cancel, on both sides of the change of method at 2^16
NEAR_MULTIPLES = [3.1415927, 1.5707964, 45439.996, 177.5, 65536.0, 65535.996, 1e10, -1e22, 3.4028234e38, -2.5e30]


@pytest.mark.parametrize("name", ["sin", "cos"])
def test_large_angles_are_reduced_exactly(name):
    x = np.array([*NEAR_MULTIPLES, *np.exp(np.random.default_rng(9).uniform(4, 88, 500))], np.float32)
    for given, got in zip(x.tolist(), evaluate(name, x).tolist(), strict=True):
        assert ulps(EXACT[name](mpmath.mpf(given)), got) < 1, given


@pytest.mark.parametrize("payload", [0x7F800001, 0x7FC12345, 0xFFFFFFFF])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_nan_becomes_the_canonical_one(name, payload):
    assert bits(evaluate(name, np.array([payload], np.uint32).view(np.float32))) == [0x7FFFFFFF]


@pytest.mark.parametrize("shape", [(0,), (1,), (3, 0, 2), (), (7, 5)])
def test_shape_is_kept(shape):
    assert evaluate("exp", np.ones(shape, np.float32)).shape == shape


@pytest.mark.parametrize("dtype", ["bf16", "f16"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_narrow_input_is_the_f32_result_rounded_once(name, dtype):
    codes = np.arange(1 << 16, dtype=np.uint16)
    x = codes.view(np.float16) if dtype == "f16" else codes
    got = np.asarray(unary_function(name)(dtype, x)).view(np.uint16)
    assert (got == np.asarray(encode(dtype, evaluate(name, decode(dtype, x)))).view(np.uint16)).all()
