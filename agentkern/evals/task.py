"""Read tasks from their folders, strictly: what is unknown, missing or does not fit is named with its file and key.

A folder holds task.toml, reference.py and, where the solution is kept out of the corpus, solution.py. All of it is text
here: no code of a task is run.
"""

from __future__ import annotations

import ast
import hashlib
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from agentkern.evals.task_fields import read_body, read_criterion, read_sizes, read_tensors
from agentkern.evals.task_model import Shapes, Solution, Task, TaskCriterion, TaskError
from agentkern.evals.task_table import Table
from agentkern.shipped import shipped
from agentkern.tools.corpus_entry import CorpusError, default_corpus

__all__ = [
    "Suite",
    "Task",
    "TaskError",
    "Unread",
    "default_tasks",
    "read_suite",
    "read_task",
    "read_tasks",
    "suite_digest",
    "task_folders",
]

KEYS = (
    "name",
    "family",
    "level",
    "text",
    "features",
    "blocked_by",
    "origin",
    "solution",
    "sizes",
    "settings",
    "tensors",
    "scalars",
    "kinds",
    "criterion",
    "shapes",
    "roofline",
    "baselines",
)
LEVELS = (1, 2, 3, 4)
MOST_FILE_BYTES = 1 << 20
FILES = ("task.toml", "reference.py", "solution.py")
"""What makes a folder that of a task, whole or not; any other folder beside tasks is none."""


@dataclass(frozen=True, slots=True)
class Unread:
    """A folder that is meant as a task and is none. `reason`: its file and key, and what is wrong with it."""

    name: str
    reason: str


@dataclass(frozen=True, slots=True)
class Suite:
    """What a tasks folder holds: tasks, by level and name, and what could not be read."""

    folder: Path
    tasks: tuple[Task, ...]
    unread: tuple[Unread, ...] = ()


def default_tasks() -> Path:
    """Return the tasks that come with the package. Errors: TaskError where there are none."""
    folder = shipped("tasks")
    if folder is None:
        raise TaskError("agentkern's tasks are not installed; install it from its source or wheel again")
    return folder


def task_folders(folder: Path | None = None) -> dict[str, Path]:
    """Return the folders of tasks in a folder by name, whole or not. Errors: TaskError where there is none."""
    root = (folder or default_tasks()).resolve()
    found = {
        child.name: child
        for child in sorted(root.iterdir())
        if not child.name.startswith((".", "_")) and any((child / name).exists() for name in FILES)
    }
    if not found:
        raise TaskError(f"there are no tasks in `{root}`")
    return found


def read_suite(folder: Path | None = None) -> Suite:
    """Return every task of a folder, and of each that is not one, why. Errors: TaskError where there is no folder."""
    root = (folder or default_tasks()).resolve()
    found: list[Task] = []
    unread: list[Unread] = []
    for name, child in task_folders(root).items():
        try:
            found.append(read_task(child))
        except TaskError as e:
            unread.append(Unread(name, str(e)))
    return Suite(root, tuple(sorted(found, key=lambda task: (task.level, task.name))), tuple(unread))


def read_tasks(folder: Path | None = None) -> tuple[Task, ...]:
    """Return every task of a folder, by level and name. Errors: TaskError for the first that is none."""
    suite = read_suite(folder)
    for first in suite.unread:
        more = f"; {len(suite.unread) - 1} more cannot be read" if len(suite.unread) > 1 else ""
        raise TaskError(f"{first.reason}{more}")
    return suite.tasks


def suite_digest(tasks: Iterable[Task]) -> str:
    """Return the digest of tasks' names and files, whatever their order."""
    lines = sorted(f"{task.name} {task.digest}" for task in tasks)
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:16]


