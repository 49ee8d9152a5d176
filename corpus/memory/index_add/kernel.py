"""Add rows of integers to the rows of a table that a list names, equal names included."""

import agentkern as ak

T, S = ak.dim("T"), ak.dim("S")
H = ak.static("H")


@ak.kernel
def index_add(
    table: ak.InOut[ak.i32, S, H],
    ids: ak.In[ak.i32, T].values(0, S, ignore=-1),
    x: ak.In[ak.i32, T, H],
):
    """Add row t of x to row ids[t] of table for each of T rows, -1 for none."""
    for t, h in ak.grid(T, H):
        row = ids[t]
        ak.atomic_add(table[row, h], x[t, h], where=(row >= 0)[:, None])
