"""A solution's text as a tree, and texts with one place of it changed: a comparison, an operation, a number, an axis.

Works on any kernel text; what a change means is not known here, only whether it builds and what it answers later.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from agentkern.evals.task_model import Task

MOST = 24
"""Places of a kind that are tried."""
ROUND_TO = ("bf16", "e4m3")

_COMPARES: Mapping[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
}  # fmt: skip
_OPERATORS: Mapping[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Add, ast.Div: ast.Mult, ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd, ast.BitXor: ast.BitOr, ast.LShift: ast.RShift, ast.RShift: ast.LShift,
}  # fmt: skip
_CALLS: Mapping[str, str] = {
    "maximum": "minimum", "minimum": "maximum", "max": "min", "min": "max", "sum": "max", "absmax": "max",
    "mean": "max", "exp": "exp2", "sigmoid": "tanh", "silu": "sigmoid", "rsqrt": "sqrt", "sqrt": "abs",
    "argmax": "argmin", "argmin": "argmax", "cumsum": "cummax", "log": "log2", "abs": "sqrt",
}  # fmt: skip


class _Names(ast.NodeTransformer):
    def __init__(self, names: Mapping[str, str]) -> None:
        self.names = names

    def visit_Name(self, node: ast.Name) -> ast.Name:
        return ast.copy_location(ast.Name(self.names.get(node.id, node.id), node.ctx), node)


class _ConstantLoads(ast.NodeTransformer):
    """Puts `x[..] * 0 + value` for every load of a tensor."""

    def __init__(self, tensor: str, value: int) -> None:
        self.tensor, self.value = tensor, value

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        self.generic_visit(node)
        is_load = isinstance(node.ctx, ast.Load) and isinstance(node.value, ast.Name) and node.value.id == self.tensor
        if not is_load:
            return node
        nothing = ast.BinOp(node, ast.Mult(), ast.Constant(0))
        return ast.BinOp(nothing, ast.Add(), ast.Constant(self.value)) if self.value else nothing


@dataclass(frozen=True, slots=True)
class Source:
    """A module with the kernel that is meant; `sizes`: the name that the text gives to each named size."""

    module: ast.Module
    kernel: ast.FunctionDef
    sizes: Mapping[str, str]

    def text_with(self, body: Sequence[ast.stmt]) -> str:
        """Return the text with another body of the kernel."""
        made = copy.deepcopy(self.module)
        place = next(node for node in made.body if isinstance(node, ast.FunctionDef) and node.name == self.kernel.name)
        place.body = list(body)
        return _unparsed(made)

    def renamed(self, names: Mapping[str, str]) -> list[ast.stmt]:
        """Return the kernel's body with other names."""
        return [_Names(names).visit(copy.deepcopy(statement)) for statement in self.kernel.body]

    def loads_replaced(self, tensor: str, value: int) -> list[ast.stmt]:
        """Return the kernel's body where every load of a tensor is one value."""
        return [_ConstantLoads(tensor, value).visit(copy.deepcopy(statement)) for statement in self.kernel.body]

    def spell_sizes(self, lines: ast.Module) -> ast.Module:
        """Return statements with the sizes as this text names them."""
        return _Names(self.sizes).visit(lines)


def _unparsed(module: ast.AST) -> str:
    return ast.unparse(ast.fix_missing_locations(module)) + "\n"


def read_source(text: str, kernel: str) -> Source:
    """Return a text as a tree, without its other kernels."""
    module = ast.parse(text)
    functions = [node for node in module.body if isinstance(node, ast.FunctionDef)]
    others = [f for f in functions if f.name != kernel and any(_is_kernel(d) for d in f.decorator_list)]
    module.body = [node for node in module.body if node not in others]
    return Source(module, next(f for f in functions if f.name == kernel), _sizes(module))


def _is_kernel(decorator: ast.expr) -> bool:
    return "ak.kernel" in ast.unparse(decorator)


def _sizes(module: ast.Module) -> dict[str, str]:
    """Return the module's name of each size: from `T = ak.dim("T")` and `T, H = ak.dim("T"), ak.static("H")`."""
    found: dict[str, str] = {}
    for node in module.body:
        if isinstance(node, ast.Assign):
            for target in node.targets:
                pairs = zip(_parts(target), _parts(node.value), strict=False)
                found |= {size: name for target_, value in pairs for name, size in _named(target_, value)}
    return found


