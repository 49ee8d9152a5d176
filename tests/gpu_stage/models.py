"""What the two thread-level kernels must compute, in NumPy: tensor-core products by the model, the rest operation by
operation in the order of the text. Shares no code with the kernels, the printer or the simulator.
"""

from __future__ import annotations

import numpy as np

from agentkern.compiler.ir import reference_math
from agentkern.compiler.ir.reference_formats import decode, encode
from agentkern.compiler.ir.reference_products import dot

BLOCK = 128
POWERS = (0.0013333558, 0.009618129, 0.05550411, 0.24022651, 0.6931472, 1.0)
Raw = np.ndarray


def product(a: Raw, b: Raw) -> Raw:
    """c (M, N) bf16 = a (M, K) times b (N, K) transposed: ascending k in steps of 64, absent elements zero."""
    k = -(-a.shape[1] // 64) * 64
    wide_a, wide_b = (np.pad(x, ((0, 0), (0, k - x.shape[1]))) for x in (a, b))
    acc = dot(wide_a, wide_b.T, np.zeros((len(a), len(b)), np.float32), "bf16")
    return encode("bf16", acc)


def exp2(x: Raw) -> Raw:
    """2**x as the text spells it: nearest integer by a large addend, a polynomial of the rest, 0 below -126."""
    add, sub, fma = reference_math.add, reference_math.sub, reference_math.fma
    magic = np.float32(12582912.0)
    shifted = add("f32", x, magic)
    rest = sub("f32", x, sub("f32", shifted, magic))
    power = np.broadcast_to(np.float32(POWERS[0]), x.shape)
    for coefficient in POWERS[1:]:
        power = fma("f32", power, rest, np.float32(coefficient))
    bits = power.view(np.uint32) + (shifted.view(np.uint32) << np.uint32(23))
    return np.where(x < -126.0, np.float32(0.0), bits.view(np.float32))


def _across(values: Raw, combine: str) -> Raw:
    """Combine (rows, 4) partial results of a row's four lanes as two exchanges do: neighbours, then pairs."""
    function = getattr(reference_math, combine)
    pairs = function("f32", values[:, 0::2], values[:, 1::2])
    return function("f32", pairs[:, 0], pairs[:, 1])


def _lanes(scores: Raw) -> Raw:
    """(rows, 128) as (rows, 4 lanes, 32 in the order of a lane's registers)."""
    return scores.reshape(len(scores), 16, 4, 2).transpose(0, 2, 1, 3).reshape(len(scores), 4, 32)


def _in_turn(values: Raw, start: Raw, combine: str) -> Raw:
    """Take the last axis one after the other."""
    function, total = getattr(reference_math, combine), start
    for number in range(values.shape[-1]):
        total = function("f32", total, values[..., number])
    return total


def attention(q: Raw, k: Raw, v: Raw, scale: float) -> Raw:
    """o (M, 128) bf16: softmax(q k^T in units of ln 2 times `scale`) v, keys in blocks of 128, rescaled at each."""
    add, sub, mul = reference_math.add, reference_math.sub, reference_math.mul
    rows, factor = len(q), np.float32(scale)
    top = np.full((rows,), -np.inf, np.float32)
    total = np.zeros((rows, 4), np.float32)
    acc = np.zeros((rows, BLOCK), np.float32)
    for first in range(0, len(k), BLOCK):
        keys, values = (np.pad(x[first : first + BLOCK], ((0, max(0, first + BLOCK - len(k))), (0, 0))) for x in (k, v))
        scores = dot(q, keys.T, np.zeros((rows, BLOCK), np.float32), "bf16")
        scores[:, max(0, len(k) - first) :] = -np.inf
        start = np.broadcast_to(top[:, None], (rows, 4))
        new = _across(_in_turn(_lanes(scores), start, "maximum"), "maximum")
        offset = mul("f32", new, factor)
        weights = exp2(sub("f32", mul("f32", scores, factor), np.broadcast_to(offset[:, None], scores.shape)))
        part = _in_turn(_lanes(weights), np.zeros((rows, 4), np.float32), "add")
        rescale = exp2(sub("f32", mul("f32", top, factor), offset))
        total = add("f32", mul("f32", total, np.broadcast_to(rescale[:, None], total.shape)), part)
        acc = mul("f32", acc, np.broadcast_to(rescale[:, None], acc.shape))
        acc = dot(encode("bf16", weights), values, acc, "bf16")
        top = new
    whole = _across(total, "add")
    return encode("bf16", reference_math.div("f32", acc, np.broadcast_to(whole[:, None], acc.shape)))


def as_f32(raw: Raw) -> Raw:
    """bf16 codes as numbers."""
    return decode("bf16", raw)
