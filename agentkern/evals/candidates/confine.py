"""Take from this process what a candidate's code does not need: files, the network, other processes, memory, time.

Linux only: Landlock (kernel 5.13), a seccomp filter, network namespaces and resource limits; each where the system
allows it, and `confine` says which of them hold. Called in a process of its own, before any code of a candidate runs.
Sources: landlock(7), seccomp(2), `linux/landlock.h`, `linux/filter.h`, the kernel's tables of system calls.
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import resource
import struct
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

_CLONE_NEWNET, _CLONE_NEWUSER, _CLONE_THREAD = 0x40000000, 0x10000000, 0x00010000
_PR_SET_PDEATHSIG, _PR_SET_SECCOMP, _PR_SET_NO_NEW_PRIVS = 1, 22, 38
_SECCOMP_MODE_FILTER = 2
_KILL, _ALLOW, _REFUSE, _UNKNOWN = 0x80000000, 0x7FFF0000, 0x00050000 | errno.EPERM, 0x00050000 | errno.ENOSYS
_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_X32_BIT = 0x40000000

# Rights on files, by bit: 0 execute, 1 write, 2 read, 3 list, 4 to 13 make, remove and move, 14 truncate, 15 ioctl.
_READ = 1 << 0 | 1 << 2 | 1 << 3
_DEVICE = _READ | 1 << 1 | 1 << 15
_FILE_ONLY = 1 << 0 | 1 << 1 | 1 << 2 | 1 << 14 | 1 << 15  # what a rule on a plain file may name
_RIGHTS_BY_VERSION = {1: (1 << 13) - 1, 2: (1 << 14) - 1, 3: (1 << 15) - 1, 4: (1 << 15) - 1, 5: (1 << 16) - 1}
_TCP, _SCOPES = 0b11, 0b11

_ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
# What code that only computes never asks for: other processes, the network, the kernel's own machinery.
_DENIED = {
    "x86_64": {
        "socket": 41, "connect": 42, "fork": 57, "vfork": 58, "execve": 59, "execveat": 322, "kill": 62, "tkill": 200,
        "rt_sigqueueinfo": 129, "rt_tgsigqueueinfo": 297, "pidfd_send_signal": 424, "pidfd_open": 434,
        "pidfd_getfd": 438, "ptrace": 101, "process_vm_readv": 310, "process_vm_writev": 311, "mount": 165,
        "unshare": 272, "setns": 308, "bpf": 321, "userfaultfd": 323, "perf_event_open": 298, "keyctl": 250,
        "io_uring_setup": 425, "process_madvise": 440, "process_mrelease": 448, "migrate_pages": 256,
        "move_pages": 279, "shmget": 29, "semget": 64, "msgget": 68, "mq_open": 240, "add_key": 248,
        "request_key": 249,
    },
    "aarch64": {
        "socket": 198, "connect": 203, "execve": 221, "execveat": 281, "kill": 129, "tkill": 130,
        "rt_sigqueueinfo": 138, "rt_tgsigqueueinfo": 240, "pidfd_send_signal": 424, "pidfd_open": 434,
        "pidfd_getfd": 438, "ptrace": 117, "process_vm_readv": 270, "process_vm_writev": 271, "mount": 40,
        "unshare": 97, "setns": 268, "bpf": 280, "userfaultfd": 282, "perf_event_open": 241, "keyctl": 219,
        "io_uring_setup": 425, "process_madvise": 440, "process_mrelease": 448, "migrate_pages": 238,
        "move_pages": 239, "shmget": 194, "semget": 190, "msgget": 186, "mq_open": 180, "add_key": 217,
        "request_key": 218,
    },
}  # fmt: skip
# What bounds, moves or slows a process, by the process named first: its own only, which is 0. setpriority names a kind.
_OF_PROCESS = {
    "x86_64": {"prlimit64": 302, "sched_setaffinity": 203, "sched_setscheduler": 144, "sched_setparam": 142,
               "sched_setattr": 314},
    "aarch64": {"prlimit64": 261, "sched_setaffinity": 122, "sched_setscheduler": 119, "sched_setparam": 118,
                "sched_setattr": 274},
}  # fmt: skip
_REFUSED = {"x86_64": {"setpriority": 141, "ioprio_set": 251}, "aarch64": {"setpriority": 140, "ioprio_set": 30}}
# Memory that no limit of a process counts; CUDA's driver asks for it.
_MEMFD_CREATE = {"x86_64": 319, "aarch64": 279}
# fcntl can have signals sent to any process: F_SETOWN, F_SETSIG, F_SETOWN_EX.
_FCNTL, _SIGNALLING = {"x86_64": 72, "aarch64": 25}, (8, 10, 15)
# What depends on an argument: threads are the process's own, and so is a signal to itself.
_CLONE, _CLONE3, _TGKILL = {"x86_64": 56, "aarch64": 220}, 435, {"x86_64": 234, "aarch64": 131}


@dataclass(frozen=True, slots=True)
class Limits:
    """What a candidate's process may use. `may_execute`: other programs, for compilers. `uses_gpu`: device files."""

    seconds: float = 60.0
    memory_bytes: int = 4 << 30
    file_bytes: int = 256 << 20
    may_execute: bool = False
    uses_gpu: bool = False


