"""The lines of `agentkern corpus export`: the fields of their JSON objects, exactly as they are written. No behaviour.

`agentkern corpus export --schema` prints these as JSON schemas.
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from agentkern.tools.corpus_split import Split
from agentkern.tools.results import DiagnosticRecord, Record

EXPORT_VERSION = 1
KINDS = ("task", "fix")


class ExportRecord(Record):
    """What every line has. Train on one `split` and test on another: no family and no group is in two of them."""

    version: int = Field(default=EXPORT_VERSION, description="Of this format.")
    id: str = Field(description="Unique in one export, and the same in the next.")
    name: str = Field(description="The kernel's name.")
    family: str = Field(description="The kernel's folder: the kind of operation.")
    group: str = Field(description="Digest shared by near duplicates: the same kernel but for names, sizes, widths.")
    split: Split = Field(description="By family and group, never by line.")
    dims: dict[str, int] = Field(description="The static sizes that the texts are compiled with.")


class TaskRecord(ExportRecord):
    """A task and the verified kernel that does it."""

    kind: Literal["task"] = "task"
    task: str = Field(description="What is to be computed, in one line.")
    tags: tuple[str, ...] = Field(description="Words for it.")
    features: tuple[str, ...] = Field(description="What the kernel uses of the language, read off its IR.")
    signature: str = Field(description="The kernel's parameters on one line.")
    nondeterministic: bool = Field(description="Whether its bits may differ from run to run.")
    kernel: str = Field(description="The kernel's file.")
    cuda: str = Field(description="The CUDA C++ that it compiles to.")
    notes: str = Field(description="What it teaches, markdown.")
    criterion: str = Field(description="What a result must satisfy, as `agentkern verify --criterion` reads it.")


class RepairRecord(ExportRecord):
    """A kernel with one mistake, what the compiler says of it, and the kernel without the mistake."""

    kind: Literal["fix"] = "fix"
    operator: str = Field(description="The kind of mistake: a row of the table of mutations.")
    mistake: str = Field(description="The same in words.")
    broken: str = Field(description="The file with the mistake; the compiler refuses it.")
    diagnostics: tuple[DiagnosticRecord, ...] = Field(description="All that the compiler says of it, in source order.")
    fixed: str = Field(description="The file without the mistake.")
    machine_fix: Literal["none", "refused", "compiles"] = Field(
        description="What applying the diagnostics' own fixes, the first each time, ends with; none are offered: none."
    )
    machine_fixed: str | None = Field(description="The file that they end with, where that compiles.")
    machine_fix_restores: bool = Field(description="Whether that is the right kernel: equal but for names and sizes.")


RECORDS: dict[str, type[ExportRecord]] = {"task": TaskRecord, "fix": RepairRecord}
