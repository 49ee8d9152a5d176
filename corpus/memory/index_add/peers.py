"""The same addition as a PyTorch user writes it, and ids as they occur."""

import torch


def index_add(table: torch.Tensor, ids: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    """Add rows of x (T, H) to the rows of table (S, H) that ids (T) names; it has none for -1."""
    return table.index_add_(0, ids, x)


def prepare(given: dict[str, object]) -> dict[str, object]:
    """Give every row a place: PyTorch has no way to skip one without a size that the device alone knows."""
    ids, table = given["ids"], given["table"]
    assert isinstance(ids, torch.Tensor)
    assert isinstance(table, torch.Tensor)
    generator = torch.Generator().manual_seed(len(ids))
    places = torch.randint(len(table), ids.shape, generator=generator, dtype=torch.int32)
    return {**given, "ids": places.to(ids.device)}
