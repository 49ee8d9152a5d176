"""A task of the evaluations as data: what to compute, on what, and when an answer is right. Reads no files of its own.

The parameters are those of `tools.verify_model.Signature`, so that a task can be run, compared and given inputs by what
verification uses for kernels.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from agentkern.compiler.abi import ScalarParam, TensorParam
from agentkern.compiler.analysis.promises import Promise
from agentkern.compiler.ir.core import SizeInfo
from agentkern.compiler.ir.dims import Dim
from agentkern.compiler.ir.types import Access
from agentkern.dsl.dtypes import DType
from agentkern.tools.inputs import Kind
from agentkern.tools.verify_criterion import Criterion
from agentkern.tools.verify_model import Signature, Sizes, concrete
from agentkern.tools.verify_reference import Reference

Form = int | Dim
Setting = int | float | bool


class TaskError(ValueError):
    """A folder is no task; the message names the file, the key and what is wrong with it."""


@dataclass(frozen=True, slots=True)
class Values:
    """What a task says of an input's contents. `promise`: of integers, as a kernel's parameter may promise it.

    Of floats: `positive` (above zero), `unit` (between -1 and 1), `coarse` (multiples of 1/4, so that equals occur),
    `finite` (no NaN, no infinity), `scale` (a power of two that random values are multiplied by). `is_sorted`: not
    descending along the last axis.
    """

    promise: Promise | None = None
    positive: bool = False
    unit: bool = False
    coarse: bool = False
    finite: bool = False
    is_sorted: bool = False
    scale: float = 1.0


@dataclass(frozen=True, slots=True)
class TaskTensor:
    """A tensor of the signature. `is_partial`: an output of which only the elements that the text names are written."""

    name: str
    access: Access
    dtype: DType
    shape: tuple[Form, ...]
    values: Values = field(default_factory=Values)
    is_partial: bool = False

    @property
    def promise(self) -> Promise | None:
        """What a kernel may rely on."""
        if self.is_partial:
            return Promise(partial=True)
        return self.values.promise


@dataclass(frozen=True, slots=True)
class TaskScalar:
    """A scalar of the signature: its usual number, and others that an answer must be right for too."""

    name: str
    dtype: DType
    value: int | float | bool
    others: tuple[int | float | bool, ...] = ()


@dataclass(frozen=True, slots=True)
class TaskCriterion:
    """When outputs are right: each against the reference's under its own criterion.

    `free` outputs have several right answers: the function `check` of reference.py marks their wrong elements, and the
    reference's own values of them are one right answer of many.
    """

    outputs: Mapping[str, Criterion]
    derivation: str = ""
    check: str = ""
    free: tuple[str, ...] = ()

    @property
    def is_bit_exact(self) -> bool:
        """Whether every output must have the reference's bits, or pass an exact check."""
        return all(criterion.kind == "bit_exact" for criterion in self.outputs.values())

    def text(self) -> str:
        """Return the criteria on one line."""
        texts = {name: "any right answer" if name in self.free else c.text() for name, c in self.outputs.items()}
        distinct = set(texts.values())
        return distinct.pop() if len(distinct) == 1 else ", ".join(f"{name}: {text}" for name, text in texts.items())


@dataclass(frozen=True, slots=True)
class Shapes:
    """Sizes to judge at: `shown` to the writer, `hidden` from it, `bench` to time on a GPU."""

    shown: tuple[Sizes, ...] = ()
    hidden: tuple[Sizes, ...] = ()
    bench: tuple[Sizes, ...] = ()


@dataclass(frozen=True, slots=True)
class Solution:
    """A kernel that is right. `entry`: its folder in the corpus, empty where it is held out of it."""

    file: Path
    kernel: str
    entry: str = ""

    @property
    def is_held_out(self) -> bool:
        """Whether the corpus does not have it."""
        return not self.entry

    @property
    def text(self) -> str:
        """The file's text."""
        return self.file.read_text(encoding="utf-8")


@dataclass(frozen=True, slots=True)
class Task:
    """One folder of tasks. `sizes` in order, with what they promise; `kinds`: the inputs that judge it.

    `blocked_by`: the feature without which the language cannot express it; then it has no solution, and need not have
    a signature, a reference or shapes. `digest`: of all of its files.
    """

    name: str
    family: str
    level: int
    text: str
    features: tuple[str, ...]
    folder: Path
    digest: str
    blocked_by: str = ""
    origin: str = ""
    solution: Solution | None = None
    sizes: tuple[SizeInfo, ...] = ()
    settings: Mapping[str, Setting] = field(default_factory=dict[str, Setting])
    tensors: tuple[TaskTensor, ...] = ()
    scalars: tuple[TaskScalar, ...] = ()
    criterion: TaskCriterion = field(default_factory=lambda: TaskCriterion({}))
    shapes: Shapes = field(default_factory=Shapes)
    kinds: tuple[Kind, ...] = ()
    roofline: Mapping[str, str] = field(default_factory=dict[str, str])
    baselines: Mapping[str, str] = field(default_factory=dict[str, str])

    @property
    def is_blocked(self) -> bool:
        """Whether the language cannot express it yet."""
        return bool(self.blocked_by)

    @property
    def signature(self) -> Signature:
        """The parameters, as verification has those of a kernel."""
        tensors = tuple(TensorParam(t.name, t.dtype, t.shape, t.access) for t in self.tensors)
        scalars = tuple(ScalarParam(s.name, s.dtype) for s in self.scalars)
        promises = {t.name: t.promise for t in self.tensors if t.promise is not None}
        return Signature(tensors, scalars, promises)

    @property
    def static(self) -> tuple[str, ...]:
        """The sizes that a build fixes."""
        return tuple(size.name for size in self.sizes if size.static)

    @property
    def reference(self) -> Reference:
        """The function that answers the task."""
        return Reference(self.folder / "reference.py", "reference")

    def tensor(self, name: str) -> TaskTensor:
        """Return a tensor by name. Errors: KeyError."""
        return {t.name: t for t in self.tensors}[name]

    def elements(self, sizes: Sizes) -> int:
        """Return the elements of the largest tensor."""
        return max((math.prod(concrete(t.shape, sizes)) for t in self.tensors), default=0)
