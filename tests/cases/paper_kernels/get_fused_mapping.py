import agentkern as ak

T, P = ak.dim("T"), ak.dim("P")
E, K = ak.static("E"), ak.static("K")
SORT = 256  # slots per block of the counting sort


@ak.kernel
def get_fused_mapping(
    topk: ak.In[ak.i64, T, K].values(-1, E),
    pos_to_expert: ak.Out[ak.i32, P],
    pos_to_token: ak.Out[ak.i32, P],
    pos_to_token_topk: ak.Out[ak.i32, P],
    token_topk_to_pos: ak.Out[ak.i32, T, K],
    expert_start: ak.Out[ak.i32, E],
    expert_end: ak.Out[ak.i32, E],
    num_per_expert: ak.Out[ak.i32, E],
    alignment: ak.static_int = 128,
):
    """Stable counting sort of the T * K slots by expert (-1: none) into P positions, each expert's start aligned."""
    expert = topk.reshape(T * K)
    part = ak.scratch((ak.cdiv(T * K, SORT), E), ak.i32)
    base = ak.scratch((ak.cdiv(T * K, SORT), E), ak.i32)
    for n in ak.grid(T * K, block=SORT):
        part[n.ordinal, :] = ak.bincount(expert[n], E)
    for e in ak.grid(E):
        base[:, e] = ak.cumsum(part[:, e], axis=0, exclusive=True)
        num_per_expert[e] = ak.sum(part[:, e], axis=0)
    for _ in ak.grid():
        count = num_per_expert[:]
        start = ak.cumsum((count + alignment - 1) // alignment * alignment, axis=0, exclusive=True)
        expert_start[:] = start
        expert_end[:] = start + count
    for p in ak.grid(P):
        pos_to_expert[p] = -1
        pos_to_token[p] = -1
        pos_to_token_topk[p] = -1
    for n in ak.grid(T * K, block=SORT):
        e = expert[n]
        safe = ak.maximum(e, 0)
        pos = expert_start[safe] + base[n.ordinal, safe] + ak.occurrence(e)
        ok = (e >= 0) & (pos >= 0) & (pos < P)
        token_topk_to_pos.reshape(T * K)[n] = ak.where(ok, pos, -1)
        ak.store(pos_to_expert[pos], e.to(ak.i32), where=ok, distinct=True)
        ak.store(pos_to_token[pos], (n.index // K).to(ak.i32), where=ok, distinct=True)
        ak.store(pos_to_token_topk[pos], n.index.to(ak.i32), where=ok, distinct=True)
