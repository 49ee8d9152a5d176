"""Random kernels of the language as text, with sizes and inputs: a function of a seed alone.

A program is kept as data (grids of lines and stores), so that a failing one can be cut down and printed again.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field, replace

import numpy as np

from agentkern.compiler.ir.reference_formats import STORAGE

FLOATS = ("f32", "f32", "f32", "bf16", "bf16", "f16")
INTEGERS = ("i32", "i32", "i64", "i16", "u8", "u32")
NARROW = ("e4m3", "e5m2")
EVERY = (*dict.fromkeys(FLOATS), *dict.fromkeys(INTEGERS), *NARROW, "bool")
ROWS = (0, 1, 2, 3, 5, 7, 16, 31, 33, 64, 100)
COLUMNS = (
    1,
    2,
    3,
    5,
    7,
    8,
    9,
    24,
    31,
    32,
    33,
    56,
    64,
    127,
    128,
    129,
    160,
    256,
    257,
    576,
    1000,
    1024,
    1025,
    2049,
    7168,
    8193,
)
WRITTEN = (1, 3, 8, 32, 100, 128)
MAX_ELEMS = 12_000


@dataclass(frozen=True)
class Axis:
    """One axis of a tile. `shape`, `dim` and `subscript` spell it in tile shapes, annotations and subscripts.

    `fixed`: its extent is a number in the text's sight, so it may be split and sliced; `reducible`: as the language
    allows of blocks that are written and whole axes.
    """

    shape: str
    dim: str
    subscript: str
    extent: int
    reducible: bool
    fixed: bool = False


ONE = Axis("1", "1", ":", 1, reducible=True, fixed=True)


@dataclass(frozen=True)
class Line:
    """`name = text`, with `{0}`, `{1}` for the names of `operands`; the value's dtype and axes."""

    name: str
    text: str
    operands: tuple[str, ...]
    dtype: str
    axes: tuple[Axis, ...]


@dataclass(frozen=True)
class Store:
    """`out[subscript] = value`; `dims` annotate the output."""

    out: str
    subscript: str
    value: str
    dtype: str
    dims: tuple[str, ...]


@dataclass(frozen=True)
class Grid:
    """One grid: the text of its `for`, its lines and stores."""

    header: str
    lines: tuple[Line, ...]
    stores: tuple[Store, ...]


@dataclass(frozen=True)
class Program:
    """A kernel. `sizes` are numbers by name, those in `statics` compile-time; `inputs` are dtype and dims by name."""

    name: str
    seed: int
    sizes: dict[str, int]
    statics: frozenset[str]
    inputs: dict[str, tuple[str, tuple[str, ...]]]
    scalars: dict[str, str]
    grids: tuple[Grid, ...]

    def text(self) -> str:
        """The kernel file."""
        parameters = [f"{n}: ak.In[ak.{d}, {', '.join(dims)}]" for n, (d, dims) in self.inputs.items()]
        for grid in self.grids:
            parameters += [f"{s.out}: ak.Out[ak.{s.dtype}, {', '.join(s.dims)}]" for s in grid.stores]
        parameters += [f"{n}: ak.{d}" for n, d in self.scalars.items()]
        lines = ["import agentkern as ak", ""]
        lines += [f'{n} = ak.{"static" if n in self.statics else "dim"}("{n}")' for n in self.sizes]
        lines += ["", "", "@ak.kernel", f"def {self.name}({', '.join(parameters)}):"]
        for grid in self.grids:
            lines.append(f"    {grid.header}")
            lines += [f"        {x.name} = {x.text.format(*x.operands)}" for x in grid.lines]
            lines += [f"        {s.out}[{s.subscript}] = {s.value}" for s in grid.stores]
        return "\n".join(lines) + "\n"

    def pruned(self) -> Program:
        """Without lines, inputs, scalars and grids that nothing uses."""
        grids: list[Grid] = []
        for grid in self.grids:
            needed = {s.value for s in grid.stores}
            kept: list[Line] = []
            for line in reversed(grid.lines):
                if line.name in needed:
                    kept.append(line)
                    needed.update(line.operands)
            if grid.stores:
                grids.append(replace(grid, lines=tuple(kept[::-1])))
        used = " ".join(line.text for grid in grids for line in grid.lines)
        inputs = {n: v for n, v in self.inputs.items() if f"{n}[" in used}
        scalars = {n: v for n, v in self.scalars.items() if n in used}
        return replace(self, grids=tuple(grids), inputs=inputs, scalars=scalars)


# ---- the body of one grid --------------------------------------------------------------------------------------------


