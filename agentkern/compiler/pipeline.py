"""The only list of passes, each with the reason for its place."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from agentkern.compiler.abi import Variant
from agentkern.compiler.ir.core import Kernel
from agentkern.compiler.passes.canonicalise_nans import canonicalise_nans
from agentkern.compiler.passes.divide_by_rows import divide_by_rows
from agentkern.compiler.passes.drop_unused import drop_unused
from agentkern.compiler.passes.expand_arguments import expand_arguments
from agentkern.compiler.passes.expand_means import expand_means
from agentkern.compiler.passes.expand_order import expand_order
from agentkern.compiler.passes.expand_roundings import expand_roundings
from agentkern.compiler.passes.expand_shapes import expand_shapes
from agentkern.compiler.passes.expand_takes import expand_takes
from agentkern.compiler.passes.fit_to_chip import fit_to_chip
from agentkern.compiler.passes.load_ahead import load_ahead
from agentkern.compiler.passes.load_early import load_early
from agentkern.compiler.passes.load_together import load_together
from agentkern.compiler.passes.lower_to_threads import lower_to_threads
from agentkern.compiler.passes.place_layouts import place_layouts
from agentkern.compiler.passes.simplify import simplify
from agentkern.compiler.passes.split_reductions import split_reductions
from agentkern.compiler.passes.stream_rows import stream_rows
from agentkern.compiler.passes.whole_axes import whole_axes
from agentkern.compiler.passes.widen_small_floats import widen_small_floats
from agentkern.compiler.schedule import Schedule


@dataclass(frozen=True, slots=True)
class PassContext:
    """What passes below the schedule's choice may ask for."""

    schedule: Schedule
    variant: Variant


@dataclass(frozen=True, slots=True)
class Pass:
    """One pass by name."""

    name: str
    run: Callable[[Kernel, PassContext], Kernel]


def _pure(run: Callable[[Kernel], Kernel]) -> Pass:
    return Pass(run.__name__, lambda kernel, _: run(kernel))


LEGALISE: tuple[Pass, ...] = (
    _pure(simplify),  # first, so that nothing below sees repeated or dead work
    _pure(whole_axes),  # needs sorts still visible as operations
    _pure(expand_order),  # makes positions and reductions of integers, which the next ones spell further
    _pure(expand_takes),  # makes loads, and element operations that are legalised below
    _pure(expand_roundings),  # makes casts that round to nearest, of bits
    _pure(expand_shapes),  # makes element operations and reductions, so before they are legalised
    _pure(expand_arguments),  # makes arithmetic on narrow floats, so before it is widened
    _pure(widen_small_floats),  # rounding made explicit before anything is moved
    _pure(expand_means),  # makes divisions, so before they are replaced
    _pure(split_reductions),  # one axis each from here on: layouts and orders speak of one axis
    _pure(divide_by_rows),  # needs broadcasts still visible as operations
    _pure(canonicalise_nans),  # after the last pass that makes arithmetic
    _pure(simplify),  # casts and broadcasts that the passes above repeated
    _pure(fit_to_chip),  # last, so that every schedule is for grids that fit
)
"""TILE to TILE, for every target and schedule."""

LOWER: tuple[Pass, ...] = (
    Pass("stream_rows", lambda kernel, c: stream_rows(kernel, c.schedule)),  # values must fit before they get layouts
    Pass("place_layouts", lambda kernel, c: place_layouts(kernel, c.schedule)),  # TILE to PLACED
    _pure(load_early),  # counts registers, so after layouts; moves operations, so before they become loops
    Pass("lower_to_threads", lambda kernel, c: lower_to_threads(kernel, c.variant)),  # PLACED to GPU
    _pure(load_together),  # of loops, which lowering makes; those whose steps wait for threads are load_ahead's
    _pure(load_ahead),  # copies operations, so before the unused ones go
    _pure(drop_unused),  # last, so that what is printed is what is used
)
"""TILE to GPU under a schedule."""

VERIFIED: tuple[Pass, ...] = (LEGALISE[-1], *LOWER)
"""Passes whose output the driver verifies; tests verify after every one."""
