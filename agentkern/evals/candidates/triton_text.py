"""What a Triton submission may say: kernels, and a host function that launches them. Reads text, runs nothing.

The host function is Python, and runs. Its names are therefore a closed list: arithmetic, control flow, `triton`, its
language and `math`; nothing from which other modules, files, frames or PyTorch can be reached.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

ENTRY = "run"
MODULES = ("triton", "triton.language", "triton.language.extra", "triton.language.extra.libdevice", "math")
_FROM = {
    "__future__": ("annotations",),
    "triton": ("language", "jit", "cdiv", "next_power_of_2", "autotune", "heuristics", "Config"),
    "triton.language": None,
    "triton.language.extra": ("libdevice",),
    "math": None,
}
_OF_TRITON = ("language", "jit", "cdiv", "next_power_of_2", "autotune", "heuristics", "Config")
_NAMES = frozenset(
    "abs all any bool dict divmod enumerate float int isinstance len list max min pow range reversed round set slice"
    " sorted str sum tuple zip ValueError print".split()
)
# Attributes that lead from values to the interpreter, and methods of strings that follow attributes.
_ATTRIBUTES = (
    "format",
    "format_map",
    "mro",
    "core",
    "semantic",
    "standard",
    "runtime",
    "compiler",
    "backends",
    "testing",
)
_PREFIXES = ("_", "gi_", "cr_", "ag_", "f_", "tb_", "co_", "func_")
_TOP = (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.Assign, ast.AnnAssign, ast.Expr)
_DENIED = (
    ast.ClassDef, ast.AsyncFunctionDef, ast.AsyncFor, ast.AsyncWith, ast.Await, ast.Global, ast.Nonlocal, ast.With,
    ast.Delete, ast.Try, ast.Yield, ast.YieldFrom,
)  # fmt: skip


def problem_of(source: str) -> str | None:
    """Return what a text says that it may not, None if nothing."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as e:
        return f"it is no Python: {e}"
    try:
        return next(_problems(tree), None)
    except RecursionError:
        return "it is nested too deeply"


def entry_arguments(source: str) -> tuple[str, ...]:
    """Return the names of the host function's parameters."""
    for node in ast.parse(source).body:
        if isinstance(node, ast.FunctionDef) and node.name == ENTRY:
            return tuple(argument.arg for argument in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs))
    return ()


def _problems(tree: ast.Module) -> Iterator[str]:
    if not any(isinstance(node, ast.FunctionDef) and node.name == ENTRY for node in tree.body):
        yield f"there is no function `{ENTRY}` that launches the kernels"
    defined = _defined(tree)
    for node in tree.body:
        if not isinstance(node, _TOP):
            yield f"line {node.lineno}: a file holds imports, functions and constants"
    for node in ast.walk(tree):
        said = _problem(node, defined)
        if said is not None:
            yield f"line {getattr(node, 'lineno', 1)}: {said}"


def _problem(node: ast.AST, defined: frozenset[str]) -> str | None:
    match node:
        case ast.Import(names=names):
            wrong = [name.name for name in names if name.name not in MODULES]
            return f"`{wrong[0]}` cannot be imported; modules are {', '.join(MODULES)}" if wrong else None
        case ast.ImportFrom(module=module, names=names, level=level):
            return _import_problem(module or "", [name.name for name in names], level)
        case ast.Attribute(value=ast.Name(id="triton"), attr=attr) if attr not in _OF_TRITON:
            return f"`triton.{attr}` cannot be used; there are {', '.join(_OF_TRITON)}"
        case ast.Attribute(attr=attr) if attr in _ATTRIBUTES or attr.startswith(_PREFIXES):
            return f"the attribute `{attr}` cannot be used"
        case ast.Name(id=name) if name not in defined and name not in _NAMES:
            return f"the name `{name}` is not defined, or cannot be used"
        case _ if isinstance(node, _DENIED):
            return f"`{type(node).__name__.lower()}` cannot be used"
        case _:
            return None


def _import_problem(module: str, names: list[str], level: int) -> str | None:
    if level or module not in _FROM:
        return f"`{module}` cannot be imported from; modules are {', '.join(MODULES)}"
    known = _FROM[module]
    for name in names:
        if name == "*" or name.startswith("_") or name in _ATTRIBUTES or (known is not None and name not in known):
            return f"`{name}` cannot be imported from `{module}`"
    return None


def _defined(tree: ast.Module) -> frozenset[str]:
    """Return every name that the text binds itself."""
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.alias):
            found.add((node.asname or node.name).split(".")[0])
        elif isinstance(node, ast.FunctionDef):
            found.add(node.name)
        elif isinstance(node, ast.arg):
            found.add(node.arg)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.add(node.id)
    return frozenset(name for name in found if not name.startswith("__"))
