"""The package as these tests see it: its files, parsed."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "agentkern"


@dataclass(frozen=True, slots=True)
class Module:
    """One Python file of the package."""

    name: str
    path: Path
    text: str
    tree: ast.Module

    def __str__(self) -> str:
        return self.name


@cache
def modules() -> tuple[Module, ...]:
    """Every module of the package, by name."""
    found: list[Module] = []
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        text = path.read_text(encoding="utf-8")
        found.append(Module(name, path, text, ast.parse(text)))
    return tuple(found)


def imports_of(module: Module) -> list[tuple[str, int]]:
    """Every agentkern module or name that is imported, at the top or inside a function, with its line."""
    found: list[tuple[str, int]] = []
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Import):
            found += [(alias.name, node.lineno) for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            found += [(f"{node.module}.{alias.name}", node.lineno) for alias in node.names]
    return [(name, line) for name, line in found if name == "agentkern" or name.startswith("agentkern.")]
