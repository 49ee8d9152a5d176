"""What a model is told in each arm, and where its answer stands in what it says. Text only; nothing is run.

agentkern is explained by its own card or skill, read where they lie; CUDA and Triton by one page each of about the
card's length. Every arm gets the same words about the task.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from agentkern.dsl.dtypes import DType
from agentkern.evals.arms import Arm
from agentkern.evals.records import Feedback, Language
from agentkern.evals.task_model import Task
from agentkern.evals.task_text import agentkern_signature, task_text
from agentkern.shipped import shipped
from agentkern.tools.reference import reference

_DOCS = Path(__file__).parent / "docs"
SKILL = "agentkern-kernels"
_FENCE = re.compile(r"[ \t]*(```+|~~~+)[ \t]*([\w+#.-]*)")
_TAGS: dict[Language, tuple[str, ...]] = {
    "agentkern": ("python", "py", "agentkern"),
    "cuda": ("cuda", "cu", "cpp", "c++", "c"),
    "triton": ("python", "py", "triton"),
}
_ROLE: dict[Language, str] = {
    "agentkern": "You write GPU kernels in agentkern, a tile language embedded in Python syntax.",
    "cuda": "You write GPU kernels in CUDA C++.",
    "triton": "You write GPU kernels in Triton.",
}
_HOW: dict[Feedback, str] = {
    "zero_shot": (
        "Answer once, with the whole file in one fenced block (```{tag}). There are no tools and no second try."
    ),
    "plain_loop": (
        "Answer with the whole file in one fenced block (```{tag}). It is compiled and run at the shown shapes, and you"
        " are told what the compiler says and where a result is wrong; then answer with the next version. The last"
        " block counts. When you are content with it, answer without a block."
    ),
    "mcp": (
        "Work with the tools. Hand the whole file in with `ak_submit`: only what is handed in counts, and the last one"
        " counts. When you are content, stop calling tools."
    ),
}
GO_ON = "Nothing is handed in yet. Go on with the tools, and hand the whole file in with `ak_submit`."

# dtype -> how a kernel parameter that points at it is declared.
_C_TYPES = {
    "f64": "double", "f32": "float", "tf32": "float", "f16": "__half", "bf16": "__nv_bfloat16",
    "e4m3": "__nv_fp8_e4m3", "e5m2": "__nv_fp8_e5m2", "e8m0": "unsigned char",
    "i8": "signed char", "i16": "short", "i32": "int", "i64": "long long",
    "u8": "unsigned char", "u16": "unsigned short", "u32": "unsigned", "u64": "unsigned long long", "bool": "bool",
}  # fmt: skip


class SkillMissing(FileNotFoundError):
    """The skill's folder is not where this package looks."""


def system_text(arm: Arm) -> str:
    """Return the system message: the language's page, or the skill, and how to answer. Errors: SkillMissing."""
    tag = _TAGS[arm.language][0]
    return "\n\n".join([_ROLE[arm.language], language_text(arm), _HOW[arm.feedback].format(tag=tag)]).strip()


def language_text(arm: Arm) -> str:
    """Return what explains the language in an arm, empty where nothing does."""
    if arm.language != "agentkern":
        return (_DOCS / f"{arm.language}.md").read_text(encoding="utf-8")
    if arm.feedback != "mcp":
        return reference("card").text
    return skill_text() if arm.skill else ""


@cache
def skill_folder() -> Path:
    """Return the folder of the kernel writer's skill. Errors: SkillMissing."""
    folder = shipped("skills")
    if folder is None or not (folder / SKILL / "SKILL.md").is_file():
        raise SkillMissing(f"agentkern's skill `{SKILL}` is not installed; install it from its source or wheel again")
    return folder / SKILL


def skill_text() -> str:
    """Return the skill's body, without its head."""
    text = (skill_folder() / "SKILL.md").read_text(encoding="utf-8")
    return text.split("---\n", 2)[2].strip() if text.startswith("---\n") else text


def skill_files() -> tuple[str, ...]:
    """Return the files that the skill's body refers to, as paths inside its folder."""
    folder = skill_folder()
    found = (path.relative_to(folder).as_posix() for path in folder.rglob("*.md"))
    return tuple(sorted(path for path in found if path != "SKILL.md"))


def task_prompt(task: Task, arm: Arm) -> str:
    """Return the user's message: the task with its signature as the arm's language has it."""
    spelled = {"agentkern": agentkern_signature, "cuda": cuda_signature, "triton": triton_signature}
    return task_text(task, spelled[arm.language](task))


def cuda_signature(task: Task) -> str:
    """Return the names that a launch plan can pass, with the types of the kernels' parameters."""
    lines = ["Names for the plan's `arguments`:", ""]
    for tensor in task.tensors:
        const = "const " if tensor.access == "in" else ""
        shape = ", ".join(map(str, tensor.shape))
        lines.append(f"- `{tensor.name}`: `{const}{_c_type(tensor.dtype)}*`, shape ({shape}), {_access(tensor.access)}")
    lines += [f"- `{scalar.name}`: `{_c_type(scalar.dtype)}`" for scalar in task.scalars]
    lines += [f"- `{size.name}`: `long long` or `int`, a size" for size in task.sizes]
    return "\n".join([*lines, *_settings_lines(task)])


def triton_signature(task: Task) -> str:
    """Return the head of the host function, and what its arguments are."""
    names = [t.name for t in task.tensors] + [s.name for s in task.scalars] + [s.name for s in task.sizes]
    lines = ["```python", f"def run({', '.join([*names, 'scratch'])}):", "    ...", "```", ""]
    for tensor in task.tensors:
        shape = ", ".join(map(str, tensor.shape))
        lines.append(f"- `{tensor.name}`: {tensor.dtype}, shape ({shape}), {_access(tensor.access)}")
    lines += [f"- `{scalar.name}`: a number, {scalar.dtype}" for scalar in task.scalars]
    lines += [f"- `{size.name}`: an int, a size" for size in task.sizes]
    return "\n".join([*lines, *_settings_lines(task)])


def _settings_lines(task: Task) -> list[str]:
    return [f"- `{name}` is the constant {value}" for name, value in task.settings.items()]


def _c_type(dtype: DType) -> str:
    return _C_TYPES[dtype.name]


def _access(access: str) -> str:
    return {"in": "read only", "out": "written in full", "inout": "read and written"}.get(access, access)


def answer_of(said: str, language: Language) -> str | None:
    """Return the last fenced block in the language, else the last of all; None where there is no closed one."""
    blocks = list(_blocks(said))
    fitting = [body for tag, body in blocks if tag in _TAGS[language]]
    others = [body for _, body in blocks]
    chosen = fitting or others
    return chosen[-1] if chosen else None


def _blocks(said: str) -> Iterator[tuple[str, str]]:
    """Yield tag and body of every closed block, in time that grows with the text's length alone."""
    mark, tag, body = "", "", list[str]()
    for line in said.splitlines(keepends=True):
        fence = _FENCE.match(line)
        if not mark:
            if fence is not None:
                mark, tag, body = fence.group(1), fence.group(2).lower(), []
        elif fence is not None and fence.group(1).startswith(mark) and not line.strip().strip(mark[0]):
            yield tag, "".join(body)
            mark = ""
        else:
            body.append(line)
