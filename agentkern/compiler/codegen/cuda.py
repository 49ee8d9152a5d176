"""Print a GPU-stage kernel as CUDA C++. Takes no decision: every operation has one spelling.

The text stands alone (no includes): the prelude functions that it uses, then one `__global__` function per launch,
commented with the source lines it came from. Compiles with NVRTC and nvcc, `-fmad=false`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from agentkern.compiler.abi import Argument
from agentkern.compiler.codegen.c_types import scalar_type, storage_type
from agentkern.compiler.codegen.cuda_async import map_name
from agentkern.compiler.codegen.function_printer import FunctionPrinter
from agentkern.compiler.codegen.picks import argument_name, is_input
from agentkern.compiler.codegen.prelude import find_function, prelude_functions
from agentkern.compiler.ir.core import Kernel, Op, walk
from agentkern.compiler.ir.gpu_types import TensorMap
from agentkern.compiler.ir.nondeterminism import is_nondeterministic
from agentkern.compiler.ir.types import TensorType, TileType, entry_names
from agentkern.dsl.dtypes import DTYPES


@dataclass(frozen=True, slots=True)
class CudaText:
    """A kernel's text; `lines` maps lines of it (from 1) to lines of the kernel's source."""

    text: str
    lines: dict[int, int]


def kernel_arguments(kernel: Kernel, strided: Sequence[str]) -> tuple[Argument, ...]:
    """The arguments of every function of a kernel: pointers and scalars as in the source, run-time sizes, strides."""
    found: list[Argument] = []
    for value in kernel.params:
        name, type_ = value.name or "argument", value.type
        if isinstance(type_, TensorType) and type_.table:
            found.append(Argument("table", name, type_.dtype, entries=entry_names(name, type_)))
        elif isinstance(type_, TensorType):
            found.append(Argument("pointer", name, type_.dtype))
        else:
            assert isinstance(type_, TileType)
            found.append(Argument("scalar", name, type_.dtype))
    i64 = DTYPES["i64"]
    found += [Argument("size", size.name, i64) for size in kernel.sizes]
    for value in kernel.params:
        if value.name is None or not isinstance(value.type, TensorType):
            continue
        entries = entry_names(value.name, value.type)
        if value.type.table and set(entries) & set(strided):
            found.append(Argument("stride_table", value.name, i64, value.type.rank - 1, entries=entries))
        elif value.name in strided:
            found += [Argument("stride", value.name, i64, axis) for axis in range(value.type.rank)]
    return (*found, *_tensor_maps(kernel))


def _tensor_maps(kernel: Kernel) -> tuple[Argument, ...]:
    """The tensor maps that a kernel's functions use, each once."""
    found: dict[str, Argument] = {}
    for op in walk(kernel.body):
        if op.name == "tensor_map":
            map_ = op.result.type
            assert isinstance(map_, TensorMap)
            tensor = op.operands[0].name or "argument"
            name = map_name(op)
            found[name] = Argument("tensor_map", name, map_.dtype, 0, tensor, map_.box, map_.swizzle)
    return tuple(found.values())


def _parameter(argument: Argument, f: FunctionPrinter, kernel: Kernel) -> str:
    if argument.kind in ("size", "stride"):
        suffix = f".stride{argument.axis}" if argument.kind == "stride" else ""
        return f"long long {argument_name(argument.name + suffix)}"
    if argument.kind == "stride_table":
        return f"const __grid_constant__ AkTable<{argument.words}> {argument_name(argument.name + '.strides')}"
    if argument.kind == "tensor_map":
        return f"const __grid_constant__ AkTensorMap {argument.name}"
    value = next(v for v in kernel.params if v.name == argument.name)
    if argument.kind == "scalar":
        return f"{scalar_type(argument.dtype)} {f.names[value]}"
    if argument.kind == "table":
        return f"const __grid_constant__ AkTable<{argument.words}> {f.names[value]}"
    const = "const " if is_input(value) else ""
    return f"{const}{storage_type(argument.dtype)}* {f.names[value]}"


def _function(kernel: Kernel, op: Op, arch: int, source: Sequence[str], strided: Sequence[str]) -> FunctionPrinter:
    f = FunctionPrinter(kernel, arch, source)
    arguments = kernel_arguments(kernel, strided)
    f.taken.update(argument_name(a.name) for a in arguments if a.kind in ("size", "stride"))
    f.taken.update(argument_name(f"{a.name}.strides") for a in arguments if a.kind == "stride_table")
    f.functions.update("AkTable" for a in arguments if a.kind in ("table", "stride_table"))
    f.count_uses(op.regions[0].ops)
    parameters = ", ".join(_parameter(a, f, kernel) for a in arguments)
    f.indent = 0
    bounds = ", ".join(str(op.attrs[name]) for name in ("threads", "min_blocks") if name in op.attrs)
    cluster = f" __cluster_dims__({op.attrs['cluster']})" if "cluster" in op.attrs else ""
    f.line(f'extern "C" __global__ void __launch_bounds__({bounds}){cluster}')
    f.line(f"{op.attrs['name']}({parameters}) {{")
    f.indent = 1
    if op.attrs["shared_bytes"]:
        f.line("extern __shared__ __align__(1024) unsigned char ak_smem[];")
    f.block(op.regions[0].ops)
    f.indent = 0
    f.line("}")
    return f


def print_cuda(kernel: Kernel, arch: int, source: Sequence[str] = (), strided: Sequence[str] = ()) -> CudaText:
    """The text of a GPU-stage kernel for an architecture (compute capability times ten)."""
    functions = [_function(kernel, op, arch, source, strided) for op in kernel.body]
    used = {name for f in functions for name in f.functions if find_function(name) is not None}
    extra = {name: function for f in functions for name, function in f.extra.items()}
    text = [f"// {kernel.name}: generated by agentkern; stands alone, compile with -fmad=false"]
    if is_nondeterministic(kernel):
        text.append("// nondeterministic: float sums round in the order of threads")
    text.append("")
    for function in [*prelude_functions(used), *(extra[name] for name in sorted(extra))]:
        text += [*function.text.rstrip("\n").split("\n"), ""]
    lines: dict[int, int] = {}
    for f in functions:
        for line, location in f.lines:
            text.append(line)
            if location is not None:
                lines[len(text)] = location
        text.append("")
    return CudaText("\n".join(text), lines)
