"""Stores through random views of one tensor: what the proofs say, against all elements of small tensors, by NumPy."""

import itertools
import random
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pytest

from agentkern.compiler.frontend import lower_source
from agentkern.compiler.proofs import diagnose, prove_kernel

VIEWS = (
    "", ".reshape(T * 4)", ".T", "[:, 1:]", "[:, :3]", ".reshape(T, 2, 2)", ".reshape(T * 2, 2)", ".T[1:]",
    ".reshape(T, 2, 2)[:, 1]", ".reshape(T, 2, 2).transpose(1, 0, 2)", ".T.reshape(2, 2, T)", ".reshape(T * 4)[2:]",
    ".reshape(T, 2, 2)[:, :, :1]",
)  # fmt: skip
INDICES = (
    "t", "t", "2 * t", "4 * t", "4 * t + 1", "2 * t + 1", "t + 1", "0", "1", "3", "t // 2", "t % 2", "3 - t",
)  # fmt: skip
SIZES = range(2, 7)


@dataclass(frozen=True)
class Truth:
    """Whether some store leaves the tensor, two blocks write one element, an element is not written."""

    outside: bool
    conflict: bool
    missing: bool


def viewed(view: str, size: int) -> np.ndarray:
    return eval(f"a{view}", {"a": np.arange(size * 4).reshape(size, 4), "T": size})  # a string of `VIEWS`


def stores(generator: random.Random, each: bool) -> list[tuple[str, list[str]]]:
    found: list[tuple[str, list[str]]] = []
    for _ in range(generator.choice([1, 2, 2, 2])):
        view, index = generator.choice(VIEWS), list[str]()
        for _ in range(viewed(view, 5).ndim):
            if generator.random() < 0.35:
                index.append(":")
            elif each:
                index.append(generator.choice(INDICES))
            else:
                index.append("t" if "t" not in index else generator.choice("01"))
        found.append((view, index))
    return found


def elements(view: str, index: list[str], size: int, t: int) -> Iterator[int]:
    """Numbers of the elements that a block writes. Errors: IndexError outside."""
    places = viewed(view, size)
    axes: list[range] = []
    for text, extent in zip(index, places.shape, strict=True):
        place = None if text == ":" else eval(text, {"t": t})  # a string of `INDICES`
        if place is not None and not 0 <= place < extent:
            raise IndexError
        axes.append(range(extent) if place is None else range(place, place + 1))
    return (int(places[place]) for place in itertools.product(*axes))


def truth(made: list[tuple[str, list[str]]]) -> Truth:
    conflict = missing = False
    for size in SIZES:
        owner: dict[int, int] = {}
        try:
            for t in range(size):
                for view, index in made:
                    for element in elements(view, index, size, t):
                        conflict |= owner.setdefault(element, t) != t
        except IndexError:
            return Truth(True, False, False)
        missing |= len(owner) < 4 * size
    return Truth(False, conflict, missing)


@pytest.mark.parametrize("seed", range(6))
def test_what_is_proved_or_refuted_of_views_is_so(seed: int):
    generator = random.Random(seed)
    wrong: list[str] = []
    for _ in range(40):
        each = generator.random() < 0.6
        made = stores(generator, each)
        body = "\n".join(f"        o{view}[{', '.join(index)}] = 0.0" for view, index in made)
        head = "import agentkern as ak\n\nT = ak.dim('T', min=2)\n\n\n@ak.kernel\ndef k(o: ak.Out[ak.f32, T, 4]):\n"
        text = f"{head}    for t in {'ak.grid(ak.each(T))' if each else 'ak.grid(T)'}:\n{body}\n"
        found = lower_source(text, "kernel.py", None, {}, {})
        if found.kernel is None:
            continue
        codes, real = {d.code for d in diagnose(prove_kernel(found.kernel), "kernel.py")}, truth(made)
        accepted = (
            (real.outside and not codes & {"AK301", "AK302"})
            or (real.conflict and not codes & {"AK303", "AK304"})
            or (real.missing and not codes & {"AK305", "AK306"})
        )
        refuted = not real.outside and (
            ("AK303" in codes and not real.conflict) or ("AK305" in codes and not real.missing)
        )
        wrong += [f"{codes}, really {real}:\n{text}"] if accepted or refuted else []
    assert wrong == []
