"""How near outputs are to a reference's: equal bits, units in the last place, error against float64."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from agentkern.compiler.abi import TensorParam
from agentkern.compiler.ir.reference_formats import FLOATS, decode
from agentkern.tools.results import Mismatch
from agentkern.tools.verify_compare import as_bits, describe, ulp_distances
from agentkern.tools.verify_criterion import Criterion
from agentkern.tools.verify_model import Arrays


@dataclass(frozen=True, slots=True)
class Answer:
    """A reference's outputs for one case, in the kernel's dtypes, and in float64 where the file gives that."""

    outputs: Arrays
    exact: Arrays | None


@dataclass(frozen=True, slots=True)
class Agreement:
    """How near one case's outputs are to the reference's, over all outputs."""

    equal_share: float
    max_ulp: float
    mean_ulp: float
    error_ratio: float | None


def agreement(params: Sequence[TensorParam], got: Arrays, answer: Answer) -> Agreement:
    """Measure how near outputs are to a reference's."""
    distances = np.concatenate(
        [ulp_distances(p.dtype, got[p.name], answer.outputs[p.name]).reshape(-1) for p in params]
    )
    if not distances.size:
        return Agreement(1.0, 0.0, 0.0, None if answer.exact is None else 0.0)
    finite = distances[np.isfinite(distances)]
    mean = float(finite.mean()) if finite.size else 0.0
    return Agreement(float((distances == 0).mean()), float(distances.max()), mean, _error_ratio(params, got, answer))


def _error_ratio(params: Sequence[TensorParam], got: Arrays, answer: Answer) -> float | None:
    """Root mean square error of the outputs over the reference's own; None without float64 values."""
    if answer.exact is None:
        return None
    ours, theirs = 0.0, 0.0
    for param in params:
        if param.dtype.name not in FLOATS:
            continue
        exact = answer.exact[param.name]
        pair = [decode(param.dtype.name, raw[param.name]).astype(np.float64) for raw in (got, answer.outputs)]
        kept = np.isfinite(exact) & np.isfinite(pair[1])
        if not np.isfinite(pair[0][kept]).all():
            return float("inf")
        with np.errstate(over="ignore"):
            ours += float(np.sum((pair[0][kept] - exact[kept]) ** 2))
            theirs += float(np.sum((pair[1][kept] - exact[kept]) ** 2))
    if theirs == 0.0:
        return 1.0 if ours == 0.0 else float("inf")
    return float(np.sqrt(ours / theirs))


def violation(params: Sequence[TensorParam], got: Arrays, answer: Answer, criterion: Criterion) -> Mismatch | None:
    """Return the worst element if the criterion does not hold; where it is bit_exact, the first with other bits."""
    if criterion.kind == "bit_exact":
        return _first_other(params, got, answer.outputs)
    if criterion.max_ulp is None and criterion.min_equal_share is None:
        # nothing but errors of rounding is bounded, and integers have none
        other = _first_other([p for p in params if p.dtype.name not in FLOATS], got, answer.outputs)
        if other is not None:
            return other
    near = agreement(params, got, answer)
    holds = (
        (criterion.max_ulp is None or near.max_ulp <= criterion.max_ulp)
        and near.equal_share >= (criterion.min_equal_share or 0.0)
        and _ratio_holds(near.error_ratio, criterion.max_error_ratio)
    )
    return None if holds else _worst(params, got, answer.outputs)


def _first_other(params: Sequence[TensorParam], got: Arrays, want: Arrays) -> Mismatch | None:
    """Return the first element whose bits are others; any NaN is as good as another, and a zero has its sign."""
    for param in params:
        one, other = got[param.name], want[param.name]
        is_same = as_bits(one) == as_bits(other)
        if param.dtype.name in FLOATS:
            is_same |= np.isnan(decode(param.dtype.name, one)) & np.isnan(decode(param.dtype.name, other))
        if not is_same.all():
            return describe(param, got, want, int(np.argmin(is_same)))
    return None


def _ratio_holds(ratio: float | None, limit: float | None) -> bool:
    return limit is None or (ratio is not None and ratio <= limit)


def _worst(params: Sequence[TensorParam], got: Arrays, want: Arrays) -> Mismatch:
    """Return the element that is farthest from the reference's."""
    distances = {p.name: ulp_distances(p.dtype, got[p.name], want[p.name]).reshape(-1) for p in params}
    filled = [p for p in params if distances[p.name].size]
    param = max(filled, key=lambda p: float(distances[p.name].max()))
    return describe(param, got, want, int(np.argmax(distances[param.name])))
