"""Twelve bits at a time from the words' bits in order, the most significant first."""

import numpy as np


def outputs(inputs: dict[str, np.ndarray], sizes: dict[str, int]) -> dict[str, np.ndarray]:
    words = inputs["x"]
    bits = np.unpackbits(words.astype(">u4").view(np.uint8).reshape(*words.shape[:2], 12), axis=2)
    groups = bits.reshape(len(words), words.shape[1] * 8, 12).astype(np.uint16) << np.arange(15, 3, -1, dtype=np.uint16)
    with np.errstate(invalid="ignore"):
        scaled = groups.sum(axis=2, dtype=np.uint16).view(np.float16).astype(np.float32) * inputs["sf"][:, None]
    whole = scaled.view(np.uint32).astype(np.uint64)
    rounded = ((whole + 0x7FFF + ((whole >> 16) & 1)) >> 16).astype(np.uint16)
    return {"y": np.where(np.isnan(scaled), np.uint16(0x7FFF), rounded)}
