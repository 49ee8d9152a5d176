"""Put the keys and values of new tokens where a paged cache has room for them."""

import agentkern as ak

T, S = ak.dim("T"), ak.dim("S")
K, D = ak.static("K"), ak.static("D")


@ak.kernel
def kv_cache_write(
    keys: ak.In[ak.bf16, T, K, D],
    values: ak.In[ak.bf16, T, K, D],
    slots: ak.In[ak.i64, T].values(0, S, ignore=-1).distinct(ignore=-1),
    key_cache: ak.InOut[ak.bf16, S, K, D],
    value_cache: ak.InOut[ak.bf16, S, K, D],
):
    """Copy K heads of T tokens to their slots of S in both caches, -1 for none; other slots keep what they hold."""
    for t in ak.grid(T):
        slot = slots[t]
        there = (slot >= 0)[:, None, None]
        ak.store(key_cache[slot, :, :], keys[t, :, :], where=there)
        ak.store(value_cache[slot, :, :], values[t, :, :], where=there)