def confine(limits: Limits, readable: Iterable[Path], writable: Iterable[Path]) -> tuple[str, ...]:
    """Give up what is not named; return what holds from now on: `files`, `network`, `calls`."""
    _be_the_first_to_go()
    _limit_resources(limits)
    if sys.platform != "linux":
        return ()
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(_PR_SET_PDEATHSIG, 9, 0, 0, 0)
    held: list[str] = []
    if libc.unshare(_CLONE_NEWNET) == 0 or libc.unshare(_CLONE_NEWUSER | _CLONE_NEWNET) == 0:
        held.append("network")
    libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    if _restrict_files(libc, limits, readable, writable):
        held.append("files")
    # CUDA's driver does not start without a socket; where there is no network to reach, it may make one
    denied = _denied(makes_sockets=limits.uses_gpu and "network" in held)
    if not limits.may_execute and _filter_calls(libc, denied, refuse=limits.uses_gpu):
        held.append("calls")
    return tuple(held)


def not_confined(limits: Limits, held: Iterable[str]) -> str:
    """Return what `confine` should hold and does not, in words; nothing where all of it holds."""
    found = set(held)
    needed = {"files": "files (Landlock)", "network": "the network (namespaces, or a filter of system calls)"}
    if not limits.may_execute:
        needed["calls"] = "system calls (seccomp)"
    if "calls" in found:
        found.add("network")  # sockets are among what the filter refuses
    return ", ".join(words for name, words in needed.items() if name not in found)


def _limit_resources(limits: Limits) -> None:
    seconds = int(limits.seconds) + 1
    bounds = {
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_CPU: seconds * (8 if limits.uses_gpu else 2),
        resource.RLIMIT_FSIZE: limits.file_bytes,
        resource.RLIMIT_DATA: limits.memory_bytes,  # reserved address space, of which CUDA takes terabytes, is free
        resource.RLIMIT_NOFILE: 1024,
    }
    if not limits.uses_gpu:
        # shared memory too, which is no data
        bounds[resource.RLIMIT_AS] = _address_space_bytes() + limits.memory_bytes
    for which, bound in bounds.items():
        _, hard = resource.getrlimit(which)
        bound = bound if hard == resource.RLIM_INFINITY else min(bound, hard)
        resource.setrlimit(which, (bound, bound))


def _address_space_bytes() -> int:
    """Return how much address space this process has by now."""
    try:
        return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0]) * resource.getpagesize()
    except OSError:
        return 0


def _be_the_first_to_go() -> None:
    """Where the machine's memory is at its end, let it be this process that ends."""
    try:
        Path("/proc/self/oom_score_adj").write_text("1000", encoding="ascii")
    except OSError:
        return  # a system without it


def _restrict_files(libc: ctypes.CDLL, limits: Limits, readable: Iterable[Path], writable: Iterable[Path]) -> bool:
    """Make everything but the named folders and files unreachable."""
    version = libc.syscall(_CREATE_RULESET, None, 0, 1)
    if version < 1:
        return False
    rights = _RIGHTS_BY_VERSION[min(version, 5)]
    network, scopes = (_TCP if version >= 4 else 0), (_SCOPES if version >= 6 else 0)
    attributes = struct.pack("<QQQ", rights, network, scopes)[: 8 if version < 4 else 16 if version < 6 else 24]
    ruleset = libc.syscall(_CREATE_RULESET, attributes, len(attributes), 0)
    if ruleset < 0:
        return False
    rules = [(path, _READ) for path in (*readable, Path("/dev/urandom"))]
    rules += [(path, rights) for path in writable]
    rules += _device_rules(rights) if limits.uses_gpu else [(Path("/dev/null"), _DEVICE)]
    for path, allowed in rules:
        _allow(libc, ruleset, path, allowed & rights)
    held = libc.syscall(_RESTRICT_SELF, ruleset, 0) == 0
    os.close(ruleset)
    return held


