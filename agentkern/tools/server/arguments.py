"""The arguments of each tool, flat, as the client sees them. Unknown ones are refused, naming the nearest."""

from __future__ import annotations

import difflib
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from agentkern.tools.requests import Numerics, Size, Target, Value

MAX_SOURCE_CHARS = 200_000

Source = Annotated[
    str, Field(max_length=MAX_SOURCE_CHARS, description="Text of the kernel file (import agentkern as ak ...).")
]
KernelName = Annotated[str | None, Field(description="Which kernel, if the text has several.")]
Dims = Annotated[dict[str, Size], Field(description='Sizes by name: {"H": 7168}. Every ak.static size needs one.')]
Settings = Annotated[dict[str, Value], Field(description="Compile-time values by name.")]


class Arguments(BaseModel):
    """Arguments of one tool."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class CheckArguments(Arguments):
    """Of `ak_check`."""

    source: Source
    kernel: KernelName = None
    dims: Dims = Field(default_factory=dict)
    settings: Settings = Field(default_factory=dict)


class CompileArguments(CheckArguments):
    """Of `ak_compile`."""

    target: Annotated[Target, Field(description="GPU architecture.")] = "sm_90a"
    numerics: Annotated[Numerics, Field(description="Numerics mode.")] = "portable"
    schedule: Annotated[dict[str, Any] | None, Field(description="A schedule as a result shows it.")] = None


class VerifyArguments(CheckArguments):
    """Of `ak_verify`."""

    reference: Annotated[
        str | None, Field(description="Text of a second kernel, same parameters, that says what is right.")
    ] = None
    criterion: Annotated[
        str | None,
        Field(description="Bound on the reference: `bound:max_ulp=2,min_equal_share=0.9`; none: equal bits."),
    ] = None
    level: Annotated[Literal["quick", "full"], Field(description="How many cases.")] = "quick"
    device: Annotated[Literal["cpu", "cuda"], Field(description="cpu: the simulator.")] = "cpu"


class ProfileArguments(CheckArguments):
    """Of `ak_profile`."""

    target: Annotated[Target, Field(description="Whose floor, without a GPU.")] = "sm_90a"
    seconds: Annotated[float, Field(ge=0.1, le=60, description="Time to measure.")] = 10


class JobArguments(Arguments):
    """Of `ak_job`."""

    job_id: Annotated[str, Field(description="From a result that says `running`.")]
    cancel: Annotated[bool, Field(description="End it.")] = False
    wait_s: Annotated[float, Field(ge=0, le=20, description="How long to wait for its end.")] = 20


class ReferenceArguments(Arguments):
    """Of `ak_reference`."""

    page: Annotated[str | None, Field(description="A page, a concept or a code such as AK301; none: the list.")] = None


class SubmitArguments(Arguments):
    """Of `ak_submit`."""

    task: Annotated[str, Field(description="The task's name.")]
    source: Source
    kernel: KernelName = None
    settings: Settings = Field(default_factory=dict)


class ReadArguments(Arguments):
    """Of `ak_read`."""

    id: Annotated[str, Field(description="An id from a result's artifacts.")]
    first_line: Annotated[int, Field(ge=1)] = 1
    n_lines: Annotated[int, Field(ge=1, le=400)] = 200


class SearchArguments(Arguments):
    """Of `ak_search_kernels`."""

    query: Annotated[str, Field(max_length=MAX_SOURCE_CHARS, description="Words, a signature, or a kernel's text.")]
    family: str | None = None
    dtype: str | None = None
    feature: Annotated[str | None, Field(description="Such as reduction, scan, gather, window, carried loop.")] = None
    limit: Annotated[int, Field(ge=1, le=5)] = 3
    include_source: bool = False


def input_schema(model: type[Arguments]) -> dict[str, Any]:
    """Return the JSON schema of a tool's arguments without the titles that pydantic adds, which cost tokens."""
    schema = _without_titles(model.model_json_schema())
    assert isinstance(schema, dict)
    schema.pop("description", None)
    return schema


def explain_invalid(model: type[Arguments], error: ValidationError) -> str:
    """Say what is wrong with a call's arguments, one line, naming the nearest known argument."""
    known = list(model.model_fields)
    said: list[str] = []
    for problem in error.errors(include_url=False, include_context=False):
        where = ".".join(str(part) for part in problem["loc"])
        if problem["type"] == "extra_forbidden":
            near = difflib.get_close_matches(where, known, n=1, cutoff=0.4)
            hint = f"did you mean `{near[0]}`?" if near else f"arguments: {', '.join(known)}"
            said.append(f"unknown argument `{where}`; {hint}")
        elif problem["type"] == "missing":
            said.append(f"argument `{where}` is missing")
        else:
            said.append(f"argument `{where}`: {problem['msg']}")
    return "; ".join(dict.fromkeys(said))


def _without_titles(value: Any) -> Any:
    if isinstance(value, dict):
        return {
            key: _without_titles(item)
            for key, item in value.items()
            if not (key == "title" and isinstance(item, str)) and not (key == "default" and item is None)
        }
    if isinstance(value, list):
        return [_without_titles(item) for item in value]
    return value
