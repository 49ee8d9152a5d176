"""The same copies as a PyTorch user writes them, in place."""

import torch


def kv_cache_write(
    keys: torch.Tensor, values: torch.Tensor, slots: torch.Tensor, key_cache: torch.Tensor, value_cache: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """Copy rows of keys and values (T, K, D) to slots (T) of both caches (S, K, D); it has no way to skip a token."""
    return key_cache.index_copy_(0, slots, keys), value_cache.index_copy_(0, slots, values)


def prepare(given: dict[str, object]) -> dict[str, object]:
    """Give every token a slot of its own, in any order."""
    slots, cache = given["slots"], given["key_cache"]
    assert isinstance(slots, torch.Tensor)
    assert isinstance(cache, torch.Tensor)
    generator = torch.Generator().manual_seed(len(slots))
    return {**given, "slots": torch.randperm(len(cache), generator=generator)[: len(slots)].to(slots.device)}
