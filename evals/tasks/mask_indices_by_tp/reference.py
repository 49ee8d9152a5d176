"""The renumbering, one index at a time."""

import torch


def reference(idx: torch.Tensor, per_gpu: int, n_tp: int, per_dp: int, rank: int) -> torch.Tensor:
    """Return the local numbers of idx (T, K), -1 for experts of other ranks."""
    found = [local(v, per_gpu, n_tp, per_dp, rank) for v in idx.flatten().tolist()]
    return torch.tensor(found, dtype=torch.int64).reshape(idx.shape)


def local(v: int, per_gpu: int, n_tp: int, per_dp: int, rank: int) -> int:
    """Return the local number of expert v."""
    if v < 0 or v // per_gpu % n_tp != rank:
        return -1
    u = v - rank * per_gpu
    return u - u // per_dp * (per_dp - per_gpu)


def baseline(idx: torch.Tensor, per_gpu: int, n_tp: int, per_dp: int, rank: int) -> torch.Tensor:
    """Return the local numbers in PyTorch's integers."""
    u = idx - rank * per_gpu
    is_other = (idx < 0) | (idx // per_gpu % n_tp != rank)
    return torch.where(is_other, -1, u - u // per_dp * (per_dp - per_gpu))
