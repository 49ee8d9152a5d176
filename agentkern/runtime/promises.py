"""What in a call's arrays breaks a promise that the kernel was given about their values."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from agentkern.compiler.analysis.promises import Promise, Promises
from agentkern.compiler.ir import dims
from agentkern.compiler.ir.reference_formats import Raw


def broken_promise(promises: Promises, arrays: Mapping[str, Raw], sizes: Mapping[str, int]) -> tuple[str, str] | None:
    """Return the first tensor that breaks a promise, and how; None if all are kept."""
    for name, promise in promises.items():
        if name in arrays:
            how = _broken(promise, arrays[name].reshape(-1), sizes)
            if how is not None:
                return name, how
    return None


def _broken(promise: Promise, values: Raw, sizes: Mapping[str, int]) -> str | None:
    if promise.low is not None and promise.high is not None:
        low, high = dims.evaluate(promise.low, sizes), dims.evaluate(promise.high, sizes)
        wrong = (values < low) | (values >= high)
        if promise.ignore is not None:
            wrong &= values != promise.ignore
        if wrong.any():
            at = int(np.argmax(wrong))
            return f"value {values[at]} at {at} is not in {low} to {high - 1}"
    if promise.distinct:
        counted = values if promise.ignore_same is None else values[values != promise.ignore_same]
        unique, counts = np.unique(counted, return_counts=True)
        if (counts > 1).any():
            return f"value {unique[counts > 1][0]} occurs twice"
    if promise.end is not None:
        end = dims.evaluate(promise.end, sizes)
        wide = values.astype(np.int64)
        if not wide.size or wide[0] != 0 or wide[-1] != end or (np.diff(wide) < 0).any():
            return f"the offsets do not run from 0 to {end}"
    return None
