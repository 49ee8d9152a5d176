"""How far a student's predictions are from a teacher's, row by row, from the logits of both."""

import agentkern as ak

T = ak.dim("T")
V = ak.static("V")


@ak.kernel
def distillation_kl(
    student: ak.In[ak.bf16, T, V],
    teacher: ak.In[ak.bf16, T, V],
    loss: ak.Out[ak.f32, T],
    temperature: ak.f32 = 1.0,
):
    """Give the sum of p * log(p / q) for T rows of V classes, p the teacher's softmax and q the student's."""
    for t in ak.grid(T):
        a, b = teacher[t, :].to(ak.f32) / temperature, student[t, :].to(ak.f32) / temperature
        a, b = a - ak.max(a, axis=1, keepdims=True), b - ak.max(b, axis=1, keepdims=True)
        e = ak.exp(a)
        total = ak.sum(e, axis=1)
        apart = ak.sum(e * (a - b), axis=1) / total
        loss[t] = apart + (ak.log(ak.sum(ak.exp(b), axis=1)) - ak.log(total))