def _parts(node: ast.expr) -> list[ast.expr]:
    return node.elts if isinstance(node, ast.Tuple) else [node]


def _named(target: ast.expr, value: ast.expr) -> Iterator[tuple[str, str]]:
    if isinstance(target, ast.Name) and isinstance(value, ast.Call) and value.args:
        first = value.args[0]
        if ast.unparse(value.func) in ("ak.dim", "ak.static") and isinstance(first, ast.Constant):
            yield target.id, str(first.value)


def changed_texts(task: Task, source: Source) -> Iterator[tuple[str, Sequence[tuple[str, str]]]]:
    """Yield by kind the texts with one place changed, each with what was there."""
    rules: Mapping[str, Callable[[ast.AST], Iterator[ast.AST]]] = {
        "wrong mask": _other_compare,
        "wrong operation": _other_operation,
        "wrong number": _other_number,
        "wrong axis": _other_axis,
        "lower precision inside": _rounded,
    }
    for kind, rule in rules.items():
        yield kind, list(_changed(source, rule))[:MOST]


def _changed(source: Source, rule: Callable[[ast.AST], Iterator[ast.AST]]) -> Iterator[tuple[str, str]]:
    functions = [node for node in source.module.body if isinstance(node, ast.FunctionDef)]
    numbers = [n for n in source.module.body if isinstance(n, ast.Assign) and isinstance(n.value, ast.Constant)]
    for statement in (*(inner for function in functions for inner in function.body), *numbers):
        nodes = list(ast.walk(statement))
        axes = {id(node.value) for node in nodes if isinstance(node, ast.keyword) and rule is _other_number}
        for node in (node for node in nodes if id(node) not in axes):
            for other in rule(node):
                text = _unparsed(_Swap(node, other).visit(source.module))
                yield f"`{ast.unparse(node)}` as `{ast.unparse(other)}`"[:200], text


class _Swap(ast.NodeTransformer):
    """Rebuilds a tree with one node exchanged; the tree itself stays."""

    def __init__(self, node: ast.AST, other: ast.AST) -> None:
        self.node, self.other = node, other

    def visit(self, node: ast.AST) -> ast.AST:
        if node is self.node:
            return self.other
        return self.generic_visit(copy.copy(node))

    def generic_visit(self, node: ast.AST) -> ast.AST:
        for field, value in ast.iter_fields(node):
            if isinstance(value, list):
                setattr(node, field, [self.visit(v) if isinstance(v, ast.AST) else v for v in value])
            elif isinstance(value, ast.AST):
                setattr(node, field, self.visit(value))
        return node


def _other_compare(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in _COMPARES:
        yield ast.Compare(node.left, [_COMPARES[type(node.ops[0])]()], node.comparators)


def _other_operation(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
        yield ast.BinOp(node.left, _OPERATORS[type(node.op)](), node.right)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _CALLS:
        yield ast.Call(ast.Attribute(node.func.value, _CALLS[node.func.attr], ast.Load()), node.args, node.keywords)


def _other_number(node: ast.AST) -> Iterator[ast.AST]:
    value = node.value if isinstance(node, ast.Constant) else None
    if isinstance(value, float):
        yield ast.Constant(2.0 * value if value else 1.0)
    elif isinstance(value, int) and not isinstance(value, bool):
        yield ast.Constant(value + 1)


def _other_axis(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, ast.keyword) and node.arg == "axis" and isinstance(node.value, ast.Constant):
        for axis in range(3):
            if axis != node.value.value:
                yield ast.keyword("axis", ast.Constant(axis))


def _rounded(node: ast.AST) -> Iterator[ast.AST]:
    """What a name is bound to, and what is cast or stored, rounded on its way."""
    if isinstance(node, ast.Assign):
        for lower in ROUND_TO:
            yield ast.Assign(node.targets, _through(node.value, lower), lineno=node.lineno)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "to":
        for lower in ROUND_TO:
            inner = _through(node.func.value, lower)
            yield ast.Call(ast.Attribute(inner, "to", ast.Load()), node.args, node.keywords)


def _through(value: ast.expr, lower: str) -> ast.expr:
    """Return `value.to(ak.lower).to(ak.f32)`."""
    for name in (lower, "f32"):
        dtype = ast.Attribute(ast.Name("ak", ast.Load()), name, ast.Load())
        value = ast.Call(ast.Attribute(value, "to", ast.Load()), [dtype], [])
    return value