@dataclass
class _Body:
    """Lines so far, the values that they name, and what loads and stores of this grid look like."""

    rng: random.Random
    axes: tuple[Axis, ...]
    prefix: str
    subscripts: tuple[str, ...]
    dims: tuple[str, ...]
    lines: list[Line] = field(default_factory=list)
    inputs: dict[str, tuple[str, tuple[str, ...]]] = field(default_factory=dict)
    scalars: dict[str, str] = field(default_factory=dict)

    def add(self, text: str, operands: tuple[Line, ...], dtype: str, axes: tuple[Axis, ...]) -> None:
        name = f"{self.prefix}{len(self.lines)}"
        self.lines.append(Line(name, text, tuple(o.name for o in operands), dtype, axes))

    def pick(self, dtypes: tuple[str, ...]) -> Line | None:
        """A recent value more often than an old one."""
        found = [line for line in self.lines if line.dtype in dtypes]
        if not found:
            return None
        return found[-1 - min(int(self.rng.expovariate(0.5)), len(found) - 1)]

    def partner(self, line: Line) -> Line | None:
        """A value of the same dtype that broadcasts with `line`."""
        found = [x for x in self.lines if x.dtype == line.dtype and _joined(x.axes, line.axes) is not None]
        return self.rng.choice(found) if found else None


def _joined(a: tuple[Axis, ...], b: tuple[Axis, ...]) -> tuple[Axis, ...] | None:
    """The axes that two values broadcast to, None where they do not."""
    if len(a) < len(b):
        a, b = b, a
    joined = list(a[: len(a) - len(b)])
    for x, y in zip(a[len(a) - len(b) :], b, strict=True):
        if x != y and ONE not in (x, y):
            return None
        joined.append(y if x == ONE else x)
    return tuple(joined)


def _load(body: _Body) -> None:
    rng = body.rng
    dtype = rng.choice((*FLOATS, *FLOATS, *INTEGERS, *NARROW, "bool"))
    name = f"x{body.prefix}{len(body.inputs)}"
    n_fixed = len(body.subscripts) - len(body.axes)
    if len(body.axes) > 1 and rng.random() < 0.3:
        axis = rng.choice(body.axes)
        body.inputs[name] = (dtype, (axis.dim,))
        body.add(f"{name}[{axis.subscript}]", (), dtype, (axis,))
        return
    body.inputs[name] = (dtype, body.dims)
    subscripts = list(body.subscripts)
    axes = list(body.axes)
    if axes[-1].fixed and axes[-1].extent > 2 and rng.random() < 0.1:
        low = rng.randrange(axes[-1].extent - 1)
        high = rng.randrange(low + 1, axes[-1].extent + 1)
        subscripts[n_fixed + len(axes) - 1] = f"{low}:{high}"
        axes[-1] = _number_axis(high - low)
    body.add(f"{name}[{', '.join(subscripts)}]", (), dtype, tuple(axes))


def _number_axis(extent: int) -> Axis:
    return ONE if extent == 1 else Axis(str(extent), str(extent), ":", extent, reducible=True, fixed=True)


def _binary(body: _Body) -> None:
    rng = body.rng
    a = body.pick((*EVERY[:-3], "bool")) if rng.random() < 0.9 else body.pick(("bool",))
    if a is None or a.dtype in NARROW:
        return
    if a.dtype == "bool":
        operators = ["{0} & {1}", "{0} | {1}", "{0} ^ {1}"]
    elif a.dtype in FLOATS:
        operators = ["{0} + {1}", "{0} - {1}", "{0} * {1}", "{0} / {1}", "ak.maximum({0}, {1})", "ak.minimum({0}, {1})"]
        operators += ["ak.copysign({0}, {1})"]
    else:
        operators = ["{0} + {1}", "{0} - {1}", "{0} * {1}", "ak.maximum({0}, {1})", "ak.minimum({0}, {1})"]
        operators += ["{0} & {1}", "{0} | {1}", "{0} ^ {1}"]
    b = body.partner(a)
    assert b is not None
    axes = _joined(a.axes, b.axes)
    assert axes is not None
    if a.dtype != "bool" and rng.random() < 0.25:
        comparison = rng.choice(("<", "<=", ">", ">=", "==", "!="))
        body.add(f"{{0}} {comparison} {{1}}", (a, b), "bool", axes)
        return
    body.add(rng.choice(operators), (a, b), a.dtype, axes)


