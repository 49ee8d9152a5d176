"""No random kernel can tell which sizes the compiler chose for its blocks: the interpreter's bits do not move."""

from __future__ import annotations

import pytest

from agentkern.compiler.frontend import lower_source
from agentkern.compiler.ir.interpreter import interpret
from tests.properties.grammar.kernels import random_program
from tests.properties.inputs import arrays
from tests.properties.run_kernels import first_difference

BLOCKS = (5, 64)


@pytest.mark.parametrize("first", range(80_000, 80_060, 20))
def test_bits_do_not_depend_on_the_size_of_free_blocks(first: int) -> None:
    for seed in range(first, first + 20):
        program = random_program(seed)
        kernel = lower_source(program.text(), "kernel.py", None, program.numbers(), program.settings).kernel
        assert kernel is not None, program.text()
        want, scalars = arrays(kernel, program), program.scalar_values()
        interpret(kernel, want, program.sizes, scalars)
        for block in BLOCKS:
            got = arrays(kernel, program)
            interpret(kernel, got, program.sizes, scalars, free_block=block)
            assert first_difference(want, got) is None, f"blocks of {block}, seed {seed}\n{program.text()}"
