"""Read the text that `printer.py` prints. Errors are `IrSyntaxError` with a line number, never a traceback."""

import json
import re
from collections.abc import Callable, Iterator

from agentkern.compiler.ir import dims
from agentkern.compiler.ir.core import Kernel, Op, OpSpec, Region, SizeInfo, Stage, Value
from agentkern.compiler.ir.printer import IR_VERSION
from agentkern.compiler.ir.tables import OPS, TYPE_READERS
from agentkern.compiler.ir.types import MAX_LIST, BlockType, TensorType, TileType
from agentkern.dsl.dtypes import DTYPES


class IrSyntaxError(ValueError):
    """The text is not IR; `line` counts from 1."""

    def __init__(self, line: int, message: str) -> None:
        super().__init__(f"line {line}: {message}")
        self.line = line


_OP = re.compile(r"^(?:(?P<results>%[^=]*?) = )?(?P<name>[a-z][a-z_0-9.]*)\((?P<operands>[^)]*)\)")
_LOCATION = re.compile(r" @(\d+):(\d+)-(\d+):(\d+)$")
_KERNEL = re.compile(r"^kernel (tile|placed|gpu) @([A-Za-z_][A-Za-z_0-9]*)\(")
_SIZE = re.compile(r"^size ([A-Za-z_][A-Za-z_0-9]*) (\{.*\})$")


def _unquoted(text: str, start: int = 0) -> Iterator[tuple[int, str]]:
    """Positions and characters outside strings, from `start` on."""
    quoted = escaped = False
    for position in range(start, len(text)):
        character = text[position]
        if escaped:
            escaped = False
        elif quoted:
            escaped = character == "\\"
            quoted = character != '"'
        elif character == '"':
            quoted = True
        else:
            yield position, character


def _split(text: str) -> list[str]:
    """Split at commas outside brackets and strings."""
    pieces: list[str] = []
    depth, start = 0, 0
    for position, character in _unquoted(text):
        if character in "([<{":
            depth += 1
        elif character in ")]>}":
            depth -= 1
        elif character == "," and depth == 0:
            pieces.append(text[start:position].strip())
            start = position + 1
    last = text[start:].strip()
    return [*pieces, last] if last or pieces else []


def parse_attr(text: str) -> object:
    """One attribute value. Errors: ValueError."""
    if text in ("true", "false"):
        return text == "true"
    if text == "none":
        return None
    if text.startswith("["):
        return tuple(parse_attr(piece) for piece in _split(text[1:-1]))
    if text.startswith('"'):
        return json.loads(text)
    if text.startswith("float("):
        return float(text[6:-1])
    if re.fullmatch(r"-?\d+", text):
        return int(text)
    if re.fullmatch(r"-?\d+(\.\d+)?(e[-+]?\d+)?", text):
        return float(text)
    return dims.parse(text)


def _attrs(text: str) -> dict[str, object]:
    found: dict[str, object] = {}
    for piece in _split(text[1:-1]):
        name, _, value = piece.partition(" = ")
        found[name] = parse_attr(value)
    return found


def parse_type(text: str) -> object:
    """One type. Errors: ValueError."""
    head, _, rest = text.partition("<")
    table, head = head.startswith("table "), head.removeprefix("table ")
    if table and head not in ("in", "out", "inout"):
        raise ValueError(f"there is no table of `{head}`")
    if head in TYPE_READERS:
        return TYPE_READERS[head](_split(rest[:-1]))
    if not rest:
        return TileType(DTYPES[text])
    pieces = _split(rest[:-1])
    if head in DTYPES:
        return TileType(DTYPES[head], (), pieces[0])
    if head == "block":
        block = int(pieces[2]) if len(pieces) > 2 and pieces[2] != "none" else None
        first = dims.parse(pieces[3]) if len(pieces) > 3 else 0
        return BlockType(pieces[0], dims.parse(pieces[1]), block, first, pieces[4:] == ["whole"])
    shape = tuple(dims.parse(piece) for piece in _split(pieces[1][1:-1]))
    if head == "tile":
        return TileType(DTYPES[pieces[0]], shape, pieces[2] if len(pieces) == 3 else None)
    if head in ("in", "out", "inout", "scratch"):
        given = pieces[2] if len(pieces) > 2 else "none"
        strides = None if given == "none" else tuple(dims.parse(piece) for piece in _split(given[1:-1]))
        if strides is not None and len(strides) != len(shape):
            raise ValueError(f"{len(strides)} strides for {len(shape)} axes")
        if table and not (shape and isinstance(shape[0], int) and 0 <= shape[0] <= MAX_LIST):
            raise ValueError(f"a table's leading axis counts its tensors, at most {MAX_LIST}")
        return TensorType(DTYPES[pieces[0]], shape, head, strides, int(pieces[3]) if len(pieces) > 3 else 1, table)
    raise ValueError(f"unknown type `{text}`")


def _closing(text: str, start: int) -> int:
    """Position after the bracket that closes the one at `start`, strings skipped. Errors: ValueError."""
    depth = 0
    for position, character in _unquoted(text, start):
        if character in "([{<":
            depth += 1
        elif character in ")]}>":
            depth -= 1
            if depth == 0:
                return position + 1
    raise ValueError("a bracket is not closed")


def _is_size(fields: dict[str, object]) -> bool:
    """Whether attributes are those of a size: exactly its fields, with numbers that a promise can have."""
    step, low, high = (fields.get(name) for name in ("multiple_of", "minimum", "maximum"))
    return (
        set(fields) == {"static", "multiple_of", "minimum", "maximum"}
        and isinstance(fields["static"], bool)
        and type(step) is int
        and step >= 1
        and type(low) is int
        and low >= 0
        and (high is None or (type(high) is int and high >= 0))
    )


