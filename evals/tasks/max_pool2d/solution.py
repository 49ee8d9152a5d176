"""Max pooling with places."""

import agentkern as ak

N, C = ak.dim("N"), ak.dim("C")
Y, X = ak.dim("Y", min=1), ak.dim("X", min=1)


@ak.kernel
def max_pool2d(
    x: ak.In[ak.f16, N, C, Y, X],
    out: ak.Out[ak.f16, N, C, (Y + 1) // 2, (X + 1) // 2],
    index: ak.Out[ak.i64, N, C, (Y + 1) // 2, (X + 1) // 2],
):
    """Take the largest of each window of 3 x 3, stride 2, and its place."""
    for n, c, i, j in ak.grid(ak.each(N), ak.each(C), (Y + 1) // 2, (X + 1) // 2):
        best = ak.full((i, j), -ak.inf, ak.f16)
        place = ak.zeros((i, j), ak.i64)
        for a in range(3):
            for b in range(3):
                row, column = 2 * i.index[:, None] + (a - 1), 2 * j.index[None, :] + (b - 1)
                inside = (row >= 0) & (row < Y) & (column >= 0) & (column < X)
                v = ak.load(x[n, c, row, column], where=inside, fill=-ak.inf)
                larger = v > best
                best = ak.where(larger, v, best)
                place = ak.where(larger, row * X + column, place)
        out[n, c, i, j] = best
        index[n, c, i, j] = place
