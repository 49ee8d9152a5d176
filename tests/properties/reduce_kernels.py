"""Cut a failing kernel down while it fails in the same way: by its syntax alone, whatever its features are.

A cut that makes the kernel wrong is no matter: it does not fail in the same way.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Iterator
from dataclasses import replace

from tests.properties.programs import Named, Program, kernel_of, pruned, with_kernel

Fails = Callable[[Program], bool]
MAX_TRIALS = 400
SMALL = (0, 1, 2, 3, 4, 5, 7, 8, 16, 31, 32, 33, 64, 128, 129)


def reduced(program: Program, fails: Fails) -> Program:
    """The smallest program found that still fails. `fails` is asked at most `MAX_TRIALS` times."""
    trials = 0
    while trials < MAX_TRIALS:
        for smaller in _smaller(program):
            if _size(smaller) >= _size(program):
                continue
            trials += 1
            if fails(smaller):
                program = smaller
                break
            if trials >= MAX_TRIALS:
                return program
        else:
            return program
    return program


def _size(program: Program) -> tuple[int, int, int]:
    nodes = list(ast.walk(kernel_of(program)))
    return sum(isinstance(n, ast.stmt) for n in nodes), len(nodes), sum(program.sizes.values())


Body = list[ast.stmt]
Place = tuple[Body, int]


def _places(kernel: ast.FunctionDef) -> list[Place]:
    """Every statement with the list that it stands in, outer ones first."""
    found: list[Place] = []
    waiting: list[Body] = [kernel.body]
    while waiting:
        body = waiting.pop(0)
        for k, statement in enumerate(body):
            found.append((body, k))
            waiting += [inner for inner in (getattr(statement, "body", []), getattr(statement, "orelse", [])) if inner]
    return found


def _smaller(program: Program) -> Iterator[Program]:
    """Programs that are less, the largest cuts first."""
    kernel = kernel_of(program)
    for number in range(len(_places(kernel))):
        changed = copy.deepcopy(kernel)
        body, k = _places(changed)[number]
        if len(body) > 1 or body is not changed.body:
            del body[k]
            if not body:
                body.append(ast.Pass())
            yield pruned(with_kernel(program, changed))
    for number, (body, k) in enumerate(_places(kernel)):
        for edit in _edits(program, body[k]):
            changed = copy.deepcopy(kernel)
            edit(changed, *_places(changed)[number])
            yield pruned(with_kernel(program, changed))
    for name, number in program.sizes.items():
        for less in SMALL:
            if less < number:
                yield replace(program, sizes={**program.sizes, name: less})


Edit = Callable[[ast.FunctionDef, Body, int], None]


def _edits(program: Program, statement: ast.stmt) -> Iterator[Edit]:
    """Ways to make less of one statement."""
    if isinstance(statement, ast.If):
        yield _unwrapped("body")
        yield _unwrapped("orelse")
    if not isinstance(statement, ast.Assign):
        return
    target, value = statement.targets[0], statement.value
    names = [n.id for n in ast.walk(value) if isinstance(n, ast.Name)]
    if isinstance(target, ast.Name):
        made = program.values.get(target.id)
        if isinstance(value, ast.Name):
            yield _renamed(target.id, value.id)
        for name in dict.fromkeys(names):
            if made is not None and program.values.get(name) == made and not isinstance(value, ast.Name):
                yield _replaced(ast.Name(name, ast.Load()))
        if made is not None and made.dims and not _is_load(value):
            yield _as_input(target.id, made)
    elif isinstance(target, ast.Subscript) and isinstance(target.value, ast.Name) and isinstance(value, ast.Name):
        for other, named in program.values.items():
            stored = program.values.get(value.id)
            if stored is not None and other != value.id and named.dims:
                yield _stored(target.value.id, other, named)


def _unwrapped(branch: str) -> Edit:
    def edit(_: ast.FunctionDef, body: Body, k: int) -> None:
        body[k : k + 1] = getattr(body[k], branch) or [ast.Pass()]

    return edit


def _replaced(value: ast.expr) -> Edit:
    def edit(_: ast.FunctionDef, body: Body, k: int) -> None:
        statement = body[k]
        assert isinstance(statement, ast.Assign)
        statement.value = value

    return edit


def _renamed(name: str, to: str) -> Edit:
    """Without an assignment of one name to another."""

    def edit(kernel: ast.FunctionDef, body: Body, k: int) -> None:
        del body[k]
        for node in ast.walk(kernel):
            if isinstance(node, ast.Name) and node.id == name:
                node.id = to

    return edit


def _is_load(value: ast.expr) -> bool:
    return isinstance(value, ast.Subscript) and isinstance(value.value, ast.Name) and value.value.id[0] in "xz"


def _as_input(name: str, made: Named) -> Edit:
    """A value that is given instead of computed."""

    def edit(kernel: ast.FunctionDef, body: Body, k: int) -> None:
        statement = body[k]
        assert isinstance(statement, ast.Assign)
        annotation = ast.parse(f"ak.In[ak.{made.dtype}, {', '.join(made.dims)}]", mode="eval").body
        kernel.args.args.append(ast.arg(f"z{name}", annotation))
        statement.value = ast.parse(f"z{name}[{', '.join(made.subscripts)}]", mode="eval").body

    return edit


def _stored(tensor: str, name: str, named: Named) -> Edit:
    """Another value in an output, which takes its element type and extents."""

    def edit(kernel: ast.FunctionDef, body: Body, k: int) -> None:
        statement = body[k]
        assert isinstance(statement, ast.Assign)
        text = f"{tensor}[{', '.join(named.subscripts)}] = {name}"
        body[k] = ast.parse(text).body[0]
        for argument in kernel.args.args:
            if argument.arg == tensor:
                annotation = f"ak.Out[ak.{named.dtype}, {', '.join(named.dims)}]"
                argument.annotation = ast.parse(annotation, mode="eval").body

    return edit
