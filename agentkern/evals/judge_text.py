"""What a text may be before anyone compiles it: not too long, and no store of answers. Knows no language's meaning."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from agentkern.evals.records import Language

MOST_TEXT_BYTES = 100_000
MOST_LITERAL_BYTES = 4_000
"""A kernel has a few dozen constants; a table of memorised outputs has thousands."""
_PYTHON: tuple[Language, ...] = ("agentkern", "triton")
_C_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_C_LITERAL = re.compile(r'"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)*\'|(?<![\w.])\.?[0-9][\w.]*')


def text_problem(source: str, language: Language) -> str | None:
    """Return why a text is not judged at all, None if it may be."""
    n_bytes = len(source.encode("utf-8", "surrogatepass"))
    if n_bytes > MOST_TEXT_BYTES:
        return f"the text has {n_bytes} bytes; at most {MOST_TEXT_BYTES} are judged: hand in the kernel alone"
    if not source.strip():
        return "the text is empty: hand in the kernel's text"
    literal_bytes = sum(literal_sizes(source, language))
    if literal_bytes > MOST_LITERAL_BYTES:
        return (
            f"the text holds {literal_bytes} bytes of literal numbers and strings, more than {MOST_LITERAL_BYTES}: "
            "compute values, do not store them"
        )
    return None


def literal_sizes(source: str, language: Language) -> Iterator[int]:
    """Yield the bytes of each literal; comments and docstrings are none. Text that does not parse has none."""
    if language not in _PYTHON:
        yield from (len(found.group().encode()) for found in _C_LITERAL.finditer(_C_COMMENT.sub(" ", source)))
        return
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return  # the compiler says what is wrong
    docstrings = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and id(node) not in docstrings:
            yield _size(node)


def _size(node: ast.Constant) -> int:
    if isinstance(node.value, str):
        return len(node.value.encode("utf-8", "surrogatepass"))
    if isinstance(node.value, bytes):
        return len(node.value)
    return (node.end_col_offset or node.col_offset) - node.col_offset
