"""A gated linear recurrence over time, h = a * h + x, each channel on its own."""

import agentkern as ak

B, T, H = ak.dim("B"), ak.dim("T"), ak.dim("H")


@ak.kernel
def linear_recurrence(
    a: ak.In[ak.f32, B, T, H],
    x: ak.In[ak.f32, B, T, H],
    state: ak.InOut[ak.f32, B, H],
    out: ak.Out[ak.f32, B, T, H],
):
    """Run T steps of h = a * h + x for B sequences of H channels from state, give every h, and leave the last there."""
    for b, h in ak.grid(B, H):
        carried = state[b, h]
        for t in ak.steps(ak.each(T)):
            carried = a[b, t, h] * carried + x[b, t, h]
            out[b, t, h] = carried
        state[b, h] = carried
