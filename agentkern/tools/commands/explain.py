"""`agentkern explain TOPIC`."""

from __future__ import annotations

import click

from agentkern.tools.commands.options import json_option
from agentkern.tools.explain import explain
from agentkern.tools.output import finish


@click.command()
@click.argument("topic", metavar="AK301|layout|proof|pass|...")
@json_option
def command(topic: str, *, as_json: bool) -> None:
    """Show the page of a diagnostic code or of a concept."""
    result = explain(topic)
    finish(result, result.text, as_json=as_json)
