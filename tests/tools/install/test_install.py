"""`agentkern install`: what each client gets, that nothing is lost, that undoing brings all back."""

from __future__ import annotations

import hashlib
import io
import json
import os
import sys
import tomllib
from pathlib import Path

import pytest

from agentkern.tools.doctor import _clients
from agentkern.tools.install import install as install_module
from agentkern.tools.install.clients import CLIENTS
from agentkern.tools.install.install import InstallRequest, InstallResult, install, installed_clients
from agentkern.tools.skills import read_skill, read_skills
from tests.tools.command_line import agentkern

OTHER_JSON = (
    '{\n  // kept\n  "mcpServers": {\n    "other": {"command": "x", "env": {"TOKEN": "t"}}\n  },\n  "a": [1]\n}\n'
)
OTHER_TOML = 'model = "m" # kept\n\n[mcp_servers.other]\ncommand = "x"\n'
EXISTING = {"json": OTHER_JSON, "toml": OTHER_TOML}


def write(project: Path, client: str, *, undo: bool = False, portable: bool = False) -> InstallResult:
    return install(InstallRequest(client=client, project=project, undo=undo, portable=portable), lambda _diff: True)


def tree(project: Path) -> dict[str, bytes | None]:
    """Every file and folder with its content."""
    return {str(p.relative_to(project)): p.read_bytes() if p.is_file() else None for p in sorted(project.rglob("*"))}


def server(project: Path, client: str) -> dict[str, object]:
    row = CLIENTS[client]
    text = (project / row.config).read_text()
    read = tomllib.loads(text) if row.format == "toml" else json.loads(text.replace("  // kept\n", ""))
    return read[row.servers]["agentkern"]


