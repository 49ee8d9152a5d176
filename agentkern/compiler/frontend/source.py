"""Kernel text: decoding, parsing, places. Text is parsed with `ast` and never executed."""

from __future__ import annotations

import ast
import re
import warnings
from dataclasses import dataclass

from agentkern.compiler.ir.core import Location
from agentkern.diagnostics import Diagnostic, Edit, Fix, Position, Span, error, split_lines

MAX_CHARACTERS = 1_000_000
_DIGITS = re.compile(r"integer string conversion: value has (\d+) digits")
"""CPython's words for a decimal literal that it does not convert, followed by advice for its own callers."""
# Each level of nesting takes up to six Python frames here; 1000 are available to a whole program.
MAX_DEPTH = 90

Located = ast.expr | ast.stmt | ast.arg | ast.keyword | ast.alias


_CLOSED = (ast.Name, ast.Attribute, ast.Subscript, ast.Call)
"""Expressions that a dot or a bracket may follow as they are."""


@dataclass(frozen=True, slots=True)
class Source:
    """A kernel file's text and its lines."""

    text: str
    path: str
    lines: tuple[str, ...]

    def _column(self, line: int, byte_offset: int) -> int:
        text = self.lines[line - 1] if line <= len(self.lines) else ""
        if text.isascii():
            return byte_offset + 1
        return len(text.encode("utf-8", "surrogatepass")[:byte_offset].decode("utf-8", "ignore")) + 1

    def location(self, node: Located) -> Location:
        """Line and column of a node's start and of its end, from 1."""
        end_line = node.end_lineno or node.lineno
        end = node.end_col_offset if node.end_col_offset is not None else node.col_offset
        return (
            node.lineno,
            self._column(node.lineno, node.col_offset),
            end_line,
            self._column(end_line, end),
        )

    def span(self, node: Located) -> Span:
        """The span of a node."""
        line, column, end_line, end_column = self.location(node)
        return Span(self.path, (line, column), (end_line, end_column))

    def text_of(self, node: Located) -> str:
        """The text of a node on one line; long text is cut."""
        line, column, end_line, end_column = self.location(node)
        text = self.lines[line - 1][column - 1 : end_column - 1 if end_line == line else None]
        return text if end_line == line and len(text) <= 60 else f"{text[:57]}..."

    def exact(self, node: Located) -> str:
        """The text of a node as it stands, lines and all."""
        line, column, end_line, end_column = self.location(node)
        if line == end_line:
            return self.lines[line - 1][column - 1 : end_column - 1]
        first, last = self.lines[line - 1][column - 1 :], self.lines[end_line - 1][: end_column - 1]
        return "\n".join([first, *self.lines[line : end_line - 1], last])

    def operand(self, node: Located) -> str:
        """The text of a node as it stands before a dot or a bracket: in parentheses where it needs them."""
        return self.exact(node) if isinstance(node, _CLOSED) else f"({self.exact(node)})"

    def insert_after(self, node: Located, text: str, description: str) -> Fix:
        """The fix that writes `text` behind a node, in parentheses around the node where it needs them."""
        line, column, end_line, end_column = self.location(node)
        if isinstance(node, _CLOSED):
            return Fix(description, (Edit((end_line, end_column), (end_line, end_column), text),))
        before = Edit((line, column), (line, column), "(")
        return Fix(description, (before, Edit((end_line, end_column), (end_line, end_column), f"){text}")))

    def delete(self, start: Position, end: Position, description: str) -> Fix:
        """The fix that removes a range."""
        return Fix(description, (Edit(start, end, ""),))

    def insert_before_end(self, node: Located, text: str, description: str) -> Fix:
        """The fix that writes `text` before a node's last character, as inside a call."""
        _, _, line, column = self.location(node)
        return Fix(description, (Edit((line, column - 1), (line, column - 1), text),))

    def replace(self, node: Located, text: str, description: str) -> Fix:
        """The fix that writes `text` instead of a node."""
        line, column, end_line, end_column = self.location(node)
        return Fix(description, (Edit((line, column), (end_line, end_column), text),))


def decode_source(data: bytes, path: str) -> tuple[str, tuple[Diagnostic, ...]]:
    """The text of a file's bytes, or what is wrong with them and the empty text."""
    if len(data) > MAX_CHARACTERS:
        return "", (error("AK103", Span(path), limit=MAX_CHARACTERS),)
    try:
        return data.decode("utf-8-sig"), ()
    except UnicodeDecodeError as e:
        line = data[: e.start].count(b"\n") + 1
        reason = f"byte {data[e.start]:#04x} at offset {e.start} is not UTF-8"
        return "", (error("AK102", Span(path, (line, 1), (line, 1)), reason=reason),)


def _depth(tree: ast.AST) -> tuple[int, ast.AST]:
    """The deepest nesting of a tree and the node there, found without recursion."""
    deepest, at = 0, tree
    stack: list[tuple[ast.AST, int]] = [(tree, 0)]
    while stack:
        node, depth = stack.pop()
        if depth > deepest and hasattr(node, "lineno"):
            deepest, at = depth, node
        stack.extend((child, depth + 1) for child in ast.iter_child_nodes(node))
    return deepest, at


def _syntax_error(e: SyntaxError, path: str) -> Diagnostic:
    line, column = max(e.lineno or 1, 1), max(e.offset or 1, 1)
    end = (e.end_lineno or line, max(e.end_offset or column, 1))
    start = (line, column)
    many = _DIGITS.search(e.msg)
    reason = e.msg if many is None else f"a number of {many[1]} digits"
    return error("AK101", Span(path, start, max(start, end)), reason=reason)


def parse_source(text: str, path: str) -> tuple[Source, ast.Module | None, tuple[Diagnostic, ...]]:
    """Parse a kernel file. Errors: AK101 to AK104, with no tree."""
    text = text.removeprefix("\ufeff")
    if len(text) > MAX_CHARACTERS:
        found = error("AK103", Span(path), limit=MAX_CHARACTERS)
        return Source("", path, ("",)), None, (found,)
    source = Source(text, path, tuple(split_lines(text)))
    if "\0" in text:
        line = text[: text.index("\0")].count("\n") + 1
        reason = f"line {line} holds a NUL character"
        return source, None, (error("AK102", Span(path, (line, 1), (line, 1)), reason=reason),)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(text, path)
    except SyntaxError as e:
        return source, None, (_syntax_error(e, path),)
    except UnicodeEncodeError as e:
        return source, None, (error("AK102", Span(path), reason=f"character {e.start} is not a character"),)
    except (RecursionError, MemoryError):
        return source, None, (error("AK104", Span(path), depth="too many levels", limit=MAX_DEPTH),)
    depth, at = _depth(tree)
    if depth > MAX_DEPTH:
        assert isinstance(at, Located)
        return source, None, (error("AK104", source.span(at), depth=depth, limit=MAX_DEPTH),)
    return source, tree, ()
