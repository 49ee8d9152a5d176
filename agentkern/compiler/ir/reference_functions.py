"""The f32 functions of the `portable` mode in NumPy: evaluates `function_table.py` step by step.

Narrow floats are widened to float32 and the result is rounded once. Shares no code with the printed text of the same
definitions and must not import it.
"""

from collections.abc import Callable

import numpy as np

from agentkern.compiler.ir.function_coefficients import POLYNOMIALS, WORDS
from agentkern.compiler.ir.function_steps import Definition, Step
from agentkern.compiler.ir.function_table import DEFINITIONS
from agentkern.compiler.ir.reference_formats import Raw, canonical_nan, decode, encode, in_pieces
from agentkern.compiler.ir.reference_math import fma_f32

_TINY = float(np.finfo(np.float32).tiny)


def _fma(a: Raw, b: Raw, c: Raw) -> Raw:
    """Return a * b + c of float32 values, rounded once.

    The product is exact in float64. Rounding the float64 sum again goes wrong only where that sum is the middle of
    two float32 values, or below the normal range; those elements go to the exact routine.
    """
    total = np.asarray(np.multiply(a, b, dtype=np.float64) + c)
    result = np.asarray(total.astype(np.float32))
    middle = (total.view(np.int64) & 0x1FFFFFFF) == 0x10000000
    doubtful = middle | ((np.abs(total) < 2 * _TINY) & (total != 0))
    if doubtful.any():
        x, y, z = (np.broadcast_to(v, total.shape)[doubtful] for v in (a, b, c))
        result[doubtful] = fma_f32(x, y, z)
    return result


def _max(a: Raw, b: Raw) -> Raw:
    larger = np.maximum(a, b)
    return np.where((a == 0) & (b == 0), np.add(a, b), larger)


def _bits(x: Raw) -> Raw:
    return canonical_nan(np.asarray(x, np.float32)).view(np.uint32)


def _arithmetic_shift(x: Raw, count: Raw) -> Raw:
    return (np.asarray(x).view(np.int32) >> np.asarray(count).astype(np.int32)).view(np.uint32)


def _wide(x: Raw) -> Raw:
    return np.asarray(x).astype(np.uint64)


_OPERATIONS: dict[str, Callable[..., Raw]] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": np.divide,
    "usual_div": np.divide,
    "fma": _fma,
    "fms": lambda a, b, c: _fma(a, b, -c),
    "fnma": lambda a, b, c: _fma(-a, b, c),
    "max": _max,
    "min": lambda a, b: -_max(-a, -b),
    "abs": np.abs,
    "neg": np.negative,
    "copysign": np.copysign,
    "select": np.where,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
    "eq": np.equal,
    "u_ge": np.greater_equal,
    "both": np.logical_and,
    "either": np.logical_or,
    "bits": _bits,
    "float_of": lambda u: np.asarray(u).view(np.float32),
    "u_add": np.add,
    "u_sub": np.subtract,
    "u_shl": np.left_shift,
    "u_shr": np.right_shift,
    "u_sar": _arithmetic_shift,
    "u_and": np.bitwise_and,
    "u_or": np.bitwise_or,
    "w_join": lambda high, low: (_wide(high) << np.uint64(32)) | low,
    "w_mul": lambda a, b: _wide(a) * b,
    "w_add": np.add,
    "w_sub": np.subtract,
    "w_shl": lambda a, count: a << _wide(count),
    "w_shr": lambda a, count: a >> _wide(count),
    "w_high": lambda a: (a >> np.uint64(32)).astype(np.uint32),
    "w_round": lambda a: a.view(np.int64).astype(np.float32),
    "w_whole": lambda x: x.astype(np.int64).view(np.uint64),
}


def _horner(x: Raw, coefficients: tuple[float, ...]) -> Raw:
    total = np.asarray(coefficients[-1], np.float32)
    for coefficient in reversed(coefficients[:-1]):
        total = _fma(total, x, np.asarray(coefficient, np.float32))
    return total


def _operand(values: dict[str, Raw], operand: str | float | int) -> Raw:
    if isinstance(operand, str):
        return values[operand]
    return np.asarray(operand, np.uint32 if isinstance(operand, int) else np.float32)


def _step(step: Step, values: dict[str, Raw]) -> Raw:
    if step.op == "horner":
        return _horner(_operand(values, step.operands[0]), POLYNOMIALS[str(step.operands[1])])
    if step.op == "pick":
        return np.asarray(WORDS[str(step.operands[0])], np.uint32)[_operand(values, step.operands[1])]
    if step.op == "call":
        given = [_operand(values, operand) for operand in step.operands[1:]]
        return _run(DEFINITIONS[str(step.operands[0])], given)
    if step.op == "choose":
        condition, otherwise = (_operand(values, operand) for operand in step.operands[:2])
        if not condition.any():
            return otherwise
        given = [_operand(values, operand)[condition] for operand in step.operands[3:]]
        result = otherwise.copy()
        result[condition] = _run(DEFINITIONS[str(step.operands[2])], given)
        return result
    return np.asarray(_OPERATIONS[step.op](*(_operand(values, operand) for operand in step.operands)))


def _run(definition: Definition, given: list[Raw]) -> Raw:
    values = dict(zip(definition.parameters, given, strict=True))
    for step in definition.steps:
        values[step.name] = _step(step, values)
    return values[definition.steps[-1].name]


def evaluate(name: str, x: Raw) -> Raw:
    """Return a function of float32 values of any shape; every NaN is canonical. Errors: KeyError for no function."""
    definition = DEFINITIONS[name]
    with np.errstate(all="ignore"):
        return in_pieces(lambda piece: canonical_nan(_run(definition, [piece])), np.float32, np.asarray(x))


def unary_function(name: str) -> Callable[[str, Raw], Raw]:
    """Return a function of a dtype's name and raw storage."""
    return lambda dtype, x: encode(dtype, evaluate(name, decode(dtype, x)))
