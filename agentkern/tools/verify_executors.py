"""Executors that need no compiled code: the interpreter itself, with outputs poisoned and buffers guarded."""

from __future__ import annotations

from dataclasses import dataclass

from agentkern.compiler.ir.interpreter import InterpreterError, interpret
from agentkern.compiler.ir.interpreter_orders import Orders
from agentkern.compiler.ir.reference_formats import Raw
from agentkern.tools.verify_buffers import initial, inspect, lay_out, outputs_of, poison
from agentkern.tools.verify_model import Call, ExecutionError, Program, Run, RunOptions, concrete, signature_of


@dataclass(frozen=True, slots=True)
class InterpreterExecutor:
    """Runs TILE in NumPy, free blocks cut into pieces whose size follows the order option."""

    program: Program
    device: str = "interp"

    def run(self, call: Call, options: RunOptions) -> Run:
        """Run once. Errors: ExecutionError."""
        kernel = self.program.tile(call.sizes)
        signature = signature_of(kernel)
        buffers = lay_out(signature, call, options)
        arrays = {name: buffer.array for name, buffer in buffers.items()}
        try:
            interpret(kernel, arrays, call.sizes, call.scalars, free_block=options.order or None)
        except InterpreterError as e:
            raise ExecutionError(str(e)) from e
        return Run(outputs_of(signature, buffers), (), inspect(signature, buffers))


def run_interpreter(program: Program, call: Call, orders: Orders | None = None) -> dict[str, Raw]:
    """Return the interpreter's outputs; `orders` notes what depends on the order of threads. Errors: BuildError."""
    kernel = program.tile(call.sizes)
    signature = signature_of(kernel)
    tensors: dict[str, Raw] = {}
    for param in signature.tensors:
        if param.access == "in":
            tensors[param.name] = call.tensors[param.name]
        elif param.access == "scratch":
            tensors[param.name] = poison(param.dtype, concrete(param.shape, call.sizes), 0)
        else:
            tensors[param.name] = initial(param, call, 0).copy()
    interpret(kernel, tensors, call.sizes, call.scalars, orders=orders)
    return {p.name: tensors[p.name] for p in signature.outputs}
