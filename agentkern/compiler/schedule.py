"""Schedules: how a kernel's grids are cut and spread over threads. Never changes a bit of the result.

A schedule is frozen, total and versioned; its JSON form replays byte-equal code. `plan.py` in `passes` makes the
default one and says which are legal.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields

SCHEDULE_VERSION = 1


class ScheduleError(ValueError):
    """The text or object is not a schedule of this version."""


@dataclass(frozen=True, slots=True)
class GridSchedule:
    """One grid. `tile`: indices per block of each grid axis. `warps`: warps of a block of threads.

    `fast_warps`: warps along the fast axis (the one with contiguous memory). `vector`: neighbouring elements of it per
    thread. `chunk`: indices per step of a streamed axis, 0 where none is streamed. `steps`: indices per step of each
    loop whose block is not written, in order.
    """

    tile: tuple[int, ...]
    warps: int
    fast_warps: int
    vector: int
    chunk: int = 0
    steps: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        for name in ("warps", "fast_warps", "vector"):
            number = getattr(self, name)
            if number < 1 or number & (number - 1):
                raise ScheduleError(f"`{name}` is {number}, a power of two expected")
        if self.warps > 32 or self.vector > 16 or self.warps % self.fast_warps:
            raise ScheduleError("at most 32 warps and vectors of 16; `fast_warps` divides `warps`")
        if any(t < 1 for t in (*self.tile, *self.steps)) or self.chunk < 0:
            raise ScheduleError("tiles are at least 1, chunks at least 0")


@dataclass(frozen=True, slots=True)
class Schedule:
    """Schedules of a kernel's grids in order."""

    grids: tuple[GridSchedule, ...]
    version: int = SCHEDULE_VERSION

    def to_json(self) -> dict[str, object]:
        """The JSON object."""
        return {"version": self.version, "grids": [_fields_of(grid) for grid in self.grids]}

    def text(self) -> str:
        """Canonical JSON text, for keys and records."""
        return json.dumps(self.to_json(), sort_keys=True, separators=(",", ":"))


def _fields_of(grid: GridSchedule) -> dict[str, object]:
    """A grid's fields; `steps` only where there are any."""
    return {name: value for name, value in asdict(grid).items() if name != "steps" or value}


_FIELDS = tuple(field.name for field in fields(GridSchedule))
_LISTS = ("tile", "steps")


def _grid(data: object) -> GridSchedule:
    if not isinstance(data, Mapping):
        raise ScheduleError("a grid's schedule is an object")
    unknown = sorted(set(map(str, data)) - set(_FIELDS))
    if unknown:
        raise ScheduleError(f"unknown schedule key `{unknown[0]}`; keys are {', '.join(_FIELDS)}")
    missing = [name for name in _FIELDS if name not in data and name != "steps"]
    if missing:
        raise ScheduleError(f"schedule key `{missing[0]}` is missing")
    tile, steps = data["tile"], data.get("steps", [])
    numbers = {name: data[name] for name in _FIELDS if name not in _LISTS}
    for name, numbered in (("tile", tile), ("steps", steps)):
        if not isinstance(numbered, list | tuple) or not all(type(t) is int for t in numbered):
            raise ScheduleError(f"`{name}` is a list of integers")
    if not all(type(n) is int for n in numbers.values()):
        raise ScheduleError("schedule values are integers")
    return GridSchedule(tuple(tile), steps=tuple(steps), **numbers)


def schedule_from_json(data: object) -> Schedule:
    """Read a schedule's JSON object. Errors: ScheduleError for other versions, unknown or missing keys."""
    if not isinstance(data, Mapping) or not isinstance(data.get("grids"), list):
        raise ScheduleError("a schedule is an object with `version` and `grids`")
    if data.get("version") != SCHEDULE_VERSION:
        raise ScheduleError(f"schedule version {data.get('version')} is not {SCHEDULE_VERSION}")
    unknown = sorted(set(map(str, data)) - {"version", "grids"})
    if unknown:
        raise ScheduleError(f"unknown schedule key `{unknown[0]}`")
    return Schedule(tuple(_grid(grid) for grid in data["grids"]))
