"""Tensor-core products bit for bit, in NumPy: instruction steps over k as measured on compute capability 9.0.

One step adds the products of a k-step to the accumulator. The largest exponent among nonzero products (the sum of the
operands' exponents) and the accumulator is found; every addend is truncated toward zero to `fraction_bits` below it;
the sum is exact; the result is truncated toward zero to `result_bits` fraction bits. A subnormal counts with its
format's least exponent, a zero never counts, a zero result is +0, NaN is 0x7FFFFFFF. Shares nothing with the simulator.

Source: evals/probes (products.cu; 47 million outputs of each format).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.generic]
Integers = NDArray[np.int64]

_NO_EXPONENT = -(1 << 20)
_F32_FRACTION, _F32_LEAST, _F32_LARGEST = 23, -126, 127
_NAN, _INFINITY, _SIGN = 0x7FFFFFFF, 0x7F800000, 0x80000000


@dataclass(frozen=True, slots=True)
class ProductOperand:
    """Storage of one operand: a float format (bits dropped at the low end before all else), or an integer."""

    name: str
    storage: type[np.generic]
    exponent_bits: int = 0
    fraction_bits: int = 0
    dropped_bits: int = 0
    has_infinity: bool = True


@dataclass(frozen=True, slots=True)
class ProductModel:
    """How a step of one kind of operand computes."""

    k_step: int
    fraction_bits: int
    result_bits: int


OPERANDS: dict[str, ProductOperand] = {
    operand.name: operand
    for operand in (
        ProductOperand("bf16", np.uint16, 8, 7),
        ProductOperand("f16", np.uint16, 5, 10),
        ProductOperand("tf32", np.uint32, 8, 10, dropped_bits=13),
        ProductOperand("e4m3", np.uint8, 4, 3, has_infinity=False),
        ProductOperand("e5m2", np.uint8, 5, 2),
        ProductOperand("s8", np.int8),
        ProductOperand("u8", np.uint8),
    )
}
MODELS: dict[str, ProductModel] = {
    "bf16": ProductModel(16, 25, 23),
    "f16": ProductModel(16, 25, 23),
    "tf32": ProductModel(8, 25, 23),
    "e4m3": ProductModel(32, 13, 13),
    "e5m2": ProductModel(32, 13, 13),
    "s8": ProductModel(32, 0, 0),
    "u8": ProductModel(32, 0, 0),
}
"""By operand; 8-bit floats as `wgmma` computes them."""


@dataclass(frozen=True, slots=True)
class _Numbers:
    """value = significand * 2^(exponent - fraction_bits); `exponent` is low where the value is zero."""

    significand: Integers
    exponent: Integers
    negative: NDArray[np.bool_]
    infinite: NDArray[np.bool_]
    nan: NDArray[np.bool_]


def dot(a: Array, b: Array, accumulator: Array, a_operand: str, b_operand: str | None = None) -> Array:
    """Return accumulator + a @ b in k-steps in ascending order; a shorter last step is filled with zeros.

    a: storage (m, k). b: storage (k, n). accumulator and result: f32 (m, n), for integer operands i32.
    """
    b_operand = b_operand or a_operand
    model = MODELS[a_operand]
    if OPERANDS[a_operand].exponent_bits == 0:
        total = accumulator.astype(np.int64) + a.astype(np.int64) @ b.astype(np.int64)
        return total.astype(np.uint64).astype(np.uint32).view(np.int32)
    bits = np.ascontiguousarray(accumulator, np.float32).view(np.uint32).astype(np.int64)
    for start in range(0, a.shape[1], model.k_step):
        stop = start + model.k_step
        left = _decoded(a[:, start:stop], OPERANDS[a_operand])
        right = _decoded(b[start:stop], OPERANDS[b_operand])
        fraction = OPERANDS[a_operand].fraction_bits + OPERANDS[b_operand].fraction_bits
        bits = _step(left, right, bits, fraction, model)
    return bits.astype(np.uint32).view(np.float32)


def _decoded(codes: Array, operand: ProductOperand) -> _Numbers:
    code = codes.view(np.dtype(operand.storage)).astype(np.int64) >> operand.dropped_bits
    width, top = operand.fraction_bits, (1 << operand.exponent_bits) - 1
    bias = (1 << (operand.exponent_bits - 1)) - 1
    field, fraction = code >> width & top, code & ((1 << width) - 1)
    significand = np.where(field == 0, fraction, fraction | 1 << width)
    exponent = np.where(significand == 0, _NO_EXPONENT, np.maximum(field, 1) - bias)
    if operand.has_infinity:
        infinite, nan = (field == top) & (fraction == 0), (field == top) & (fraction != 0)
    else:
        infinite, nan = np.zeros(code.shape, np.bool_), (field == top) & (fraction == (1 << width) - 1)
    negative = (code >> (width + operand.exponent_bits) & 1) == 1
    return _Numbers(significand, exponent, negative, infinite, nan)


def _step(a: _Numbers, b: _Numbers, accumulator: Integers, fraction: int, model: ProductModel) -> Integers:
    """`accumulator` and the result: f32 bits (m, n); `fraction`: fraction bits of a product.

    Goes over k one by one, so that a step needs no arrays larger than the result; aligned products fit 32 bits.
    """
    c = _decoded(accumulator.astype(np.uint32), ProductOperand("f32", np.uint32, 8, _F32_FRACTION))
    a_exponent, b_exponent = a.exponent.astype(np.int32), b.exponent.astype(np.int32)
    a_signed, b_signed = (np.where(x.negative, -x.significand, x.significand).astype(np.int32) for x in (a, b))
    exponents = [a_exponent[:, k, None] + b_exponent[k] for k in range(a_exponent.shape[1])]
    largest = c.exponent.astype(np.int32)
    for exponent in exponents:
        largest = np.maximum(largest, exponent)
    addend = _aligned(c.significand, model.fraction_bits - _F32_FRACTION - (largest - c.exponent))
    total = np.where(c.negative, -addend, addend)
    for k, exponent in enumerate(exponents):
        product = a_signed[:, k, None] * b_signed[k]
        size = np.abs(product) << (model.fraction_bits - fraction)
        aligned = size >> np.minimum(largest - exponent, 31)
        sign = product >> 31
        total += (aligned ^ sign) - sign
    result = _to_f32(total, largest.astype(np.int64) - model.fraction_bits, model.result_bits)
    specials = (a.infinite | a.nan).any() or (b.infinite | b.nan).any() or (c.infinite | c.nan).any()
    return _with_specials(result, a, b, c) if specials else result


def _aligned(size: Integers, left: Integers) -> Integers:
    """`size` * 2^left, truncated."""
    return np.where(left >= 0, size << np.clip(left, 0, 38), size >> np.clip(-left, 0, 62))


def _to_f32(total: Integers, scale: Integers, result_bits: int) -> Integers:
    """Bits of total * 2^scale, truncated toward zero to `result_bits` fraction bits."""
    size = np.abs(total)
    exponent = np.frexp(size.astype(np.float64))[1] - 1 + scale  # sums are below 2^53
    least = np.maximum(exponent, _F32_LEAST)
    kept = _aligned(size, scale - (least - result_bits))
    fraction = kept << (_F32_FRACTION - result_bits)
    hidden = 1 << _F32_FRACTION
    normal = ((exponent + 127) << _F32_FRACTION) + (fraction - hidden)
    magnitude = np.where(exponent < _F32_LEAST, fraction, np.where(exponent > _F32_LARGEST, _INFINITY, normal))
    return np.where(magnitude == 0, 0, magnitude | np.where(total < 0, _SIGN, 0)) * (size != 0)


def _with_specials(result: Integers, a: _Numbers, b: _Numbers, c: _Numbers) -> Integers:
    a_infinite, b_infinite = a.infinite[:, :, None], b.infinite[None]
    a_zero = (a.significand == 0)[:, :, None] & ~a_infinite
    b_zero = (b.significand == 0)[None] & ~b_infinite
    infinite = a_infinite | b_infinite
    negative = a.negative[:, :, None] != b.negative[None]
    nan = (a.nan[:, :, None] | b.nan[None] | (a_infinite & b_zero) | (b_infinite & a_zero)).any(axis=1) | c.nan
    plus = (infinite & ~negative).any(axis=1) | (c.infinite & ~c.negative)
    minus = (infinite & negative).any(axis=1) | (c.infinite & c.negative)
    result = np.where(plus, _INFINITY, np.where(minus, _INFINITY | _SIGN, result))
    return np.where(nan | (plus & minus), _NAN, result)
