"""Give a client the MCP entry and the skills, or take them away: plan, show, ask, keep a record, write."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Literal

from agentkern.diagnostics import Span, error
from agentkern.tools.install.clients import CLIENTS, Client
from agentkern.tools.install.entry import ConfigError
from agentkern.tools.install.files import difference, missing_folders, read_or_none, write_atomically
from agentkern.tools.install.plan import Change, PlanError, Undo, foreign_name, has_entry, plan_install, plan_undo
from agentkern.tools.install.record import FILE, FOLDER, Installed, read_record, write_record, written
from agentkern.tools.results import Record, Result, diagnostic_record

Action = Literal["installed", "unchanged", "declined", "undone", "failed"]
Decide = Callable[[str], bool]
"""Shown the diff, says whether to write."""


class FileChange(Record):
    """One file that changes. `left`: it is not as we left it, and stays as it is."""

    path: str
    change: Literal["created", "changed", "removed", "left"]
    diff: str = ""


class InstallRequest(Record):
    """Install for a client in a project, or undo it. `portable`: the entry names `agentkern`, not where it is."""

    client: str
    project: Path
    portable: bool = False
    undo: bool = False


class InstallResult(Result):
    """What was written, or would be."""

    client: str
    project: str
    action: Action
    files: tuple[FileChange, ...] = ()


def install(request: InstallRequest, decide: Decide) -> InstallResult:
    """Plan, let `decide` see the diff, write if it says so. Nothing is changed where a file is in the way."""
    client = CLIENTS[request.client]
    project = request.project.resolve()
    try:
        record = _record(project)
        if request.undo:
            return _undo(client, project, record, decide)
        changes = plan_install(client, project, record, portable=request.portable)
        return _install(client, project, record, changes, decide)
    except PlanError as e:
        return _failed(client, project, e.path, str(e))
    except OSError as e:
        return _failed(client, project, Path(e.filename or project), str(e.strerror))


def installed_clients(project: Path) -> dict[str, bool]:
    """Return the clients that have skills of ours in a project, with whether their settings name our server."""
    found = [client for client in CLIENTS.values() if (project / client.skills / "agentkern-kernels").is_dir()]
    served = {client.skills for client in found if has_entry(client, project)}
    # who shares a folder of skills with a client that is set up is not half set up
    return {c.name: has_entry(c, project) for c in found if has_entry(c, project) or c.skills not in served}


def _record(project: Path) -> Installed:
    try:
        record = read_record(project)
    except ConfigError as e:
        raise PlanError(project / FOLDER / FILE, str(e)) from e
    foreign = foreign_name(project, record)
    if foreign is not None:
        raise PlanError(project / FOLDER / FILE, f"it names `{foreign}`, which is no client's: remove the record")
    return record


def _install(
    client: Client, project: Path, record: Installed, changes: tuple[Change, ...], decide: Decide
) -> InstallResult:
    needed = tuple(change.name for change in changes if change.after is not None and not change.is_kept)
    shown = tuple(_shown(change) for change in changes if change.before != change.after)
    if not shown:
        if record.clients.get(client.name) != needed:
            write_record(project, record.model_copy(update={"clients": {**record.clients, client.name: needed}}))
        return _result(
            client,
            project,
            "unchanged",
            (),
            f"nothing to do for {client.title}: all of it is there already; {client.next_step}",
        )
    if not decide("".join(change.diff for change in shown)):
        return _result(client, project, "declined", shown, "nothing was written; `--yes` writes it")
    to_write = [change for change in changes if change.before != change.after]
    folders = {
        folder for change in to_write if change.after is not None for folder in missing_folders(change.path, project)
    }
    files = {
        change.name: written(change.before, change.after, record.files.get(change.name))
        for change in to_write
        if change.after is not None and not change.is_kept
    }
    ours = dict.fromkeys((*record.folders, *(folder.relative_to(project).as_posix() for folder in sorted(folders))))
    clients = {**record.clients, client.name: needed}
    kept = {**record.files, **files}
    write_record(project, Installed(clients=clients, files=kept, folders=tuple(ours)))
    try:
        _write(to_write)
    except (OSError, PlanError):
        _without_empty(project, tuple(ours))
        write_record(project, record)
        raise
    dropped = {change.name for change in to_write if change.name not in needed and not change.is_kept}
    if dropped:
        remaining = {name: row for name, row in kept.items() if name not in dropped}
        write_record(project, Installed(clients=clients, files=remaining, folders=tuple(ours)))
    kept_beside = ", ".join(f"`{change.name}`" for change in to_write if change.is_kept)
    beside = f"; what was written in their place is kept in {kept_beside}" if kept_beside else ""
    summary = f"{client.title} has the skills and the server{beside}; {client.next_step}"
    return _result(client, project, "installed", shown, summary)


def _undo(client: Client, project: Path, record: Installed, decide: Decide) -> InstallResult:
    if client.name not in record.clients:
        return _result(client, project, "unchanged", (), f"nothing of ours is here for {client.title}")
    plan = plan_undo(client, project, record)
    stays = (*plan.left, *(name for name, _ in plan.stuck))
    shown = (*(_shown(change) for change in plan.changes), *(FileChange(path=name, change="left") for name in stays))
    if plan.changes and not decide("".join(change.diff for change in shown)):
        return _result(client, project, "declined", shown, "nothing was changed; `--yes` takes it back")
    _write(plan.changes)
    stuck = tuple(name for name, _ in plan.stuck)
    others = {name: files for name, files in record.clients.items() if name != client.name}
    clients = {**others, client.name: stuck} if stuck else others
    gone = set(record.clients[client.name]) - {name for files in clients.values() for name in files}
    rest = _without_empty(project, record.folders)
    remaining = Installed(
        clients=clients,
        files={n: row for n, row in record.files.items() if n not in gone},
        folders=rest if clients else (),
    )
    write_record(project, remaining)
    return _undone(client, project, plan, shown, others=bool(others))


def _undone(client: Client, project: Path, plan: Undo, shown: tuple[FileChange, ...], *, others: bool) -> InstallResult:
    said = [f"`{name}` was changed since: only our entry is gone from it" for name in plan.edited]
    if plan.left:
        said.append(f"left as changed since: {', '.join(f'`{name}`' for name in plan.left)}")
    if others:
        said.append("what other clients need stays")
    if plan.stuck:
        name, reason = plan.stuck[0]
        said.append(f"`{name}` still has our entry, since it cannot be read: {reason}; mend it and `--undo` again")
    if said:
        summary = "; ".join(("taken back", *said))
    else:
        summary = f"for {client.title} all is as it was before"
    found = _result(client, project, "undone", shown, summary)
    return found.model_copy(update={"status": "failed"}) if plan.stuck else found


def _write(changes: tuple[Change, ...] | list[Change]) -> None:
    """Write all, or bring back what was written already. Errors: OSError; PlanError where a file is another one now."""
    for change in changes:
        if read_or_none(change.path) != change.before:
            raise PlanError(change.path, "it was changed meanwhile")
    done: list[Change] = []
    try:
        for change in changes:
            _put(change.path, change.after)
            done.append(change)
    except OSError:
        for change in done:
            _put(change.path, change.before)
        raise


def _put(path: Path, content: bytes | None) -> None:
    if content is None:
        path.unlink(missing_ok=True)
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, content)


def _without_empty(project: Path, folders: tuple[str, ...]) -> tuple[str, ...]:
    """Remove those of our folders that are empty, innermost first; return the others."""
    for name in sorted(folders, reverse=True):
        folder = project / name
        if folder.is_dir() and not folder.is_symlink() and not any(folder.iterdir()):
            folder.rmdir()
    return tuple(name for name in folders if (project / name).is_dir())


def _shown(change: Change) -> FileChange:
    kind: Literal["created", "changed", "removed"] = "changed"
    if change.before is None or change.after is None:
        kind = "created" if change.before is None else "removed"
    return FileChange(path=change.name, change=kind, diff=difference(change.name, change.before, change.after))


def _result(
    client: Client, project: Path, action: Action, files: tuple[FileChange, ...], summary: str
) -> InstallResult:
    return InstallResult(
        status="ok", summary=summary, client=client.name, project=str(project), action=action, files=files
    )


def _failed(client: Client, project: Path, path: Path, reason: str) -> InstallResult:
    found = error("AK813", Span(str(path)), path=path, reason=reason)
    return InstallResult(
        status="failed",
        summary=f"{found.message}; {found.hint}",
        diagnostics=(diagnostic_record(found),),
        client=client.name,
        project=str(project),
        action="failed",
    )
