"""The command line: finds the command, turns wrong usage into exit code 2. The work is in `api`.

Every command's module is imported only when that command runs, so that `--help` and a compile start fast.
"""

from __future__ import annotations

import difflib
import importlib
import sys
from functools import partial
from typing import NoReturn

import click

from agentkern.tools.output import finish_rejected, print_usage_error, report_crash
from agentkern.tools.sources import SourceRejected, UsageError

# Name, and the line of the overview. Each stands in `agentkern.tools.commands.NAME` as `command`.
COMMANDS = {
    "check": "every diagnostic of a kernel file, no code",
    "compile": "kernel text to CUDA, cubin, resources and proofs",
    "run": "a kernel on arrays, on the CPU simulator, a GPU or the interpreter",
    "verify": "is it correct, bit for bit, and by which checks",
    "profile": "how fast, against the floor and against rivals",
    "explain": "a diagnostic code or a concept",
    "corpus": "the kernels that come with agentkern: list, search, show, verify, export",
    "eval": "do agents write right kernels with it: tasks, runs, scores, reports",
    "doctor": "what works on this machine, what to install",
    "install": "give a client the tools and the skills, or take them away",
    "mcp": "serve the tools over the Model Context Protocol",
}


class LazyGroup(click.Group):
    """Commands by name, imported when asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names in the order of the overview."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import one command."""
        if cmd_name not in COMMANDS:
            return None
        return importlib.import_module(f"agentkern.tools.commands.{cmd_name}").command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command, naming the nearest where there is none."""
        name = args[0]
        if name not in COMMANDS and not name.startswith("-"):
            near = difflib.get_close_matches(name, COMMANDS, n=1)
            hint = f"; did you mean `{near[0]}`?" if near else f"; commands: {', '.join(COMMANDS)}"
            raise click.UsageError(f"no command `{name}`{hint}", ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the overview from the table, importing nothing."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(package_name="agentkern", message="%(prog)s %(version)s")
def group() -> None:
    """Write GPU kernels as pure dataflow; know that they compile, are right and are fast.

    Every command takes --json: one object on stdout and nothing else there.
    Exit code: 0 ok, 1 the kernel or check failed, 2 wrong usage, 3 the environment lacks something.
    """


def main(arguments: list[str] | None = None) -> NoReturn:
    """Run the command line and exit with its code."""
    given = sys.argv[1:] if arguments is None else arguments
    as_json = "--json" in given
    sys.excepthook = partial(report_crash, as_json=as_json)
    if not given:
        given = ["--help"]
    try:
        group.main(given, prog_name="agentkern", standalone_mode=False)
    except (click.UsageError, UsageError) as e:
        print_usage_error(e, as_json=as_json)
        sys.exit(2)
    except SourceRejected as e:
        finish_rejected(e, as_json=as_json)
    except (click.Abort, KeyboardInterrupt):
        sys.exit(130)
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(1)
    sys.exit(0)
