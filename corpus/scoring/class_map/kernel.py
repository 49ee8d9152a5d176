"""The class of every pixel: the largest of C scores, which lie a plane apart."""

import agentkern as ak

N, P = ak.dim("N"), ak.dim("P")
C = ak.static("C", min=1)


@ak.kernel
def class_map(scores: ak.In[ak.bf16, N, C, P], label: ak.Out[ak.i32, N, P]):
    """Give each of P pixels of N images the number of its largest score, the first of equals."""
    for n, p in ak.grid(N, P):
        label[n, p] = ak.argmax(scores[n, :, p], axis=1).to(ak.i32)
