"""Print a kernel of any stage as text that `parser.py` reads back to an equal kernel."""

import json
import math
from collections.abc import Mapping

from agentkern.compiler.ir.core import Kernel, Op, Region, Value
from agentkern.compiler.ir.dims import Dim

IR_VERSION = 1


def attr_text(value: object) -> str:
    """One attribute value: strings quoted, extents and numbers bare, tuples in brackets."""
    if value is True:
        return "true"
    if value is False:
        return "false"
    if value is None:
        return "none"
    if isinstance(value, int | Dim):
        return str(value)
    if isinstance(value, float):
        return repr(value) if math.isfinite(value) else f"float({value})"
    if isinstance(value, str):
        return json.dumps(value)
    if isinstance(value, tuple):
        return f"[{', '.join(map(attr_text, value))}]"
    raise TypeError(f"an attribute cannot hold {type(value).__name__}")


def attrs_text(attrs: Mapping[str, object]) -> str:
    """Attributes in braces, in the order given."""
    return "{" + ", ".join(f"{name} = {attr_text(value)}" for name, value in attrs.items()) + "}"


class _Printer:
    """Holds the numbering of values while lines are collected."""

    def __init__(self) -> None:
        self.names: dict[Value, str] = {}
        self.taken: set[str] = set()
        self.suffixes: dict[str, int] = {}
        self.lines: list[str] = []
        self.type_texts: dict[object, str] = {}

    def name(self, value: Value) -> str:
        known = self.names.get(value)
        if known is not None:
            return known
        base = value.name.replace(".", "_") if value.name else None  # a dot is for the suffixes below
        stem = f"%{base or len(self.names)}"
        name = stem
        while name in self.taken:
            # all smaller suffixes are taken: a thousand values of one name cost a thousand steps
            self.suffixes[stem] = self.suffixes.get(stem, 0) + 1
            name = f"{stem}.{self.suffixes[stem]}"
        self.taken.add(name)
        self.names[value] = name
        return name

    def type_text(self, type_: object) -> str:
        text = self.type_texts.get(type_)
        if text is None:
            text = self.type_texts[type_] = str(type_)
        return text

    def argument(self, value: Value) -> str:
        return f"{self.name(value)}: {self.type_text(value.type)}"

    def op(self, op: Op, indent: str) -> None:
        operands = ", ".join([self.name(v) for v in op.operands])
        line = f"{op.spec.name}({operands})"
        if op.attrs:
            line += f" {attrs_text(op.attrs)}"
        if op.results:
            left = ", ".join([self.name(v) for v in op.results])
            types = ", ".join([self.type_text(v.type) for v in op.results])
            line = f"{left} = {line} : {types}"
        if op.location is not None:
            line += " @{}:{}-{}:{}".format(*op.location)
        self.lines.append(indent + line + (" {" if op.regions else ""))
        for number, region in enumerate(op.regions):
            self.region(region, indent)
            self.lines.append(indent + ("}" if number == len(op.regions) - 1 else "} {"))

    def region(self, region: Region, indent: str) -> None:
        if region.args:
            self.lines.append(f"{indent}^({', '.join(map(self.argument, region.args))})")
        for op in region.ops:
            self.op(op, indent + "  ")


def print_kernel(kernel: Kernel) -> str:
    """The kernel's text, ending in a newline."""
    printer = _Printer()
    params = ", ".join(map(printer.argument, kernel.params))
    sizes = [
        f"size {size.name} {{static = {attr_text(size.static)}, multiple_of = {size.multiple_of}, "
        f"minimum = {size.minimum}, maximum = {attr_text(size.maximum)}}}"
        for size in kernel.sizes
    ]
    head = [
        f"agentkern.ir {IR_VERSION}",
        f"kernel {kernel.stage} @{kernel.name}({params}) {attrs_text(kernel.attrs)} {{",
    ]
    printer.lines = head + [f"  {line}" for line in sizes]
    for op in kernel.body:
        printer.op(op, "  ")
    printer.lines.append("}")
    return "\n".join(printer.lines) + "\n"
