"""Jobs that misbehave, for the isolated worker: each is a function of one plain argument."""

from __future__ import annotations

import ctypes
import errno
import fcntl
import mmap
import os
import platform
import resource
import socket
import struct
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any


def echo(argument: Any) -> Any:
    return argument


def where_am_i(_argument: Any) -> dict[str, Any]:
    return {"folder": str(Path.cwd()), "files": [p.name for p in Path.cwd().iterdir()], "environment": dict(os.environ)}


def read_file(path: str) -> str:
    return Path(path).read_text()


def write_file(path: str) -> str:
    Path(path).write_text("was here")
    return "written"


def leave_a_trace(_argument: Any) -> str:
    seen = getattr(sys, "trace_of_an_earlier_run", "nothing")
    sys.trace_of_an_earlier_run = "a cached answer"  # type: ignore[attr-defined]
    return seen


def exit_at_once(status: int) -> None:
    os._exit(status)


def fork(_argument: Any) -> str:
    os.fork()
    return "forked"


def start_a_program(_argument: Any) -> str:
    return subprocess.run(["/bin/true"], check=True).args[0]


def connect(_argument: Any) -> str:
    socket.create_connection(("127.0.0.1", 9), timeout=1)
    return "connected"


def make_a_socket(_argument: Any) -> str:
    socket.socket(socket.AF_UNIX).close()
    return "made"


def name_itself(path: str) -> str:
    with Path(path).open("w") as name:  # truncates it first, as C's fopen does
        name.write("driver")
    return "written"


def kill_the_parent(_argument: Any) -> str:
    os.kill(os.getppid(), 9)
    return "killed"


def signal_the_parent_by_thread(_argument: Any) -> str:
    libc = ctypes.CDLL(None, use_errno=True)
    libc.syscall({"x86_64": 234, "aarch64": 131}[platform.machine()], os.getppid(), os.getppid(), 9)
    return "killed"


def read_the_parents_memory(_argument: Any) -> str:
    with Path(f"/proc/{os.getppid()}/mem").open("rb") as memory:
        memory.read(1)
    return "read"


def never_end(_argument: Any) -> None:
    while True:
        time.sleep(60)


def end_while_a_thread_runs(_argument: Any) -> str:
    threading.Thread(target=never_end, args=(None,), daemon=True).start()
    return "ended"


def say_too_much(n_bytes: int) -> bytes:
    return bytes(n_bytes)


def take_memory(n_bytes: int) -> int:
    return len(bytearray(n_bytes))


def forge_a_result(_argument: Any) -> None:
    for descriptor in range(3, 64):
        try:
            os.write(descriptor, b"\x10\0\0\0\0\0\0\0" + b'{"verdict": "bit')
        except OSError:
            continue
    os._exit(0)


def write_to_standard_output(_argument: Any) -> str:
    for _ in range(1000):
        sys.stdout.write("x" * 1000)
        sys.stderr.write("y" * 1000)
    return "done"


def raise_an_error(message: str) -> None:
    raise ValueError(message)


def _call(x86_64: int, aarch64: int, *arguments: Any) -> str:
    """Make a system call; `done`, or the error's name."""
    libc = ctypes.CDLL(None, use_errno=True)
    answer = libc.syscall({"x86_64": x86_64, "aarch64": aarch64}[platform.machine()], *arguments)
    return errno.errorcode[ctypes.get_errno()] if answer < 0 else "done"


def bound_the_parent(_argument: Any) -> str:
    return _call(302, 261, os.getppid(), resource.RLIMIT_NOFILE, None, ctypes.create_string_buffer(16))


def bound_itself(_argument: Any) -> str:
    return _call(302, 261, 0, resource.RLIMIT_NOFILE, None, ctypes.create_string_buffer(16))


def pin_the_parent(_argument: Any) -> str:
    return _call(203, 122, os.getppid(), 8, struct.pack("<Q", 1))


def slow_the_parent(_argument: Any) -> str:
    return _call(141, 140, 0, os.getppid(), 0)


def have_the_parent_signalled(_argument: Any) -> str:
    reader, _ = os.pipe()
    try:
        fcntl.fcntl(reader, fcntl.F_SETOWN, os.getppid())
    except OSError as e:
        return errno.errorcode[e.errno or 0]
    return "done"


def leave_shared_memory(_argument: Any) -> str:
    return _call(29, 194, 4242, 4096, 0o1600)


def take_memory_that_no_limit_counts(_argument: Any) -> str:
    return _call(319, 279, b"kept", 0)


def map_shared(n_bytes: int) -> int:
    return len(mmap.mmap(-1, n_bytes))
