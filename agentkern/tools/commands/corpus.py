"""`agentkern corpus`: finds the command; each is imported when it runs, so that a search starts fast."""

from __future__ import annotations

import importlib

import click

# Name, the module under `agentkern.tools.commands`, and the line of the overview.
COMMANDS = {
    "list": ("corpus_find", "name every kernel, or those of a family, dtype or feature"),
    "search": ("corpus_find", "the kernels that answer a text best, of different families"),
    "show": ("corpus_find", "a kernel with its text, notes, shapes, criterion and record"),
    "verify": ("corpus_prove", "verify kernels against their references and records"),
    "export": ("corpus_prove", "training and retrieval text: one JSON object a line"),
}


class CorpusGroup(click.Group):
    """The commands by name, imported when asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names in the order of the overview."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import one command."""
        if cmd_name not in COMMANDS:
            return None
        module = importlib.import_module(f"agentkern.tools.commands.{COMMANDS[cmd_name][0]}")
        return module.COMMANDS[cmd_name]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the overview from the table, importing nothing."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, line) in COMMANDS.items()])


@click.group(cls=CorpusGroup)
def command() -> None:
    """Verified kernels to learn from."""
