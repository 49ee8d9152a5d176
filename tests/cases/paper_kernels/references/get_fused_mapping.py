"""A counting sort, slot by slot."""

import numpy as np


def outputs(inputs: dict[str, np.ndarray], sizes: dict[str, int]) -> dict[str, np.ndarray]:
    topk = inputs["topk"]
    tokens, per_token = topk.shape
    experts = int(topk.max(initial=0)) + 1
    count = np.bincount(topk[topk >= 0].astype(np.int64), minlength=experts)
    start = np.concatenate(([0], np.cumsum((count + 127) // 128 * 128)))[:-1]
    to_expert, to_token, to_slot = (np.full(sizes["P"], -1, np.int32) for _ in range(3))
    to_pos = np.full((tokens, per_token), -1, np.int32)
    seen = np.zeros(experts, np.int64)
    for slot, expert in enumerate(topk.reshape(-1)):
        if expert < 0:
            continue
        pos = start[expert] + seen[expert]
        seen[expert] += 1
        if pos < sizes["P"]:
            to_expert[pos], to_token[pos], to_slot[pos] = expert, slot // per_token, slot
            to_pos[slot // per_token, slot % per_token] = pos
    return {
        "pos_to_expert": to_expert,
        "pos_to_token": to_token,
        "pos_to_token_topk": to_slot,
        "token_topk_to_pos": to_pos,
    }
