"""The record of what was written into a project, so that it can be taken back: `.agentkern/installed.json`.

It is written before anything else, and holds what was there before. One for all clients: files may be shared.
"""

from __future__ import annotations

import hashlib
import json
from base64 import b64decode, b64encode
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, Field, ValidationError

from agentkern.tools.install.entry import ConfigError
from agentkern.tools.install.files import write_atomically
from agentkern.tools.results import Record

FOLDER = ".agentkern"
FILE = "installed.json"
VERSION = 1


def _is_base64(text: str) -> str:
    b64decode(text, validate=True)  # binascii.Error is a ValueError
    return text


Base64 = Annotated[str, AfterValidator(_is_base64)]


class Written(Record):
    """One file that we wrote. `before`: what was there, base64, None for no file; `ours`: digests of what we wrote."""

    before: Base64 | None
    ours: tuple[str, ...]

    @property
    def content_before(self) -> bytes | None:
        """What was there."""
        return None if self.before is None else b64decode(self.before)


class Installed(Record):
    """All that is ours in a project. `clients`: the files that each needs. `folders`: those that we made."""

    version: int = VERSION
    clients: dict[str, tuple[str, ...]] = Field(default_factory=dict)
    files: dict[str, Written] = Field(default_factory=dict)
    folders: tuple[str, ...] = ()


def digest(content: bytes | None) -> str:
    """Return what tells contents apart; of no file it is empty."""
    return "" if content is None else hashlib.sha256(content).hexdigest()


def written(before: bytes | None, after: bytes, known: Written | None) -> Written:
    """Return the row of a file that will become `after`; what we wrote earlier does not count as there before."""
    if known is not None and digest(before) in known.ours:
        return known.model_copy(update={"ours": tuple(dict.fromkeys((*known.ours, digest(after))))})
    kept = None if before is None else b64encode(before).decode()
    return Written(before=kept, ours=(digest(after),))


def read_record(project: Path) -> Installed:
    """Return the record of a project, an empty one where there is none. Errors: ConfigError."""
    try:
        found = Installed.model_validate_json((project / FOLDER / FILE).read_bytes())
    except FileNotFoundError:
        return Installed()
    except (OSError, ValidationError) as e:
        reason = "it is no record of an installation" if isinstance(e, ValidationError) else str(e.strerror)
        raise ConfigError(reason) from e
    if found.version != VERSION:
        raise ConfigError(f"another version of agentkern wrote it (version {found.version})")
    return found


def write_record(project: Path, record: Installed) -> None:
    """Keep the record, or remove it once nothing is ours. Errors: OSError."""
    folder = project / FOLDER
    if not record.clients and not record.files:
        (folder / FILE).unlink(missing_ok=True)
        (folder / ".gitignore").unlink(missing_ok=True)
        if folder.is_dir() and not any(folder.iterdir()):
            folder.rmdir()
        return
    folder.mkdir(exist_ok=True)
    write_atomically(folder / ".gitignore", b"*\n")
    write_atomically(folder / FILE, json.dumps(record.model_dump(), indent=1).encode(), mode=0o600)
