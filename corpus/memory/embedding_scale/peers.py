"""The same rows as a PyTorch user takes them; every id must be in the table."""

import torch


def embedding_scale(table: torch.Tensor, ids: torch.Tensor, scale: float = 1.0) -> torch.Tensor:
    """Return scale times the rows of table (S, H) whose numbers ids (T) holds."""
    return torch.nn.functional.embedding(ids, table) * scale


def prepare(given: dict[str, object]) -> dict[str, object]:
    """Make every id one of the table, as the library's embedding wants it."""
    ids, table = given["ids"], given["table"]
    assert isinstance(ids, torch.Tensor)
    assert isinstance(table, torch.Tensor)
    return {**given, "ids": ids.remainder(len(table))}