def read_task(folder: Path) -> Task:
    """Return the task of a folder. Errors: TaskError."""
    table = _load(folder / "task.toml")
    table.only(KEYS)
    name = table.text("name")
    if name != folder.name:
        table.refuse("name", f"`{name}` is not the folder's, `{folder.name}`")
    level = table.integer("level")
    if level not in LEVELS:
        table.refuse("level", f"is 1, 2, 3 or 4, not {level}")
    blocked_by = table.text("blocked_by", "")
    sizes = read_sizes(table)
    tensors = read_tensors(table, sizes, is_blocked=bool(blocked_by))
    functions = _functions(folder / "reference.py", is_needed=not blocked_by)
    criterion = TaskCriterion({})
    if "criterion" in table or not blocked_by:
        criterion = read_criterion(table.table("criterion"), tensors, functions)
    task = Task(
        name=name,
        family=table.text("family"),
        level=level,
        text=table.text("text"),
        features=table.texts("features"),
        folder=folder,
        digest=_digest(folder),
        blocked_by=blocked_by,
        origin=table.text("origin", ""),
        solution=_read_solution(table, blocked_by),
        sizes=sizes,
        tensors=tensors,
        criterion=criterion,
        shapes=Shapes(),
    )
    return read_body(table, task, functions)


def _load(file: Path) -> Table:
    try:
        return Table(file, "", tomllib.loads(_content(file).decode()))
    except (ValueError, RecursionError) as e:
        raise e if isinstance(e, TaskError) else TaskError(f"{file}: {e}") from e


def _content(file: Path) -> bytes:
    """Return a plain file of usual length. Errors: TaskError."""
    try:
        if not file.is_file():
            raise TaskError(f"{file}: {'it is no plain file' if file.exists() else 'there is no such file'}")
        with file.open("rb") as stream:
            data = stream.read(MOST_FILE_BYTES + 1)
    except OSError as e:
        raise TaskError(f"{file}: {e.strerror}") from e
    if len(data) > MOST_FILE_BYTES:
        raise TaskError(f"{file}: it has more than {MOST_FILE_BYTES} bytes; a task is text")
    return data


def _digest(folder: Path) -> str:
    found = hashlib.sha256()
    for file in sorted(path for path in folder.rglob("*") if path.is_file() and "__pycache__" not in path.parts):
        data = _content(file)
        found.update(f"{file.relative_to(folder).as_posix()} {len(data)}\n".encode() + data)
    return found.hexdigest()[:16]


def _functions(file: Path, *, is_needed: bool) -> Mapping[str, tuple[str, ...]]:
    """Return the functions of a Python file with their parameters' names, without running it."""
    if not file.is_file():
        if is_needed:
            raise TaskError(f"{file}: there is no such file; it holds the function `reference`")
        return {}
    found = {node.name: _parameters(node.args) for node in _parse(file).body if isinstance(node, ast.FunctionDef)}
    if is_needed and "reference" not in found:
        raise TaskError(f"{file}: there is no function `reference` in it")
    return found


def _parameters(given: ast.arguments) -> tuple[str, ...]:
    """Return the names of parameters in order, `*names` and `**names` with their stars."""
    found = [parameter.arg for parameter in (*given.posonlyargs, *given.args)]
    found += [] if given.vararg is None else [f"*{given.vararg.arg}"]
    found += [parameter.arg for parameter in given.kwonlyargs]
    return (*found, *([] if given.kwarg is None else [f"**{given.kwarg.arg}"]))


def _parse(file: Path) -> ast.Module:
    try:
        return ast.parse(_content(file).decode())
    except (SyntaxError, ValueError, RecursionError, MemoryError) as e:
        raise e if isinstance(e, TaskError) else TaskError(f"{file}: {e or 'it is nested too deep'}") from e


def _read_solution(table: Table, blocked_by: str) -> Solution | None:
    if blocked_by:
        if table.text("solution", ""):
            table.refuse("solution", "a task that is blocked has none")
        return None
    text = table.text("solution")
    place, _, kernel = text.rpartition(":")
    folder, entry = table.file.parent, ""
    file = folder / "solution.py"
    if place.startswith("corpus:"):
        entry = place.removeprefix("corpus:")
        file = _corpus(table) / entry / "kernel.py"
    elif place != "solution.py":
        table.refuse("solution", f"`{text}` is neither `corpus:FAMILY/ENTRY:KERNEL` nor `solution.py:KERNEL`")
    if not file.is_file():
        table.refuse("solution", f"there is no file `{file}`")
    kernels = [node.name for node in _parse(file).body if isinstance(node, ast.FunctionDef) and node.decorator_list]
    if kernel not in kernels:
        table.refuse("solution", f"`{file.name}` has no kernel `{kernel}`; it has {', '.join(kernels)}")
    return Solution(file, kernel, entry)


def _corpus(table: Table) -> Path:
    try:
        return default_corpus()
    except CorpusError as e:
        table.refuse("solution", str(e))
