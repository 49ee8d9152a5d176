"""Print one function of the GPU stage: names, inlined expressions, one spelling per operation."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from agentkern.compiler.codegen import expressions
from agentkern.compiler.codegen.brackets import bare, factor, is_wrapped, summand
from agentkern.compiler.codegen.c_types import (
    float_literal,
    integer_literal,
    scalar_type,
    small_float_bits,
    storage_type,
)
from agentkern.compiler.codegen.cuda_async import ASYNC_PRINTERS
from agentkern.compiler.codegen.picks import PICK_PRINTERS, argument_name, is_input
from agentkern.compiler.codegen.prelude import PreludeFunction
from agentkern.compiler.codegen.updates import update_function
from agentkern.compiler.codegen.usual_forms import print_usual
from agentkern.compiler.codegen.vectors import VectorAccess, pack, unpack
from agentkern.compiler.ir.core import Kernel, Op, Value
from agentkern.compiler.ir.gpu_types import Pointer, RegisterArray
from agentkern.compiler.ir.types import TensorType, TileType
from agentkern.compiler.passes.unsupported import UnsupportedError
from agentkern.compiler.targets.cuda_names import RESERVED
from agentkern.dsl.dtypes import DType

_NAME = re.compile(r"\bak_[a-z0-9_]+\b")
INLINE_CHARACTERS = 56


class FunctionPrinter:
    """Prints one function: names, inlined expressions, indentation."""

    def __init__(self, kernel: Kernel, arch: int, source: Sequence[str]) -> None:
        self.kernel = kernel
        self.arch = arch
        self.source = source
        self.lines: list[tuple[str, int | None]] = []
        self.indent = 1
        self.names: dict[Value, str] = {}
        self.inlined: dict[Value, str] = {}
        self.packed: dict[Value, str] = {}
        self.taken: set[str] = set(RESERVED)
        self.suffixes: dict[str, int] = {}
        self.functions: set[str] = set()
        self.extra: dict[str, PreludeFunction] = {}
        self.uses: dict[Value, int] = {}
        self.last_line: int | None = None
        for value in kernel.params:
            self.names[value] = self.fresh(value.name or "argument")

    def fresh(self, base: str) -> str:
        """A C name near `base` that is not taken yet."""
        clean = re.sub(r"\W|^(?=ak_)", "_", base)
        name, suffix = clean, self.suffixes.get(clean, 1)
        while name in self.taken or name.startswith("ak_"):
            suffix += 1
            name = f"{clean}_{suffix}"
        self.suffixes[clean] = suffix
        self.taken.add(name)
        return name

    def spell(self, value: Value) -> str:
        """How a value is written where it is used: its name, or its expression."""
        if value in self.inlined:
            return self.inlined[value]
        return self.names[value]

    def line(self, text: str, op: Op | None = None) -> None:
        """Append a line, under a comment with the kernel's line where that is a new one."""
        location = op.location[0] if op is not None and op.location is not None else None
        if location is not None and location != self.last_line:
            self.last_line = location
            name = self.kernel.attrs.get("source_name", "kernel")
            snippet = self.source[location - 1].strip() if 0 < location <= len(self.source) else ""
            self.lines.append((f"{'  ' * self.indent}// {name}:{location}  {snippet}".rstrip(), location))
        self.lines.append(("  " * self.indent + text, location or self.last_line))

    def count_uses(self, ops: Sequence[Op]) -> None:
        """Count the uses of every value, those in regions included."""
        for op in ops:
            for operand in op.operands:
                self.uses[operand] = self.uses.get(operand, 0) + 1
            for region in op.regions:
                self.count_uses(region.ops)

    def block(self, ops: Sequence[Op]) -> None:
        """Print operations; those with one nearby use become part of its expression."""
        for position, op in enumerate(ops):
            printer = _PRINTERS.get(op.name)
            if printer is not None:
                printer(self, op)
                continue
            expression = self.element(op) if op.name == "get" else self.expression(op)
            self.assign(op, expression, self.may_inline(op, ops, position))

    def may_inline(self, op: Op, ops: Sequence[Op], position: int) -> bool:
        """Whether an expression may move to its only use: in this region, with nothing in between that acts."""
        if self.uses.get(op.result, 0) != 1:
            return False
        for later in ops[position + 1 :]:
            if op.result in later.operands:
                return later.name not in ("for", "narrow_pair", "shuffle_xor")
            if later.name in _PRINTERS and later.name != "constant":
                return False
        return False

    def element(self, op: Op) -> str:
        """An element of a register array."""
        array, index = op.operands[0], bare(self.spell(op.operands[1]))
        if array in self.packed:
            dtype = dtype_of(op.result)
            per_word = 32 // dtype.bits
            word = f"{self.packed[array]}[{factor(index)} / {per_word}]"
            return f"({storage_type(dtype)})({word} >> {factor(index)} % {per_word} * {dtype.bits})"
        text = f"{self.spell(array)}[{index}]"
        return f"({text} != 0)" if dtype_of(op.result).kind == "bool" else text

    def expression(self, op: Op) -> str:
        """The C++ of an element operation. Errors: UnsupportedError for a type that it has no spelling for."""
        try:
            return self._expression(op)
        except KeyError as e:
            raise UnsupportedError(
                f"`{op.name}` of {' and '.join(str(dtype_of(v)) for v in op.operands)}",
                "compute in f32 or in an integer type",
                op.location,
            ) from e

    def _expression(self, op: Op) -> str:
        operands = tuple([self.spell(v) for v in op.operands])
        if op.name == "cast":
            saturate = op.attrs.get("saturate") is not False
            template = expressions.cast(dtype_of(op.operands[0]), dtype_of(op.result), saturate=saturate)
            return template.format(*operands)
        if op.name == "bitcast":
            return expressions.bitcast(dtype_of(op.operands[0]), dtype_of(op.result)).format(*operands)
        dtype = dtype_of(op.operands[1] if op.name == "where" else op.operands[0])
        return expressions.operation(op.name, dtype).format(*operands)

    def assign(self, op: Op, expression: str, inline: bool) -> None:
        """Give a result its expression: in place where it is short and used once, else under a name."""
        self.functions.update(_NAME.findall(expression))
        if inline and len(expression) <= INLINE_CHARACTERS:
            self.inlined[op.result] = expression
            return
        name = self.names[op.result] = self.fresh(op.result.name or "v")
        if expression.startswith("(") and expression.endswith(")") and is_wrapped(expression):
            expression = expression[1:-1]
        self.line(f"const {scalar_type(dtype_of(op.result))} {name} = {expression};", op)

    def bare(self, value: Value) -> str:
        """A value's expression without outer brackets."""
        return bare(self.spell(value))

    def summand(self, value: Value) -> str:
        """A value's expression as it may follow `+`."""
        return summand(self.spell(value))

    def use(self, function: str) -> str:
        """Note that a prelude function is used."""
        self.functions.add(function)
        return function

    def helper(self, function: PreludeFunction) -> str:
        """The name of a prelude function that this text needs from now on."""
        self.extra[function.name] = function
        return function.name


