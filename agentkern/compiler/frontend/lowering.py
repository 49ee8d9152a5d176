"""The state of lowering one kernel: names, diagnostics, operations emitted so far.

Knows no syntax: handlers of statements and expressions come in as tables.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NoReturn

from agentkern.compiler.frontend.source import Located, Source
from agentkern.compiler.frontend.values import POISON, BlockVar, Extent, FrontValue, Poison, Tile
from agentkern.compiler.ir import dims
from agentkern.compiler.ir.core import Builder, SizeInfo, Value
from agentkern.compiler.ir.dims import Dim, FloorDiv
from agentkern.compiler.ir.tile_ops import TILE_OPS
from agentkern.compiler.ir.types import TileType
from agentkern.diagnostics import Diagnostic, Fix, Label, Span, error
from agentkern.dsl.dtypes import DTYPES

MAX_OPERATIONS = 50_000
I64 = DTYPES["i64"]


class Rejected(Exception):
    """Unwinds to the expression or statement whose diagnostic it carries."""

    def __init__(self, diagnostic: Diagnostic) -> None:
        super().__init__(diagnostic.code)
        self.diagnostic = diagnostic


class Poisoned(Exception):
    """Unwinds an expression one of whose parts was rejected already."""


class TooLarge(Exception):
    """Unwinds the whole kernel when it exceeds the limit on operations."""


class Returned(Exception):
    """Unwinds a helper's body with the value that it returns."""

    def __init__(self, value: FrontValue) -> None:
        super().__init__()
        self.value = value


ExpressionHandler = Callable[["Lowering", ast.expr], FrontValue]
StatementHandler = Callable[["Lowering", ast.stmt], None]


@dataclass(slots=True)
class GridState:
    """The grid being lowered: its variables by their symbol, and its accesses to outputs."""

    blocks: dict[str, BlockVar] = field(default_factory=dict)
    reads: dict[str, list[ast.expr]] = field(default_factory=dict)
    writes: set[str] = field(default_factory=set)
    # Names that the body uses as they stood before the grid; names that it binds itself.
    outer: set[str] = field(default_factory=set)
    bound: set[str] = field(default_factory=set)
    names: tuple[str, ...] = ()
    call: ast.Call | None = None


@dataclass(slots=True)
class RegionState:
    """A loop's or choice's region being lowered: names read as they stood before it, and names that it binds."""

    read: set[str] = field(default_factory=set)
    bound: set[str] = field(default_factory=set)


@dataclass(frozen=True, slots=True)
class ElementState:
    """A loop over elements being lowered: its variables, their extents, the names whose elements it gives."""

    names: tuple[str, ...]
    extents: tuple[int | Dim, ...]
    targets: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class HelperCall:
    """A helper function that is being lowered in the place of its call."""

    name: str
    node: ast.Call


def _divisions(extent: int | Dim) -> list[FloorDiv]:
    """The divisions in an extent that have no number."""
    if isinstance(extent, int):
        return []
    return [atom for monomial, _ in extent.terms for atom in monomial if isinstance(atom, FloorDiv)]


