"""`agentkern doctor`."""

from __future__ import annotations

import click

from agentkern.tools.commands.options import json_option
from agentkern.tools.doctor import doctor
from agentkern.tools.output import finish
from agentkern.tools.render import doctor_report


@click.command()
@json_option
def command(*, as_json: bool) -> None:
    """Say what works on this machine and what to install."""
    result = doctor()
    finish(result, doctor_report(result), as_json=as_json)
