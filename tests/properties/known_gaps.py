"""Right kernels that the compiler does not take yet, cut down from random ones, with what it says. Data only.

One that is taken from here on moves to `kept_kernels.py`.
"""

from __future__ import annotations

from tests.properties.programs import Program

GAPS: tuple[tuple[str, Program], ...] = (
    (
        "AK604",
        Program(
            "a store for the rows that run a step",
            """
def limited_store(x: ak.In[ak.i32, T, N], y: ak.Out[ak.i32, T, N].partial(), z: ak.Out[ak.i32, T]):
    for t in ak.grid(T):
        s = ak.full((t,), 0, ak.i32)
        for k in ak.steps(N, block=4, until=t.index):
            s = s + ak.sum(x[t, k], axis=1)
            y[t, k] = x[t, k]
        z[t] = s
""",
            {"T": 5, "N": 9},
        ),
    ),
)
