"""Imports go down the list of layers, those inside functions included."""

from __future__ import annotations

import ast

import pytest

from tests.architecture.package import Module, imports_of, modules

# Lowest first. A module belongs to the longest prefix that fits it, and may import its own layer and those before it.
LAYERS = (
    "agentkern.diagnostics",
    "agentkern.dsl",
    "agentkern",
    "agentkern.compiler",
    "agentkern.compiler.layout",
    "agentkern.compiler.targets",
    "agentkern.compiler.ir",
    "agentkern.compiler.schedule",
    "agentkern.compiler.abi",
    "agentkern.compiler.variants",
    "agentkern.compiler.frontend",
    "agentkern.compiler.analysis",
    "agentkern.compiler.proofs",
    "agentkern.compiler.passes",
    "agentkern.compiler.codegen",
    "agentkern.compiler.pipeline",
    "agentkern.compiler.driver",
    "agentkern.runtime",
    "agentkern.tools",
    "agentkern.evals",
    "agentkern.tools.server",
    "agentkern.tools.api",
    "agentkern.tools.commands",
    "agentkern.tools.cli",
    "agentkern.__main__",
)
# What may not be reached although it lies below.
FORBIDDEN = {
    # the oracle and the runtime share nothing with the lowering
    "agentkern.runtime": ("agentkern.compiler.passes", "agentkern.compiler.codegen", "agentkern.compiler.pipeline"),
    # facts about hardware and layouts know no IR, no language
    "agentkern.compiler.layout": ("agentkern.dsl", "agentkern.compiler.ir"),
}


def layer_of(name: str) -> str:
    fitting = [layer for layer in LAYERS if name == layer or name.startswith(f"{layer}.")]
    return max(fitting, key=len)


def violations(module: Module) -> list[str]:
    own = layer_of(module.name)
    found: list[str] = []
    for name, line in imports_of(module):
        target = layer_of(name)
        is_up = LAYERS.index(target) > LAYERS.index(own)
        is_forbidden = name.startswith(FORBIDDEN.get(own, ("\0",)))
        if is_up or is_forbidden:
            found.append(f"{module.name}:{line} ({own}) imports {name} ({target})")
    return found


@pytest.mark.parametrize("module", modules(), ids=str)
def test_imports_go_down_only(module: Module):
    assert violations(module) == []


def test_an_upward_import_inside_a_function_is_seen():
    text = "def f():\n    from agentkern.tools import api\n"
    module = Module("agentkern.compiler.ir.bad", modules()[0].path, text, ast.parse(text))
    assert violations(module) == [
        "agentkern.compiler.ir.bad:2 (agentkern.compiler.ir) imports agentkern.tools.api (agentkern.tools.api)"
    ]
