"""Take kernel text from a file or a request: `FILE[:KERNEL]`, size and encoding. Does not parse the text."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

MAX_SOURCE_BYTES = 1 << 20  # the largest kernel file of the corpus is under 10 KB


class UsageError(Exception):
    """The call is wrong, not the kernel: exit code 2."""


@dataclass(frozen=True, slots=True)
class KernelSource:
    """Kernel text with the name messages give it, and the one kernel that is meant, None for the only or first one."""

    text: str
    path: str
    kernel: str | None


def read_kernel_source(target: str) -> KernelSource:
    """Read `FILE[:KERNEL]`.

    Errors: UsageError when the file cannot be read as a kernel file.
    """
    file, kernel = split_target(target)
    return KernelSource(read_text(file), str(file), kernel)


def split_target(target: str) -> tuple[Path, str | None]:
    """`FILE[:KERNEL]` in two. An existing file wins over a colon in its name."""
    if Path(target).is_file():
        return Path(target), None
    head, colon, tail = target.rpartition(":")
    if colon and tail.isidentifier():
        return Path(head), tail
    return Path(target), None


def read_text(file: Path) -> str:
    """The text of `file`, UTF-8.

    Errors: UsageError when it is missing, a folder, larger than 1 MiB or not UTF-8.
    """
    if file.is_dir():
        raise UsageError(f"`{file}` is a folder; name a file of it")
    if not file.exists():
        raise UsageError(f"no file `{file}`{_nearest_file(file)}")
    try:
        size_bytes = file.stat().st_size
        if size_bytes > MAX_SOURCE_BYTES:
            raise UsageError(f"`{file}` has {size_bytes} bytes; the limit is {MAX_SOURCE_BYTES}")
        return file.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as e:
        raise UsageError(f"`{file}` is not UTF-8: byte {e.start} is 0x{e.object[e.start]:02x}") from e
    except OSError as e:
        raise UsageError(f"`{file}` cannot be read: {e.strerror}") from e


def _nearest_file(file: Path) -> str:
    folder = file.parent
    if not folder.is_dir():
        return f": there is no folder `{folder}`"
    names = sorted(other.name for other in folder.iterdir() if other.suffix == file.suffix and other.is_file())
    return f"; `{folder}` has {', '.join(f'`{name}`' for name in names[:5])}" if names else ""
