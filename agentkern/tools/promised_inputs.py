"""Integer inputs that keep a kernel's promises: values in a range, distinct values, offsets.

Deterministic in the given array, which serves as a source of bits. Every promised value can occur, the ignored one too.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from agentkern.compiler.analysis.promises import Promise, Promises
from agentkern.compiler.ir import dims
from agentkern.compiler.ir.reference_formats import Raw

IGNORED_OF = 4
"""One value in four is the ignored one."""


class ImpossiblePromise(ValueError):
    """No array of this shape keeps the promise."""


def keep_promises(promises: Promises, arrays: Mapping[str, Raw], sizes: Mapping[str, int]) -> dict[str, Raw]:
    """Return the arrays, those with promises made to keep them. Errors: ImpossiblePromise."""
    return {name: kept(promises[name], array, sizes) if name in promises else array for name, array in arrays.items()}


def kept(promise: Promise, array: Raw, sizes: Mapping[str, int]) -> Raw:
    """Return an array of the same shape and type that keeps the promise. Errors: ImpossiblePromise."""
    bits = array.reshape(-1).astype(np.int64)
    if promise.end is not None:
        found = _offsets(bits, dims.evaluate(promise.end, sizes))
    elif promise.low is not None and promise.high is not None:
        low, high = dims.evaluate(promise.low, sizes), dims.evaluate(promise.high, sizes)
        found = _in_range(promise, bits, low, max(high - low, 0))
    elif promise.distinct:
        found = np.argsort(np.argsort(bits, kind="stable"), kind="stable").astype(np.int64)
    else:
        return array
    return found.astype(array.dtype).reshape(array.shape)


def _offsets(bits: Raw, end: int) -> Raw:
    if not bits.size or (bits.size == 1 and end):
        raise ImpossiblePromise(f"{bits.size} offsets that end at {end}")
    found = np.sort(np.abs(bits) % (end + 1))
    found[0], found[-1] = 0, end
    return found


def _in_range(promise: Promise, bits: Raw, low: int, count: int) -> Raw:
    ignored = np.zeros(bits.shape, np.bool_)
    spare = promise.ignore if promise.ignore is not None else None
    if spare is not None:
        ignored = (bits >> 3) % IGNORED_OF == 0 if count else np.ones(bits.shape, np.bool_)
    elif bits.size and not count:
        raise ImpossiblePromise("values of an empty range")
    if not promise.distinct:
        found = low + np.abs(bits % max(count, 1))
        return found if spare is None else np.where(ignored, spare, found)
    ranks = np.argsort(np.argsort(bits, kind="stable"), kind="stable")
    spread = max(count // max(bits.size, 1), 1)
    found = low + ranks * spread
    if bits.size > count:
        twice = promise.ignore_same
        allowed = twice is not None and (twice == spare or low <= twice < low + count)
        if not allowed:
            raise ImpossiblePromise(f"{bits.size} distinct values of {count}")
        ignored = ignored | (ranks >= count)
        spare = twice
    return (
        found
        if spare is None or (promise.ignore_same is None and ignored.sum() > 1)
        else np.where(ignored, spare, found)
    )
