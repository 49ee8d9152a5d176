"""Twelve bits at a time from the words' bits in order, the most significant first."""

import numpy as np
import torch


def reference(x: torch.Tensor, sf: torch.Tensor) -> torch.Tensor:
    """Return the scaled floats (T, 8 W) of x (T, W, 3)."""
    words = x.numpy()
    bits = np.unpackbits(words.astype(">u4").view(np.uint8).reshape(*words.shape[:2], 12), axis=2)
    places = np.arange(15, 3, -1, dtype=np.uint16)
    codes = (bits.reshape(len(words), words.shape[1] * 8, 12).astype(np.uint16) << places).sum(axis=2, dtype=np.uint16)
    with np.errstate(all="ignore"):
        scaled = codes.view(np.float16).astype(np.float32) * sf.numpy()[:, None]
    return torch.from_numpy(scaled).to(torch.bfloat16)


def baseline(x: torch.Tensor, sf: torch.Tensor) -> torch.Tensor:
    """Return the same by shifts of whole words."""
    a, b, c = x.view(torch.int32).unbind(dim=2)
    codes = (
        a >> 20,
        a >> 8,
        (a << 4) | ((b >> 28) & 15),
        b >> 16,
        b >> 4,
        (b << 8) | ((c >> 24) & 255),
        c >> 12,
        c,
    )
    halves = (torch.stack(codes, dim=2) << 4).to(torch.int16).view(torch.float16)
    return (halves.float() * sf[:, None, None]).to(torch.bfloat16).flatten(1)
