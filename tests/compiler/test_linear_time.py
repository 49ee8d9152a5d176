"""A kernel of 5,000 operations: builder, passes, verifier and printers each cost microseconds per operation."""

import time
from collections.abc import Callable

from agentkern.compiler.abi import Variant
from agentkern.compiler.codegen.cuda import print_cuda
from agentkern.compiler.driver import CompileRequest, compile_kernel
from agentkern.compiler.ir import dims
from agentkern.compiler.ir.core import Builder, Kernel, Op, Region, SizeInfo, Value
from agentkern.compiler.ir.printer import print_kernel
from agentkern.compiler.ir.tables import OPS
from agentkern.compiler.ir.types import BlockType, TensorType, TileType
from agentkern.compiler.ir.verifier import verify_kernel
from agentkern.compiler.passes.plan import default_schedule
from agentkern.compiler.pipeline import LEGALISE, LOWER, PassContext
from agentkern.compiler.schedule import Schedule
from agentkern.dsl.dtypes import DTYPES

OPERATIONS = 5000
MICROSECONDS = 20.0
SLOWEST_MICROSECONDS = 60.0  # placing decides a layout per value; on a busy machine of two cores


def long_kernel(count: int) -> Kernel:
    """A chain of `count` element operations between a load and a store."""
    f32 = DTYPES["f32"]
    extent = dims.symbol("N")
    x, out = Value(TensorType(f32, (extent,), "in"), "x"), Value(TensorType(f32, (extent,), "out"), "out")
    block = Value(BlockType("%n", extent), "n")
    tile = TileType(f32, (dims.symbol("%n"),))
    builder = Builder(OPS)
    value = before = builder.value("load", (x, block), tile, {"index": ("$0",)})
    for number in range(count):
        name = ("add", "mul", "sub", "maximum")[number % 4]
        value, before = builder.value(name, (value, before), tile), value
    builder.emit("store", (out, value, block), (), {"index": ("$0",)})
    grid = Op(OPS["grid"], (), {}, (), (Region((block,), tuple(builder.ops)),))
    return Kernel("chain", "tile", (x, out), (grid,), (SizeInfo("N"),), {"source_name": "chain.py"})


def microseconds(run: Callable[[], object]) -> float:
    """The best of three runs, per operation."""
    best = float("inf")
    for _ in range(3):
        start = time.process_time()
        run()
        best = min(best, time.process_time() - start)
    return best * 1e6 / OPERATIONS


def test_five_thousand_operations_cost_microseconds_each() -> None:
    kernel = long_kernel(OPERATIONS)
    costs = {
        "build": microseconds(lambda: long_kernel(OPERATIONS)),
        "verify": microseconds(lambda: verify_kernel(kernel)),
        "print": microseconds(lambda: print_kernel(kernel)),
    }
    none = PassContext(Schedule(()), Variant())
    for step in LEGALISE:
        before = kernel
        costs[step.name] = microseconds(lambda step=step, before=before: step.run(before, none))
        kernel = step.run(kernel, none)
    context = PassContext(default_schedule(kernel, Variant()), Variant())
    for step in LOWER:
        before = kernel
        costs[step.name] = microseconds(lambda step=step, before=before: step.run(before, context))
        kernel = step.run(kernel, context)
    costs["cuda"] = microseconds(lambda: print_cuda(kernel, 90))
    slowest = max(costs.pop("place_layouts"), costs.pop("fit_to_chip"))  # which may place a grid to see that it fits
    assert max(costs.values()) < MICROSECONDS, costs
    assert slowest < SLOWEST_MICROSECONDS


def test_long_rows_may_go_through_a_thousand_operations_of_one_name() -> None:
    body = "for t in ak.grid(T):\n        r = x[t, :]\n        for _ in range(500):\n            r = ak.abs(r) + 0.5"
    signature = "def k(x: ak.In[ak.f32, T, N], out: ak.Out[ak.f32, T, N])"
    sizes = 'T, N = ak.dim("T"), ak.dim("N")'
    text = f"import agentkern as ak\n{sizes}\n@ak.kernel\n{signature}:\n    {body}\n        out[t, :] = r\n"
    result = compile_kernel(CompileRequest(text, "kernel.py"))
    kernel = result.kernel
    assert result.status == "ok"
    assert kernel is not None
    assert microseconds(lambda: print_kernel(kernel)) * OPERATIONS / 1000 < 3 * MICROSECONDS
