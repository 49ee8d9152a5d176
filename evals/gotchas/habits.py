"""Habits as data, and what the compiler and the outputs say about each.

A habit replaces a part of a right kernel by what a writer of another language would put there. Accepted texts run in
the reference interpreter, on five kinds of inputs, and are compared bit for bit with the right kernel.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

import numpy as np

from agentkern.compiler.abi import TensorParam
from agentkern.compiler.analysis.promises import promises_of
from agentkern.compiler.frontend import lower_source
from agentkern.compiler.ir.reference_formats import FLOATS, Raw, decode
from agentkern.compiler.passes.simplify import share_repeated
from agentkern.compiler.proofs import diagnose, prove_kernel
from agentkern.diagnostics import Diagnostic, apply_fix
from agentkern.runtime.sizes import shape_of
from agentkern.tools.arrays import GivenInputs
from agentkern.tools.inputs import Kind, generate_for
from agentkern.tools.promised_inputs import keep_promises
from agentkern.tools.requests import RunRequest
from agentkern.tools.run import run
from agentkern.tools.verify_model import signature_of

FOLDER = Path(__file__).parent
SIZES = {"T": 29, "H": 24, "S": 9, "P": 11, "E": 3, "X": 10}
KINDS: tuple[Kind, ...] = ("random", "wide", "edge", "integers", "special")
MOST_FIXES = 6
PATH = "kernel.py"
Found = Literal["same", "differs", "warned", "fixed", "fix_differs", "hinted", "refused", "unhelpful"]
"""same, differs, warned: accepted, with the right kernel's bits, others, others and a warning.
fixed, fix_differs: refused, and its fixes (or the hint, followed) lead to the right bits, to others.
hinted: refused, and the hint says what is right. unhelpful: refused, with a hint that leads nowhere.
refused: a mutation that is refused, which is all there is to say.
"""
_CODE = re.compile(r"`([^`]+)`")
_WORD = re.compile(r"ak\.\w+|\.\w+|[A-Za-z_]\w*")


@dataclass(frozen=True, slots=True)
class Habit:
    """One habit: who writes it, in which kernel, and the text in place of the right one.

    `hinted`: the text after following the hint of its diagnostic.
    """

    base: str
    origin: str
    name: str
    right: str
    written: str
    hinted: str | None = None

    @property
    def key(self) -> str:
        """The habit's name among all."""
        return f"{self.base}.{self.origin}.{self.name}"

    @property
    def text(self) -> str:
        """The kernel as it is written."""
        return self.with_text(self.written)

    def with_text(self, text: str) -> str:
        """The kernel with another text in the place of the right one."""
        return kernel_text(self.base).replace(self.right, text)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a habit. `codes`: of its diagnostics. `said`: the first one's message and hint."""

    found: Found
    codes: tuple[str, ...] = ()
    said: str = ""
    differs_on: tuple[str, ...] = ()


@cache
def kernel_text(base: str) -> str:
    """The right kernel with what its file holds before all kernels."""
    head, *kernels = (FOLDER / "bases.py").read_text(encoding="utf-8").split("@ak.kernel\n")
    (found,) = (kernel for kernel in kernels if kernel.startswith(f"def {base}("))
    return f"{head}@ak.kernel\n{found.rstrip()}\n"


def habits() -> tuple[Habit, ...]:
    """Every habit. Errors: ValueError for one whose right text is not in its kernel."""
    table = tomllib.loads((FOLDER / "habits.toml").read_text(encoding="utf-8"))
    found = tuple(
        Habit(base, origin, name, *texts)
        for base, origins in table.items()
        for origin, rows in origins.items()
        for name, texts in rows.items()
    )
    for habit in found:
        if habit.text == kernel_text(habit.base):
            raise ValueError(f"{habit.key}: its right text is not in the kernel")
    return found


def outcome(habit: Habit) -> Outcome:
    """Return what becomes of a habit."""
    diagnostics = checked(habit.text)
    codes = tuple(dict.fromkeys(d.code for d in diagnostics))
    said = f"{diagnostics[0].message}; {diagnostics[0].hint}".rstrip("; ") if diagnostics else ""
    if not _errors(diagnostics):
        differs_on = differences(habit.base, habit.text)
        kind: Found = "same" if not differs_on else "warned" if codes else "differs"
        return Outcome(kind, codes, said, differs_on)
    return Outcome(_refused(habit, diagnostics), codes, said)


