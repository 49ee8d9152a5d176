"""Dropout by Philox4x32-10 on 64-bit integers, every rounding where the definition has it.

Source: Salmon et al. 2011, Parallel Random Numbers: As Easy as 1, 2, 3.
"""

import numpy as np
import torch

MULTIPLIERS = (0xD2511F53, 0xCD9E8D57)
WEYL = (0x9E3779B9, 0xBB67AE85)
LOW = np.uint64(0xFFFFFFFF)


def reference(x: torch.Tensor, seed: int, p: float = 0.1) -> torch.Tensor:
    """Return x (4 * N) with an element 0 where its random number in [0, 1) is below p, else divided by 1 - p."""
    words = _philox(np.arange(len(x) // 4, dtype=np.uint64), seed)
    chance = torch.from_numpy((words.reshape(-1) >> np.uint64(8)).astype(np.float64)) / 2**24
    share = torch.tensor(p, dtype=torch.float32)
    kept = (torch.tensor(1.0) - share).double()
    scaled = (x.double() / kept).float()
    return torch.where(chance >= share.double(), scaled, torch.zeros_like(scaled)).to(x.dtype)


def _philox(counter: np.ndarray, seed: int) -> np.ndarray:
    """Return four 32-bit words (n, 4) for each counter, the key being the seed."""
    c = [counter & LOW, counter >> np.uint64(32), np.zeros_like(counter), np.zeros_like(counter)]
    key = [seed % 2**32, seed >> 32]
    for _ in range(10):
        products = [c[0] * np.uint64(MULTIPLIERS[0]), c[2] * np.uint64(MULTIPLIERS[1])]
        high, low = [v >> np.uint64(32) for v in products], [v & LOW for v in products]
        c = [high[1] ^ c[1] ^ np.uint64(key[0]), low[1], high[0] ^ c[3] ^ np.uint64(key[1]), low[0]]
        key = [(k + w) % 2**32 for k, w in zip(key, WEYL, strict=True)]
    return np.stack(c, axis=1)
