"""Submissions as candidates, by language."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Literal

from agentkern.evals.candidates.agentkern import AgentkernCandidate
from agentkern.evals.candidates.cuda import CudaCandidate
from agentkern.evals.candidates.protocol import Candidate
from agentkern.evals.candidates.triton import TritonCandidate
from agentkern.evals.records import Language, Submission
from agentkern.evals.task_model import Task

Device = Literal["cpu", "cuda"]


def _agentkern(task: Task, handed_in: Submission, device: Device) -> Candidate:
    return AgentkernCandidate(task, handed_in.source, handed_in.kernel, handed_in.settings, device)


def _cuda(task: Task, handed_in: Submission, device: Device) -> Candidate:
    return CudaCandidate(task.signature, tuple(size.name for size in task.sizes), handed_in.source, device=device)


def _triton(task: Task, handed_in: Submission, device: Device) -> Candidate:
    return TritonCandidate(task.signature, tuple(size.name for size in task.sizes), handed_in.source, device)


CANDIDATES: Mapping[Language, Callable[[Task, Submission, Device], Candidate]] = {
    "agentkern": _agentkern,
    "cuda": _cuda,
    "triton": _triton,
}


def candidate_of(
    task: Task, handed_in: Submission, language: Language = "agentkern", device: Device = "cpu"
) -> Candidate:
    """Return what the judge judges. Errors: KeyError for a language that nothing here runs."""
    return CANDIDATES[language](task, handed_in, device)
