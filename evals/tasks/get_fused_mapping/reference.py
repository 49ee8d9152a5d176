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


def baseline(expert: torch.Tensor, P: int, E: int) -> tuple[torch.Tensor, ...]:
    """Return the six tables by the library's stable sort; what has no place goes to one place more, which is cut off."""
    flat = expert.flatten()
    device, slots = flat.device, torch.arange(len(flat), device=flat.device)
    count = torch.histc(flat.float(), bins=E, min=0, max=E).long()
    padded = (count + 63) // 64 * 64
    first = padded.cumsum(0) - padded
    owner, slot = torch.where(flat < 0, E, flat).sort(stable=True)
    known = owner.clamp(max=E - 1)
    place = slots - (count.cumsum(0) - count)[known] + first[known]
    place = torch.where((owner < E) & (place < P), place, P)
    empty = torch.full((P + 1,), -1, dtype=torch.int32, device=device)
    to_expert, to_slot = empty.scatter(0, place, owner.int()), empty.scatter(0, place, slot.int())
    to_pos = torch.empty_like(flat).scatter(0, slot, torch.where(place < P, place, -1))
    tables = (to_pos.reshape(expert.shape), first, first + count, count)
    return to_expert[:P], to_slot[:P], *(table.int() for table in tables)
