"""No random kernel can tell which sizes the compiler chose for its blocks: the interpreter's bits do not move."""

from __future__ import annotations

import pytest

from agentkern.compiler.frontend import lower_source
from tests.properties.grammar.kernels import random_program
from tests.properties.inputs import arrays
from tests.properties.run_kernels import ends, first_difference

BLOCKS = (5, 64)


@pytest.mark.parametrize("first", range(80_000, 80_060, 20))
def test_bits_do_not_depend_on_the_size_of_free_blocks(first: int) -> None:
    for seed in range(first, first + 20):
        program = random_program(seed)
        kernel = lower_source(program.text(), "kernel.py", None, program.numbers(), program.settings).kernel
        assert kernel is not None, program.text()
        want = arrays(kernel, program)
        ended = ends(kernel, program, want)
        for block in BLOCKS:
            got = arrays(kernel, program)
            assert ends(kernel, program, got, free_block=block) == ended, f"blocks of {block}, seed {seed}"
            assert not ended or first_difference(want, got) is None, f"blocks of {block}, seed {seed}\n{program.text()}"