def _refused(habit: Habit, diagnostics: tuple[Diagnostic, ...]) -> Found:
    fixed = with_fixes(habit.text)
    for text, good in ((fixed, "fixed"), (habit.with_text(habit.hinted or habit.written), "hinted")):
        if not _errors(checked(text)):
            return "fix_differs" if differences(habit.base, text) else good
    hints = " ".join(f"{d.hint} {d.message}" for d in _errors(diagnostics))
    named = {word for code in _CODE.findall(hints) for word in _WORD.findall(code)}
    if named & (set(_WORD.findall(habit.right)) - set(_WORD.findall(habit.written))):
        return "hinted"
    return "refused" if habit.origin == "mutation" else "unhelpful"


def checked(text: str) -> tuple[Diagnostic, ...]:
    """Every diagnostic of a kernel text."""
    lowered = lower_source(text, PATH, None, _fixed_sizes(text), {})
    if lowered.kernel is None:
        return lowered.diagnostics
    return (*lowered.diagnostics, *diagnose(prove_kernel(share_repeated(lowered.kernel)), PATH))


def with_fixes(text: str) -> str:
    """The text after the fixes that its diagnostics offer, one at a time."""
    for _ in range(MOST_FIXES):
        fixes = [fix for diagnostic in _errors(checked(text)) for fix in diagnostic.fixes]
        if not fixes:
            break
        text = apply_fix(text, fixes[0])
    return text


def differences(base: str, text: str) -> tuple[str, ...]:
    """The kinds of inputs on which a kernel's outputs are not those of the right one."""
    return tuple(
        kind for kind in KINDS if not _equal(outputs(kernel_text(base), base, kind), outputs(text, base, kind))
    )


def outputs(text: str, base: str, kind: Kind) -> dict[str, tuple[str, Raw]]:
    """The outputs, with their dtypes, on the inputs of the right kernel; none where it cannot run on them."""
    sizes = {name: size for name, size in SIZES.items() if re.search(rf"ak\.\w+\[[^:]*\b{name}\b", text)}
    request = RunRequest(source=text, path=PATH, dims=sizes, device="interp")
    answer = run(request, GivenInputs(_inputs(base, kind), {}))
    return {record.name: (record.dtype, answer.outputs[record.name]) for record in answer.result.outputs}


def _errors(diagnostics: tuple[Diagnostic, ...]) -> list[Diagnostic]:
    return [diagnostic for diagnostic in diagnostics if diagnostic.severity == "error"]


def _fixed_sizes(text: str) -> dict[str, int]:
    signature = text.partition("@ak.")[2]
    return {"H": SIZES["H"]} if re.search(r"\bH\b", signature) else {}


def _inputs(base: str, kind: Kind) -> Mapping[str, Raw]:
    text = kernel_text(base)
    kernel = lower_source(text, PATH, None, _fixed_sizes(text), {}).kernel
    assert kernel is not None, f"{base} is in order"
    made = {param.name: _input(param, kind) for param in signature_of(kernel).inputs}
    return keep_promises(promises_of(kernel), made, SIZES)


def _input(param: TensorParam, kind: Kind) -> Raw:
    made = generate_for(kind, param, shape_of(param, SIZES), 5)
    if param.dtype.kind == "bool" and kind == "special":
        made[::3], made[1::3] = False, True  # rows that keep nothing, and all
    return made


def _equal(first: Mapping[str, tuple[str, Raw]], second: Mapping[str, tuple[str, Raw]]) -> bool:
    if first.keys() != second.keys():
        return False
    return all(_same_bits(*first[name], *second[name]) for name in first)


def _same_bits(dtype: str, values: Raw, other_dtype: str, others: Raw) -> bool:
    if dtype != other_dtype or values.shape != others.shape:
        return False
    if dtype not in FLOATS:
        return bool(np.array_equal(values, others))
    a, b = decode(dtype, values), decode(dtype, others)
    numbers = ~np.isnan(a)
    return bool(np.array_equal(a, b, equal_nan=True) and np.array_equal(np.signbit(a[numbers]), np.signbit(b[numbers])))
