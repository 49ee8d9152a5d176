"""Rotary position embedding, the form that pairs neighbours, in place at the positions of a list."""

import agentkern as ak

T, S = ak.dim("T"), ak.dim("S")
N, D, R = ak.static("N"), ak.static("D"), ak.static("R", multiple_of=2)


@ak.kernel
def rope_interleaved(
    x: ak.InOut[ak.bf16, T, N, D + R],
    position: ak.In[ak.i32, T].values(0, S),
    cos: ak.In[ak.f32, S, R // 2],
    sin: ak.In[ak.f32, S, R // 2],
):
    """Rotate the last R elements of each of N heads of T tokens, neighbours by one angle of the token's position."""
    for t in ak.grid(T):
        c, s = cos[position[t], :][:, None, :], sin[position[t], :][:, None, :]
        pairs = x[t, :, D:].to(ak.f32).reshape(t, N, R // 2, 2)
        even, odd = pairs[:, :, :, 0], pairs[:, :, :, 1]
        turned = ak.stack((even * c - odd * s, odd * c + even * s), axis=3)
        x[t, :, D:] = turned.reshape(t, N, R).to(ak.bf16)
