"""Sort slots by expert, stably, each expert's start aligned."""

import agentkern as ak

T, P = ak.dim("T"), ak.dim("P")
K, E = ak.static("K"), ak.static("E", min=1, max=512)
SORT = 256


@ak.kernel
def get_fused_mapping(
    expert: ak.In[ak.i64, T, K].values(-1, E),
    pos_to_expert: ak.Out[ak.i32, P],
    pos_to_slot: ak.Out[ak.i32, P],
    slot_to_pos: ak.Out[ak.i32, T, K],
    first: ak.Out[ak.i32, E],
    last: ak.Out[ak.i32, E],
    count: ak.Out[ak.i32, E],
):
    """Count and place the T * K slots."""
    slots = expert.reshape(T * K)
    part = ak.scratch((ak.cdiv(T * K, SORT), E), ak.i32)
    base = ak.scratch((ak.cdiv(T * K, SORT), E), ak.i32)
    for n in ak.grid(T * K, block=SORT):
        part[n.ordinal, :] = ak.bincount(slots[n], E)
    for e in ak.grid(E):
        base[:, e] = ak.cumsum(part[:, e], axis=0, exclusive=True)
        count[e] = ak.sum(part[:, e], axis=0)
    for _ in ak.grid():
        members = count[:]
        start = ak.cumsum((members + 63) // 64 * 64, axis=0, exclusive=True)
        first[:] = start
        last[:] = start + members
    for p in ak.grid(P):
        pos_to_expert[p] = -1
        pos_to_slot[p] = -1
    for n in ak.grid(T * K, block=SORT):
        e = slots[n]
        safe = ak.maximum(e, 0)
        pos = first[safe] + base[n.ordinal, safe] + ak.occurrence(e)
        ok = (e >= 0) & (pos >= 0) & (pos < P)
        slot_to_pos.reshape(T * K)[n] = ak.where(ok, pos, -1)
        ak.store(pos_to_expert[pos], e.to(ak.i32), where=ok, distinct=True)
        ak.store(pos_to_slot[pos], n.index.to(ak.i32), where=ok, distinct=True)
