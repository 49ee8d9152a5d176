"""Rules for tensors of records: rows read whole, by window or by index, fields read and written, rows copied."""

from __future__ import annotations

import math

from tests.properties.grammar.scope import Axis, Draft, Field, Row, Scope, Value, numbered, numbers, shape_text

_DTYPES = ("f32", "f32", "bf16", "f16", "u8", "i64", "bool", "e4m3", "i16", "i32", "f64", "u16")
_BYTES = {
    "u8": 1,
    "bool": 1,
    "e4m3": 1,
    "bf16": 2,
    "f16": 2,
    "i16": 2,
    "u16": 2,
    "i32": 4,
    "f32": 4,
    "i64": 8,
    "f64": 8,
}
_SHAPES: tuple[tuple[int, ...], ...] = ((), (), (1,), (2,), (3,), (4,), (8,), (33,), (2, 3))
SHARE = 0.08


def _record(draft: Draft) -> str:
    """A record of the file, an earlier one or one more; some have records inside."""
    rng = draft.rng
    if draft.records and rng.random() < 0.5:
        return rng.choice(sorted(draft.records))
    name = draft.fresh("R")
    said: list[str] = []
    fields: list[Field] = []
    for k in range(rng.randint(1, 4)):
        inner = rng.choice(sorted(draft.records)) if draft.records and rng.random() < 0.25 else None
        shape = rng.choice(_SHAPES[:4] if inner else _SHAPES)
        if inner is not None and any(len(more) + len(shape) > 2 for _, _, more in draft.records[inner]):
            inner = None
        dtype = rng.choice(_DTYPES)
        item = inner or f"ak.{dtype}"
        said.append(f"f{k}=({item}, {', '.join(map(str, shape))})" if shape else f"f{k}={item}")
        if inner is None:
            fields.append((f"f{k}", dtype, shape))
        else:
            fields += [(f"f{k}.{path}", d, (*shape, *more)) for path, d, more in draft.records[inner]]
    draft.records[name] = tuple(fields)
    draft.helpers.append(f"{name} = ak.Record({', '.join(said)})")
    return name


def _placed(scope: Scope, axes: tuple[Axis, ...]) -> tuple[list[str], list[str]]:
    """Dims and subscripts of the records of a region."""
    dims = [*(dim for _, dim in scope.lead), *(axis.dim for axis in axes)]
    return dims, [*(text for text, _ in scope.lead), *(axis.subscript for axis in axes)]


def record(scope: Scope) -> None:
    """Records of the region's rows, of rows beside them or by index, and some of their fields."""
    rng, draft = scope.rng, scope.draft
    axes = scope.axes[: rng.choice((1, 1, 2))]
    dims, places = _placed(scope, axes)
    if not dims:
        return
    name = draft.fresh("x")
    of = _record(draft)
    kind = rng.random()
    conditions = [v.name for v in scope.values if v.dtype == "bool" and v.axes == axes and axes]
    if kind < 0.2 and axes and axes[0].block:
        places[-len(axes)] = f"{axes[0].subscript} - 1"
        text = f"ak.load({name}[{', '.join(places)}], fill={rng.choice((0, 1))})"
    elif kind < 0.4 and len(axes) == 1:
        promised = rng.random() < 0.5 and draft.sizes["N"] > 0
        index = draft.tensor("i", "i32", (axes[0].dim,), promise=".values(0, N)" if promised else "")
        dims[-1], places[-1] = "N", f"{index}[{axes[0].subscript}]"
        text = f"{name}[{', '.join(places)}]"
        text = text if promised else f"ak.load({text}, fill=0)"
    elif kind < 0.5 and conditions and axes[0].block:
        text = f"ak.load({name}[{', '.join(places)}], where={rng.choice(conditions)}, fill=0)"
    else:
        text = f"{name}[{', '.join(places)}]"
    draft.parameters.append(f"{name}: ak.In[{of}, {', '.join(dims)}]")
    row = draft.fresh("w")
    scope.say(f"{row} = {text}")
    scope.rows.append(Row(row, of, axes))
    for path, dtype, shape in rng.sample(draft.records[of], min(2, len(draft.records[of]))):
        scope.add(f"{row}.{path}", dtype, (*axes, *map(numbered, shape)))


def _is_in_place(dtype: str, widths: set[int]) -> bool:
    """Whether elements lie at multiples of their size among fields of so many bytes."""
    return all(width % _BYTES[dtype] == 0 for width in widths)


def field(scope: Scope) -> None:
    """One field of a tensor of records, as a tensor of its own."""
    rng, draft = scope.rng, scope.draft
    axes = scope.axes[:1]
    dims, places = _placed(scope, axes)
    if not dims:
        return
    name, of = draft.fresh("x"), _record(draft)
    # others are read by their record: elements of a tensor lie at multiples of their size
    widths = {_BYTES[dtype] for _, dtype, _ in draft.records[of]}
    found = [one for one in draft.records[of] if one[1] != "bool" and _is_in_place(one[1], widths)]
    if not found:
        return
    path, dtype, shape = rng.choice(found)
    draft.parameters.append(f"{name}: ak.In[{of}, {', '.join(dims)}]")
    places += [":"] * len(shape)
    scope.add(f"{name}.{path}[{', '.join(places)}]", dtype, (*axes, *map(numbered, shape)))


def written_records(scope: Scope, value: Value) -> bool:
    """Records of the region's rows: every field, or rows that were read."""
    rng, draft = scope.rng, scope.draft
    if not scope.dims() or rng.random() >= SHARE:
        return False
    blocks = tuple(axis for axis in scope.axes if axis.block)
    axes = blocks if rng.random() < 0.7 else scope.axes
    if any(axis in blocks for axis in scope.axes[len(axes) :]) or axes != scope.axes[: len(axes)]:
        return False
    dims, places = _placed(scope, axes)
    if not dims:
        return False
    at = ", ".join(places)
    promise = ".partial()" if scope.partial else ""
    rows = [row for row in scope.rows if row.axes == axes]
    name = draft.fresh("y")
    if rows and rng.random() < 0.5:
        row = rng.choice(rows)
        draft.parameters.append(f"{name}: ak.Out[{row.record}, {', '.join(dims)}]{promise}")
        scope.say(f"{name}[{at}] = {row.name}")
        return True
    of = _record(draft)
    draft.parameters.append(f"{name}: ak.Out[{of}, {', '.join(dims)}]{promise}")
    for path, dtype, shape in draft.records[of]:
        whole = (*axes, *map(numbered, shape))
        if math.prod(axis.extent for axis in whole) > 20_000:
            scope.say(f"{name}[{at}].{path} = {numbers(dtype, rng)}")
            continue
        found = [v for v in scope.values if v.dtype == dtype and v.axes == whole]
        other = value.name if (value.dtype, value.axes) == (dtype, whole) else None
        full = f"ak.full({shape_text(whole)}, {numbers(dtype, rng)}, ak.{dtype})"
        text = rng.choice(found).name if found else other or rng.choice((full, numbers(dtype, rng)))
        scope.say(f"{name}[{at}].{path} = {text}")
    return True
