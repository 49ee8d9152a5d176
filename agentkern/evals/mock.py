"""Scripted models: what each says next in a conversation. They use the tools as a model would, and misuse them.

Pure: the next turn follows from the task, the arm and what was said. `fixes` is the one that succeeds: it makes a usual
mistake, reads the diagnostic, applies the fix that it carries, verifies and hands in. The others behave badly, each in
one way. Nothing here knows a provider.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from agentkern.evals.arms import Arm
from agentkern.evals.task_model import Task

TEXTS = Path(__file__).parent / "mock_texts"
_CAST = re.compile(r"\.to\(ak\.(\w+)\)")
MEGABYTE = 1_000_000


@dataclass(frozen=True, slots=True)
class Call:
    """One call of a tool. `broken`: what a provider says where the arguments were no JSON."""

    tool: str
    arguments: dict[str, Any]
    broken: str = ""


@dataclass(frozen=True, slots=True)
class Turn:
    """What is said next. A turn without calls ends a conversation, or asks for the next feedback."""

    text: str = ""
    calls: tuple[Call, ...] = ()


@dataclass(frozen=True, slots=True)
class Scene:
    """Where a conversation stands: own calls so far, the texts heard since the last turn, own turns so far."""

    task: Task
    arm: Arm
    turns: int = 0
    called: tuple[str, ...] = ()
    heard: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    written: str = ""
    limit: int = field(default=0)

    @property
    def answer(self) -> dict[str, Any]:
        """The last text heard, where it is a tool's answer."""
        try:
            found = json.loads(self.heard[-1]) if self.heard else {}
        except ValueError:
            return {}
        return found if isinstance(found, dict) else {}


Script = Callable[[Scene], Turn]


def right_text(scene: Scene) -> str:
    """Return a text that is right: the task's solution, or a stored text of the language."""
    if scene.arm.language == "agentkern":
        return "" if scene.task.solution is None else scene.task.solution.text
    return _stored(scene, "right")


def broken_text(scene: Scene) -> str:
    """Return a text with one usual mistake: NumPy's name of a cast, or a word misspelt."""
    if scene.arm.language != "agentkern":
        return _stored(scene, "broken")
    text = right_text(scene)
    other = _CAST.sub(r".astype(ak.\1)", text, count=1)
    return other if other != text else text.replace("@ak.kernel", "@ak.kernl", 1)


def _stored(scene: Scene, which: str) -> str:
    ending = {"cuda": "cu", "triton": "triton.txt"}[scene.arm.language]
    file = TEXTS / f"{scene.task.name}.{which}.{ending}"
    return file.read_text(encoding="utf-8") if file.is_file() else ""


def _block(scene: Scene, text: str) -> Turn:
    tag = "cuda" if scene.arm.language == "cuda" else "python"
    return Turn(f"Here it is.\n```{tag}\n{text.rstrip()}\n```\n") if text else Turn("I cannot write this one.")


def _source(scene: Scene, text: str, **more: Any) -> dict[str, Any]:
    solution = scene.task.solution
    if scene.arm.language != "agentkern":
        return {"task": scene.task.name, "source": text, **more}
    named = {"kernel": solution.kernel} if text.count("\n@ak.") > 1 and solution is not None else {}
    return {"source": text, **named, **more}


def _submit(scene: Scene, text: str) -> Turn:
    return Turn("Handing it in.", (Call("ak_submit", {**_source(scene, text), "task": scene.task.name}),))


def fixes(scene: Scene) -> Turn:
    """Make a mistake, read what is said, correct it, verify, hand in."""
    if scene.arm.feedback == "zero_shot":
        return _block(scene, right_text(scene))
    if scene.arm.feedback == "plain_loop":
        texts = (broken_text(scene), right_text(scene))
        return _block(scene, texts[scene.turns]) if scene.turns < 2 else Turn("I am content with it.")
    if scene.answer.get("state") in ("queued", "running"):
        return Turn("", (Call("ak_job", {"job_id": scene.answer["job_id"]}),))
    steps = [step for step in (_search, _read, _first_try, _corrected, _verified) if _fits(scene, step)]
    done = len([tool for tool in scene.called if tool != "ak_job"])
    if done < len(steps):
        return steps[done](scene)
    if "ak_submit" not in scene.called:
        return _submit(scene, scene.written or right_text(scene))
    return Turn("It is handed in.")


def _fits(scene: Scene, step: Script) -> bool:
    needs = {"_search": "ak_search_kernels", "_read": "read_skill"}
    return needs.get(step.__name__, "ak_verify") in scene.tools


def _checking(scene: Scene) -> str:
    return "ak_check" if "ak_check" in scene.tools else "ak_compile"


def _search(scene: Scene) -> Turn:
    query = " ".join(scene.task.text.split()[:12])
    return Turn("A neighbour first.", (Call("ak_search_kernels", {"query": query}),))


