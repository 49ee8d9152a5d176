"""What the judge asks of a submission in any language. Data and protocols only.

A candidate is given calls and returns raw outputs: it never sees a reference, an expected value or a verdict.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol, runtime_checkable

from agentkern.evals.records import Language, Timing
from agentkern.tools.verify_model import Call, Run, RunOptions, Sizes

RefusedBy = Literal["compile", "signature", "promises"]


class CandidateUnavailable(RuntimeError):
    """Nothing on this machine can run the candidate: no verdict, and no fault of the text."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a text is not run: the check that refuses it, in words that say what to write, its diagnostics' codes."""

    check: RefusedBy
    reason: str
    codes: tuple[str, ...] = ()


class Candidate(Protocol):
    """One submission, ready to be judged.

    `finds_races`: a run with `RunOptions.tracked` reports races, uninitialised reads and accesses out of bounds.
    `permutes`: `RunOptions.order` changes the order of threads and blocks.
    """

    @property
    def language(self) -> Language:
        """Return the language of the text."""
        ...

    @property
    def device(self) -> Literal["cpu", "cuda"]:
        """Return where it runs."""
        ...

    @property
    def source(self) -> str:
        """Return the text as it was handed in."""
        ...

    @property
    def finds_races(self) -> bool:
        """Return whether tracked runs find defects of memory."""
        ...

    @property
    def permutes(self) -> bool:
        """Return whether runs of different orders differ."""
        ...

    def prepare(self) -> Refusal | None:
        """Compile, and compare the parameters and promises with the task's. Errors: CandidateUnavailable."""
        ...

    def run(self, call: Call, options: RunOptions) -> Run:
        """Run once, with outputs poisoned and buffers guarded as `verify_buffers` does.

        Errors: ExecutionError, BuildError (it does not compile at these sizes), CandidateUnavailable.
        """
        ...

    def close(self) -> None:
        """End what it started."""
        ...


@runtime_checkable
class Times(Protocol):
    """A candidate that can be timed on a GPU."""

    def time(self, sizes: Sizes) -> Timing:
        """Time it beside the task's baselines. Errors: ExecutionError: the time cannot be trusted."""
        ...
