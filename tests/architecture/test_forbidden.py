"""Constructs that the project does without, and where the few exceptions stand."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import pytest

from tests.architecture.package import Module, modules

# Below the driver nothing depends on the environment: equal requests give equal answers.
PURE = ("agentkern.diagnostics", "agentkern.dsl", "agentkern.compiler")


def found_in(module: Module) -> Iterator[str]:
    is_pure = module.name.startswith(PURE)
    for node in ast.walk(module.tree):
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Name)
            and node.func.id in ("print", "input", "eval")
        ):
            yield f"line {node.lineno}: {node.func.id}()"
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "exec":
            yield f"line {node.lineno}: exec()"
        if isinstance(node, ast.ExceptHandler) and catches_everything(node):
            yield f"line {node.lineno}: catches everything"
        if isinstance(node, ast.Attribute) and node.attr in ("environ", "getenv") and is_pure:
            yield f"line {node.lineno}: reads the environment"
        if isinstance(node, ast.Global):
            yield f"line {node.lineno}: global"
        if isinstance(node, ast.ImportFrom) and node.level:
            yield f"line {node.lineno}: relative import"


def catches_everything(handler: ast.ExceptHandler) -> bool:
    names = ("Exception", "BaseException")
    return handler.type is None or (isinstance(handler.type, ast.Name) and handler.type.id in names)


@pytest.mark.parametrize("module", modules(), ids=str)
def test_nothing_forbidden_is_used(module: Module):
    assert list(found_in(module)) == []


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("print(1)", "line 1: print()"),
        ("try:\n    pass\nexcept Exception:\n    pass", "line 3: catches everything"),
        ("import os\nx = os.environ['A']", "line 2: reads the environment"),
    ],
)
def test_a_forbidden_construct_is_seen(text: str, what: str):
    module = Module("agentkern.compiler.bad", modules()[0].path, text, ast.parse(text))
    assert list(found_in(module)) == [what]
