"""What an installation or its undoing would change: files with their old and new content. Writes nothing."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agentkern.tools.install import json_text, toml_text
from agentkern.tools.install.clients import CLIENTS, SERVER, Client
from agentkern.tools.install.entry import ConfigError, Entry, entry
from agentkern.tools.install.files import read_or_none
from agentkern.tools.install.record import Installed, digest
from agentkern.tools.skills import SkillError, read_skills


@dataclass(frozen=True, slots=True)
class Change:
    """One file: `name` as it is shown and kept, `path` where it lies, content before and after; None is no file.

    is_kept: what a user wrote, put beside the file that takes its place; it is not ours, and no record has it.
    """

    name: str
    path: Path
    before: bytes | None
    after: bytes | None
    is_kept: bool = False


@dataclass(frozen=True, slots=True)
class Undo:
    """What undoing changes. `left`: files changed since, which stay. `edited`: of these files only our entry goes.

    `stuck`: files that hold our entry and cannot be read, with why.
    """

    changes: tuple[Change, ...]
    left: tuple[str, ...] = ()
    edited: tuple[str, ...] = ()
    stuck: tuple[tuple[str, str], ...] = ()


class PlanError(ValueError):
    """A file is in the way; `path` names it."""

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(reason)
        self.path = path


def plan_install(client: Client, project: Path, record: Installed, *, portable: bool) -> tuple[Change, ...]:
    """Return every file that the client needs, changed or not, and those of an earlier version that it needs no more.

    Errors: PlanError.
    """
    config = _located(project, client.config)
    before = _read(config)
    after = _with_entry(config, before, client, entry(client.fields, portable=portable))
    found = [Change(_name(project, config), config, before, after)]
    for relative, content in _skill_files(project).items():
        path = _located(project, f"{client.skills}/{relative}")
        found += _with_kept(project, Change(_name(project, path), path, _read(path), content), record)
    names = {change.name for change in found}
    elsewhere = {name for other, files in record.clients.items() if other != client.name for name in files}
    for name in record.clients.get(client.name, ()):
        if name not in names | elsewhere and name in record.files:
            found += _restored(project, name, record)
    return tuple(found)


def _with_kept(project: Path, change: Change, record: Installed) -> list[Change]:
    """A skill's file, and beside it what a user wrote in its place, if anything."""
    row = record.files.get(change.name)
    is_ours = change.before is None or (row is not None and digest(change.before) in row.ours)
    if is_ours or change.before == change.after:
        return [change]
    for path in _backups(change.path):
        there = _read(path)
        if there == change.before:
            return [change]
        if there is None:
            return [Change(_name(project, path), path, None, change.before, is_kept=True), change]
    raise AssertionError("there is always another name")


def _backups(path: Path) -> Iterator[Path]:
    """The names under which what was in a file is kept beside it."""
    return (path.with_name(f"{path.name}.bak{number or ''}") for number in itertools.count())


def _redundant(project: Path, change: Change) -> list[Change]:
    """What was kept beside a file and comes back to its place."""
    found: list[Change] = []
    for path in _backups(change.path):
        there = _read(path)
        if there is None:
            return found
        if there == change.after:
            found.append(Change(_name(project, path), path, there, None))
    return found


def plan_undo(client: Client, project: Path, record: Installed) -> Undo:
    """Return the files to bring back to what was there, and what stays. Files that another client needs are neither.

    Errors: PlanError.
    """
    elsewhere = {name for other, files in record.clients.items() if other != client.name for name in files}
    back: list[Change] = []
    left: list[str] = []
    edited: list[str] = []
    stuck: list[tuple[str, str]] = []
    config = _located(project, client.config)
    for name in record.clients.get(client.name, ()):
        if name in elsewhere or name not in record.files:
            continue
        found = _restored(project, name, record)
        path = _located(project, name)
        now, was = _read(path), record.files[name].content_before
        if found:
            back += [*found, *_redundant(project, found[0])]
        elif path == config and now is not None and now != was:
            try:
                after = _without_entry(client, now, was)
            except ConfigError as e:
                stuck.append((name, str(e)))
                continue
            if after != now:
                back.append(Change(name, path, now, after))
                edited.append(name)
        elif digest(now) != digest(was):
            left.append(name)
    return Undo(tuple(back), tuple(left), tuple(edited), tuple(stuck))


