"""Take kernel text from a file, `FILE[:KERNEL]`. Does not judge the text; the front end does."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from agentkern.compiler.frontend.source import MAX_CHARACTERS, decode_source
from agentkern.diagnostics import Diagnostic, Span, error


class UsageError(Exception):
    """The call is wrong, not the kernel: exit code 2."""

    def __init__(self, diagnostic: Diagnostic) -> None:
        super().__init__(diagnostic.message)
        self.diagnostic = diagnostic


class SourceRejected(Exception):
    """The file is there, and is no kernel text: too large, or not UTF-8."""

    def __init__(self, diagnostics: tuple[Diagnostic, ...]) -> None:
        super().__init__(diagnostics[0].message)
        self.diagnostics = diagnostics


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

    Errors: UsageError (AK801) when the file cannot be read; SourceRejected (AK102, AK103) when it is no text.
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
    """Return the text of `file`.

    Errors: as `read_kernel_source`.
    """
    try:
        with file.open("rb") as stream:
            data = stream.read(MAX_CHARACTERS + 1)
    except FileNotFoundError as e:
        raise _unreadable(file, f"there is no such file{_files_nearby(file)}") from e
    except IsADirectoryError as e:
        raise _unreadable(file, f"it is a folder{_files_nearby(file / 'kernel.py')}") from e
    except (OSError, ValueError) as e:
        raise _unreadable(file, str(e)) from e
    text, diagnostics = decode_source(data, str(file))
    if diagnostics:
        raise SourceRejected(diagnostics)
    return text


def _unreadable(file: Path, reason: str) -> UsageError:
    return UsageError(error("AK801", Span(str(file)), path=str(file), reason=reason))


def _files_nearby(file: Path) -> str:
    folder = file.parent
    if not folder.is_dir():
        return f", nor a folder `{folder}`"
    names = sorted(other.name for other in folder.iterdir() if other.suffix == file.suffix and other.is_file())
    return f"; `{folder}` has {', '.join(f'`{name}`' for name in names[:5])}" if names else ""
