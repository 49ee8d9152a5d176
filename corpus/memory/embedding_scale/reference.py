"""Rows of a table times a number, one Python subscript at a time, in float64 and rounded at the end."""

import torch


def reference(table: torch.Tensor, ids: torch.Tensor, scale: float) -> torch.Tensor:
    """Return scale times the rows of table (S, H) whose numbers ids (T) holds; zeros for others."""
    return reference_f64(table, ids, scale).to(table.dtype)


def reference_f64(table: torch.Tensor, ids: torch.Tensor, scale: float) -> torch.Tensor:
    """Return the same before the last rounding. The scale is the f32 that the kernel gets."""
    factor = torch.tensor(scale, dtype=torch.float32).double()
    out = torch.zeros(len(ids), table.shape[1], dtype=torch.float64)
    for place, number in enumerate(ids.tolist()):
        if 0 <= number < len(table):
            out[place] = table[number].double()
    return out * factor
