"""Rankings in float64; what is chosen is judged against them, orders within 1e-6 left free."""

import numpy as np
import torch

NEAR = 1e-6
KEPT = 4


def reference(logits: torch.Tensor, bias: torch.Tensor, K: int, scale: float) -> tuple[torch.Tensor, torch.Tensor]:
    """Return one right choice (T, K) with its weights."""
    score, ranking = rankings(logits, bias)
    allowed, _ = groups(ranking)
    order = np.argsort(-np.where(allowed, ranking, -np.inf), axis=1, kind="stable")[:, :K]
    return torch.from_numpy(np.ascontiguousarray(order)), torch.from_numpy(weights(score, order, scale)).float()


def rankings(logits: torch.Tensor, bias: torch.Tensor) -> tuple[np.ndarray, np.ndarray]:
    """Return scores and rankings (T, E)."""
    score = torch.sigmoid(logits.double()).numpy()
    return score, score + bias.double().numpy()


def groups(ranking: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return which experts' groups stay, and the rows where that is within rounding."""
    ordered = np.sort(ranking.reshape(len(ranking), 8, ranking.shape[1] // 8), axis=2)
    total = ordered[:, :, -1] + ordered[:, :, -2]
    best = np.sort(total, axis=1)[:, ::-1]
    rank = np.argsort(np.argsort(-total, axis=1, kind="stable"), axis=1)
    is_open = best[:, KEPT - 1] - best[:, KEPT] < NEAR
    return np.repeat(rank < KEPT, ranking.shape[1] // 8, axis=1), is_open


def weights(score: np.ndarray, order: np.ndarray, scale: float) -> np.ndarray:
    """Return the weights of chosen experts."""
    chosen = np.take_along_axis(score, order, axis=1)
    return chosen / (1e-20 + chosen.sum(axis=1, keepdims=True)) * np.float64(np.float32(scale))


def check(
    logits: torch.Tensor, bias: torch.Tensor, scale: float, got_index: torch.Tensor, got_weight: torch.Tensor
) -> dict[str, torch.Tensor]:
    """Mark wrong choices and wrong weights."""
    score, ranking = rankings(logits, bias)
    allowed, is_open = groups(ranking)
    order, weight = got_index.numpy(), got_weight.double().numpy()
    is_outside = (order < 0) | (order >= ranking.shape[1])
    safe = np.where(is_outside, 0, order)
    wrong = is_outside | repeated(safe)
    chosen = np.take_along_axis(ranking, safe, axis=1)
    wrong |= ~(np.take_along_axis(allowed, safe, axis=1) | is_open[:, None])
    wrong[:, 1:] |= chosen[:, 1:] > chosen[:, :-1] + NEAR
    rest = np.where(allowed, ranking, -np.inf)
    np.put_along_axis(rest, safe, -np.inf, axis=1)
    missed = rest.max(axis=1, initial=-np.inf) > chosen.min(axis=1) + NEAR
    wrong |= (missed & ~is_open)[:, None]
    want = weights(score, safe, scale)
    far = ~(np.abs(weight - want) <= 16 * 2.0**-23 * np.abs(want))
    return {"index": torch.from_numpy(wrong), "weight": torch.from_numpy(far | wrong)}


def repeated(order: np.ndarray) -> np.ndarray:
    """Mark indices that stand earlier in their row."""
    return np.stack([(order[:, :k] == order[:, k : k + 1]).any(axis=1) for k in range(order.shape[1])], axis=1)


def baseline(
    logits: torch.Tensor, bias: torch.Tensor, scale: float, K: int
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the same by the library's top-k in f32."""
    score = torch.sigmoid(logits)
    ranking = (score + bias).unflatten(1, (8, logits.shape[1] // 8))
    best = ranking.topk(2, dim=2).values.sum(dim=2).topk(KEPT, dim=1).indices
    is_left = torch.ones(len(logits), 8, dtype=torch.bool, device=logits.device).scatter(1, best, False)
    index = ranking.masked_fill(is_left[:, :, None], -torch.inf).flatten(1).topk(K, dim=1).indices
    chosen = score.gather(1, index)
    return index, chosen / (1e-20 + chosen.sum(dim=1, keepdim=True)) * scale
