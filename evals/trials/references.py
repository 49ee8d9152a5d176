"""What each task of `tasks.toml` must compute, in NumPy over float64 and integers, from arrays that come widened."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

Arrays = Mapping[str, np.ndarray]
Outputs = dict[str, np.ndarray]


def outer_add(given: Arrays) -> Outputs:
    return {"out": given["a"][:, None] + given["b"][None, :]}


def mul_relu_backward(given: Arrays) -> Outputs:
    product = given["a"] * given["b"]
    return {"da": np.where(product > 0, given["dout"] * given["b"], 0.0)}


def branch_sum(given: Arrays) -> Outputs:
    return {"out": given["x"].sum(axis=1)}


def mask_indices_by_tp(given: Arrays) -> Outputs:
    v, per_gpu, per_dp = given["idx"], int(given["per_gpu"]), int(given["per_dp"])
    rank = int(given["rank"])
    u = v - rank * per_gpu
    local = u - u // per_dp * (per_dp - per_gpu)
    here = (v >= 0) & (v // per_gpu % int(given["n_tp"]) == rank)
    return {"out": np.where(here, local, -1)}


def head_mix(given: Arrays) -> Outputs:
    return {"mix": 1 / (1 + np.exp(-(given["x"] * given["scale"] + given["bias"]))) + given["eps"]}


def fused_add_rms_norm(given: Arrays) -> Outputs:
    total = given["residual"] + given["x"]
    scale = 1 / np.sqrt((total**2).mean(axis=1, keepdims=True) + given["eps"])
    return {"residual": total, "out": total * scale * given["weight"]}


def gemv(given: Arrays) -> Outputs:
    return {"y": given["a"] @ given["x"]}


def row_argmax(given: Arrays) -> Outputs:
    return {"value": given["x"].max(axis=1), "index": given["x"].argmax(axis=1)}


def _per_block(values: np.ndarray, rows: int, columns: int) -> np.ndarray:
    return np.repeat(np.repeat(values, 128, axis=0)[:rows], 128, axis=1)[:, :columns]


def cast_back(given: Arrays) -> Outputs:
    return {"out": given["q"] * _per_block(given["sf"], *given["q"].shape)}


def per_block_cast(given: Arrays) -> Outputs:
    x = given["x"].astype(np.float32)
    rows, columns = x.shape
    padded = np.zeros((-(-rows // 128) * 128, -(-columns // 128) * 128), np.float32)
    padded[:rows, :columns] = np.abs(x)
    blocks = padded.reshape(padded.shape[0] // 128, 128, padded.shape[1] // 128, 128).max(axis=(1, 3))
    largest = np.maximum(blocks, np.float32(1e-4))
    factor = _per_block(np.float32(448) / largest, rows, columns)
    return {"q": (x * factor).astype(np.float64), "sf": (largest / np.float32(448)).astype(np.float64)}


def max_pool(given: Arrays) -> Outputs:
    padded = np.pad(given["x"], ((0, 0), (0, 0), (1, 2), (1, 2)), constant_values=-np.inf)
    rows, columns = ((extent + 1) // 2 for extent in given["x"].shape[2:])
    windows = [padded[:, :, i : i + 2 * rows : 2, j : j + 2 * columns : 2] for i in range(3) for j in range(3)]
    return {"out": np.max(windows, axis=0)}


def moe_unpermute(given: Arrays) -> Outputs:
    pos = given["pos"]
    rows = np.where((pos >= 0)[:, :, None], given["x"][np.maximum(pos, 0)], 0.0)
    return {"out": (rows * given["w"][:, :, None]).sum(axis=1)}


def softmax_weighted_sum(given: Arrays) -> Outputs:
    scores = given["q"][:, None] * given["k"]
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    return {"out": (weights * given["v"]).sum(axis=1) / weights.sum(axis=1)}


def swiglu_cast(given: Arrays) -> Outputs:
    x = given["x"]
    left, right = np.split(x, 2, axis=1)
    act = left / (1 + np.exp(-left)) * right
    groups = act.reshape(len(x), -1, 128)
    largest = np.maximum(np.abs(groups).max(axis=2), 1e-4)
    return {"q": (groups * (448 / largest)[:, :, None]).reshape(act.shape), "sf": largest / 448}


def causal_conv1d(given: Arrays) -> Outputs:
    x, w = given["x"], given["w"]
    padded = np.concatenate([np.zeros((3, x.shape[1])), x])
    total = sum(padded[j : j + len(x)] * w[:, j] for j in range(4))
    return {"out": total / (1 + np.exp(-total))}


REFERENCES: Mapping[str, Callable[[Arrays], Outputs]] = {
    f.__name__: f
    for f in (
        outer_add, mul_relu_backward, branch_sum, mask_indices_by_tp, head_mix, fused_add_rms_norm, gemv, row_argmax,
        cast_back, per_block_cast, max_pool, moe_unpermute, softmax_weighted_sum, swiglu_cast, causal_conv1d,
    )
}  # fmt: skip
