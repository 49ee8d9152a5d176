"""No skill gives away a task: its kernels are no near duplicates of solutions that the corpus does not hold."""

from __future__ import annotations

from pathlib import Path

from agentkern.compiler.frontend import lower_source
from agentkern.compiler.ir.core import Kernel, SizeInfo
from agentkern.tools.near_duplicates import is_near
from agentkern.tools.skills import default_skills
from tests.skills.skill_blocks import blocks

SOLUTIONS = sorted((default_skills().parent / "evals" / "tasks").glob("*/solution.py"))


def lowered(text: str, kernel: str | None) -> Kernel:
    """The kernel at any legal sizes: near duplicates are counted without."""
    found = lower_source(text, "kernel.py", kernel, {}, {})
    assert found.outline is not None
    dims = {info.name: legal(info) for info in found.outline.sizes if info.static}
    result = lower_source(text, "kernel.py", kernel, dims, {}).kernel
    assert result is not None, f"{kernel}: {dims}"
    return result


def legal(info: SizeInfo) -> int:
    wanted = 8 if info.maximum is None else min(8, info.maximum)
    return -(-max(wanted, info.minimum) // info.multiple_of) * info.multiple_of


def kernels(path: Path) -> list[Kernel]:
    text = path.read_text(encoding="utf-8")
    names = lower_source(text, "kernel.py", None, {}, {}).kernels
    return [lowered(text, name) for name in names]


def test_no_kernel_of_a_skill_is_a_held_out_solution():
    shown = {
        f"{block}-{name}": lowered(block.text, name)
        for block in blocks()
        if block.language == "python"
        for name in block.kernels
    }
    held_out = {path.parent.name: kernel for path in SOLUTIONS for kernel in kernels(path)}
    assert len(held_out) >= len(SOLUTIONS)
    near = [(name, task) for name, kernel in shown.items() for task, other in held_out.items() if is_near(kernel, other)]
    assert near == []


def test_a_solution_that_is_shown_would_be_found():
    path = next(path for path in SOLUTIONS)
    first = kernels(path)[0]
    assert is_near(first, lowered(path.read_text(encoding="utf-8").replace("idx", "places"), None))
