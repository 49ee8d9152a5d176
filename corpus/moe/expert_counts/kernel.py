"""How many tokens each expert gets, counted in place by all blocks at once."""

import agentkern as ak

T = ak.dim("T")
K, E = ak.static("K"), ak.static("E")


@ak.kernel
def expert_counts(choice: ak.In[ak.i32, T, K].values(-1, E), count: ak.Out[ak.i32, E]):
    """Count how often each of E experts is among the K choices of T tokens; -1 is none."""
    for e in ak.grid(E):
        count[e] = 0
    for t in ak.grid(T):
        for k in range(K):
            expert = choice[t, k]
            ak.atomic_add(count[expert], 1, where=expert >= 0)
