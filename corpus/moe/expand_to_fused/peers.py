"""The same layout as a PyTorch user writes it, and routings as they occur."""

import torch

ALIGNMENT = 128
EXPERTS = 72


def expand_to_fused(x: torch.Tensor, position: torch.Tensor, expert: torch.Tensor) -> torch.Tensor:
    """Return (P, H) rows of zeros with the rows of x (T, H) copied to where position (T, K) says."""
    out = torch.zeros(len(expert), x.shape[1], dtype=x.dtype, device=x.device)
    places = position.flatten().long()
    # every slot has a place in the routings below; -1 would need a selection with a size known on the device only
    return out.index_copy_(0, places, x.repeat_interleave(position.shape[1], dim=0))


def prepare(given: dict[str, object]) -> dict[str, object]:
    """Make position and expert a routing: slots in order of their experts, each expert's rows padded to a multiple."""
    old, rows = given["position"], given["expert"]
    assert isinstance(old, torch.Tensor)
    assert isinstance(rows, torch.Tensor)
    generator = torch.Generator().manual_seed(int(old.flatten()[0]))
    tokens, slots = old.shape
    chosen = torch.rand(tokens, EXPERTS, generator=generator).argsort(dim=1)[:, :slots].flatten()
    counts = torch.bincount(chosen, minlength=EXPERTS)
    aligned = (counts + ALIGNMENT - 1) // ALIGNMENT * ALIGNMENT
    assert int(aligned.sum()) <= len(rows), "too few rows for this routing"
    order = chosen.argsort(stable=True)
    rank = torch.arange(tokens * slots) - (counts.cumsum(0) - counts)[chosen[order]]
    position = torch.empty(tokens * slots, dtype=torch.int32)
    position[order] = ((aligned.cumsum(0) - aligned)[chosen[order]] + rank).int()
    expert = torch.full((len(rows),), -1, dtype=torch.int32)
    expert[position.long()] = chosen.int()
    made = {"position": position.reshape(tokens, slots), "expert": expert}
    return {**given, **{name: tensor.to(old.device) for name, tensor in made.items()}}