def _read(scene: Scene) -> Turn:
    return Turn("What does the skill say?", (Call("read_skill", {"path": "references/elementwise.md"}),))


def _first_try(scene: Scene) -> Turn:
    return Turn("A first version.", (Call(_checking(scene), _source(scene, broken_text(scene))),))


def _corrected(scene: Scene) -> Turn:
    """Apply the fixes of the diagnostics that were heard, as they stand; else write it anew."""
    text = fixed(scene.written, scene.answer)
    text = "" if text == scene.written else text
    return Turn("With its fix applied.", (Call(_checking(scene), _source(scene, text or right_text(scene))),))


def _verified(scene: Scene) -> Turn:
    first = scene.task.shapes.shown[0]
    dims = {name: min(first[name], 256) for name in scene.task.static}
    more = {"dims": dims} if scene.arm.language == "agentkern" else {}
    return Turn("Is it right?", (Call("ak_verify", _source(scene, scene.written, **more)),))


def fixed(text: str, answer: Mapping[str, Any]) -> str:
    """Return a text with the fixes of a tool's answer applied, last place first; the text itself if there are none."""
    found = answer.get("diagnostics", ())
    edits = [edit for item in found for fix in item.get("fixes", ())[:1] for edit in fix["edits"]]
    lines = text.split("\n")
    for edit in sorted(edits, key=lambda edit: tuple(edit["start"]), reverse=True):
        (line, column), (end_line, end) = edit["start"], edit["end"]
        if line == end_line and line <= len(lines):
            old = lines[line - 1]
            lines[line - 1] = old[: column - 1] + edit["text"] + old[end - 1 :]
    return "\n".join(lines)


def prose(scene: Scene) -> Turn:
    """Talk."""
    return Turn(f"A good kernel for {scene.task.name} would read each element once. Shall I go on?")


def megabyte(scene: Scene) -> Turn:
    """Hand in a megabyte, then talk a megabyte."""
    line = "# all work and no play makes a kernel slow\n"
    text = right_text(scene) + line * (MEGABYTE // len(line))
    if scene.arm.feedback != "mcp":
        return _block(scene, text) if scene.turns == 0 else Turn("x" * MEGABYTE)
    return _submit(scene, text) if scene.turns == 0 else Turn("x" * MEGABYTE)


def silent(scene: Scene) -> Turn:
    """Work, claim success and hand nothing in."""
    if scene.turns == 0 and "ak_check" in scene.tools:
        return Turn("", (Call("ak_check", _source(scene, right_text(scene))),))
    return Turn("The kernel is done and right; nothing more is needed.")


def endless(scene: Scene) -> Turn:
    """Never stop."""
    if scene.arm.feedback == "mcp":
        return Turn("", (Call("ak_reference", {"page": "card"}),))
    return _block(scene, broken_text(scene) or right_text(scene) or "pass")


def malformed(scene: Scene) -> Turn:
    """Call tools that are not there, with arguments that are none; then hand in what is right."""
    text = right_text(scene)
    if scene.arm.feedback != "mcp":
        return Turn("```\n") if scene.turns == 0 else _block(scene, text)
    calls = (
        Call("ak_compile_now", {"source": text}),
        Call("ak_check", {"sources": text}),
        Call("ak_check", {"source": 7}),
        Call("ak_check", {}, broken="the arguments are no JSON: unexpected end"),
    )
    if scene.turns == 0:
        return Turn("", calls)
    return _submit(scene, text) if "ak_submit" not in scene.called else Turn("Done.")


def misuse(scene: Scene) -> Turn:
    """Ask for what is not there; then hand in what is no kernel."""
    if scene.arm.feedback != "mcp":
        return _block(scene, "this is no kernel") if scene.turns == 0 else Turn("Done.")
    if scene.turns == 0:
        return Turn("", (Call("ak_job", {"job_id": "0" * 16}), Call("ak_read", {"id": "ak:0"})))
    call = Call("ak_submit", {"task": scene.task.name, "source": "this is no kernel"})
    return Turn("", (call,)) if scene.turns == 1 else Turn("Done.")


def late(scene: Scene) -> Turn:
    """Use up every call, then hand in."""
    if scene.arm.feedback != "mcp":
        return _block(scene, broken_text(scene) or "pass")
    spent = tuple(Call("ak_reference", {"page": "card"}) for _ in range(scene.limit))
    return Turn("", (*spent, *_submit(scene, right_text(scene)).calls))


def crash(scene: Scene) -> Turn:
    """Fail as a provider does."""
    raise ConnectionError(f"the provider did not answer about {scene.task.name}")


SCRIPTS: Mapping[str, Script] = {
    script.__name__: script for script in (fixes, prose, megabyte, silent, endless, malformed, misuse, late, crash)
}
