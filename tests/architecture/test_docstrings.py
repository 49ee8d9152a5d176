"""Every module, public class, public function and public method says what it is."""

from __future__ import annotations

import ast

import pytest

from tests.architecture.package import Module, modules

Documented = ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


def undocumented(body: list[ast.stmt]) -> list[str]:
    found: list[str] = []
    for node in body:
        if isinstance(node, Documented) and not node.name.startswith("_"):
            if ast.get_docstring(node) is None and not is_overload(node):
                found.append(f"{node.name}, line {node.lineno}")
            if isinstance(node, ast.ClassDef):
                found += undocumented(node.body)
    return found


def is_overload(node: Documented) -> bool:
    return any(isinstance(d, ast.Name) and d.id in ("overload", "override") for d in node.decorator_list)


@pytest.mark.parametrize("module", modules(), ids=str)
def test_public_things_are_documented(module: Module):
    assert ast.get_docstring(module.tree) is not None or not module.tree.body
    assert undocumented(module.tree.body) == []
