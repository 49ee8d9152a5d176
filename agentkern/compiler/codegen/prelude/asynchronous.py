"""Prelude functions printed from the instruction tables, and the two that go with them.

Reads rows and takes no decision. Functions are made when their name is first asked for: there are over a thousand.
"""

from __future__ import annotations

import re
from functools import lru_cache

from agentkern.compiler.codegen.prelude.table import PreludeFunction, PreludeType
from agentkern.compiler.targets.instructions import Instruction, Parameter
from agentkern.compiler.targets.instructions_index import find_instruction

TENSOR_MAP = PreludeType(
    "AkTensorMap",
    "struct alignas(64) AkTensorMap {\n  unsigned long long words[16];\n};",
    "a tensor map: 128 bytes that the driver encodes",
    "CUDA Driver API: Tensor Map Object Management",
)

WGMMA_DESCRIPTOR = PreludeFunction(
    "unsigned long long ak_wgmma_desc(const void* p, unsigned int leading_bytes, unsigned int stride_bytes, "
    "unsigned int swizzle)",
    "math",
    "unsigned long long start = (unsigned int)__cvta_generic_to_shared(p) >> 4 & 0x3fffu;\n"
    "unsigned long long leading = leading_bytes >> 4 & 0x3fffu;\n"
    "unsigned long long stride = stride_bytes >> 4 & 0x3fffu;\n"
    "return start | leading << 16 | stride << 32 | (unsigned long long)(swizzle & 3u) << 62;",
    "matrix descriptor of a tile at p, which lies at a multiple of its swizzle's period (base offset 0);\n"
    "swizzle: 0 none, 1 128 bytes, 2 64 bytes, 3 32 bytes",
    "PTX ISA: wgmma, Matrix Descriptor Format",
    min_arch=90,
)

_SCALARS = {
    "u16": ("unsigned short", "h"),
    "u32": ("unsigned int", "r"),
    "i32": ("int", "r"),
    "u64": ("unsigned long long", "l"),
}
_REGISTERS = {"float": "f", "int": "r", "unsigned int": "r"}
_MODIFIER = {"read": "", "written": "=", "updated": "+"}
_RESULTS = {"bool": ("unsigned int", "r"), "unsigned int": ("unsigned int", "r"), "void*": ("unsigned long long", "l")}
_OPERANDS_A_LINE = 8
_NAME = re.compile(r"\$(\w+)")


@lru_cache(maxsize=4096)
def instruction_function(name: str) -> PreludeFunction | None:
    """The prelude function of an instruction row; None if there is no row of that name."""
    row = find_instruction(name)
    if row is None:
        return None
    return PreludeFunction(
        f"{row.result} {row.name}({', '.join(map(_declared, row.parameters))})",
        "instruction",
        _body(row),
        row.note,
        row.source,
        requires=(TENSOR_MAP.name,) if any(p.kind == "tensor_map" for p in row.parameters) else (),
        min_arch=row.min_target,
    )


def _declared(parameter: Parameter) -> str:
    """The parameter as C++ declares it."""
    kind, name = parameter.kind, parameter.name
    if parameter.count:
        const = "const " if kind == "read" else ""
        return f"{const}{parameter.element} (&{name})[{parameter.count}]"
    if kind in _SCALARS:
        return f"{_SCALARS[kind][0]} {name}"
    if kind == "tensor_map":
        return f"const AkTensorMap* {name}"
    is_barrier = name == "bar"
    return f"void* {name}" if parameter.is_written or is_barrier else f"const void* {name}"


def _places(parameter: Parameter) -> tuple[str, ...]:
    """Constraint with C++ expression of each PTX operand of a parameter."""
    kind, name = parameter.kind, parameter.name
    if parameter.count:
        constraint = _MODIFIER[kind] + _REGISTERS[parameter.element]
        return tuple(f'"{constraint}"({name}[{i}])' for i in range(parameter.count))
    if kind in _SCALARS:
        return (f'"{_SCALARS[kind][1]}"({name})',)
    if kind == "shared":
        return (f'"r"((unsigned int)__cvta_generic_to_shared({name}))',)
    if kind == "global":
        return (f'"l"(__cvta_generic_to_global({name}))',)
    return (f'"l"({name})',)


def _lines(items: tuple[str, ...]) -> list[str]:
    """Comma-separated items, eight a line."""
    pieces = [items[i : i + _OPERANDS_A_LINE] for i in range(0, len(items), _OPERANDS_A_LINE)]
    return [", ".join(piece) + ("," if piece is not pieces[-1] else "") for piece in pieces]


def _listed(first: int, parameter: Parameter) -> str:
    """The parameter as PTX names it, its operands numbered from `first`."""
    if not parameter.count:
        return f"%{first}"
    return "{" + "\n".join(_lines(tuple(f"%{first + i}" for i in range(parameter.count)))) + "}"


def _section(items: tuple[str, ...]) -> list[str]:
    lines = _lines(items)
    return [f"  {': ' if k == 0 else '  '}{line}" for k, line in enumerate(lines)] or ["  :"]


def _body(row: Instruction) -> str:
    """The statement around the instruction."""
    outputs: list[str] = []
    names: dict[str, str] = {}
    if row.result != "void":
        names["result"] = "%0"
        outputs.append(f'"={_RESULTS[row.result][1]}"(result)')
    for parameter in row.parameters:
        if parameter.kind in ("written", "updated"):
            names[parameter.name] = _listed(len(outputs), parameter)
            outputs += _places(parameter)
    inputs: list[str] = []
    for parameter in row.parameters:
        if parameter.name not in names:
            names[parameter.name] = _listed(len(outputs) + len(inputs), parameter)
            inputs += _places(parameter)
    text = _NAME.sub(lambda match: names[match[1]], row.ptx.replace("%", "%%"))
    return "\n".join(_statement(row, text, tuple(outputs), tuple(inputs)))


def _statement(row: Instruction, text: str, outputs: tuple[str, ...], inputs: tuple[str, ...]) -> list[str]:
    """Lines of the body; each line of PTX is a literal of its own."""
    keyword = "asm" if row.effect == "value" else "asm volatile"
    clobber = ['  : "memory"'] if row.effect == "memory" else []
    ptx = text.split("\n")
    literals = [f'"{line} "' if line.endswith(",") else f'"{line}\\n"' for line in ptx[:-1]] + [f'"{ptx[-1]}"']
    sections = [*_section(outputs), *_section(inputs), *clobber]
    while sections and sections[-1] == "  :":
        sections.pop()
    body = [f"{keyword}(", *(f"  {literal}" for literal in literals), *sections]
    body[-1] += ");"
    if row.result == "void":
        return body
    c_type = _RESULTS[row.result][0]
    value = {"bool": "result != 0", "unsigned int": "result", "void*": "(void*)result"}[row.result]
    return [f"{c_type} result;", *body, f"return {value};"]
