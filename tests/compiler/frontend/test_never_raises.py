"""Kernels with random expressions and statements swapped in: a kernel that verifies, or coded diagnostics."""

from __future__ import annotations

import ast
import copy
import random

import pytest

from agentkern.compiler.frontend import lower_source
from agentkern.compiler.ir.verifier import verify_kernel
from agentkern.diagnostics import CODES, apply_fix, render, to_json
from tests.diagnostics.page_cases import pages

SLOW = {"AK104", "AK605"}
SEEDS = [ast.parse(page.right) for page in pages() if page.right and page.code not in SLOW]
EXPRESSIONS = [n for tree in SEEDS for n in ast.walk(tree) if isinstance(n, ast.expr) and not isinstance(n, ast.Slice)]
EXTRA = """
t, H, T, x, out, x[t, :], x[0], x[-1], x[:, 0], x[t, None], x[..., 0], out[t], -1, 0, 2.5, 1e400, -0.0, True,
None, "a", t.index, t.ordinal, t.start, ak.inf, ak.f32, ak.e4m3, (t, H), (), ak.sum(x[t, :]), ak.absmax(x[t,
:], axis=-1), x[t, :].T, x[t, :].reshape(t, -1), x[t, :].transpose(1, 0), ak.each(T), ak.where(x[t, :] > 0,
x[t, :], 0), ~(x[t, :] > 0), 1 / H, H * 1.5, T / 2, T + H, H.to(ak.f32), T < H, 2**200, 1 << 70, [1], {1: 2},
ak.sqrt(2), ak.maximum(H, T), x[t, 1:], x[t, ::2], x[t, :][:, 0:1], ak.grid(T), ak, float(x), range(3), x if H
else t, x[t, :] @ x, not x, x and t, 1 < x < 2, f"{x}"
"""
EXPRESSIONS += ast.parse(f"[{EXTRA}]", mode="eval").body.elts
STATEMENTS = [
    n for tree in SEEDS for n in ast.walk(tree) if isinstance(n, ast.Assign | ast.AugAssign | ast.For | ast.If)
]


class Swap(ast.NodeTransformer):
    def __init__(self, rng: random.Random, rate: float) -> None:
        self.rng, self.rate = rng, rate

    def generic_visit(self, node: ast.AST) -> ast.AST:
        super().generic_visit(node)
        loaded = isinstance(getattr(node, "ctx", ast.Load()), ast.Load) and not isinstance(
            node, ast.Slice | ast.Starred
        )
        if isinstance(node, ast.expr) and loaded and self.rng.random() < self.rate:
            return copy.deepcopy(self.rng.choice(EXPRESSIONS))
        if isinstance(node, ast.FunctionDef | ast.For) and self.rng.random() < self.rate:
            node.body.insert(self.rng.randrange(len(node.body) + 1), copy.deepcopy(self.rng.choice(STATEMENTS)))
        return node


def swapped(rng: random.Random) -> str:
    tree = copy.deepcopy(rng.choice(SEEDS))
    swap = Swap(rng, rng.choice([0.02, 0.05, 0.1, 0.2]))
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            node.body = [swap.visit(statement) for statement in node.body]
    return ast.unparse(ast.fix_missing_locations(tree))


@pytest.mark.parametrize("seed", range(8))
def test_any_kernel_gives_a_verified_kernel_or_coded_diagnostics(seed: int):
    rng = random.Random(seed)
    n_accepted = 0
    for _ in range(150):
        text = swapped(rng)
        result = lower_source(text, "kernel.py", None, {}, {})
        assert (result.kernel is None) == bool(result.diagnostics)
        if result.kernel is not None:
            verify_kernel(result.kernel)
            n_accepted += 1
        for diagnostic in result.diagnostics:
            assert diagnostic.code in CODES
            assert render(diagnostic, text)
            assert to_json(diagnostic)
            for fix in diagnostic.fixes:
                assert apply_fix(text, fix) != text
    assert n_accepted > 10
