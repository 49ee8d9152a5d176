"""Keys and values copied to their slots, one token at a time."""

import torch

Pair = tuple[torch.Tensor, torch.Tensor]


def reference(
    keys: torch.Tensor, values: torch.Tensor, slots: torch.Tensor, key_cache: torch.Tensor, value_cache: torch.Tensor
) -> Pair:
    """Return both caches (S, K, D) with the rows of keys and values (T, K, D) at slots (T), -1 for none."""
    new_keys, new_values = key_cache.clone(), value_cache.clone()
    for token, slot in enumerate(slots.tolist()):
        if slot >= 0:
            new_keys[slot] = keys[token]
            new_values[slot] = values[token]
    return new_keys, new_values
