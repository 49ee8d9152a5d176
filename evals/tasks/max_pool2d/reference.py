"""Window by window over a padded copy, in NumPy."""

import numpy as np
import torch
from torch.nn import functional


def reference(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the largest elements of the windows of x (N, C, Y, X) and their places."""
    images = x.numpy().astype(np.float32)
    count, channels, height, width = images.shape
    padded = np.pad(images, ((0, 0), (0, 0), (1, 2), (1, 2)), constant_values=-np.inf)
    shape = (count, channels, (height + 1) // 2, (width + 1) // 2)
    best, place = np.full(shape, -np.inf, np.float32), np.zeros(shape, np.int64)
    for i in range(shape[2]):
        for j in range(shape[3]):
            window = padded[:, :, 2 * i : 2 * i + 3, 2 * j : 2 * j + 3].reshape(count, channels, 9)
            first = window.argmax(axis=2)
            best[:, :, i, j] = window.max(axis=2)
            place[:, :, i, j] = (2 * i - 1 + first // 3) * width + 2 * j - 1 + first % 3
    return torch.from_numpy(best).half(), torch.from_numpy(place)


def baseline(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the same by the library's own function."""
    return functional.max_pool2d(x, 3, stride=2, padding=1, return_indices=True)
