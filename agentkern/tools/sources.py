"""Take kernel text from a file or a request: `FILE[:KERNEL]`. Does not judge the text; the front end does."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from agentkern.diagnostics import Diagnostic, Span, error

# The front end rejects much smaller files with a diagnostic of its own; this only bounds what is held in memory.
_MAX_READ_BYTES = 16 << 20


class UsageError(Exception):
    """The call is wrong, not the kernel: exit code 2."""

    def __init__(self, diagnostic: Diagnostic) -> None:
        super().__init__(diagnostic.message)
        self.diagnostic = diagnostic


@dataclass(frozen=True, slots=True)
class KernelSource:
    """Kernel text with the name messages give it, and the kernel that is meant, None for the only or first one."""

    text: str
    path: str
    kernel: str | None


def usage_error(option: str, reason: str) -> UsageError:
    """Return the error of a wrong option or argument."""
    return UsageError(error("AK805", Span("command line"), option=option, reason=reason))


def read_kernel_source(target: str) -> KernelSource:
    """Read `FILE[:KERNEL]`.

    Errors: UsageError (AK801) when the file cannot be read.
    """
    file, kernel = split_target(target)
    return KernelSource(read_text(file), str(file), kernel)


def split_target(target: str) -> tuple[Path, str | None]:
    """Split `FILE[:KERNEL]`. An existing file wins over a colon in its name."""
    if Path(target).is_file():
        return Path(target), None
    head, colon, tail = target.rpartition(":")
    if colon and tail.isidentifier():
        return Path(head), tail
    return Path(target), None


def read_text(file: Path) -> str:
    """Return the text of `file`. Bytes that are not UTF-8 become lone surrogates, which the front end rejects.

    Errors: UsageError (AK801) when the file cannot be read.
    """
    try:
        with file.open("rb") as stream:
            return stream.read(_MAX_READ_BYTES).decode("utf-8", errors="surrogateescape")
    except FileNotFoundError as e:
        raise _unreadable(file, f"there is no such file{_files_nearby(file)}") from e
    except IsADirectoryError as e:
        raise _unreadable(file, f"it is a folder{_files_nearby(file / 'kernel.py')}") from e
    except (OSError, ValueError) as e:
        raise _unreadable(file, str(e)) from e


def _unreadable(file: Path, reason: str) -> UsageError:
    return UsageError(error("AK801", Span(str(file)), path=str(file), reason=reason))


def _files_nearby(file: Path) -> str:
    folder = file.parent
    if not folder.is_dir():
        return f", nor a folder `{folder}`"
    names = sorted(other.name for other in folder.iterdir() if other.suffix == file.suffix and other.is_file())
    return f"; `{folder}` has {', '.join(f'`{name}`' for name in names[:5])}" if names else ""