class _Parser:
    """A cursor over lines; values by name."""

    def __init__(self, text: str) -> None:
        self.lines = text.split("\n")
        self.at = 0
        self.values: dict[str, Value] = {}
        self.types: dict[str, object] = {}

    def guarded(self, read: Callable[[str], object], text: str) -> object:
        try:
            return read(text)
        except (ArithmeticError, ValueError, KeyError, IndexError) as error:
            raise IrSyntaxError(self.at + 1, str(error)) from error

    def type(self, text: str) -> object:
        found = self.types.get(text)
        if found is None:
            found = self.types[text] = self.guarded(parse_type, text)
        return found

    def define(self, name: str, type_: object) -> Value:
        if name in self.values:
            raise IrSyntaxError(self.at + 1, f"`{name}` is defined twice")
        base = name[1:].split(".", maxsplit=1)[0]
        value = Value(type_, None if base.isdigit() else base)
        self.values[name] = value
        return value

    def argument(self, text: str) -> Value:
        name, _, type_ = text.partition(": ")
        return self.define(name, self.type(type_))

    def operands(self, text: str) -> tuple[Value, ...]:
        values: list[Value] = []
        for name in _split(text):
            if name not in self.values:
                raise IrSyntaxError(self.at + 1, f"`{name}` is not defined")
            values.append(self.values[name])
        return tuple(values)

    def spec(self, name: str) -> OpSpec:
        if name not in OPS:
            raise IrSyntaxError(self.at + 1, f"unknown operation `{name}`")
        return OPS[name]

    def op(self, line: str) -> Op:
        opens = line.endswith(" {")
        text = line[:-2] if opens else line
        located = _LOCATION.search(text)
        location = None
        if located is not None:
            a, b, c, d = (int(n) for n in located.groups())
            location = (a, b, c, d)
            text = text[: located.start()]
        match = _OP.match(text)
        if match is None:
            raise IrSyntaxError(self.at + 1, f"operation expected, got `{line.strip()}`")
        spec = self.spec(match["name"])
        operands = self.operands(match["operands"])
        rest = text[match.end() :]
        attrs: dict[str, object] = {}
        if rest.startswith(" {"):
            end = self.guarded(lambda text: _closing(text, 1), rest)
            assert isinstance(end, int)
            found = self.guarded(_attrs, rest[1:end])
            assert isinstance(found, dict)
            attrs = found
            rest = rest[end:]
        names = _split(match["results"] or "")
        types = [self.type(piece) for piece in _split(rest[3:])] if rest.startswith(" : ") else []
        if len(names) != len(types):
            raise IrSyntaxError(self.at + 1, f"{len(names)} results, {len(types)} types")
        self.at += 1
        regions = self.regions() if opens else ()
        results = tuple(self.define(n, t) for n, t in zip(names, types, strict=True))
        return Op(spec, operands, attrs, results, regions, location)

    def regions(self) -> tuple[Region, ...]:
        found: list[Region] = []
        while True:
            args: tuple[Value, ...] = ()
            line = self.line()
            if line.startswith("^("):
                args = tuple(self.argument(piece) for piece in _split(line[2:-1]))
                self.at += 1
            found.append(Region(args, self.ops()))
            closing = self.line()
            self.at += 1
            if closing == "}":
                return tuple(found)

    def line(self) -> str:
        while self.at < len(self.lines) and not self.lines[self.at].strip():
            self.at += 1
        if self.at >= len(self.lines):
            raise IrSyntaxError(len(self.lines), "the text ends inside a region")
        return self.lines[self.at].strip()

    def ops(self) -> tuple[Op, ...]:
        found: list[Op] = []
        while not self.line().startswith("}"):
            found.append(self.op(self.line()))
        return tuple(found)

    def sizes(self) -> tuple[SizeInfo, ...]:
        found: list[SizeInfo] = []
        while (match := _SIZE.match(self.line())) is not None:
            fields = self.guarded(_attrs, match[2])
            assert isinstance(fields, dict)
            if not _is_size(fields):
                raise IrSyntaxError(self.at + 1, f"`{match[1]}` is no size: {match[2]}")
            found.append(SizeInfo(match[1], **fields))
            self.at += 1
        return tuple(found)

    def kernel(self) -> Kernel:
        if self.line() != f"agentkern.ir {IR_VERSION}":
            raise IrSyntaxError(self.at + 1, f"`agentkern.ir {IR_VERSION}` expected, got `{self.line()}`")
        self.at += 1
        line = self.line()
        match = _KERNEL.match(line)
        if match is None or not line.endswith("} {"):
            raise IrSyntaxError(self.at + 1, "`kernel STAGE @NAME(PARAMS) {ATTRS} {` expected")
        end = self.guarded(lambda text: _closing(text, match.end() - 1), line)
        assert isinstance(end, int)
        params = tuple(self.argument(piece) for piece in _split(line[match.end() : end - 1]))
        attrs = self.guarded(_attrs, line[end + 1 : -2])
        assert isinstance(attrs, dict)
        self.at += 1
        stage: Stage = match[1]  # pyright: ignore[reportAssignmentType]: the pattern admits only stages
        sizes = self.sizes()
        return Kernel(match[2], stage, params, self.ops(), sizes, attrs)


def parse_kernel(text: str) -> Kernel:
    """The kernel that a text describes. Errors: IrSyntaxError."""
    return _Parser(text).kernel()
