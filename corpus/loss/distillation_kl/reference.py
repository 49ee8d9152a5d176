"""Kullback-Leibler divergence of two softmaxes in float64, rounded at the end."""

import torch


def reference(student: torch.Tensor, teacher: torch.Tensor, temperature: float = 1.0) -> torch.Tensor:
    """Return the divergence (T) of the student's from the teacher's predictions, in f32."""
    return reference_f64(student, teacher, temperature).float()


def reference_f64(student: torch.Tensor, teacher: torch.Tensor, temperature: float = 1.0) -> torch.Tensor:
    """Return the same before the last rounding."""
    log_q = torch.log_softmax(student.double() / temperature, dim=1)
    log_p = torch.log_softmax(teacher.double() / temperature, dim=1)
    return torch.nn.functional.kl_div(log_q, log_p, reduction="none", log_target=True).sum(dim=1)
