"""Whole kernels: sizes, grids, and a mixture of rules that each seed weighs anew."""

from __future__ import annotations

import random
from collections.abc import Callable

from tests.properties.grammar import access, bits, elements, lists, loops, moves, records, reductions, structure, takes
from tests.properties.grammar.grids import grid
from tests.properties.grammar.scope import FLOATS, INTEGERS, Draft, Scope, Value
from tests.properties.grammar.stores import store
from tests.properties.programs import Program, pruned

ROWS = (0, 1, 2, 3, 5, 7, 16, 31, 33, 64, 100)
LOOPED = (0, 1, 2, 3, 5, 8, 17, 33, 70, 130)
COLUMNS = (
    *(0, 1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 24, 31, 32, 33, 56, 63, 64, 65, 96, 127, 128, 129, 160, 192, 229),
    *(255, 256, 257, 448, 576, 1000, 1023, 1024, 1025, 2049, 4096, 7168, 8193),
)
TALL = (9001, 10_007, 16_384, 20_011, 32_768)
"""Rows that are walked in pieces, however they are built."""
MOST_ELEMS = 12_000
Rule = Callable[[Scope], None]

RULES: tuple[tuple[Rule, int], ...] = (
    (access.load, 4),
    (access.again, 3),
    (access.window, 2),
    (access.masked, 2),
    (access.gather, 2),
    (access.pick_elements, 2),
    (access.optional, 1),
    (access.one_of_the_lead, 1),
    (access.index, 2),
    (elements.binary, 10),
    (elements.with_literal, 6),
    (elements.unary, 5),
    (elements.function, 2),
    (elements.choice, 4),
    (elements.cast, 6),
    (elements.made, 2),
    (reductions.reduce, 7),
    (reductions.extreme, 2),
    (reductions.scan, 3),
    (reductions.last, 1),
    (reductions.order, 3),
    (moves.shape, 6),
    (moves.join, 3),
    (moves.repeat, 1),
    (moves.regroup_bits, 2),
    (structure.helper, 1),
    (structure.unrolled, 1),
    (structure.history, 1),
    (structure.flag, 1),
    (structure.run_time_choice, 2),
    (structure.element_loop, 2),
    (structure.guarded_read, 2),
    (lists.pick, 3),
    (lists.all_of, 1),
    (records.record, 2),
    (records.field, 1),
    (bits.philox, 1),
    (bits.rounded, 2),
    (bits.require, 1),
    (takes.along, 2),
    (takes.at, 2),
)
OF_SCALARS: tuple[Rule, ...] = (
    elements.binary,
    elements.binary,
    elements.with_literal,
    elements.unary,
    elements.function,
    elements.choice,
    elements.cast,
)


def random_program(seed: int, *, long: bool = False) -> Program:
    """The kernel of a seed; `long` ones have rows that are walked, and values over two axes of them, more often."""
    rng = random.Random(seed)
    while True:
        program = _attempt(rng, seed, long=long)
        if program is not None:
            return program


def _attempt(rng: random.Random, seed: int, *, long: bool) -> Program | None:
    sizes = _sizes(rng, long=long)
    of_h = rng.choice((0.9, 0.9, 0.4)) if long else 0.5 if sizes["H"] in TALL else 0.85
    often = (("H", of_h), ("T", 0.25), ("B", 0.25), ("N", 0.3), ("M", 0.5), ("L", 1.0))
    draft = Draft(rng, sizes, {name for name, share in often if rng.random() < share})
    _promise(draft)
    lines: list[str] = []
    add = _mixture(rng, scans=sizes["H"] in TALL)
    near = _scalars(draft) if rng.random() < 0.2 else []
    for _ in range(2 if rng.random() < 0.25 else 1):
        header, scope = grid(draft, long=long)
        scope.values += near
        access.load(scope)
        add(scope, rng.randint(2, 16))
        if store(scope, rng.choice((1, 1, 2, 3))):
            lines += [f"    {header}", *scope.lines]
            draft.earlier = list(draft.written)
    if not any(line.strip().startswith("for ") for line in lines):
        return None
    parameters = [*draft.parameters, *(f"{n}: ak.{d}" for n, d in draft.scalars.items())]
    body = "\n".join([f"def k{seed}({', '.join(parameters)}):", *(f"    {line}" for line in draft.before), *lines])
    program = Program(
        f"seed {seed}",
        body,
        sizes,
        frozenset(draft.statics),
        seed,
        draft.scalars,
        draft.settings,
        draft.promises,
        "\n\n\n".join(draft.helpers),
        draft.values,
    )
    return pruned(program)


def _sizes(rng: random.Random, *, long: bool) -> dict[str, int]:
    while True:
        sizes = {"T": rng.choice(ROWS), "H": rng.choice(COLUMNS), "B": rng.choice((1, 2, 3)), "N": rng.choice(LOOPED)}
        if rng.random() < (0.25 if long else 0.01):
            sizes |= {"T": 1, "H": rng.choice(TALL), "B": 1}
        elif sizes["T"] * sizes["H"] * sizes["B"] > MOST_ELEMS:
            continue
        # rows of no segment do not exist
        segments = rng.choice((1, 2, 3, 7, 20) if sizes["T"] else (0, 1, 3))
        return {**sizes, "M": segments, "L": rng.choice((1, 2, 3, 3, 5))}


def _promise(draft: Draft) -> None:
    """Bounds of sizes that the run gives, which a call keeps."""
    rng = draft.rng
    for name in ("T", "H", "N"):
        n = draft.sizes[name]
        if name in draft.statics or rng.random() < 0.5:
            continue
        least, most = rng.choice((0, min(n, 1), n // 2, n)), rng.choice((n, n + 1, n + 50, 2 * n))
        draft.spans[name] = (least, most)
        draft.promises[name] = f", min={least}, max={most}"


def _scalars(draft: Draft) -> list[Value]:
    """Values that stand before the grids: of parameters, sizes and numbers."""
    rng, scope = draft.rng, Scope(draft, (), indent=0)
    for _ in range(rng.choice((1, 2, 3))):
        dtype = rng.choice((*FLOATS, *INTEGERS, "bool"))
        name = draft.fresh("s")
        draft.scalars[name] = dtype
        scope.values.append(Value(name, dtype, ()))
    if rng.random() < 0.4:
        scope.add(f"{rng.choice(sorted(draft.sizes))}.to(ak.f32)", "f32", ())
    for _ in range(rng.randint(1, 5)):
        rng.choice(OF_SCALARS)(scope)
    found = [v for v in scope.values if v.name.startswith("v")]
    if len(found) > 1 and rng.random() < 0.4:
        name = draft.fresh("q")
        scope.say(f"{name} = ({', '.join(v.name for v in found)})")
        found = [Value(f"{name}[{k}]", v.dtype, ()) for k, v in enumerate(found)]
    draft.before += scope.lines
    return found


def _mixture(rng: random.Random, *, scans: bool) -> Callable[[Scope, int], None]:
    """Add lines of random rules; each kernel prefers three of them, one of long rows also `scans`."""
    preferred = rng.sample(range(len(RULES)), 3)
    rules = [rule for rule, _ in RULES]
    weights = [5 + 3 * weight if k in preferred else weight for k, (_, weight) in enumerate(RULES)]
    if scans:
        weights[rules.index(reductions.scan)] += 12
    looped = rng.choice((0.0, 0.0, 0.1, 0.2))

    def add(scope: Scope, count: int) -> None:
        for _ in range(count):
            if rng.random() < looped:
                loops.loop(scope, add)
            else:
                rng.choices(rules, weights)[0](scope)

    return add