def _without_entry(client: Client, now: bytes, was: bytes | None) -> bytes | None:
    """A client's settings that were changed since, with its entry as it was before: gone, or another one.

    None: nothing is left of a file that was not there. Errors: ConfigError.
    """
    text, path = _text(now), (client.servers, SERVER)
    known, before = _servers(client, text), _servers(client, _text(was))
    if SERVER not in known:
        return now
    if client.format == "toml":
        text = toml_text.without_table(text, path)
        text = toml_text.set_table(text, path, before[SERVER]) if SERVER in before else text
    elif SERVER in before:
        text = json_text.set_value(text, path, before[SERVER])
    else:
        text = json_text.without_member(text, path)
        if len(known) == 1 and client.servers not in _value(client, _text(was)):
            text = json_text.without_member(text, path[:1])
    return None if was is None and "".join(text.split()) in ("", "{}") else text.encode()


def _value(client: Client, text: str) -> dict[str, Any]:
    if not text.strip("\ufeff \t\r\n"):
        return {}
    read = json_text.parse(text).value if client.format == "json" else toml_text.parse(text)
    return read if isinstance(read, dict) else {}


def _servers(client: Client, text: str) -> dict[str, Any]:
    found = _value(client, text).get(client.servers, {})
    return found if isinstance(found, dict) else {}


def _restored(project: Path, name: str, record: Installed) -> list[Change]:
    """The change back to what was there, none where the file is not as we left it."""
    path = _located(project, name)
    now = _read(path)
    row = record.files[name]
    return [Change(name, path, now, row.content_before)] if now is not None and digest(now) in row.ours else []


def foreign_name(project: Path, record: Installed) -> str | None:
    """Return what a record names that is no client's and no folder of the project: another has written that record."""
    for name in {*record.files, *(name for names in record.clients.values() for name in names)}:
        if not _is_a_clients(project, _located(project, name)):
            return name
    return next((name for name in record.folders if Path(name).is_absolute() or ".." in Path(name).parts), None)


def _is_a_clients(project: Path, path: Path) -> bool:
    """Whether a path is a client's settings, or lies in a skill of ours."""
    for client in CLIENTS.values():
        skills = _located(project, client.skills)
        if path == _located(project, client.config):
            return True
        inside = path.relative_to(skills).parts if path.is_relative_to(skills) else ()
        if inside and inside[0].startswith(f"{SERVER}-"):
            return True
    return False


def has_entry(client: Client, project: Path) -> bool:
    """Whether the client's settings name our server. A file that cannot be read names nothing."""
    try:
        return SERVER in _servers(client, _text(_read(_located(project, client.config))))
    except (PlanError, ConfigError):
        return False


def _with_entry(config: Path, before: bytes | None, client: Client, given: Entry) -> bytes:
    try:
        text = _text(before)
        if client.format == "toml":
            return toml_text.set_table(text, (client.servers, SERVER), given).encode()
        if not text.strip("\ufeff \t\r\n"):
            return json_text.set_value(text, (client.servers, SERVER), dict(given)).encode()
        servers = json_text.parse(text).value
        known = servers.get(client.servers, {}) if isinstance(servers, dict) else {}
        if not isinstance(known, dict) or SERVER not in known:
            return json_text.set_value(text, (client.servers, SERVER), dict(given)).encode()
        for key, value in given.items():
            text = json_text.set_value(text, (client.servers, SERVER, key), value)
        return text.encode()
    except ConfigError as e:
        raise PlanError(config, str(e)) from e


def _text(content: bytes | None) -> str:
    try:
        return "" if content is None else content.decode()
    except UnicodeDecodeError as e:
        raise ConfigError(f"byte {e.start} is not UTF-8") from e


def _skill_files(project: Path) -> dict[str, bytes]:
    try:
        skills = read_skills()
        return {
            f"{skill.name}/{file.as_posix()}": (skill.folder / file).read_bytes()
            for skill in skills
            for file in skill.files
        }
    except SkillError as e:
        raise PlanError(project, str(e)) from e


def _located(project: Path, name: str) -> Path:
    """Where a file lies: what a link points at, so that the link stays one."""
    return Path(os.path.realpath(project / name))


def _name(project: Path, path: Path) -> str:
    return path.relative_to(project).as_posix() if path.is_relative_to(project) else str(path)


def _read(path: Path) -> bytes | None:
    try:
        return read_or_none(path)
    except OSError as e:
        raise PlanError(path, str(e.strerror)) from e
