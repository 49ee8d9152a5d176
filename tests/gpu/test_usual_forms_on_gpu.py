"""On the GPU, usual forms have the bits of their definitions for every f32 input that they say they hold for.

Here the division without checks is the hardware's own approximation with its corrections, which no CPU can show.
"""

import numpy as np
import pytest
import torch

from agentkern.compiler.codegen.expressions import operation
from agentkern.compiler.codegen.prelude import prelude_text
from agentkern.compiler.codegen.usual_forms import definition_function, form_functions
from agentkern.compiler.ir.function_usual import USUAL
from agentkern.dsl.dtypes import DTYPES
from agentkern.runtime.driver import driver
from agentkern.runtime.nvrtc import NvrtcOptions, compile_cuda

pytestmark = [pytest.mark.gpu, pytest.mark.toolchain]
DIVISORS = (-3.0, 2.0**-126, 1.5 * 2.0**-60, 1 - 2.0**-24, 1.0, 3.0, 2 - 2.0**-23, 7168.0, 1.3125 * 2.0**125)
THREADS, BLOCKS = 256, 1 << 12


FORMS = [(name, number) for name, form in USUAL.items() for number in range(len(form.forms))]


def kernel_of(name: str, form: int) -> str:
    """A kernel that counts the inputs that a form holds for, and those whose bits differ, over all 2^32."""
    (usual, is_usual), definition = form_functions(name)[form], definition_function(name)
    operands = ("x", "b", "y") if len(USUAL[name].value.parameters) > 1 else ("x",)
    call = f"({', '.join(operands)})"
    full = operation(name, DTYPES["f32"]).format(*operands)
    return f"""
{prelude_text([usual, is_usual, definition, "ak_div_row_rcp"])}
extern "C" __global__ void count(float b, unsigned long long* found) {{
  const float y = ak_div_row_rcp(b);
  const unsigned int first = blockIdx.x * {THREADS}u + threadIdx.x;
  unsigned long long held = 0, wrong = 0;
  for (unsigned int k = 0; k < {(1 << 32) // (THREADS * BLOCKS)}u; ++k) {{
    float x = __uint_as_float(first + k * {THREADS * BLOCKS}u);
    bool holds = {is_usual}{call};
    held += holds;
    wrong += holds && __float_as_uint({usual}{call}) != __float_as_uint({full});
  }}
  atomicAdd(found, held);
  atomicAdd(found + 1, wrong);
}}
"""


def counted(name: str, form: int, divisor: float) -> tuple[int, int]:
    gpu = driver()
    arch = gpu.info(0).target
    assert arch is not None
    built = compile_cuda(kernel_of(name, form), NvrtcOptions(arch))
    found = torch.zeros(2, dtype=torch.int64, device="cuda")
    with gpu.on_device(0):
        function = gpu.function(gpu.load_module(built.cubin), "count", 0)
        arguments = (np.float32(divisor).tobytes(), found.data_ptr().to_bytes(8, "little"))
        stream = torch.cuda.current_stream().cuda_stream
        gpu.launch(function, BLOCKS, THREADS, 0, stream, arguments)
        gpu.synchronize(stream)
    held, wrong = found.tolist()
    return held, wrong


@pytest.mark.parametrize(("name", "form"), [row for row in FORMS if len(USUAL[row[0]].value.parameters) == 1])
def test_a_form_has_the_bits_of_its_definition_for_every_input(name, form):
    held, wrong = counted(name, form, 1.0)
    assert wrong == 0
    assert held > 1 << 31


@pytest.mark.parametrize("form", [0, 1])
@pytest.mark.parametrize("divisor", DIVISORS)
def test_a_usual_quotient_has_the_bits_of_the_division_for_every_dividend(divisor, form):
    held, wrong = counted("divide_by", form, divisor)
    assert wrong == 0
    assert held > 1 << 30
