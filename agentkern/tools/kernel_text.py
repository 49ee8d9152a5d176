"""A kernel file that can be edited by the nodes of its syntax tree. Offsets count characters. Pure."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

Place = tuple[int, int]
Placed = ast.expr | ast.stmt | ast.keyword


@dataclass(frozen=True, slots=True)
class KernelText:
    """A file's text, and one kernel's function in it."""

    source: str
    function: ast.FunctionDef
    starts: tuple[int, ...]

    def place(self, node: Placed) -> Place:
        """Where a node begins and ends."""
        assert node.end_lineno is not None and node.end_col_offset is not None
        return self._offset(node.lineno, node.col_offset), self._offset(node.end_lineno, node.end_col_offset)

    def of(self, node: Placed) -> str:
        """A node's text."""
        start, end = self.place(node)
        return self.source[start:end]

    def put(self, place: Place, text: str) -> str:
        """The file with a stretch replaced."""
        return self.source[: place[0]] + text + self.source[place[1] :]

    def replaced(self, node: Placed, text: str) -> str:
        """The file with a node replaced."""
        return self.put(self.place(node), text)

    def without_argument(self, keyword: ast.keyword) -> str:
        """The file with one argument of a call left out, and the comma before it."""
        start, end = self.place(keyword)
        before = self.source[:start].rstrip()
        return self.put((len(before) - 1 if before.endswith(",") else start, end), "")

    def indent(self, statement: ast.stmt) -> str:
        """The blanks before a statement."""
        return " " * statement.col_offset

    def expressions(self) -> list[ast.expr]:
        """The expressions of the kernel's body, in the order of the text."""
        return sorted(
            (node for statement in self.function.body for node in ast.walk(statement) if isinstance(node, ast.expr)),
            key=lambda node: (node.lineno, node.col_offset, -(node.end_lineno or 0), -(node.end_col_offset or 0)),
        )

    def calls(self) -> Iterator[ast.Call]:
        """Calls in the body."""
        return (node for node in self.expressions() if isinstance(node, ast.Call))

    def operations(self) -> Iterator[tuple[ast.Call, ast.Attribute]]:
        """Calls of the language's operations in the body, each with what is called."""
        for call in self.calls():
            if isinstance(call.func, ast.Attribute) and self.is_language(call.func.value):
                yield call, call.func

    def keywords(self, name: str) -> Iterator[ast.keyword]:
        """Arguments of one name, of calls in the body."""
        return (keyword for call in self.calls() for keyword in call.keywords if keyword.arg == name)

    def accesses(self) -> Iterator[ast.Subscript]:
        """Subscripts of parameters in the body."""
        names = {argument.arg for argument in self.function.args.args}
        for node in self.expressions():
            if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name) and node.value.id in names:
                yield node

    def statements(self) -> list[ast.stmt]:
        """The statements of the kernel's body, those in loops too, without its docstring."""
        found = [n for statement in self.function.body for n in ast.walk(statement) if isinstance(n, ast.stmt)]
        plain = [n for n in found if not (isinstance(n, ast.Expr) and isinstance(n.value, ast.Constant))]
        return sorted(plain, key=lambda node: (node.lineno, node.col_offset))

    def stores(self) -> Iterator[ast.Assign]:
        """Assignments to elements of parameters."""
        names = {argument.arg for argument in self.function.args.args}
        for node in self.statements():
            target = node.targets[0] if isinstance(node, ast.Assign) else None
            if isinstance(target, ast.Subscript) and isinstance(target.value, ast.Name) and target.value.id in names:
                assert isinstance(node, ast.Assign)
                yield node

    def grids(self) -> Iterator[tuple[ast.For, ast.Call]]:
        """Loops over grids, each with the call of `ak.grid`."""
        for node in self.statements():
            if isinstance(node, ast.For) and isinstance(node.iter, ast.Call):
                called = node.iter.func
                if isinstance(called, ast.Attribute) and called.attr == "grid":
                    yield node, node.iter

    def annotations(self) -> Iterator[ast.expr]:
        """The annotations of the kernel's parameters."""
        return (argument.annotation for argument in self.function.args.args if argument.annotation is not None)

    def is_language(self, node: ast.expr) -> bool:
        """Whether a name is the language's module."""
        return isinstance(node, ast.Name) and node.id == "ak"

    def _offset(self, line: int, column_bytes: int) -> int:
        start, end = self.starts[line - 1 : line + 1]
        return start + len(self.source[start:end].encode()[:column_bytes].decode())


def kernel_text(source: str, kernel: str) -> KernelText:
    """Return a file's text with one kernel's function. Errors: ValueError where it has no such kernel."""
    functions = [node for node in ast.parse(source).body if isinstance(node, ast.FunctionDef) and node.name == kernel]
    if not functions:
        raise ValueError(f"there is no kernel `{kernel}`")
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    return KernelText(source, functions[0], (*starts, len(source)))
