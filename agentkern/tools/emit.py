"""The texts that `compile --emit` shows: stages, layouts, proofs, the host's view. Computes nothing that matters."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping

from agentkern.compiler.abi import KernelAbi, ScalarParam, TensorParam
from agentkern.compiler.driver import CompileResult
from agentkern.compiler.ir.core import Kernel, walk
from agentkern.compiler.ir.parser import parse_kernel
from agentkern.compiler.ir.records import Layout
from agentkern.compiler.ir.types import TileType
from agentkern.compiler.layout.draw import draw_text
from agentkern.compiler.layout.layout import parse_layout
from agentkern.compiler.passes.lower.conversions import describe_conversion
from agentkern.runtime.build import Build
from agentkern.runtime.sass import disassemble
from agentkern.tools.requests import Emit

EmitText = Callable[[CompileResult, Build | None], str | None]


def emit_text(kind: Emit, compiled: CompileResult, built: Build | None) -> str | None:
    """Return the text of one kind; None where the compiler stopped before it.

    Errors: NvdisasmMissing, DisassemblyFailed for `sass`.
    """
    return _EMIT[kind](compiled, built)


def _stage(name: str) -> EmitText:
    return lambda compiled, _built: compiled.texts.get(name)


def _ptx(_compiled: CompileResult, built: Build | None) -> str | None:
    return built.ptx if built is not None else None


def _sass(_compiled: CompileResult, built: Build | None) -> str | None:
    return disassemble(built.cubin) if built is not None else None


def _layouts(compiled: CompileResult, _built: Build | None) -> str | None:
    """One line per value: name, type without its layout, layout, source line; how layouts convert; each one drawn."""
    placed = compiled.texts.get("placed")
    if placed is None:
        return None
    rows: list[tuple[str, str, str, str]] = []
    for op in walk(parse_kernel(placed).body):
        for value in op.results:
            if isinstance(value.type, TileType) and value.type.layout is not None:
                bare = str(TileType(value.type.dtype, value.type.shape))
                line = f"line {op.location[0]}" if op.location is not None else ""
                rows.append((value.name or op.name, bare, value.type.layout, line))
    widths = [max((len(row[column]) for row in rows), default=0) for column in range(3)]
    head = "# (rank | registers | lanes | warps), each `axis:extent:stride`; `*` holds a copy\n"
    lines = ("  ".join(cell.ljust(width) for cell, width in zip(row, (*widths, 0), strict=True)) for row in rows)
    table = head + "\n".join(line.rstrip() for line in lines) + "\n"
    drawings = (f"\n{text}\n{draw_text(parse_layout(text))}" for text in dict.fromkeys(row[2] for row in rows))
    return table + _conversions(parse_kernel(placed)) + "".join(drawings)


def _conversions(kernel: Kernel) -> str:
    """One line per value that goes to another layout: how, and what it costs a warp."""
    lines: list[str] = []
    for op in walk(kernel.body):
        if op.name in ("convert", "slice"):
            types = (op.operands[0].type, op.result.type)
            texts = [t.layout for t in types if isinstance(t, TileType) and t.layout is not None]
            if len(texts) == 2:
                plan = describe_conversion(op, parse_layout(texts[0]), parse_layout(texts[1]))
                lines.append(f"{op.result.name or op.name}: {plan}\n  {texts[0]}\n  {texts[1]}\n")
    return "\n" + "".join(lines) if lines else ""


def _proofs(compiled: CompileResult, _built: Build | None) -> str:
    records = [record.to_json() for record in compiled.proofs.records]
    return (
        json.dumps({"version": 1, "counts": compiled.proofs.counts(), "records": records}, indent=1, default=str) + "\n"
    )


def _host(compiled: CompileResult, _built: Build | None) -> str | None:
    return json.dumps(_abi_json(compiled.abi), indent=1) + "\n" if compiled.abi is not None else None


def _abi_json(abi: KernelAbi) -> dict[str, object]:
    """What a caller passes, what is checked, and the launches, as data."""
    return {
        "version": 1,
        "name": abi.name,
        "parameters": [_param_json(param) for param in abi.params],
        "lists": {listed.name: list(listed.entries) for listed in abi.lists},
        "sizes": [
            {"name": size.name, "multiple_of": size.multiple_of, "min": size.minimum, "max": size.maximum}
            for size in abi.sizes
        ],
        "statics": dict(abi.statics),
        "variant": {"strided": list(abi.variant.strided), "alignment": abi.variant.alignment},
        "launches": [
            {
                "function": launch.function,
                "blocks": str(launch.blocks),
                "threads": launch.threads,
                "shared_bytes": launch.shared_bytes,
                "arguments": [
                    {"kind": argument.kind, "name": argument.name, "dtype": argument.dtype.name}
                    | ({"axis": argument.axis} if argument.kind in ("stride", "stride_table") else {})
                    | ({"entries": list(argument.entries)} if argument.entries else {})
                    for argument in launch.arguments
                ],
            }
            for launch in abi.launches
        ],
    }


def _param_json(param: TensorParam | ScalarParam) -> dict[str, object]:
    if isinstance(param, TensorParam):
        shape = [extent if isinstance(extent, int) else str(extent) for extent in param.shape]
        found: dict[str, object] = {
            "name": param.name,
            "dtype": param.dtype.name,
            "shape": shape,
            "access": param.access,
        }
        return found if param.record is None else found | {"record": _record_json(param.record)}
    return {"name": param.name, "dtype": param.dtype.name, "default": param.default}


def _record_json(record: Layout) -> dict[str, object]:
    """The bytes of one record."""
    fields = [
        {"name": leaf.path, "dtype": leaf.dtype.name, "shape": list(map(str, leaf.shape)), "byte": str(leaf.offset)}
        for leaf in record.leaves
    ]
    return {"name": record.name, "bytes": str(record.nbytes), "fields": fields}


_EMIT: Mapping[Emit, EmitText] = {
    "cuda": _stage("cuda"),
    "ir": _stage("ir"),
    "placed": _stage("placed"),
    "gpu": _stage("gpu"),
    "ptx": _ptx,
    "sass": _sass,
    "layouts": _layouts,
    "proofs": _proofs,
    "host": _host,
}