def _with_literal(body: _Body) -> None:
    rng = body.rng
    a = body.pick(FLOATS + INTEGERS)
    if a is None:
        return
    if rng.random() < 0.15:
        name = f"s{body.prefix}{len(body.scalars)}"
        body.scalars[name] = a.dtype
        body.add(rng.choice(("{0} + N", "{0} * N", "ak.maximum(N, {0})")).replace("N", name), (a,), a.dtype, a.axes)
        return
    if a.dtype in FLOATS:
        number = rng.choice(("0.5", "2.0", "-1.0", "3.0", "0.0", "-0.0", "1e-3", "ak.inf"))
        forms = ["{0} + N", "{0} * N", "{0} / N", "N - {0}", "N / {0}", "ak.maximum({0}, N)", "ak.clip({0}, -1.0, 1.0)"]
        text = rng.choice(forms).replace("N", number)
    else:
        forms = ["{0} + 3", "{0} * 5", "{0} // 3", "{0} % 7", "{0} << 2", "{0} >> 1", "7 - {0}", "ak.clip({0}, 0, 9)"]
        text = rng.choice(forms)
    body.add(text, (a,), a.dtype, a.axes)


def _unary(body: _Body) -> None:
    rng = body.rng
    a = body.pick((*FLOATS, *INTEGERS, "bool"))
    if a is None:
        return
    if a.dtype == "bool":
        body.add("~{0}", (a,), "bool", a.axes)
    elif a.dtype in FLOATS:
        name = rng.choice(("abs", "sign", "sqrt", "rsqrt", "floor", "ceil", "round", "trunc", "isnan", "isinf", "-"))
        text = "-{0}" if name == "-" else f"ak.{name}({{0}})"
        body.add(text, (a,), "bool" if name.startswith("is") else a.dtype, a.axes)
    else:
        body.add(rng.choice(("-{0}", "ak.abs({0})", "ak.sign({0})", "~{0}")), (a,), a.dtype, a.axes)


def _three(body: _Body) -> None:
    condition, a = body.pick(("bool",)), body.pick(EVERY)
    if body.rng.random() < 0.3 or condition is None:
        a = body.pick(FLOATS)
        b = body.partner(a) if a is not None else None
        if a is not None and b is not None:
            axes = _joined(a.axes, b.axes)
            assert axes is not None
            body.add("ak.fma({0}, {1}, {0})", (a, b), a.dtype, axes)
        return
    b = body.partner(a) if a is not None else None
    if a is None or b is None:
        return
    axes = _joined(a.axes, b.axes)
    axes = _joined(axes, condition.axes) if axes is not None else None
    if axes is not None:
        body.add("ak.where({0}, {1}, {2})", (condition, a, b), a.dtype, axes)


def _cast(body: _Body) -> None:
    a = body.pick(EVERY)
    if a is None:
        return
    if a.dtype in ("f32", "i32", "u32") and body.rng.random() < 0.15:
        to = body.rng.choice([d for d in ("f32", "i32", "u32") if d != a.dtype])
        body.add(f"{{0}}.bitcast(ak.{to})", (a,), to, a.axes)
        return
    to = body.rng.choice([d for d in ("f32", "f32", "f32", *EVERY) if d != a.dtype] or ["f32"])
    body.add(f"{{0}}.to(ak.{to})", (a,), to, a.axes)


def _reduce(body: _Body) -> None:
    rng = body.rng
    a = body.pick((*FLOATS, *INTEGERS, "bool"))
    axes = [k for k, axis in enumerate(a.axes) if axis.reducible] if a is not None else []
    if a is None or not axes:
        return
    chosen = sorted(rng.sample(axes, len(axes) if rng.random() < 0.2 else 1))
    names = ("any", "all", "sum") if a.dtype == "bool" else ("sum", "sum", "max", "min", "absmax", "prod")
    names = (*names, "mean") if a.dtype in FLOATS else names
    name = rng.choice(names)
    keep = rng.random() < 0.5
    shown = str(chosen[0]) if len(chosen) == 1 else f"({', '.join(map(str, chosen))})"
    left = tuple(ONE if k in chosen else axis for k, axis in enumerate(a.axes) if keep or k not in chosen)
    dtype = "i32" if a.dtype == "bool" and name == "sum" else a.dtype
    body.add(f"ak.{name}({{0}}, axis={shown}{', keepdims=True' if keep else ''})", (a,), dtype, left)


