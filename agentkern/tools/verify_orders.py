"""What can be asked of a kernel whose float sums round in the order of threads: bits where every order gives them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from agentkern.compiler.abi import TensorParam
from agentkern.compiler.ir.interpreter_orders import ANY_NAN, OPEN, Orders
from agentkern.compiler.ir.reference_formats import Raw, decode
from agentkern.tools.results import Mismatch
from agentkern.tools.verify_buffers import poison
from agentkern.tools.verify_compare import as_bits, describe
from agentkern.tools.verify_model import Arrays

ROUNDS = "every sum rounds on inputs of this kind"


def settled(got: Arrays, want: Arrays, orders: Orders) -> Arrays:
    """Return outputs with what any order may change replaced by what is wanted; a NaN counts as any other there."""
    if orders.spread:
        return want
    found: dict[str, Raw] = dict(got)
    for name in orders.states.keys() & got.keys():
        states = orders.states[name]
        free = (states == OPEN) | ((states == ANY_NAN) & _is_nan(got[name]))
        bits = np.where(free, as_bits(want[name]), as_bits(got[name]))
        found[name] = bits.view(got[name].dtype)
    return found


def _is_nan(raw: Raw) -> Raw:
    """Whether elements are NaN, whichever float of the width they are: sums are of f16, bf16, f32 or f64."""
    if raw.dtype.kind == "f":
        return np.isnan(raw)
    return np.isnan(decode("bf16", raw)) if raw.dtype == np.uint16 else np.zeros(raw.shape, np.bool_)


def count_open(outputs: Sequence[TensorParam], answers: Sequence[tuple[Arrays, Orders]]) -> tuple[int, int]:
    """Return how many output elements depend on the order of threads, and how many there are."""
    n_open, n_elems = 0, 0
    for want, orders in answers:
        for param in outputs:
            states, size = orders.states.get(param.name), want[param.name].size
            n_elems += size
            n_open += size if orders.spread else 0 if states is None else int((states == OPEN).sum())
    return n_open, n_elems


def still_poisoned(params: Sequence[TensorParam], runs: Sequence[Arrays]) -> Mismatch | None:
    """Return the first element that holds the poison of its run in both runs: it was not written."""
    for param in params:
        shape = runs[0][param.name].shape
        kept = np.ones(shape, np.bool_)
        for which, outputs in enumerate(runs):
            kept &= as_bits(outputs[param.name]) == as_bits(poison(param.dtype, shape, which))
        if kept.any():
            return describe(param, runs[0], runs[1], int(np.argmax(kept)))
    return None