def dtype_of(value: Value) -> DType:
    """The element type of a scalar."""
    assert isinstance(value.type, TileType)
    return value.type.dtype


def _constant(f: FunctionPrinter, op: Op) -> None:
    number, dtype = op.attrs["value"], dtype_of(op.result)
    if dtype.kind == "bool":
        text = "true" if number else "false"
    elif dtype.is_float:
        assert isinstance(number, int | float)
        text = _float_constant(float(number), dtype)
    else:
        assert isinstance(number, int)
        text = integer_literal(number, dtype)
    f.inlined[op.result] = text
    f.functions.update(_NAME.findall(text))


def _float_constant(number: float, dtype: DType) -> str:
    if dtype.bits >= 32:
        return float_literal(number, dtype)
    bits = small_float_bits(number, dtype)
    return f"({storage_type(dtype)}){bits:#x}"


def _thread(f: FunctionPrinter, op: Op) -> None:
    name = f.names[op.result] = f.fresh("thread")
    f.line(f"const int {name} = threadIdx.x;", op)


def _block(f: FunctionPrinter, op: Op) -> None:
    name = f.names[op.result] = f.fresh("block")
    f.line(f"const int {name} = blockIdx.x;", op)


def _size_argument(f: FunctionPrinter, op: Op) -> None:
    f.inlined[op.result] = argument_name(str(op.attrs["argument"]))