def _shape(body: _Body) -> None:
    rng = body.rng
    a = body.pick(EVERY)
    if a is None or not a.axes:
        return
    kind = rng.choice(("none", "split", "split", "slice", "transpose"))
    if kind == "none":
        at = rng.randrange(len(a.axes) + 1)
        text = ", ".join("None" if k == at else ":" for k in range(len(a.axes) + 1))
        body.add(f"{{0}}[{text}]", (a,), a.dtype, (*a.axes[:at], ONE, *a.axes[at:]))
        return
    if kind == "transpose" and len(a.axes) == 2:
        body.add("{0}.T", (a,), a.dtype, a.axes[::-1])
        return
    fixed = [k for k, axis in enumerate(a.axes) if axis.fixed and axis.extent > 1]
    if not fixed:
        return
    k = rng.choice(fixed)
    n = a.axes[k].extent
    if kind == "slice":
        low = rng.randrange(n)
        high = rng.randrange(low + 1, n + 1)
        text = ", ".join(f"{low}:{high}" if j == k else ":" for j in range(len(a.axes)))
        body.add(f"{{0}}[{text}]", (a,), a.dtype, (*a.axes[:k], _number_axis(high - low), *a.axes[k + 1 :]))
        return
    divisors = [d for d in (2, 3, 4, 8, 16, 32, 64, 128) if n % d == 0 and d < n]
    if not divisors:
        return
    d = rng.choice(divisors)
    axes = (*a.axes[:k], _number_axis(n // d), _number_axis(d), *a.axes[k + 1 :])
    body.add(f"{{0}}.reshape({', '.join(axis.shape for axis in axes)})", (a,), a.dtype, axes)


def _made(body: _Body) -> None:
    """A tile of one number, and a tile repeated along new axes."""
    rng = body.rng
    shape = ", ".join(axis.shape for axis in body.axes)
    shape = f"({shape},)" if len(body.axes) == 1 else f"({shape})"
    if rng.random() < 0.5:
        dtype = rng.choice((*FLOATS, *INTEGERS))
        number = rng.choice(("-0.0", "1.5", "-ak.inf") if dtype in FLOATS else ("0", "3"))
        body.add(f"ak.full({shape}, {number}, ak.{dtype})", (), dtype, body.axes)
        return
    a = body.pick(EVERY)
    if a is not None and _joined(a.axes, body.axes) == body.axes and len(a.axes) <= len(body.axes):
        body.add(f"ak.broadcast_to({{0}}, {shape})", (a,), a.dtype, body.axes)


def _index(body: _Body) -> None:
    blocks = [axis for axis in body.axes if axis.shape.isalpha() and axis.shape.islower()]
    if blocks:
        axis = body.rng.choice(blocks)
        body.add(f"{axis.shape}.index", (), "i64", (axis,))


STEPS = (
    (_load, 1),
    (_binary, 5),
    (_with_literal, 3),
    (_unary, 3),
    (_three, 2),
    (_cast, 3),
    (_reduce, 4),
    (_shape, 3),
    (_index, 1),
    (_made, 1),
)


# ---- kernels ---------------------------------------------------------------------------------------------------------


def _form(
    rng: random.Random, sizes: dict[str, int], statics: set[str]
) -> tuple[str, tuple[Axis, ...], tuple[str, ...], tuple[str, ...], dict[str, str]]:
    """A grid: its header, axes of full tiles, subscripts and dims of tensors, counts of written blocks by name."""
    t, h, b = sizes["T"], sizes["H"], sizes["B"]
    whole = Axis("H", "H", ":", h, reducible=True, fixed="H" in statics)
    long = Axis("T", "T", ":", t, reducible=True, fixed="T" in statics)
    block_t = Axis("t", "T", "t", t, reducible=False)
    block_h = Axis("h", "H", "h", h, reducible=False)
    block_b = Axis("b", "B", "b", b, reducible=False)
    form = rng.randrange(9)
    if form == 0:
        return "for t in ak.grid(T):", (block_t,), ("t",), ("T",), {}
    if form in (1, 2):
        return "for t in ak.grid(T):", (block_t, whole), ("t", ":"), ("T", "H"), {}
    if form in (3, 4):
        written_t, written_h = rng.choice((None, *WRITTEN)), rng.choice((None, *WRITTEN, 128))
        axes = (replace(block_t, reducible=written_t is not None), replace(block_h, reducible=written_h is not None))
        counts = {"h": f"ak.cdiv(H, {written_h})"} if written_h else {}
        counts |= {"t": f"ak.cdiv(T, {written_t})"} if written_t else {}
        header = f"for t, h in ak.grid(T, H, block=({written_t}, {written_h})):"
        return header, axes, ("t", "h"), ("T", "H"), counts
    if form == 5:
        return "for h in ak.grid(H):", (long, block_h), (":", "h"), ("T", "H"), {}
    if form == 6:
        return "for b, t in ak.grid(B, T):", (block_b, block_t, whole), ("b", "t", ":"), ("B", "T", "H"), {}
    if form == 7:
        return "for b, t in ak.grid(ak.each(B), T):", (block_t, whole), ("b", "t", ":"), ("B", "T", "H"), {}
    return "for _ in ak.grid():", (long, whole), (":", ":"), ("T", "H"), {}


def _stores(body: _Body, counts: dict[str, str], number: int) -> list[Store]:
    """Stores that cover their outputs: whole tiles, and values per row or per written block."""
    found: list[Store] = []
    lead = len(body.subscripts) - len(body.axes)
    blocks = [axis for axis in body.axes if axis.subscript == axis.shape]
    for line in reversed(body.lines):
        if len(found) == number:
            break
        out = f"y{body.prefix}{len(found)}"
        missing = [axis for axis in blocks if axis not in line.axes]
        named = [axis for axis in line.axes if axis in blocks]
        if len(set(named)) < len(named):
            continue
        if _joined(line.axes, body.axes) == body.axes and len(line.axes) <= len(body.axes):
            subscripts, dims = body.subscripts, body.dims
        elif all(axis.shape in counts for axis in missing):
            subscripts = (*body.subscripts[:lead], *(f"{axis.shape}.ordinal" for axis in missing))
            dims = (*body.dims[:lead], *(counts[axis.shape] for axis in missing))
            subscripts = (*subscripts, *(axis.subscript for axis in line.axes))
            dims = (*dims, *(axis.dim for axis in line.axes))
        else:
            continue
        if dims:
            found.append(Store(out, ", ".join(subscripts), line.name, line.dtype, dims))
    return found


def random_program(seed: int) -> Program:
    """The kernel of a seed."""
    rng = random.Random(seed)
    while True:
        sizes = {"T": rng.choice(ROWS), "H": rng.choice(COLUMNS), "B": rng.choice((1, 2, 3))}
        if sizes["T"] * sizes["H"] * sizes["B"] <= MAX_ELEMS:
            break
    statics = {name for name, often in (("H", 0.85), ("T", 0.25), ("B", 0.25)) if rng.random() < often}
    grids: list[Grid] = []
    inputs: dict[str, tuple[str, tuple[str, ...]]] = {}
    scalars: dict[str, str] = {}
    for letter in "vw" if rng.random() < 0.2 else "v":
        header, axes, subscripts, dims, counts = _form(rng, sizes, statics)
        body = _Body(rng, axes, letter, subscripts, dims)
        _load(body)
        steps, weights = zip(*STEPS, strict=True)
        for _ in range(rng.randint(3, 16)):
            rng.choices(steps, weights)[0](body)
        stores = _stores(body, counts, rng.choice((1, 1, 2, 3)))
        inputs |= body.inputs
        scalars |= body.scalars
        if stores:
            grids.append(Grid(header, tuple(body.lines), tuple(stores)))
    if not grids:
        return random_program(seed + 1_000_003)
    return Program(f"k{seed}", seed, sizes, frozenset(statics), inputs, scalars, tuple(grids)).pruned()


def scalar_values(program: Program) -> dict[str, float | int]:
    """Values of the program's scalar parameters."""
    rng = random.Random(program.seed)
    return {
        name: rng.choice((0.5, -0.0, 3.0, -2.0)) if dtype in FLOATS else rng.choice((0, 1, 5))
        for name, dtype in program.scalars.items()
    }


# ---- inputs ----------------------------------------------------------------------------------------------------------


def random_input(rng: np.random.Generator, dtype: str, shape: tuple[int, ...]) -> np.ndarray:
    """Raw storage of a dtype: ordinary values, special ones, or any bits."""
    storage = np.dtype(STORAGE[dtype])
    kind = rng.integers(3)
    if dtype == "bool":
        return rng.integers(0, 2, shape).astype(np.bool_)
    if kind == 0 or dtype in NARROW:
        raw = rng.integers(0, 256, (*shape, storage.itemsize), np.uint8)
        return np.ascontiguousarray(raw).view(storage).reshape(shape)
    if storage.kind in "iu" and dtype != "bf16":
        return rng.integers(0 if storage.kind == "u" else -9, 10, shape).astype(storage)
    values = (rng.standard_normal(shape) * 10.0 ** rng.integers(-3, 4)).astype(np.float32)
    if kind == 2 and values.size:
        special = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1e-40, -1e-42, 3e38, 65504.0, 0.5, 1.0], np.float32)
        where = rng.random(shape) < 0.3
        values = np.where(where, rng.choice(special, shape), values)
    if dtype == "bf16":
        return (values.view(np.uint32) >> 16).astype(np.uint16)
    with np.errstate(over="ignore", invalid="ignore"):
        return values.astype(storage)
