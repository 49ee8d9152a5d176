"""Options that several commands share, and the parsing of `NAME=VALUE`."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from agentkern.compiler.targets.limits import TARGETS

Value = int | float | bool
_INPUT_NAME = re.compile(r"[A-Za-z_]\w*(\[\d+\]|\.\d+)?", re.ASCII)  # `pre[3]` and `pre.3`: a tensor of a list

json_option = click.option("--json", "as_json", is_flag=True, help="One JSON object on stdout and nothing else there.")
kernel_argument = click.argument("target_file", metavar="FILE[:KERNEL]")
target_option = click.option(
    "--target", type=click.Choice(TARGETS), default="sm_90a", show_default=True, help="GPU architecture."
)
corpus_option = click.option(
    "--corpus",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="The corpus folder, if not the one of this package.",
)


def dim_option(function: Callable[..., Any]) -> Callable[..., Any]:
    """`--dim H=7168`, repeatable: sizes by name."""
    return click.option(
        "--dim", "dims", multiple=True, metavar="NAME=SIZE", callback=_parse_dims, help="A size; repeat for more."
    )(function)


def set_option(function: Callable[..., Any]) -> Callable[..., Any]:
    """`--set causal=true`, repeatable: compile-time values by name; `--set mask=none`: without an optional tensor."""
    return click.option(
        "--set", "settings", multiple=True, metavar="NAME=VALUE", callback=_parse_settings,
        help="A compile-time value: true, false, a whole number or a float.",
    )(function)  # fmt: skip


def input_option(function: Callable[..., Any]) -> Callable[..., Any]:
    """`--input x=file.npy`, `--input pre.0=file.npy` or `--input eps=1e-5`, repeatable: (files, numbers) by name."""
    return click.option(
        "--input", "inputs", multiple=True, metavar="NAME=FILE|NUMBER", callback=_parse_inputs,
        help="An array (.npy, .npz) or a number; one that is not given is seeded random.",
    )(function)  # fmt: skip


def schedule_option(function: Callable[..., Any]) -> Callable[..., Any]:
    """`--schedule JSON|FILE`: a schedule as `compile` shows it."""
    return click.option(
        "--schedule", metavar="JSON|FILE", callback=_parse_schedule, help="A schedule as `compile` shows it."
    )(function)


def parse_value(text: str) -> Value:
    """A scalar as people write it: `true`, `7168`, `1e-6`, `inf`.

    Errors: ValueError when it is none of these.
    """
    lowered = text.strip().lower()
    if lowered in ("true", "false"):
        return lowered == "true"
    if re.fullmatch(r"[+-]?(\d+|0x[0-9a-f]+)", lowered):
        return int(lowered, 0) if "x" in lowered else int(lowered)
    return float(lowered)


def _parse_dims(_context: click.Context, _option: click.Parameter, pairs: tuple[str, ...]) -> dict[str, int]:
    dims: dict[str, int] = {}
    for name, text in _split_pairs("--dim", pairs):
        if not re.fullmatch(r"\d{1,18}", text):
            raise click.BadParameter(f"`{name}={text}`: a size is a whole number from 0, such as `{name}=7168`")
        dims[name] = int(text)
    return dims


def _parse_settings(_context: click.Context, _option: click.Parameter, pairs: tuple[str, ...]) -> dict[str, Value]:
    settings: dict[str, Value] = {}
    for name, text in _split_pairs("--set", pairs):
        try:
            # an optional tensor that is not there
            settings[name] = False if text.strip().lower() == "none" else parse_value(text)
        except ValueError as e:
            raise click.BadParameter(f"`{name}={text}`: write true, false, none or a number") from e
    return settings


def _parse_inputs(
    _context: click.Context, _option: click.Parameter, pairs: tuple[str, ...]
) -> tuple[dict[str, str], dict[str, Value]]:
    files: dict[str, str] = {}
    numbers: dict[str, Value] = {}
    for pair in pairs:
        name, equals, text = pair.partition("=")
        if not equals or not _INPUT_NAME.fullmatch(name) or not text:
            raise click.BadParameter(f"`{pair}`: write `--input NAME=FILE.npy` or `--input NAME=NUMBER`")
        if name in files or name in numbers:
            raise click.BadParameter(f"`{name}` is given twice")
        try:
            numbers[name] = parse_value(text)
        except ValueError:
            files[name] = text
    return files, numbers


def _parse_schedule(_context: click.Context, _option: click.Parameter, text: str | None) -> dict[str, Any] | None:
    if text is None:
        return None
    try:
        found = json.loads(text if text.lstrip().startswith("{") else Path(text).read_text(encoding="utf-8"))
    except (OSError, ValueError) as e:
        raise click.BadParameter(f"`{text[:60]}` is neither a JSON object nor a file with one: {e}") from e
    if not isinstance(found, dict):
        raise click.BadParameter("a schedule is a JSON object")
    return found


def _split_pairs(option: str, pairs: tuple[str, ...]) -> list[tuple[str, str]]:
    """Split `NAME=VALUE`s; commas join several in one."""
    split: list[tuple[str, str]] = []
    seen: dict[str, str] = {}
    for pair in (part for given in pairs for part in given.split(",")):
        name, equals, text = pair.partition("=")
        if not equals or not name.isidentifier() or not text:
            raise click.BadParameter(f"`{pair}`: write `{option} NAME=VALUE`")
        if seen.get(name, text) != text:
            raise click.BadParameter(f"`{name}` is given twice, as {seen[name]} and as {text}")
        seen[name] = text
        split.append((name, text))
    return split
