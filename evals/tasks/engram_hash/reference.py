"""The hashes with Python's integers, which do not wrap: the lowest 64 bits are taken after every product."""

import torch


def reference(ids: torch.Tensor, mult: torch.Tensor, vocab: torch.Tensor, offset: torch.Tensor) -> torch.Tensor:
    """Return the table rows (2, T, 16) of ids (T, 3)."""
    found = torch.zeros(2, len(ids), 16, dtype=torch.int32)
    for layer in range(2):
        factors, tables, starts = mult[layer].tolist(), vocab[layer].tolist(), offset[layer].tolist()
        rows: list[list[int]] = []
        for first, second, third in ids.tolist():
            two = wrapped(first * factors[0]) ^ wrapped(second * factors[1])
            three = two ^ wrapped(third * factors[2])
            places = [two % table for table in tables[0]] + [three % table for table in tables[1]]
            rows.append([place + start for place, start in zip(places, starts, strict=True)])
        found[layer] = torch.tensor(rows, dtype=torch.int64).reshape(len(ids), 16).int()
    return found


def wrapped(number: int) -> int:
    """Return the signed number of the lowest 64 bits."""
    return (number + 2**63) % 2**64 - 2**63


def baseline(ids: torch.Tensor, mult: torch.Tensor, vocab: torch.Tensor, offset: torch.Tensor) -> torch.Tensor:
    """Return the table rows in PyTorch's 64-bit integers, which wrap."""
    first, second, third = (ids.long() * mult[:, None, :]).unbind(dim=2)
    two = first ^ second
    hashes = torch.stack((two, two ^ third), dim=2)
    places = hashes[:, :, :, None].remainder(vocab.long()[:, None])
    return (places.flatten(2) + offset[:, None]).int()
