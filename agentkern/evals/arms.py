"""The arms of an experiment, as data: in which language a model writes, what it is told back, and what is left out.

Language {agentkern, cuda, triton} x feedback {zero_shot, plain_loop, mcp}, and agentkern with tools less one thing.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import get_args

from agentkern.evals.records import Feedback, Language


@dataclass(frozen=True, slots=True)
class Arm:
    """One arm. The flags are what an agent with tools is given; an ablation clears one.

    `skill`: the skill's text and its references. `search`: the search over the corpus. `structured`: diagnostics with
    codes, hints and fixes, not only their messages. `levers`: what the profiler says would help.
    """

    name: str
    language: Language
    feedback: Feedback
    skill: bool = True
    search: bool = True
    structured: bool = True
    levers: bool = True

    @property
    def is_ablation(self) -> bool:
        """Whether something is left out."""
        return not (self.skill and self.search and self.structured and self.levers)


def _arms() -> tuple[Arm, ...]:
    languages: tuple[Language, ...] = get_args(Language)
    feedbacks: tuple[Feedback, ...] = get_args(Feedback)
    full = tuple(Arm(f"{language}/{feedback}", language, feedback) for language in languages for feedback in feedbacks)
    base = next(arm for arm in full if arm.name == "agentkern/mcp")
    return (
        *full,
        replace(base, name="agentkern/mcp-no-skill", skill=False),
        replace(base, name="agentkern/mcp-no-search", search=False),
        replace(base, name="agentkern/mcp-plain-errors", structured=False),
        replace(base, name="agentkern/mcp-no-levers", levers=False),
    )


ARMS: Mapping[str, Arm] = {arm.name: arm for arm in _arms()}
GROUPS: Mapping[str, tuple[str, ...]] = {
    "all": tuple(ARMS),
    "languages": tuple(name for name, arm in ARMS.items() if not arm.is_ablation),
    "ablations": ("agentkern/mcp", *(name for name, arm in ARMS.items() if arm.is_ablation)),
}


class UnknownArm(ValueError):
    """A name that is no arm and no group of arms."""


def arms_named(names: tuple[str, ...]) -> tuple[Arm, ...]:
    """Return arms by their names or those of groups, each once. Errors: UnknownArm names the nearest."""
    found: dict[str, Arm] = {}
    for name in names:
        if name not in ARMS and name not in GROUPS:
            known = (*ARMS, *GROUPS)
            near = difflib.get_close_matches(name, known, n=1)
            hint = f"did you mean `{near[0]}`?" if near else f"arms are {', '.join(known)}"
            raise UnknownArm(f"there is no arm `{name}`; {hint}")
        found |= {arm: ARMS[arm] for arm in GROUPS.get(name, (name,))}
    return tuple(found.values())
