"""What the compiler does not take yet is answered as it was: no kernel fails in another way."""

from __future__ import annotations

import pytest

from agentkern.compiler.driver import CompileRequest, compile_kernel
from tests.properties.known_gaps import GAPS
from tests.properties.programs import Program


@pytest.mark.parametrize(("code", "program"), GAPS, ids=[program.name for _, program in GAPS])
def test_a_gap_is_answered_with_its_code(code: str, program: Program) -> None:
    result = compile_kernel(CompileRequest(program.text(), "kernel.py", dims=program.numbers()))
    errors = [d for d in result.diagnostics if d.severity == "error"]
    assert {d.code for d in errors} >= {code}, program.text()
    assert all(d.hint for d in errors)
