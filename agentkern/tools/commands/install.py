"""`agentkern install`."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from agentkern.tools.commands.options import json_option
from agentkern.tools.install.clients import CLIENTS
from agentkern.tools.install.install import Decide, InstallRequest, InstallResult, install
from agentkern.tools.output import finish
from agentkern.tools.render import diagnostics_report, headline
from agentkern.tools.sources import usage_error

_WORDS = {"created": "new", "changed": "changed", "removed": "removed", "left": "left as it is: changed since"}


@click.command()
@click.option("--client", type=click.Choice(list(CLIENTS)), required=True, help="Who is to read it.")
@click.option(
    "--project",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    default=Path(),
    help="The project's folder; the current one by default.",
)
@click.option("--yes", is_flag=True, help="Write without asking.")
@click.option("--dry-run", is_flag=True, help="Show the diff, write nothing.")
@click.option("--undo", is_flag=True, help="Bring back what was there before.")
@click.option("--portable", is_flag=True, help="Name the server's command `agentkern`, for settings that are shared.")
@json_option
def command(*, client: str, project: Path, yes: bool, dry_run: bool, undo: bool, portable: bool, as_json: bool) -> None:
    """Give a client the MCP entry and the skills, in a project's folder; the diff is shown first.

    Settings are added to, never replaced; a skill that you edited is kept beside the new one, as SKILL.md.bak. `--undo`
    brings back what was there; of settings that you changed since it takes out our entry only.
    """
    request = InstallRequest(client=client, project=project, portable=portable, undo=undo)
    result = install(request, _decision(yes=yes, dry_run=dry_run, as_json=as_json))
    finish(result, _report(result), as_json=as_json)


def _decision(*, yes: bool, dry_run: bool, as_json: bool) -> Decide:
    def decide(diff: str) -> bool:
        if not as_json:
            click.echo(diff, nl=False)
        if dry_run or yes:
            return not dry_run
        if as_json or not sys.stdin.isatty():
            raise usage_error("install", "nothing was written: give `--yes` to write, `--dry-run` to look")
        return click.confirm("Write this?", default=False)

    return decide


def _report(result: InstallResult) -> str:
    rows = [f"  {_WORDS[file.change]}: {file.path}" for file in result.files]
    return "\n".join((*rows, headline(result), diagnostics_report(result.diagnostics, ""))).rstrip()
