"""Files and functions stay small enough to be read at once."""

from __future__ import annotations

import ast

import pytest

from tests.architecture.package import Module, modules

MAX_FILE_LINES = 400
MAX_FUNCTION_LINES = 70


@pytest.mark.parametrize("module", modules(), ids=str)
def test_file_is_short(module: Module):
    assert len(module.text.splitlines()) <= MAX_FILE_LINES


@pytest.mark.parametrize("module", modules(), ids=str)
def test_functions_are_short(module: Module):
    functions = [node for node in ast.walk(module.tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    sizes = {f.name: (f.end_lineno or f.lineno) - f.lineno + 1 for f in functions}
    assert {name: size for name, size in sizes.items() if size > MAX_FUNCTION_LINES} == {}
