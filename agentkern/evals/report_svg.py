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
DASHES = ("none", "6 3", "2 2", "8 3 2 3")
"""Of the first groups, one a colour, of the next ones in the same colours, and so on."""
MOST_TICKS = 8


@dataclass(frozen=True, slots=True)
class Series:
    """One curve. `number`: its colour, and beyond the last colour its dashes."""

    name: str
    number: int
    points: tuple[tuple[float, float], ...]


@dataclass(frozen=True, slots=True)
class Axis:
    """The horizontal axis from `least` to `most`. is_log: by powers of ten; what is below `least` stands at it."""

    least: float
    most: float
    is_log: bool = False

    def place(self, value: float) -> float:
        """Return where a value stands, in the chart's units."""
        if self.is_log:
            share = math.log10(max(value, self.least) / self.least) / math.log10(self.most / self.least)
        else:
            share = (value - self.least) / (self.most - self.least)
        return round(LEFT + (WIDTH - LEFT - RIGHT) * share, 1)

    @property
    def ticks(self) -> tuple[float, ...]:
        """Return round numbers on the axis."""
        return log_ticks(self.least, self.most) if self.is_log else ticks(self.most)


def look(number: int) -> str:
    """Return the classes of a group's colour, and beyond the last colour of its pattern."""
    return f"s{number % N_COLOURS} p{number // N_COLOURS % len(DASHES)}"


def line_chart(
    series: Sequence[Series], x_label: str, y_label: str, *, steps: bool = False, log: bool = False
) -> Markup:
    """Return curves of shares between 0 and 1. steps: a value holds until the next point. log: by powers of ten."""
    values = [x for one in series for x, _ in one.points]
    most = max(values, default=1.0) or 1.0
    positive = min((x for x in values if x > 0), default=most)
    axis = Axis(min(10.0 ** math.floor(math.log10(positive)), most / 10), most, is_log=True) if log else Axis(0.0, most)
    parts = [*_grid(axis), *(_curve(one, axis, steps=steps) for one in series), *_labels(x_label, y_label)]
    opening = Markup('<svg class="chart" viewBox="0 0 {} {}" role="img" aria-label="{} against {}">')
    return Markup("").join([opening.format(WIDTH, HEIGHT, y_label, x_label), *parts, Markup("</svg>")])


def _y(share: float) -> float:
    return round(TOP + (HEIGHT - TOP - BOTTOM) * (1.0 - share), 1)


def _grid(axis: Axis) -> list[Markup]:
    line = Markup('<line class="grid" x1="{}" y1="{}" x2="{}" y2="{}"/>')
    tick = Markup('<text class="tick" x="{}" y="{}" text-anchor="{}">{}</text>')
    found: list[Markup] = []
    for k in range(5):
        y = _y(k / 4)
        found += [line.format(LEFT, y, WIDTH - RIGHT, y), tick.format(LEFT - 6, y + 4, "end", f"{25 * k}%")]
    for value in axis.ticks:
        found.append(tick.format(axis.place(value), HEIGHT - BOTTOM + 16, "middle", short(value)))
    return found


def ticks(most: float) -> tuple[float, ...]:
    """Return at most six round numbers from 0 to `most`."""
    size = 10.0 ** math.floor(math.log10(most / 5))
    step = next(size * factor for factor in (1, 2, 5, 10) if most / (size * factor) <= 5 + 1e-9)
    return tuple(k * step for k in range(int(most / step + 1e-9) + 1))


def log_ticks(least: float, most: float) -> tuple[float, ...]:
    """Return 1, 2 and 5 times each power of ten from `least` to `most`, or as few of them as have room."""
    powers = range(math.floor(math.log10(least)), math.ceil(math.log10(most)) + 1)
    for factors in ((1, 2, 5), (1, 3), (1,)):
        found = tuple(f * 10.0**power for power in powers for f in factors if least <= f * 10.0**power <= most)
        if len(found) <= MOST_TICKS:
            return found
    return found[:: -(-len(found) // MOST_TICKS)]


def short(value: float) -> str:
    """Return a number in few characters: 1500000 is 1.5M."""
    for unit, name in ((1e6, "M"), (1e3, "k")):
        if abs(value) >= unit * 0.9995:  # rounded to three digits it is the unit
            return f"{value / unit:.3g}{name}" if abs(value) < 999.5 * unit else f"{value / unit:.0f}{name}"
    return f"{value:.3g}"


def _curve(one: Series, axis: Axis, *, steps: bool) -> Markup:
    path: list[str] = []
    for number, (x, share) in enumerate(one.points):
        if steps and number:
            path.append(f"H{axis.place(x)}")
            path.append(f"V{_y(share)}")
        else:
            path.append(f"{'L' if number else 'M'}{axis.place(x)},{_y(share)}")
    dashes = DASHES[one.number // N_COLOURS % len(DASHES)]
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
        '<line class="whisker {0}" x1="{1}" y1="7" x2="{3}" y2="7"/>'
        '<circle class="dot {0}" cx="{2}" cy="7" r="4"/></svg>'
    )
    low, value, high = (round(2 + 100 * x, 1) for x in (found.low, found.value, found.high))
    return Markup(text).format(look(number), low, value, high)
