"""A kernel as the property tests run it: text, sizes and settings. Data, and what can be read off it."""

from __future__ import annotations

import ast
import random
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

FLOATS = ("f32", "bf16", "f16", "f64")
Number = int | float | bool


@dataclass(frozen=True)
class Named:
    """A name's value: its element type, and as text the extents and subscripts of a tensor that would hold it."""

    dtype: str
    dims: tuple[str, ...]
    subscripts: tuple[str, ...]


@dataclass(frozen=True)
class Program:
    """A kernel's `def` and how to run it.

    `sizes`: numbers by name, those in `statics` fixed at compile time; `promises`: further arguments of their
    declarations. `scalars`: element types of scalar parameters; `settings`: compile-time values. `helpers`: functions
    and records before the kernel. `values`: what its names stand for, which only the reduction of failures asks.
    """

    name: str
    body: str
    sizes: dict[str, int]
    statics: frozenset[str] = frozenset({"H"})
    seed: int = 0
    scalars: dict[str, str] = field(default_factory=dict)
    settings: dict[str, Number] = field(default_factory=dict)
    promises: dict[str, str] = field(default_factory=dict)
    helpers: str = ""
    values: Mapping[str, Named] = field(default_factory=dict, compare=False)

    def text(self) -> str:
        """The kernel file."""
        declared = [
            f'{n} = ak.{"static" if n in self.statics else "dim"}("{n}"{self.promises.get(n, "")})' for n in self.sizes
        ]
        helpers = [self.helpers.strip(), "", ""] if self.helpers else []
        return "\n".join(
            ["import agentkern as ak", "", *declared, "", "", *helpers, "@ak.kernel", self.body.strip(), ""]
        )

    def numbers(self) -> dict[str, int]:
        """Sizes fixed at compile time."""
        return {name: self.sizes[name] for name in self.statics if name in self.sizes}

    def scalar_values(self) -> dict[str, float | int]:
        """Values of the scalar parameters, of the program's seed."""
        rng = random.Random(self.seed)
        menus = {"bool": (False, True), **dict.fromkeys(FLOATS, (0.5, -0.0, 3.0, -2.0))}
        return {name: rng.choice(menus.get(dtype, (0, 1, 5))) for name, dtype in self.scalars.items()}


def with_kernel(program: Program, kernel: ast.FunctionDef) -> Program:
    """The program with another `def`; scalars and settings that it no longer has are gone."""
    kernel.body = kernel.body or [ast.Pass()]
    ast.fix_missing_locations(kernel)
    names = {argument.arg for argument in kernel.args.args}
    return replace(
        program,
        body=ast.unparse(kernel),
        scalars={n: d for n, d in program.scalars.items() if n in names},
        settings={n: v for n, v in program.settings.items() if n in names},
    )


def kernel_of(program: Program) -> ast.FunctionDef:
    """The kernel's `def`, parsed."""
    (kernel,) = ast.parse(program.body.strip()).body
    assert isinstance(kernel, ast.FunctionDef)
    return kernel


def pruned(program: Program) -> Program:
    """Without statements, parameters, helpers and sizes that nothing uses."""
    kernel = kernel_of(program)
    while _drop_unread(kernel.body, _reads(kernel)):
        pass
    used = _reads(kernel)
    kernel.args.args = [argument for argument in kernel.args.args if argument.arg in used]
    found = with_kernel(program, kernel)
    words = set(re.findall(r"\w+", found.body))
    helpers: list[str] = []
    for statement in reversed(ast.parse(program.helpers).body):
        if _defined(statement) in words:
            helpers.insert(0, ast.unparse(statement))
            words |= set(re.findall(r"\w+", helpers[0]))
    return replace(
        found,
        helpers="\n\n\n".join(helpers),
        sizes={n: v for n, v in program.sizes.items() if n in words},
        statics=frozenset(n for n in program.statics if n in words),
    )


def _defined(statement: ast.stmt) -> str:
    """The name that a statement of the file defines: a function or a record."""
    if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
        return statement.targets[0].id
    return statement.name if isinstance(statement, ast.FunctionDef) else ""


def _reads(kernel: ast.FunctionDef) -> set[str]:
    """Names that are read, and tensors that are stored to."""
    found = {node.id for node in ast.walk(kernel) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}
    return found


def _drop_unread(body: list[ast.stmt], used: set[str]) -> bool:
    """Remove assignments to names that nothing reads, and blocks without a statement; whether something went."""
    gone = False
    for statement in list(body):
        for inner in (getattr(statement, "body", []), getattr(statement, "orelse", [])):
            gone |= _drop_unread(inner, used)
        if isinstance(statement, ast.Assign):
            targets = [n for t in statement.targets for n in ast.walk(t)]
            if any(isinstance(n, ast.Subscript) for n in targets):
                continue
            unread = all(n.id not in used for n in targets if isinstance(n, ast.Name))
        else:
            unread = isinstance(statement, ast.For | ast.If) and not statement.body
        if unread:
            body.remove(statement)
            gone = True
    return gone