def _registers(f: FunctionPrinter, op: Op) -> None:
    array = op.result.type
    assert isinstance(array, RegisterArray)
    name = f.fresh(op.result.name or "r")
    fill, count, c_type = op.attrs.get("fill"), array.count, storage_type(array.dtype)
    if op.attrs.get("packed"):
        f.packed[op.result] = name
        count, c_type = count * array.dtype.bits // 32, "unsigned int"
    else:
        f.names[op.result] = name
    f.line(f"{c_type} {name}[{count}];", op)
    if fill is None:
        return
    assert isinstance(fill, int | float)
    is_word = op.result in f.packed or not array.dtype.is_float
    number = str(int(fill)) if is_word else _float_constant(float(fill), array.dtype)
    if count == 1:
        f.line(f"{name}[0] = {number};", op)
        return
    f.line("#pragma unroll")
    i = "i" if name != "i" else "n"
    f.line(f"for (int {i} = 0; {i} < {count}; ++{i}) {name}[{i}] = {number};")


def _set(f: FunctionPrinter, op: Op) -> None:
    array, index, value = op.operands
    f.line(f"{f.spell(array)}[{bare(f.spell(index))}] = {bare(f.spell(value))};", op)


def _vector_access(op: Op) -> VectorAccess:
    array, count = op.operands[2].type, op.attrs["count"]
    assert isinstance(array, RegisterArray) and isinstance(count, int)
    return VectorAccess(array.dtype.bits, count, storage_type(array.dtype))


def _address(f: FunctionPrinter, op: Op) -> tuple[str, str, Pointer]:
    pointer = op.operands[0].type
    assert isinstance(pointer, Pointer)
    offset = summand(f.spell(op.operands[1]))
    base = f.spell(op.operands[0])
    at = summand(f.spell(op.operands[3]))
    if op.operands[2] in f.packed:
        array = f.packed[op.operands[2]]
        at = at if at == "0" else f"{factor(at)} / {32 // pointer.dtype.bits}"
    else:
        array = f.spell(op.operands[2])
    return (base if offset == "0" else f"{base} + {offset}"), (array if at == "0" else f"{array} + {at}"), pointer


