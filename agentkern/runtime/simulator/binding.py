"""The engine's C structures, field by field as in engine/interface.h, and its shared object."""

from __future__ import annotations

import ctypes
import functools
import threading
from ctypes import POINTER, c_int32, c_int64, c_uint32, c_uint64, c_void_p
from pathlib import Path

from agentkern.runtime.simulator.toolchain import build_shared_object, machine_flags

_HERE = Path(__file__).parent
_ENGINE = _HERE / "engine"
MAX_DIMS = 8
MAX_THREADS = 1024
MAX_CLUSTER_BLOCKS = 16
SMEM_RESERVED_BYTES = 262144
NO_BUFFER = 0xFFFFFFFF
SHARED_MEMORY = 0xFFFFFFFE

_LOADING = threading.Lock()
_loaded: dict[str, Engine] = {}
_ENGINE_FLAGS = (
    "-std=c++17",
    "-O2",
    "-shared",
    "-fPIC",
    "-fvisibility=hidden",
    "-fno-exceptions",
    "-fno-rtti",
    "-fno-threadsafe-statics",
    "-fno-sanitize=undefined",
    "-U_FORTIFY_SOURCE",
    "-Wno-psabi",
    "-pthread",
)


class FindingStruct(ctypes.Structure):
    """Mirrors `Finding`."""

    _fields_ = (
        ("kind", c_uint32),
        ("access", c_uint32),
        ("width", c_uint32),
        ("count", c_uint32),
        ("line", c_uint32),
        ("thread", c_uint32),
        ("space_index", c_uint32),
        ("other_line", c_uint32),
        ("byte_offset", c_int64),
        ("block", c_int64),
        ("other_block", c_int64),
        ("other_thread", c_int32),
        ("other_access", c_uint32),
        ("detail", c_uint64),
        ("values", c_int64 * 2),
    )


class WindowStruct(ctypes.Structure):
    """Mirrors `Window`."""

    _fields_ = (
        ("offset", c_uint64),
        ("bytes", c_uint64),
        ("run_bytes", c_uint64),
        ("strides", c_int64 * MAX_DIMS),
        ("extents", c_int64 * MAX_DIMS),
        ("initialised_bits", c_void_p),
        ("n_dims", c_uint32),
        ("writable", c_uint32),
    )


class RegionStruct(ctypes.Structure):
    """Mirrors `RegionSpec`."""

    _fields_ = (
        ("device", c_uint64),
        ("host", c_uint64),
        ("bytes", c_uint64),
        ("first_window", c_uint32),
        ("n_windows", c_uint32),
    )


class WaitStruct(ctypes.Structure):
    """Mirrors `WaitRecord`."""

    _fields_ = (
        ("thread", c_uint32),
        ("wait", c_uint32),
        ("operation", c_uint32),
        ("line", c_uint32),
        ("mask", c_uint32),
        ("block", c_uint32),
        ("barrier_offset", c_int64),
        ("pending_bytes", c_int64),
        ("parity", c_uint32),
        ("phase", c_uint32),
        ("missing", c_uint32),
        ("count", c_uint32),
    )


class RequestStruct(ctypes.Structure):
    """Mirrors `LaunchRequest`."""

    _fields_ = (
        ("entry", c_void_p),
        ("arguments", POINTER(c_void_p)),
        ("current", c_void_p),
        ("smem_device", c_uint64),
        ("smem_bytes", c_uint64),
        ("n_blocks", c_uint64),
        ("block_list", POINTER(c_uint64)),
        ("n_block_list", c_uint64),
        ("n_threads", c_uint32),
        ("n_regions", c_uint32),
        ("n_windows", c_uint32),
        ("max_findings", c_uint32),
        ("regions", POINTER(RegionStruct)),
        ("windows", POINTER(WindowStruct)),
        ("findings", POINTER(FindingStruct)),
        ("waits", POINTER(WaitStruct)),
        ("step_limit", c_uint64),
        ("time_limit_ns", c_uint64),
        ("stack_bytes", c_uint64),
        ("seed", c_uint64),
        ("thread_order", c_uint32),
        ("block_order", c_uint32),
        ("full_checks", c_uint32),
        ("asynchronous", c_uint32),
        ("cluster_blocks", c_uint32),
        ("completion", c_uint32),
        ("registers", c_uint32),
        ("reserved", c_uint32),
        ("n_findings", c_uint64),
        ("n_unrecorded", c_uint64),
        ("n_waits", c_uint64),
        ("n_steps", c_uint64),
        ("n_switches", c_uint64),
        ("n_barriers", c_uint64),
        ("n_collectives", c_uint64),
        ("n_blocks_run", c_uint64),
        ("wall_ns", c_uint64),
        ("shadow_bytes", c_uint64),
        ("stopped", c_uint32),
        ("failed", c_uint32),
    )


class Engine:
    """The loaded engine."""

    def __init__(self, path: Path) -> None:
        self._library = ctypes.CDLL(str(path))
        self._library.ak_sim_table.restype = c_void_p
        self._library.ak_sim_struct_bytes.restype = POINTER(c_uint64)
        self._library.ak_sim_protect.argtypes = (c_void_p, ctypes.c_size_t)
        self._library.ak_sim_launch.argtypes = (POINTER(RequestStruct),)
        self.table = c_void_p(self._library.ak_sim_table())
        structures = (FindingStruct, WindowStruct, RegionStruct, WaitStruct, RequestStruct)
        sizes = self._library.ak_sim_struct_bytes()
        assert [sizes[i] for i in range(len(structures))] == [ctypes.sizeof(structure) for structure in structures]

    def launch(self, request: RequestStruct) -> None:
        """Run the launch and fill in the results. One at a time in a process."""
        self._library.ak_sim_launch(ctypes.byref(request))

    def protect(self, address: int, n_bytes: int) -> None:
        """Make the pages at `address` inaccessible."""
        self._library.ak_sim_protect(c_void_p(address), n_bytes)


def load_engine(folder: Path, *, asynchronous: bool = False) -> Engine:
    """Return the engine, built once into `folder` per source, compiler and flags, and loaded once in a process.

    `asynchronous`: with the part for asynchronous and tensor-core instructions, which others need not wait for.
    """
    with _LOADING:  # threads that come first together would each build it
        path = _built_engine(folder, asynchronous)
        # by its name, which its content determines: each loaded copy keeps thousands of memory maps for its stacks
        if path.name not in _loaded:
            _loaded[path.name] = Engine(path)
        return _loaded[path.name]


@functools.cache
def _built_engine(folder: Path, asynchronous: bool) -> Path:
    inputs = (*sorted(_ENGINE.iterdir()), _HERE / "shim" / "abi.h", _HERE / "shim" / "hopper_abi.h")
    source = f'#include "{_ENGINE / "engine.cpp"}"\n'
    parts = ("-DAK_SIM_ASYNCHRONOUS=1",) if asynchronous else ()
    return build_shared_object(source, (*_ENGINE_FLAGS, *parts, *machine_flags()), inputs, folder)
