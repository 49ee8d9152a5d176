"""Whole kernels: sizes, grids, and a mixture of rules that each seed weighs anew."""

from __future__ import annotations

import functools
import math
import random
from collections.abc import Callable
from dataclasses import replace

from tests.properties.grammar import access, elements, loops, moves, reductions, structure
from tests.properties.grammar.scope import Axis, Draft, Scope
from tests.properties.grammar.stores import store
from tests.properties.programs import Program, pruned

ROWS = (0, 1, 2, 3, 5, 7, 16, 31, 33, 64, 100)
LOOPED = (0, 1, 2, 3, 5, 8, 17, 33, 70, 130)
COLUMNS = (
    *(0, 1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 24, 31, 32, 33, 56, 63, 64, 65, 96, 127, 128, 129, 160, 192, 229),
    *(255, 256, 257, 448, 576, 1000, 1023, 1024, 1025, 2049, 4096, 7168, 8193),
)
WRITTEN = (1, 3, 8, 32, 40, 100, 128)
MOST_ELEMS = 12_000
MOST_BLOCKS = 1000
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
)


def random_program(seed: int, *, long: bool = False) -> Program:
    """The kernel of a seed; `long` ones have values over two axes of run-time length more often."""
    rng = random.Random(seed)
    while True:
        program = _attempt(rng, seed, long=long)
        if program is not None:
            return program


def _attempt(rng: random.Random, seed: int, *, long: bool) -> Program | None:
    sizes = _sizes(rng)
    often = (("H", rng.choice((0.9, 0.9, 0.4)) if long else 0.85), ("T", 0.25), ("B", 0.25), ("N", 0.3))
    draft = Draft(rng, sizes, {name for name, share in often if rng.random() < share})
    lines: list[str] = []
    add = _mixture(rng)
    for _ in range(2 if rng.random() < 0.25 else 1):
        header, scope = _grid(draft, long=long)
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


def _sizes(rng: random.Random) -> dict[str, int]:
    while True:
        sizes = {"T": rng.choice(ROWS), "H": rng.choice(COLUMNS), "B": rng.choice((1, 2, 3)), "N": rng.choice(LOOPED)}
        if sizes["T"] * sizes["H"] * sizes["B"] <= MOST_ELEMS:
            return sizes


def _mixture(rng: random.Random) -> Callable[[Scope, int], None]:
    """Add lines of random rules; each kernel prefers three of them."""
    preferred = rng.sample(range(len(RULES)), 3)
    rules = [rule for rule, _ in RULES]
    weights = [5 + 3 * weight if k in preferred else weight for k, (_, weight) in enumerate(RULES)]
    looped = rng.choice((0.0, 0.0, 0.1, 0.2))

    def add(scope: Scope, count: int) -> None:
        for _ in range(count):
            if rng.random() < looped:
                loops.loop(scope, add)
            else:
                rng.choices(rules, weights)[0](scope)

    return add


def _grid(draft: Draft, *, long: bool) -> tuple[str, Scope]:
    """A grid's header and scope."""
    rng, sizes, statics = draft.rng, draft.sizes, draft.statics
    whole = Axis("H", "H", ":", sizes["H"], reducible=True, fixed="H" in statics)
    rows = Axis("T", "T", ":", sizes["T"], reducible=True, fixed="T" in statics)
    block_t = Axis("t", "T", "t", sizes["T"], reducible=False, block=True)
    block_h = Axis("h", "H", "h", sizes["H"], reducible=False, block=True)
    piece = Axis("p", "H", "p", sizes["H"], reducible=True, block=True)
    n_parts = rng.choice((1, 2, 3, 7))
    block_b = Axis("b", "B", "b", sizes["B"], reducible=False, block=True)
    scope = functools.partial(Scope, draft)
    forms: tuple[Callable[[], tuple[str, Scope]], ...] = (
        lambda: ("for t in ak.grid(T):", scope((block_t,))),
        lambda: ("for t in ak.grid(T):", scope((block_t, whole))),
        lambda: ("for t in ak.grid(T):", scope((block_t, whole))),
        lambda: _written_grid(draft, block_t, block_h),
        lambda: _written_grid(draft, block_t, block_h),
        lambda: ("for h in ak.grid(H):", scope((rows, block_h))),
        lambda: ("for b, t in ak.grid(B, T):", scope((block_b, block_t, whole))),
        lambda: ("for b, t in ak.grid(ak.each(B), T):", scope((block_t, whole), (("b", "B"),))),
        lambda: ("for _ in ak.grid():", scope((rows, whole))),
        lambda: ("for t in ak.grid(ak.each(T)):", scope((whole,), (("t", "T"),))),
        lambda: (
            f"for t, p in ak.grid(T, ak.parts(H, {n_parts})):",
            scope((block_t, piece), counts={"p": str(n_parts)}, runs=n_parts),
        ),
        lambda: ("for b, t in ak.grid(ak.each(B), ak.each(T)):", scope((), (("b", "B"), ("t", "T")))),
    )
    if long:
        at = len(forms) - 3
        forms = (*forms[:at], lambda: ("for b in ak.grid(B):", scope((block_b, rows, whole))), *forms[at:])
    header, found = rng.choice(forms)()
    found.runs *= math.prod(sizes[dim] for _, dim in found.lead)
    return header, found


def _written_grid(draft: Draft, t: Axis, h: Axis) -> tuple[str, Scope]:
    """Blocks of two axes, whose sizes may be written."""
    rng = draft.rng
    block_t, block_h = rng.choice((None, *WRITTEN)), rng.choice((None, *WRITTEN, 128))
    runs = math.prod(-(-axis.extent // n) for axis, n in ((t, block_t), (h, block_h)) if n)
    if runs > MOST_BLOCKS:
        block_t, block_h, runs = None, 128, 1
    axes = (replace(t, reducible=block_t is not None), replace(h, reducible=block_h is not None))
    counts = {"h": f"ak.cdiv(H, {block_h})"} if block_h else {}
    counts |= {"t": f"ak.cdiv(T, {block_t})"} if block_t else {}
    return f"for t, h in ak.grid(T, H, block=({block_t}, {block_h})):", Scope(draft, axes, counts=counts, runs=runs)