@pytest.fixture(params=list(CLIENTS))
def client(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture
def started(tmp_path: Path, client: str) -> dict[str, bytes | None]:
    """The tree of a project that has settings of its own."""
    config = tmp_path / CLIENTS[client].config
    config.parent.mkdir(exist_ok=True)
    config.write_text(EXISTING[CLIENTS[client].format])
    (tmp_path / "kernel.py").write_text("x")
    return tree(tmp_path)


def test_a_client_gets_server_and_skills(tmp_path: Path, client: str):
    result = write(tmp_path, client)
    assert (result.status, result.action) == ("ok", "installed")
    found = server(tmp_path, client)
    assert (found["command"], found["args"]) == (sys.executable, ["-m", "agentkern", "mcp"])
    for skill in read_skills():
        copied = read_skill(tmp_path / CLIENTS[client].skills / skill.name)
        assert (copied.files, copied.body) == (skill.files, skill.body)
    assert installed_clients(tmp_path)[client]


def test_a_portable_entry_names_no_path(tmp_path: Path, client: str):
    write(tmp_path, client, portable=True)
    found = server(tmp_path, client)
    assert (found["command"], found["args"]) == ("agentkern", ["mcp"])
    assert str(tmp_path) not in (tmp_path / CLIENTS[client].config).read_text()


def test_undoing_in_an_empty_project_leaves_it_empty(tmp_path: Path, client: str):
    write(tmp_path, client)
    result = write(tmp_path, client, undo=True)
    assert result.action == "undone"
    assert tree(tmp_path) == {}


def test_settings_are_added_to_and_come_back(tmp_path: Path, client: str, started: dict[str, bytes | None]):
    write(tmp_path, client)
    text = (tmp_path / CLIENTS[client].config).read_text()
    assert "kept" in text
    assert "other" in text
    write(tmp_path, client, undo=True)
    assert tree(tmp_path) == started


def test_a_second_time_changes_nothing(tmp_path: Path, client: str, started: dict[str, bytes | None]):
    write(tmp_path, client)
    once = tree(tmp_path)
    assert write(tmp_path, client).action == "unchanged"
    assert tree(tmp_path) == once
    write(tmp_path, client, undo=True)
    assert tree(tmp_path) == started


def test_another_entry_of_ours_then_undone_is_what_was_first(
    tmp_path: Path, client: str, started: dict[str, bytes | None]
):
    write(tmp_path, client)
    assert write(tmp_path, client, portable=True).action == "installed"
    write(tmp_path, client, undo=True)
    assert tree(tmp_path) == started


def test_malformed_settings_stop_it_and_nothing_changes(tmp_path: Path, client: str):
    config = tmp_path / CLIENTS[client].config
    config.parent.mkdir(exist_ok=True)
    config.write_text('{"mcpServers": ')
    before = tree(tmp_path)
    result = write(tmp_path, client)
    assert (result.status, [d.code for d in result.diagnostics]) == ("failed", ["AK813"])
    assert str(config) in result.summary
    assert tree(tmp_path) == before


def test_what_was_changed_since_stays_and_is_named(tmp_path: Path, client: str):
    write(tmp_path, client)
    name = f"{CLIENTS[client].skills}/agentkern-review/SKILL.md"
    (tmp_path / name).write_text("mine")
    result = write(tmp_path, client, undo=True)
    assert name in result.summary
    assert [file.path for file in result.files if file.change == "left"] == [name]
    assert {path for path, content in tree(tmp_path).items() if content is not None} == {name}


@pytest.mark.parametrize("has_settings", [True, False])
def test_settings_that_were_changed_since_lose_our_entry_only(tmp_path: Path, client: str, has_settings: bool):
    row = CLIENTS[client]
    config = tmp_path / row.config
    config.parent.mkdir(exist_ok=True)
    if has_settings:
        config.write_text(EXISTING[row.format])
    write(tmp_path, client)
    note = "# mine\n" if row.format == "toml" else "// mine\n"
    config.write_text(config.read_text() + note)
    result = write(tmp_path, client, undo=True)
    assert (result.status, result.action) == ("ok", "undone")
    assert f"`{row.config}` was changed since: only our entry is gone" in result.summary
    text = config.read_text()
    assert "agentkern" not in text
    assert text.endswith(note)
    if has_settings:
        assert text.replace(note, "").split() == EXISTING[row.format].split()
    assert not (tmp_path / ".agentkern").exists()


def test_settings_that_cannot_be_read_any_more_keep_their_record_until_they_can(tmp_path: Path, client: str):
    write(tmp_path, client)
    config = tmp_path / CLIENTS[client].config
    whole = config.read_text()
    config.write_text(whole + "}")
    for _ in range(2):
        result = write(tmp_path, client, undo=True)
        assert result.status == "failed"
        assert f"`{CLIENTS[client].config}` still has our entry" in result.summary
    assert config.read_text() == whole + "}"
    assert not (tmp_path / CLIENTS[client].skills).exists()
    config.write_text(whole)
    assert write(tmp_path, client, undo=True).status == "ok"
    assert tree(tmp_path) == {}


def test_an_edited_skill_is_kept_beside_the_new_one_and_comes_back(tmp_path: Path, client: str):
    write(tmp_path, client)
    path = tmp_path / CLIENTS[client].skills / "agentkern-review" / "SKILL.md"
    ours = path.read_text()
    for number, edit in (("", "one"), ("1", "two")):
        path.write_text(ours + edit)
        result = write(tmp_path, client)
        assert f"SKILL.md.bak{number}`" in result.summary
        assert (path.read_text(), path.with_name(f"SKILL.md.bak{number}").read_text()) == (ours, ours + edit)
    assert write(tmp_path, client).action == "unchanged"
    write(tmp_path, client, undo=True)
    kept = {name: text for name, text in tree(tmp_path).items() if text is not None}
    assert sorted(text.decode().removeprefix(ours) for text in kept.values()) == ["one", "two"]


def test_a_file_that_was_there_comes_back(tmp_path: Path, client: str):
    path = tmp_path / CLIENTS[client].skills / "agentkern-review" / "SKILL.md"
    path.parent.mkdir(parents=True)
    path.write_text("mine")
    before = tree(tmp_path)
    write(tmp_path, client)
    assert path.read_text() != "mine"
    write(tmp_path, client, undo=True)
    assert tree(tmp_path) == before


class Killed(BaseException):
    """The process ends here."""


@pytest.mark.parametrize("after", [0, 1, 3])
def test_killed_half_way_it_can_be_undone_or_done_again(
    tmp_path: Path, client: str, started: dict[str, bytes | None], after: int, monkeypatch: pytest.MonkeyPatch
):
    put = install_module._put
    puts: list[Path] = []

    def killed(path: Path, content: bytes | None) -> None:
        if len(puts) == after:
            raise Killed
        puts.append(path)
        put(path, content)

    for undo in (True, False):
        puts.clear()
        with monkeypatch.context() as patch:
            patch.setattr(install_module, "_put", killed)
            with pytest.raises(Killed):
                write(tmp_path, client)
        if not undo:
            assert write(tmp_path, client).action == "installed"
        write(tmp_path, client, undo=True)
        assert tree(tmp_path) == started


def test_a_write_that_fails_brings_back_what_was_written(
    tmp_path: Path, client: str, started: dict[str, bytes | None], monkeypatch: pytest.MonkeyPatch
):
    put = install_module._put
    puts: list[Path] = []

    def full(path: Path, content: bytes | None) -> None:
        puts.append(path)
        if len(puts) == 3:
            raise OSError(28, "No space left on device", str(path))
        put(path, content)

    monkeypatch.setattr(install_module, "_put", full)
    result = write(tmp_path, client)
    assert (result.status, result.action) == ("failed", "failed")
    assert "No space left" in result.summary
    assert {name: text for name, text in tree(tmp_path).items() if text is not None} == {
        name: text for name, text in started.items() if text is not None
    }


def test_settings_that_change_while_it_asks_are_not_overwritten(tmp_path: Path):
    (tmp_path / ".mcp.json").write_text("{}")

    def decide(_diff: str) -> bool:
        (tmp_path / ".mcp.json").write_text('{"mine": 1}')
        return True

    result = install(InstallRequest(client="claude", project=tmp_path), decide)
    assert "changed meanwhile" in result.summary
    assert (tmp_path / ".mcp.json").read_text() == '{"mine": 1}'


@pytest.mark.parametrize("first", ["claude", "agents"])
def test_shared_settings_stay_until_the_last_client_is_undone(tmp_path: Path, first: str):
    second = {"claude": "agents", "agents": "claude"}[first]
    (tmp_path / ".mcp.json").write_text(OTHER_JSON)
    before = tree(tmp_path)
    write(tmp_path, first)
    write(tmp_path, second)
    write(tmp_path, first, undo=True)
    assert installed_clients(tmp_path)[second]
    assert not (tmp_path / CLIENTS[first].skills).exists()
    write(tmp_path, second, undo=True)
    assert tree(tmp_path) == before


def test_a_link_stays_a_link(tmp_path: Path):
    (tmp_path / "real.json").write_text("{}")
    (tmp_path / ".mcp.json").symlink_to("real.json")
    write(tmp_path, "claude")
    assert (tmp_path / ".mcp.json").is_symlink()
    assert "agentkern" in (tmp_path / "real.json").read_text()
    write(tmp_path, "claude", undo=True)
    assert (tmp_path / "real.json").read_text() == "{}"


@pytest.mark.parametrize("in_the_way", [".claude", ".mcp.json"])
def test_a_file_for_a_folder_or_a_folder_for_a_file_is_named(tmp_path: Path, in_the_way: str):
    path = tmp_path / in_the_way
    path.mkdir() if in_the_way == ".mcp.json" else path.write_text("x")
    before = tree(tmp_path)
    result = write(tmp_path, "claude")
    assert [d.code for d in result.diagnostics] == ["AK813"]
    assert tree(tmp_path) == before


def test_a_damaged_record_stops_it(tmp_path: Path):
    write(tmp_path, "claude")
    (tmp_path / ".agentkern" / "installed.json").write_text("{")
    result = write(tmp_path, "claude", undo=True)
    assert "no record" in result.summary


@pytest.mark.parametrize("name", ["../victim", "src/victim", "/etc/victim", ".claude/skills/other/victim"])
def test_a_record_that_names_what_no_client_has_changes_nothing(tmp_path: Path, name: str):
    project = tmp_path / "project"
    (project / ".agentkern").mkdir(parents=True)
    victim = project / name
    if not name.startswith("/"):
        victim.parent.mkdir(parents=True, exist_ok=True)
        victim.write_bytes(b"victim")
    row = {"before": None, "ours": [hashlib.sha256(b"victim").hexdigest()]}
    record = {"version": 1, "clients": {"claude": [name]}, "files": {name: row}, "folders": []}
    (project / ".agentkern" / "installed.json").write_text(json.dumps(record))
    for undo in (True, False):
        result = install(InstallRequest(client="claude", project=project, undo=undo), lambda _diff: True)
        assert (result.action, f"names `{name}`" in result.summary) == ("failed", True)
    assert name.startswith("/") or victim.read_bytes() == b"victim"


@pytest.mark.parametrize("folder", ["../outside", "/tmp"])
def test_a_record_of_folders_elsewhere_removes_none(tmp_path: Path, folder: str):
    project = tmp_path / "project"
    (project / ".agentkern").mkdir(parents=True)
    (tmp_path / "outside").mkdir()
    record = {"version": 1, "clients": {"claude": []}, "files": {}, "folders": [folder]}
    (project / ".agentkern" / "installed.json").write_text(json.dumps(record))
    result = install(InstallRequest(client="claude", project=project, undo=True), lambda _diff: True)
    assert result.action == "failed"
    assert (tmp_path / "outside").is_dir()


def test_the_record_is_private_and_ignored_by_git(tmp_path: Path):
    write(tmp_path, "claude")
    record = tmp_path / ".agentkern" / "installed.json"
    assert record.stat().st_mode & 0o077 == 0
    assert (tmp_path / ".agentkern" / ".gitignore").read_text() == "*\n"


def test_the_mode_of_settings_stays(tmp_path: Path):
    (tmp_path / ".mcp.json").write_text("{}")
    (tmp_path / ".mcp.json").chmod(0o600)
    write(tmp_path, "claude")
    assert (tmp_path / ".mcp.json").stat().st_mode & 0o777 == 0o600


def test_undoing_what_was_never_installed_says_so(tmp_path: Path):
    result = write(tmp_path, "gemini", undo=True)
    assert (result.status, result.action) == ("ok", "unchanged")


def test_a_dry_run_shows_the_diff_and_writes_nothing(tmp_path: Path):
    (tmp_path / ".mcp.json").write_text(OTHER_JSON)
    before = tree(tmp_path)
    answer = agentkern("install", "--client", "claude", "--project", str(tmp_path), "--dry-run")
    assert answer.code == 0
    assert '+    "agentkern": {' in answer.out
    assert tree(tmp_path) == before


def test_without_a_terminal_or_yes_nothing_is_written(tmp_path: Path):
    answer = agentkern("install", "--client", "codex", "--project", str(tmp_path))
    assert answer.code == 2
    assert "--yes" in answer.err
    assert tree(tmp_path) == {}


@pytest.mark.parametrize(("answer", "written"), [("y", True), ("n", False), ("", False)])
def test_on_a_terminal_it_shows_the_diff_and_asks(
    tmp_path: Path, answer: str, written: bool, monkeypatch: pytest.MonkeyPatch
):
    terminal = io.StringIO(f"{answer}\n")
    monkeypatch.setattr(terminal, "isatty", lambda: True, raising=False)
    monkeypatch.setattr(sys, "stdin", terminal)
    said = agentkern("install", "--client", "claude", "--project", str(tmp_path))
    assert said.code == 0
    assert said.out.index("+++ b/.mcp.json") < said.out.index("Write this?")
    assert (tmp_path / ".mcp.json").exists() == written


def test_doctor_says_who_is_set_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    assert not _clients().works
    write(tmp_path, "codex")
    assert _clients().detail == "set up here: codex"
    (tmp_path / ".codex" / "config.toml").unlink()
    assert "codex (skills only: no MCP entry)" in _clients().detail


def test_json_holds_the_diffs(tmp_path: Path):
    answer = agentkern("install", "--client", "cursor", "--project", str(tmp_path), "--yes", "--json")
    assert answer.code == 0
    config = next(file for file in answer.json["files"] if file["path"] == ".cursor/mcp.json")
    assert config["change"] == "created"
    assert '+  "mcpServers": {' in config["diff"]
    again = agentkern("install", "--client", "cursor", "--project", str(tmp_path), "--json")
    assert (again.code, again.json["action"]) == (0, "unchanged")


@pytest.mark.skipif(os.geteuid() == 0, reason="root writes everywhere")
def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path):
    tmp_path.chmod(0o500)
    result = write(tmp_path, "claude")
    tmp_path.chmod(0o700)
    assert [d.code for d in result.diagnostics] == ["AK813"]
