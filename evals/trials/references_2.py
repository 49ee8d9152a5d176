"""What each task of `tasks_2.toml` must compute, as `references.py` does."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

Arrays = Mapping[str, np.ndarray]
Outputs = dict[str, np.ndarray]


def reverse_cumsum(given: Arrays) -> Outputs:
    return {"out": given["x"][:, ::-1].cumsum(axis=1)[:, ::-1]}


def top_experts(given: Arrays, sizes: Mapping[str, int]) -> Outputs:
    order = np.argsort(-given["scores"], axis=1, kind="stable")[:, : sizes["K"]]
    return {"index": order, "value": np.take_along_axis(given["scores"], order, axis=1)}


def expert_histogram(given: Arrays, sizes: Mapping[str, int]) -> Outputs:
    return {"counts": np.bincount(given["idx"][given["idx"] >= 0], minlength=sizes["G"])}


def unique_in_row(given: Arrays) -> Outputs:
    kept = given["idx"].copy()
    for row in kept:
        seen: set[int] = set()
        for at, value in enumerate(row.tolist()):
            row[at] = -1 if value in seen else value
            seen.add(value)
    return {"idx": kept}


def rms_norm_dweight(given: Arrays) -> Outputs:
    return {"dw": (given["dy"] * given["x"] * given["r"][:, None]).sum(axis=0)}


def linear_recurrence(given: Arrays) -> Outputs:
    h, rows = np.zeros(given["a"].shape[1]), []
    for a, b in zip(given["a"], given["b"], strict=True):
        h = a * h + b
        rows.append(h)
    return {"out": np.asarray(rows).reshape(given["a"].shape)}


def scatter_rows(given: Arrays, sizes: Mapping[str, int]) -> Outputs:
    out = np.zeros((sizes["P"], sizes["H"]))
    for row, places in zip(given["x"], given["pos"], strict=True):
        for place in places:
            if place >= 0:
                out[place] = row
    return {"out": out}


def transpose_batches(given: Arrays) -> Outputs:
    return {"out": given["x"].transpose(0, 2, 1)}


def doubly_stochastic(given: Arrays) -> Outputs:
    y = np.exp(given["a"])
    for _ in range(10):
        y = y / y.sum(axis=2, keepdims=True)
        y = y / y.sum(axis=1, keepdims=True)
    return {"y": y}


def ragged_row_sums(given: Arrays) -> Outputs:
    ends = given["offsets"]
    parts = [given["x"][ends[s] : ends[s + 1]].sum(axis=0) for s in range(len(ends) - 1)]
    return {"out": np.asarray(parts).reshape(len(parts), given["x"].shape[1])}


def masked_softmax(given: Arrays) -> Outputs:
    out = np.zeros(given["x"].shape)
    for row, x, n in zip(out, given["x"], given["length"].tolist(), strict=True):
        if n:
            e = np.exp(x[:n] - x[:n].max())
            row[:n] = e / e.sum()
    return {"out": out}


def optional_bias_norm(given: Arrays) -> Outputs:
    x = given["x"]
    centred = x - x.mean(axis=1, keepdims=True)
    return {"out": centred / np.sqrt((centred**2).mean(axis=1, keepdims=True) + 1e-5) * given["weight"] + given["bias"]}


def power_of_two_cast(given: Arrays) -> Outputs:
    groups = given["x"].reshape(len(given["x"]), -1, 32)
    largest = np.maximum(np.abs(groups).max(axis=2), np.float64(np.float32(1e-4)))
    exponent = np.ceil(np.log2(largest / 448))
    scaled = groups / np.exp2(exponent)[:, :, None]
    return {"q": scaled.reshape(given["x"].shape), "sf": (exponent + 127).astype(np.uint8)}


def swiglu_backward(given: Arrays) -> Outputs:
    left, right = np.split(given["x"], 2, axis=1)
    s = 1 / (1 + np.exp(-left))
    return {"dx": np.concatenate([given["da"] * right * s * (1 + left * (1 - s)), given["da"] * left * s], axis=1)}


def average_pool_1d(given: Arrays) -> Outputs:
    padded = np.pad(given["x"], ((2, 2), (0, 0)))
    return {"out": sum(padded[j : j + len(given["x"])] for j in range(5)) / 5}


REFERENCES_2: Mapping[str, Callable[..., Outputs]] = {
    f.__name__: f
    for f in (
        reverse_cumsum, top_experts, expert_histogram, unique_in_row, rms_norm_dweight, linear_recurrence, scatter_rows,
        transpose_batches, doubly_stochastic, ragged_row_sums, masked_softmax, optional_bias_norm, power_of_two_cast,
        swiglu_backward, average_pool_1d,
    )
}  # fmt: skip