class Lowering:
    """One kernel (or the module's own statements) being lowered."""

    def __init__(
        self,
        source: Source,
        expressions: Mapping[type[ast.expr], ExpressionHandler],
        statements: Mapping[type[ast.stmt], StatementHandler],
    ) -> None:
        self.source = source
        self.expressions = expressions
        self.statements = statements
        self.builder = Builder(TILE_OPS)
        self.diagnostics: list[Diagnostic] = []
        self.scopes: list[dict[str, FrontValue]] = [{}]
        self.deferred: dict[str, ast.expr] = {}
        self.sizes: dict[str, SizeInfo] = {}
        self.used_sizes: dict[str, SizeInfo] = {}
        self.prefix = "ak."
        self.grid: GridState | None = None
        self.written: set[str] = set()
        # Memory between grids; names that it may not have; the name that the statement at hand assigns.
        self.scratch: list[Value] = []
        self.parameter_names: set[str] = set()
        # Parameters' annotations by name, and the promises about their values as a kernel's attributes have them.
        self.annotations: dict[str, ast.expr] = {}
        self.promises: tuple[tuple[object, ...], ...] = ()
        self.optional: tuple[str, ...] = ()
        # Lists that a run-time number picks from: those that are known, and those that the body turns out to have.
        self.tables: frozenset[str] = frozenset()
        self.picked: set[str] = set()
        self.assigned: str | None = None
        self.n_grids = 0
        self.n_ops = 0
        self.symbols: dict[str, int] = {}
        # Set when part of the body could not be read: what it writes is unknown then.
        self.abandoned = False
        # Set when an expression had no value: there must be a diagnostic then.
        self.skipped = False
        self.in_module = False
        self.dim_values: dict[str, int] = {}
        self.first_statement = 1
        self.imported: set[str] = set()
        # Names that a grid bound, or a loop in it: they end with it.
        self.ended: set[str] = set()
        self.ended_in_loop: set[str] = set()
        # Why a name that ended has no value, where there is more to say than that.
        self.unsettled: dict[str, Diagnostic] = {}
        # Functions of the file: those that kernels may call, and the others.
        self.helpers: dict[str, ast.FunctionDef] = {}
        self.functions: dict[str, ast.FunctionDef] = {}
        # Helper calls being lowered, outermost first.
        self.calls: tuple[HelperCall, ...] = ()
        # Regions around the statement being lowered, outermost first, up to the helper that it stands in.
        self.regions: tuple[RegionState, ...] = ()
        self.elements: ElementState | None = None
        # Subscripts that stand for a part of a tensor, because another one stands behind them.
        self.places: set[ast.expr] = set()
        # Operations, by identity, that nothing is lost with where nobody uses what they give.
        self.unused_allowed: set[int] = set()
        # Names of kernels marked `nondeterministic=True`; the kernel being lowered.
        self.nondeterministic: set[str] = set()
        self.kernel: ast.FunctionDef | None = None

    # Diagnostics

    def diagnostic(
        self,
        code: str,
        node: Located,
        *,
        fixes: tuple[Fix, ...] = (),
        labels: tuple[Label, ...] = (),
        hint: str | None = None,
        **fields: object,
    ) -> Diagnostic:
        """A diagnostic at a node; inside a helper, with a label at each call that led there."""
        labels = (*labels, *(self.label(call.node, f"`{call.name}` is called here") for call in self.calls))
        return error(code, self.source.span(node), fixes=fixes, labels=labels, hint=hint, **fields)

    def fail(
        self,
        code: str,
        node: Located,
        *,
        fixes: tuple[Fix, ...] = (),
        labels: tuple[Label, ...] = (),
        hint: str | None = None,
        **fields: object,
    ) -> NoReturn:
        """Give up the expression or statement being handled, with a diagnostic."""
        raise Rejected(self.diagnostic(code, node, fixes=fixes, labels=labels, hint=hint, **fields))

    def label(self, node: Located, text: str) -> Label:
        """A label at a node."""
        return Label(self.source.span(node), text)

    def header(self, node: ast.FunctionDef) -> Span:
        """The span of a function's first line."""
        line = self.source.lines[node.lineno - 1]
        return Span(self.source.path, (node.lineno, len(line) - len(line.lstrip()) + 1), (node.lineno, len(line) + 1))

    # Expressions and statements

    def evaluate(self, node: ast.expr) -> FrontValue:
        """The value of an expression; poison when it was rejected."""
        handler = self.expressions.get(type(node), self.expressions[ast.expr])
        try:
            return handler(self, node)
        except Rejected as e:
            self.diagnostics.append(e.diagnostic)
        except Poisoned:
            pass
        self.skipped = True
        return POISON

    def need(self, *nodes: ast.expr) -> list[FrontValue]:
        """The values of expressions, all evaluated; gives up if one of them was rejected."""
        values = [self.evaluate(node) for node in nodes]
        if any(isinstance(value, Poison) for value in values):
            raise Poisoned
        return values

    def need_one(self, node: ast.expr) -> FrontValue:
        """The value of one expression; gives up if it was rejected."""
        return self.need(node)[0]

    def run(self, body: Sequence[ast.stmt]) -> None:
        """Lower statements in order; one that is rejected does not stop the next."""
        for statement in body:
            handler = self.statements.get(type(statement), self.statements[ast.stmt])
            try:
                handler(self, statement)
            except Rejected as e:
                self.diagnostics.append(e.diagnostic)
            except Poisoned:
                continue

    # Names

    def lookup(self, name: str) -> FrontValue | None:
        """What a name is bound to, from the inside out."""
        for scope in reversed(self.scopes):
            if name in scope:
                value = scope[name]
                if self.grid is not None and not self.calls and name not in self.grid.bound:
                    self.grid.outer.add(name)
                for region in self.regions:
                    if name not in region.bound:
                        region.read.add(name)
                if isinstance(value, Extent) and not self.in_module:
                    self.use_sizes(value.extent)
                return value
        if name in self.deferred:
            return self.evaluate(self.deferred[name])
        return None

    def bind(self, name: str, value: FrontValue) -> None:
        """Bind a name in the innermost scope."""
        self.scopes[-1][name] = value
        self.unsettled.pop(name, None)
        for region in self.regions:
            region.bound.add(name)
        if self.grid is not None and not self.calls:
            self.grid.bound.add(name)
        if isinstance(value, Tile) and value.value.name is None and name.isascii():
            value.value.name = name

    def end(self, name: str, why: Diagnostic | None = None) -> None:
        """Take a name's value away at the end of a region; `why` is said to who reads it."""
        self.scopes[-1].pop(name, None)
        self.ended_in_loop.add(name)
        if why is not None:
            self.unsettled[name] = why

    def use_sizes(self, extent: int | Dim) -> None:
        """Note that the kernel depends on the sizes of an expression."""
        for name in dims.symbols(extent):
            if name in self.sizes:
                self.used_sizes.setdefault(name, self.sizes[name])

    def open_sizes(self, node: ast.expr) -> list[str]:
        """Static sizes without a number that an expression mentions."""
        names = [child.id for child in ast.walk(node) if isinstance(child, ast.Name)]
        values = [value for name in names if isinstance(value := self.lookup(name), Extent)]
        found = [name for value in values for name in dims.symbols(value.extent)]
        return [name for name in dict.fromkeys(found) if name in self.sizes and self.sizes[name].static]

    def open_division(self, extents: Sequence[int | Dim]) -> str | None:
        """A static size without a number that is divided in one of the extents: equality waits for the number."""
        divided = [atom for extent in extents for atom in _divisions(extent)]
        names = [name for atom in divided for side in (atom.numerator, atom.denominator) for name in dims.symbols(side)]
        return next((name for name in names if name in self.sizes and self.sizes[name].static), None)

    def visible_names(self) -> list[str]:
        """Every name in scope, to offer the nearest one."""
        return [*dict.fromkeys(name for scope in self.scopes for name in scope), *self.deferred]

    # Operations

    def emit(
        self,
        name: str,
        operands: tuple[Value, ...],
        type_: TileType,
        node: Located,
        attrs: Mapping[str, object] | None = None,
    ) -> Value:
        """Append an operation with one result, at the place of a node."""
        self.count_op()
        self.builder.location = self.source.location(node)
        return self.builder.value(name, operands, type_, attrs)

    def count_op(self) -> None:
        """Count an operation against the limit."""
        self.n_ops += 1
        if self.n_ops > MAX_OPERATIONS:
            raise TooLarge

    def free_block(self, extent: int | Dim) -> BlockVar | None:
        """The block whose size the compiler chooses, if an axis of this extent depends on one."""
        block = self.block_of(extent)
        return block if block is not None and block.type.block is None else None

    def block_of(self, extent: int | Dim) -> BlockVar | None:
        """The block that an axis' extent depends on, if any."""
        if self.grid is None or isinstance(extent, int):
            return None
        for name in dims.symbols(extent):
            owner = name if name in self.grid.blocks else name.rpartition(".")[0]  # `.ordinal`, `.start`, `.length`
            block = self.grid.blocks.get(owner)
            if block is not None:
                return block
        return None
