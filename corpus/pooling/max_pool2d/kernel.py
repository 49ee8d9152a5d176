"""Maximum pooling of images, 3 by 3 with stride 2 and a margin of 1, with where each maximum lies."""

import agentkern as ak

N, Y, X = ak.dim("N"), ak.dim("Y"), ak.dim("X")


@ak.kernel
def max_pool2d(
    x: ak.In[ak.bf16, N, 2 * Y, 2 * X],
    out: ak.Out[ak.bf16, N, Y, X],
    index: ak.Out[ak.i64, N, Y, X],
):
    """Give the largest pixel around (2 * i, 2 * j) of N planes, and its number in the plane, the first of equals."""
    for n, i, j in ak.grid(N, Y, X):
        best = ak.full((n, i, j), -ak.inf, ak.bf16)
        place = ak.full((n, i, j), -1, ak.i64)
        for dy in range(-1, 2):
            for dx in range(-1, 2):
                row = 2 * i.index + dy
                column = 2 * j.index + dx
                inside = (row >= 0)[None, :, None] & (column >= 0)[None, None, :]
                pixel = ak.load(x[n, 2 * i + dy, 2 * j + dx], fill=-ak.inf)
                better = inside & ((pixel > best) | ak.isnan(pixel) | (place < 0)) & ~ak.isnan(best)
                best = ak.where(better, pixel, best)
                place = ak.where(better, row[None, :, None] * (2 * X) + column[None, None, :], place)
        out[n, i, j] = best
        index[n, i, j] = place
