"""Going on after an error: what a skipped statement would have bound or written is unknown, silently."""

from __future__ import annotations

import ast

from agentkern.compiler.frontend.lowering import Lowering
from agentkern.compiler.frontend.values import POISON


def forget(lw: Lowering, node: ast.AST) -> None:
    """Poison every name that the statement binds."""
    for child in ast.walk(node):
        if isinstance(child, ast.Name) and isinstance(child.ctx, ast.Store):
            lw.bind(child.id, POISON)
    lw.abandoned = True
