"""Select by radix, eight bits a pass."""

import agentkern as ak

T, N = ak.dim("T"), ak.dim("N")
TOPK = ak.static("TOPK", min=1)


@ak.inline
def ordered(x):
    """Bits of f32 x whose unsigned order is the order of the values."""
    bits = x.bitcast(ak.u32)
    return ak.where(bits >= 0x80000000, ~bits, bits | 0x80000000)


@ak.kernel
def topk_selector(
    x: ak.In[ak.f32, T, N],
    start: ak.In[ak.i32, T].values(0, N + 1),
    end: ak.In[ak.i32, T].values(0, N + 1),
    idx: ak.Out[ak.i32, T, TOPK],
):
    """Give the positions of the TOPK largest of x[t, start:end] in ascending order, then -1."""
    for t in ak.grid(T):
        idx[t, :] = -1
    for t in ak.grid(ak.each(T)):
        prefix, need = ak.zeros((), ak.u32), ak.full((), TOPK, ak.i32)
        for shift in (24, 16, 8, 0):
            count = ak.zeros((256,), ak.i32)
            for c in ak.steps(start[t], end[t]):
                key = ordered(x[t, c])
                count = count + ak.bincount(ak.where(key >> shift >> 8 == prefix, key >> shift & 0xFF, 256), 256)
            above = ak.cumsum(count, axis=0, reverse=True, exclusive=True)
            digit = ak.argmax(above < need, axis=0)
            prefix = prefix << 8 | digit.to(ak.u32)
            need = need - above[digit]
        taken, ties = ak.zeros((), ak.i32), ak.zeros((), ak.i32)
        for c in ak.steps(start[t], end[t], block=4096):
            key = ordered(x[t, c])
            tie = key == prefix
            take = (key > prefix) | (tie & (ties + ak.cumsum(tie, axis=0, exclusive=True) < need))
            pos = taken + ak.cumsum(take, axis=0, exclusive=True)
            ok = take & (pos >= 0) & (pos < TOPK)
            ak.store(idx[t, pos], c.index.to(ak.i32), where=ok, distinct=True)
            taken, ties = taken + ak.sum(take, axis=0), ties + ak.sum(tie, axis=0)
