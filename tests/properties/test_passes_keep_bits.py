"""After every pass above the schedule the interpreter computes the same bits: a mismatch names the pass."""

from __future__ import annotations

import pytest

from agentkern.compiler.abi import Variant
from agentkern.compiler.frontend import lower_source
from agentkern.compiler.ir.verifier import verify_kernel
from agentkern.compiler.pipeline import LEGALISE, PassContext
from agentkern.compiler.schedule import Schedule
from tests.properties.grammar.kernels import random_program
from tests.properties.inputs import arrays
from tests.properties.run_kernels import ends, first_difference


@pytest.mark.parametrize("first", range(60_000, 60_040, 10))
def test_every_pass_keeps_the_bits_of_random_kernels(first: int) -> None:
    for seed in range(first, first + 10):
        program = random_program(seed)
        kernel = lower_source(program.text(), "kernel.py", None, program.numbers(), program.settings).kernel
        assert kernel is not None
        want = arrays(kernel, program)
        ended = ends(kernel, program, want)
        for step in LEGALISE:
            kernel = step.run(kernel, PassContext(Schedule(()), Variant()))
            verify_kernel(kernel)
            got = arrays(kernel, program)
            assert ends(kernel, program, got) == ended, f"{step.name}, seed {seed}\n{program.text()}"
            assert not ended or first_difference(want, got) is None, f"{step.name}, seed {seed}\n{program.text()}"
