"""The same divergence as a PyTorch user writes it."""

import torch


def distillation_kl(student: torch.Tensor, teacher: torch.Tensor, temperature: float = 1.0) -> torch.Tensor:
    """Return the divergence (T) of the student's from the teacher's predictions, in f32."""
    log_q = torch.log_softmax(student.float() / temperature, dim=1)
    log_p = torch.log_softmax(teacher.float() / temperature, dim=1)
    return torch.nn.functional.kl_div(log_q, log_p, reduction="none", log_target=True).sum(dim=1)