def _device_rules(rights: int) -> list[tuple[Path, int]]:
    """What CUDA's driver opens: devices, the system's description, and this process' own names, which it rewrites."""
    return [
        (Path("/dev"), _DEVICE),
        (Path("/sys"), _READ),
        (Path("/proc"), _READ),
        (Path("/proc/driver/nvidia"), _DEVICE),
        (Path("/proc/self"), rights),
    ]


def _allow(libc: ctypes.CDLL, ruleset: int, path: Path, allowed: int) -> None:
    try:
        descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return  # what is not there needs no rule
    if not path.is_dir():
        allowed &= _FILE_ONLY
    libc.syscall(_ADD_RULE, ruleset, 1, struct.pack("<Qi", allowed, descriptor), 0)
    os.close(descriptor)


def _denied(*, makes_sockets: bool) -> tuple[int, ...]:
    """The numbers of the calls that are denied; a socket alone reaches nothing."""
    calls = _DENIED.get(platform.machine(), {})
    return tuple(number for name, number in calls.items() if name != "socket" or not makes_sockets)


def _filter_calls(libc: ctypes.CDLL, denied: tuple[int, ...], *, refuse: bool) -> bool:
    """Refuse, or end the process at, system calls that reach beyond it. Threads are its own, processes are not."""
    if platform.machine() not in _ARCHITECTURES:
        return False
    filters = _program(platform.machine(), os.getpid(), denied, _REFUSE if refuse else _KILL)
    held = ctypes.create_string_buffer(filters, len(filters))
    header = struct.pack("<HxxxxxxQ", len(filters) // 8, ctypes.addressof(held))
    return libc.prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, header, 0, 0) == 0


def _program(machine: str, pid: int, calls: tuple[int, ...], denied: int) -> bytes:
    """Return the filter: a list of (operation, jump if true, jump if false, number)."""
    load, equal, at_least, any_bit, answer = 0x20, 0x15, 0x35, 0x45, 0x06
    rows = [(load, 0, 0, 4), (equal, 1, 0, _ARCHITECTURES[machine]), (answer, 0, 0, _KILL), (load, 0, 0, 0)]
    rows += [(at_least, 0, 1, _X32_BIT), (answer, 0, 0, denied)]
    for call in calls:
        rows += [(equal, 0, 1, call), (answer, 0, 0, denied)]
    uncounted = (_MEMFD_CREATE[machine],) if denied == _KILL else ()
    for call in (*_REFUSED[machine].values(), *uncounted):
        rows += [(equal, 0, 1, call), (answer, 0, 0, _REFUSE)]
    # by their first argument's low half, the process; by fcntl's second, what it does
    for call in _OF_PROCESS[machine].values():
        rows += [(equal, 0, 4, call), (load, 0, 0, 16), (equal, 1, 0, 0), (answer, 0, 0, _REFUSE)]
        rows += [(answer, 0, 0, _ALLOW)]
    own, signal, own_ex = _SIGNALLING
    rows += [(equal, 0, 6, _FCNTL[machine]), (load, 0, 0, 24), (equal, 2, 0, own), (equal, 1, 0, signal)]
    rows += [(equal, 0, 1, own_ex), (answer, 0, 0, _REFUSE), (answer, 0, 0, _ALLOW)]
    rows += [(equal, 0, 1, _CLONE3), (answer, 0, 0, _UNKNOWN)]  # libraries then ask for clone
    # the first argument's low half: flags of clone, the process of tgkill
    rows += [(equal, 0, 4, _CLONE[machine]), (load, 0, 0, 16), (any_bit, 1, 0, _CLONE_THREAD)]
    rows += [(answer, 0, 0, denied), (answer, 0, 0, _ALLOW)]
    rows += [(equal, 0, 4, _TGKILL[machine]), (load, 0, 0, 16), (equal, 1, 0, pid)]
    rows += [(answer, 0, 0, denied), (answer, 0, 0, _ALLOW), (answer, 0, 0, _ALLOW)]
    return b"".join(struct.pack("<HBBI", *row) for row in rows)
