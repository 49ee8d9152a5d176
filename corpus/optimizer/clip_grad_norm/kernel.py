"""Clip gradients by their norm over all of them, in place."""

import agentkern as ak

N = ak.dim("N")
PART = 8192  # elements of a partial sum


@ak.kernel
def clip_grad_norm(grad: ak.InOut[ak.f32, N], norm: ak.Out[ak.f32, 1], largest: ak.f32 = 1.0):
    """Give the 2-norm of N gradients, and scale them so that it is at most `largest`."""
    partial = ak.scratch((ak.cdiv(N, PART),), ak.f32)
    for p in ak.grid(ak.parts(N, block=PART)):
        g = grad[p]
        partial[p.ordinal] = ak.sum(g * g, axis=0)
    for _ in ak.grid(1):
        norm[0] = ak.sqrt(ak.sum(partial[:], axis=0))
    for i in ak.grid(N):
        grad[i] = grad[i] * ak.minimum(largest / (norm[0] + 1e-6), 1.0)