def _load_vector(f: FunctionPrinter, op: Op) -> None:
    address, target, pointer = _address(f, op)
    access = _vector_access(op)
    if op.operands[2] in f.packed:
        access = VectorAccess(32, access.bits * access.count // 32, "unsigned int")
    prefix = "ak_lds" if pointer.space == "shared" else "ak_ldg" if pointer.readonly else "ak_ld"
    accessor = f"{prefix}_{access.accessor}"
    f.functions.add(accessor)
    f.line(f"{f.helper(unpack(access))}({target}, {accessor}({address}));", op)


def _store_vector(f: FunctionPrinter, op: Op) -> None:
    address, source, pointer = _address(f, op)
    access = _vector_access(op)
    store = f"{'ak_sts' if pointer.space == 'shared' else 'ak_st'}_{access.accessor}"
    accessor = update_function(op, f.arch) if op.name == "update" else store
    f.functions.add(accessor)
    f.line(f"{accessor}({address}, {f.helper(pack(access))}({source}));", op)


def _shared(f: FunctionPrinter, op: Op) -> None:
    pointer, offset = op.result.type, op.attrs["offset"]
    assert isinstance(pointer, Pointer)
    name = f.names[op.result] = f.fresh(op.result.name or "shared")
    c_type = storage_type(pointer.dtype)
    f.line(f"{c_type}* {name} = ({c_type}*)(ak_smem + {offset});", op)


def _advance(f: FunctionPrinter, op: Op) -> None:
    type_ = op.result.type
    assert isinstance(type_, Pointer)
    name = f.names[op.result] = f.fresh(op.result.name or "p")
    const = "const " if type_.readonly or is_input(op.operands[0]) else ""
    moved = "" if f.spell(op.operands[1]) == "0ll" else f" + {summand(f.spell(op.operands[1]))}"
    source, c_type = op.operands[0].type, f"{const}{storage_type(type_.dtype)}*"
    is_cast = isinstance(source, TensorType) and storage_type(source.dtype) != storage_type(type_.dtype)
    f.line(f"{c_type} {name} = {f'({c_type})' if is_cast else ''}{f.spell(op.operands[0])}{moved};", op)


def _for(f: FunctionPrinter, op: Op) -> None:
    counter = op.regions[0].args[0]
    name = f.names[counter] = f.fresh(counter.name or "i")
    first, end = (f.bare(v) for v in op.operands[:2])
    step = f.bare(op.operands[2]) if len(op.operands) == 3 else op.attrs["step"]
    advance = f"++{name}" if step == 1 else f"{name} += {step}"
    if op.attrs["unroll"] or op.attrs.get("rolled"):
        f.line("#pragma unroll" if op.attrs["unroll"] else "#pragma unroll 1", op)
    f.line(f"for ({scalar_type(dtype_of(counter))} {name} = {first}; {name} < {end}; {advance}) {{", op)
    _nested(f, op)
    f.taken.discard(name)


def _nested(f: FunctionPrinter, op: Op, region: int = 0, closing: str = "}") -> None:
    f.indent += 1
    before, suffixes = set(f.taken), dict(f.suffixes)
    f.block(op.regions[region].ops)
    f.taken, f.suffixes = before, suffixes
    f.indent -= 1
    f.line(closing)


def _if(f: FunctionPrinter, op: Op) -> None:
    f.line(f"if ({bare(f.spell(op.operands[0]))}) {{", op)
    _nested(f, op)


def _if_else(f: FunctionPrinter, op: Op) -> None:
    f.line(f"if ({bare(f.spell(op.operands[0]))}) {{", op)
    _nested(f, op, 0, "} else {")
    _nested(f, op, 1)


def _break_if(f: FunctionPrinter, op: Op) -> None:
    f.line(f"if ({bare(f.spell(op.operands[0]))}) break;", op)


def _shuffle(f: FunctionPrinter, op: Op) -> None:
    name = f.names[op.result] = f.fresh(op.result.name or "other")
    dtype = dtype_of(op.result)
    c_type = scalar_type(dtype)
    text = f"__shfl_xor_sync(0xffffffffu, {bare(f.spell(op.operands[0]))}, {op.attrs['mask']})"
    if dtype.bits < 32:
        text = f"({c_type})__shfl_xor_sync(0xffffffffu, (int){f.spell(op.operands[0])}, {op.attrs['mask']})"
    f.line(f"const {c_type} {name} = {text};", op)


def _barrier(f: FunctionPrinter, op: Op) -> None:
    f.line("__syncthreads();", op)


def _trap(f: FunctionPrinter, op: Op) -> None:
    f.line("__trap();", op)


def _narrow_pair(f: FunctionPrinter, op: Op) -> None:
    dtype = dtype_of(op.results[0])
    c_type, function, bits = expressions.narrow_pair(dtype, f.arch)
    f.functions.add(function)
    name = f.fresh("pair")
    low, high = (bare(f.spell(v)) for v in op.operands)
    f.line(f"const {c_type} {name} = {function}({high}, {low});", op)
    storage = storage_type(dtype)
    f.inlined[op.results[0]] = f"({storage}){name}"
    f.inlined[op.results[1]] = f"({storage})({name} >> {bits})"


def _note(f: FunctionPrinter, op: Op) -> None:
    f.line(f"// {op.attrs['text']}", op)


_PRINTERS: Mapping[str, Callable[[FunctionPrinter, Op], None]] = {
    **ASYNC_PRINTERS, **PICK_PRINTERS,
    "constant": _constant, "thread": _thread, "block": _block, "size_argument": _size_argument,
    "registers": _registers, "set": _set, "load_vector": _load_vector, "store_vector": _store_vector,
    "update": _store_vector, "trap": _trap,
    "shared": _shared, "advance": _advance, "for": _for, "if": _if,
    "if_else": _if_else, "break_if": _break_if, "shuffle_xor": _shuffle, "barrier": _barrier,
    "narrow_pair": _narrow_pair, "usual": print_usual, "note": _note,
}  # fmt: skip
