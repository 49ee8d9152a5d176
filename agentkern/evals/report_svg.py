"""Curves and bars as SVG, made here: no scripts, no fonts, colours by the page's own classes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from agentkern.evals.bootstrap import Estimate

WIDTH, HEIGHT = 420, 250
LEFT, RIGHT, TOP, BOTTOM = 56, 12, 10, 40
N_COLOURS = 8


@dataclass(frozen=True, slots=True)
class Series:
    """One curve. `number`: its colour, and beyond the last colour its dashes."""

    name: str
    number: int
    points: tuple[tuple[float, float], ...]


def line_chart(series: Sequence[Series], x_label: str, y_label: str, *, steps: bool = False) -> Markup:
    """Return curves of shares between 0 and 1. steps: a value holds until the next point."""
    most = max((x for one in series for x, _ in one.points), default=1.0) or 1.0
    parts = [*_grid(most), *(_curve(one, most, steps=steps) for one in series), *_labels(x_label, y_label)]
    opening = Markup('<svg class="chart" viewBox="0 0 {} {}" role="img" aria-label="{} against {}">')
    return Markup("").join([opening.format(WIDTH, HEIGHT, y_label, x_label), *parts, Markup("</svg>")])


def _x(value: float, most: float) -> float:
    return round(LEFT + (WIDTH - LEFT - RIGHT) * value / most, 1)


def _y(share: float) -> float:
    return round(TOP + (HEIGHT - TOP - BOTTOM) * (1.0 - share), 1)


def _grid(most: float) -> list[Markup]:
    line = Markup('<line class="grid" x1="{}" y1="{}" x2="{}" y2="{}"/>')
    tick = Markup('<text class="tick" x="{}" y="{}" text-anchor="{}">{}</text>')
    found: list[Markup] = []
    for k in range(5):
        y = _y(k / 4)
        found += [line.format(LEFT, y, WIDTH - RIGHT, y), tick.format(LEFT - 6, y + 4, "end", f"{25 * k}%")]
    for value in ticks(most):
        found.append(tick.format(_x(value, most), HEIGHT - BOTTOM + 16, "middle", short(value)))
    return found


def ticks(most: float) -> tuple[float, ...]:
    """Return at most six round numbers from 0 to `most`."""
    size = 10.0 ** math.floor(math.log10(most / 5))
    step = next(size * factor for factor in (1, 2, 5, 10) if most / (size * factor) <= 5 + 1e-9)
    return tuple(k * step for k in range(int(most / step + 1e-9) + 1))


def short(value: float) -> str:
    """Return a number in few characters: 1500000 is 1.5M."""
    for unit, name in ((1e6, "M"), (1e3, "k")):
        if abs(value) >= unit:
            return f"{value / unit:.3g}{name}"
    return f"{value:.3g}"


def _curve(one: Series, most: float, *, steps: bool) -> Markup:
    path: list[str] = []
    for number, (x, share) in enumerate(one.points):
        if steps and number:
            path.append(f"H{_x(x, most)}")
            path.append(f"V{_y(share)}")
        else:
            path.append(f"{'L' if number else 'M'}{_x(x, most)},{_y(share)}")
    dashes = ("none", "6 3", "2 2", "8 3 2 3")[one.number // N_COLOURS % 4]
    text = '<path class="curve s{}" d="{}" stroke-dasharray="{}"><title>{}</title></path>'
    return Markup(text).format(one.number % N_COLOURS, " ".join(path), dashes, one.name)


def _labels(x_label: str, y_label: str) -> list[Markup]:
    middle = (TOP + HEIGHT - BOTTOM) / 2
    across = Markup('<text class="label" x="{}" y="{}" text-anchor="middle">{}</text>')
    along = Markup('<text class="label" x="11" y="{}" text-anchor="middle" transform="rotate(-90 11 {})">{}</text>')
    return [across.format((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 6, x_label), along.format(middle, middle, y_label)]


def interval_bar(found: Estimate, number: int) -> Markup:
    """Return a rate between 0 and 1 as a dot on its interval."""
    if found.value is None or found.low is None or found.high is None:
        return Markup("")
    text = (
        '<svg class="interval" viewBox="-3 0 110 14" aria-hidden="true">'
        '<line class="grid" x1="2" y1="7" x2="102" y2="7"/>'
        '<line class="whisker s{}" x1="{}" y1="7" x2="{}" y2="7"/><circle class="dot s{}" cx="{}" cy="7" r="4"/></svg>'
    )
    low, value, high = (round(2 + 100 * x, 1) for x in (found.low, found.value, found.high))
    return Markup(text).format(number % N_COLOURS, low, high, number % N_COLOURS, value)
