"""What the command line calls things, said with the names of the tools."""

import pytest

from agentkern.diagnostics import CODES
from agentkern.tools.requests import ON_CPU
from agentkern.tools.server.arguments import VerifyArguments
from agentkern.tools.server.wording import spoken_here

SAID = [
    ("give it: `--dim H=...`", 'give it: `dims={"H": ...}`'),
    ("give --dim H=..., --dim G=64", 'give dims={"H": ...}, dims={"G": 64}'),
    ("`--dim Q`: the file has no such size", '`dims={"Q": ...}`: the file has no such size'),
    ("`--set mask=none`", '`settings={"mask": false}`'),
    ("`--criterion`: `roughly` is none", "`criterion`: `roughly` is none"),
    ("`--device cpu` runs it", "`device=cpu` runs it"),
    ("`agentkern verify k.py:f --dim H=8`", "ak_verify"),
    ("see `agentkern explain AK301`", "see ak_reference page=AK301"),
    ("next: hold the kernel to a `--reference`", "next: hold it to a `reference`, a second kernel"),
    # no tool, no argument: as it was
    ("`agentkern doctor`", "`agentkern doctor`"),
    ("x --dimension 3", "x --dimension 3"),
]


@pytest.mark.parametrize(("there", "here"), SAID)
def test_options_are_said_by_the_tools_arguments(there: str, here: str):
    assert spoken_here(there) == here


@pytest.mark.parametrize(
    "text", [ON_CPU, *(row.message for row in CODES.values()), *(row.hint for row in CODES.values())]
)
def test_no_code_speaks_of_an_option_that_tools_have_as_an_argument(text: str):
    said = spoken_here(text)
    assert not [name for name in (*VerifyArguments.model_fields, "dim", "set") if f"--{name}" in said]
