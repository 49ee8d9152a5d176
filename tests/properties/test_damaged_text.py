"""Kernel text with pieces dropped, swapped and put in: every text compiles or is answered with diagnostics."""

from __future__ import annotations

import random
import re

import pytest

from agentkern.compiler.driver import CompileRequest, compile_kernel
from tests.properties.grammar.kernels import random_program
from tests.properties.programs import Program

PIECES = (
    *(
        "t",
        "h",
        "H",
        "T",
        "x",
        "v0",
        "v1",
        "0",
        "1",
        "-1",
        "128",
        "1.5",
        "1e999",
        "9" * 20,
        "'a'",
        "True",
        "None",
        "...",
    ),
    *(
        "(",
        ")",
        "[",
        "]",
        "{",
        "}",
        ":",
        ",",
        "=",
        "\\",
        "\n",
        "    ",
        "#",
        "é",
        "@",
        "~",
        "<",
        "==",
        "is",
        "not",
        "and",
    ),
    *(
        "+",
        "-",
        "*",
        "/",
        "//",
        "%",
        "&",
        "ak.grid",
        "ak.sum",
        "axis=1",
        "axis=2",
        "keepdims=True",
        "ak.where",
        "ak.each",
    ),
    *(
        "for",
        "in",
        "if",
        "while",
        "lambda",
        "def",
        "return",
        "import os",
        ".to",
        ".T",
        ".index",
        ".ordinal",
        ".reshape",
    ),
    *("block=128", "block=0", "ak.f32", "ak.bf16", "ak.Out", "ak.In", "ak.static", "ak.dim", "ak.unknown"),
)


def damaged(program: Program, rng: random.Random) -> str:
    """The program's text with one to three changes."""
    parts = re.findall(r"\s+|\w+|\W", program.text())
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        at = rng.randrange(len(parts))
        change = rng.randrange(4)
        if change == 0:
            parts[at] = ""
        elif change == 1:
            parts[at] = rng.choice(PIECES)
        elif change == 2:
            parts.insert(at, rng.choice(PIECES) + rng.choice(("", " ")))
        else:
            parts[at] = rng.choice(parts)
    return "".join(parts)


@pytest.mark.parametrize("first", range(0, 300, 50))
def test_damaged_text_compiles_or_is_answered_with_diagnostics(first: int) -> None:
    for seed in range(first, first + 50):
        rng = random.Random(seed)
        program = random_program(rng.randrange(1_000_000))
        text = damaged(program, rng)
        result = compile_kernel(CompileRequest(text, "kernel.py", dims={n: program.sizes[n] for n in program.statics}))
        assert result.status == "ok" or result.diagnostics, text
        last_line = text.count("\n") + 2
        assert all(1 <= d.span.start[0] <= last_line for d in result.diagnostics), text
        assert not [d for d in result.diagnostics if d.code.startswith("AK9")], text
