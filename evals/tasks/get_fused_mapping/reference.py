"""Slot by slot into lists of experts."""

import torch


def reference(expert: torch.Tensor, P: int, E: int) -> tuple[torch.Tensor, ...]:
    """Return the six tables of expert (T, K)."""
    members: list[list[int]] = [[] for _ in range(E)]
    for slot, e in enumerate(expert.flatten().tolist()):
        if e >= 0:
            members[e].append(slot)
    to_expert, to_slot = torch.full((P,), -1, dtype=torch.int32), torch.full((P,), -1, dtype=torch.int32)
    to_pos = torch.full((expert.numel(),), -1, dtype=torch.int32)
    first, start = [], 0
    for e, slots in enumerate(members):
        first.append(start)
        for place, slot in enumerate(slots, start):
            if place < P:
                to_expert[place], to_slot[place], to_pos[slot] = e, slot, place
        start = -(-(start + len(slots)) // 64) * 64
    count = torch.tensor([len(slots) for slots in members], dtype=torch.int32)
    begin = torch.tensor(first, dtype=torch.int32)
    return to_expert, to_slot, to_pos.reshape(expert.shape), begin, begin + count, count
