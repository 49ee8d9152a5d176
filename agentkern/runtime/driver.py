"""The CUDA driver through ctypes: contexts, modules, launches, each failure a typed exception.

Nothing is loaded before the first call, so that a machine without a GPU compiles without noticing. Knows no kernels of
ours. API: CUDA Driver API 13.0.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass

_LIBRARIES = ("libcuda.so.1", "libcuda.so", "nvcuda.dll")
_FUNCTION_STATIC_SHARED = 1
_FUNCTION_MAX_DYNAMIC_SHARED = 8
_ATTRIBUTES = {"sm_count": 16, "clock_khz": 13, "l2_bytes": 38, "memory_clock_khz": 36, "major": 75, "minor": 76}


class NoDriver(Exception):
    """No CUDA driver on this machine, or one that sees no GPU."""


class DriverError(Exception):
    """A call of the driver failed. A kernel's fault shows at whatever call comes next and spoils the process."""

    def __init__(self, call: str, status: int, name: str, text: str) -> None:
        super().__init__(f"`{call}` failed: {name}, {text}")
        self.call = call
        self.status = status
        self.name = name


@dataclass(frozen=True, slots=True)
class GpuInfo:
    """One GPU as the driver describes it."""

    index: int
    name: str
    compute_capability: tuple[int, int]
    sm_count: int
    l2_bytes: int
    memory_bytes: int
    clock_hz: int
    driver_version: tuple[int, int]

    @property
    def target(self) -> str | None:
        """The target to build for; None when the GPU is older than any."""
        exact = {(9, 0): "sm_90a", (10, 0): "sm_100a"}
        if self.compute_capability in exact:
            return exact[self.compute_capability]
        # Machine code of 8.0 runs on later 8.x and on nothing else.
        return "sm_80" if self.compute_capability[0] == 8 else None


class Driver:
    """The driver, initialised. Contexts are the devices' primary ones, shared with torch and retained for good."""

    def __init__(self) -> None:
        self._library = _open()
        self._lock = threading.Lock()
        self._contexts: dict[int, ctypes.c_void_p] = {}
        status = self._library.cuInit(0)
        if status != 0:
            raise NoDriver(f"the CUDA driver does not start: {self._error('cuInit', status)}")
        count = ctypes.c_int()
        self.call("cuDeviceGetCount", ctypes.byref(count))
        self.device_count = count.value
        if self.device_count == 0:
            raise NoDriver("the CUDA driver sees no GPU")

    def call(self, name: str, *arguments: object) -> None:
        """Call a function of the driver.

        Errors: DriverError.
        """
        status = getattr(self._library, name)(*arguments)
        if status != 0:
            raise self._error(name, status)

    def info(self, index: int) -> GpuInfo:
        """Describe GPU `index`.

        Errors: DriverError for an index that does not exist.
        """
        device = self._device(index)
        name, total = ctypes.create_string_buffer(256), ctypes.c_size_t()
        self.call("cuDeviceGetName", name, 256, device)
        self.call("cuDeviceTotalMem_v2", ctypes.byref(total), device)
        values: dict[str, int] = {}
        for attribute, number in _ATTRIBUTES.items():
            value = ctypes.c_int()
            self.call("cuDeviceGetAttribute", ctypes.byref(value), number, device)
            values[attribute] = value.value
        version = ctypes.c_int()
        self.call("cuDriverGetVersion", ctypes.byref(version))
        return GpuInfo(
            index=index,
            name=name.value.decode(),
            compute_capability=(values["major"], values["minor"]),
            sm_count=values["sm_count"],
            l2_bytes=values["l2_bytes"],
            memory_bytes=total.value,
            clock_hz=values["clock_khz"] * 1000,
            driver_version=(version.value // 1000, version.value % 1000 // 10),
        )

    @contextmanager
    def on_device(self, index: int) -> Generator[None]:
        """Make the primary context of GPU `index` this thread's for a while."""
        wanted, current = self._context(index), ctypes.c_void_p()
        self.call("cuCtxGetCurrent", ctypes.byref(current))
        if current.value == wanted.value:
            yield
            return
        self.call("cuCtxPushCurrent_v2", wanted)
        try:
            yield
        finally:
            self.call("cuCtxPopCurrent_v2", ctypes.byref(ctypes.c_void_p()))

    def load_module(self, cubin: bytes) -> ctypes.c_void_p:
        """Load machine code into the current context; it stays there for good."""
        module = ctypes.c_void_p()
        self.call("cuModuleLoadData", ctypes.byref(module), cubin)
        return module

    def function(self, module: ctypes.c_void_p, name: str, dynamic_shared_bytes: int) -> ctypes.c_void_p:
        """Return a kernel of `module`, allowed to use `dynamic_shared_bytes`."""
        function, static_shared = ctypes.c_void_p(), ctypes.c_int()
        self.call("cuModuleGetFunction", ctypes.byref(function), module, name.encode())
        self.call("cuFuncGetAttribute", ctypes.byref(static_shared), _FUNCTION_STATIC_SHARED, function)
        if dynamic_shared_bytes + static_shared.value > 48 * 1024:
            self.call("cuFuncSetAttribute", function, _FUNCTION_MAX_DYNAMIC_SHARED, dynamic_shared_bytes)
        return function

    def launch(
        self,
        function: ctypes.c_void_p,
        blocks: int,
        threads: int,
        shared_bytes: int,
        stream: int,
        arguments: tuple[bytes, ...],
    ) -> None:
        """Launch a grid of one dimension on `stream` of the current context; returns before it has run."""
        data = ctypes.create_string_buffer(b"".join(arguments))
        address = ctypes.addressof(data)
        pointers = (ctypes.c_void_p * len(arguments))()
        for index, argument in enumerate(arguments):
            pointers[index] = address
            address += len(argument)
        grid = (ctypes.c_uint(blocks), ctypes.c_uint(1), ctypes.c_uint(1))
        block = (ctypes.c_uint(threads), ctypes.c_uint(1), ctypes.c_uint(1))
        self.call(
            "cuLaunchKernel",
            function,
            *grid,
            *block,
            ctypes.c_uint(shared_bytes),
            ctypes.c_void_p(stream),
            pointers,
            None,
        )

    def upload(self, data: bytes | bytearray | memoryview) -> int:
        """Copy `data` into new memory of the current context and return its address, which 256 divides.

        Errors: DriverError when memory runs out.
        """
        address = ctypes.c_uint64()
        self.call("cuMemAlloc_v2", ctypes.byref(address), ctypes.c_size_t(max(len(data), 1)))
        source = (ctypes.c_char * len(data)).from_buffer_copy(data)
        self.call("cuMemcpyHtoD_v2", address, source, ctypes.c_size_t(len(data)))
        return address.value

    def download(self, address: int, n_bytes: int) -> bytes:
        """Return the `n_bytes` at `address`, once all work before has ended."""
        target = ctypes.create_string_buffer(n_bytes)
        self.call("cuMemcpyDtoH_v2", target, ctypes.c_uint64(address), ctypes.c_size_t(n_bytes))
        return target.raw[:n_bytes]

    def free(self, address: int) -> None:
        """Give back what `upload` took."""
        self.call("cuMemFree_v2", ctypes.c_uint64(address))

    def synchronize(self, stream: int) -> None:
        """Wait for all work on `stream`.

        Errors: DriverError with what a kernel did wrong.
        """
        self.call("cuStreamSynchronize", ctypes.c_void_p(stream))

    def _device(self, index: int) -> ctypes.c_int:
        device = ctypes.c_int()
        self.call("cuDeviceGet", ctypes.byref(device), index)
        return device

    def _context(self, index: int) -> ctypes.c_void_p:
        with self._lock:
            if index not in self._contexts:
                context = ctypes.c_void_p()
                self.call("cuDevicePrimaryCtxRetain", ctypes.byref(context), self._device(index))
                self._contexts[index] = context
            return self._contexts[index]

    def _error(self, call: str, status: int) -> DriverError:
        name, text = ctypes.c_char_p(), ctypes.c_char_p()
        self._library.cuGetErrorName(status, ctypes.byref(name))
        self._library.cuGetErrorString(status, ctypes.byref(text))
        return DriverError(call, status, _decoded(name, f"error {status}"), _decoded(text, "no description"))


_driver_lock = threading.Lock()
_loaded: list[Driver] = []


def driver() -> Driver:
    """Return the driver, started at the first call.

    Errors: NoDriver.
    """
    with _driver_lock:
        if not _loaded:
            _loaded.append(Driver())
        return _loaded[0]


def _open() -> ctypes.CDLL:
    for name in _LIBRARIES:
        try:
            return ctypes.CDLL(name)
        except OSError:
            continue
    raise NoDriver("this machine has no CUDA driver (libcuda.so.1 is not found)")


def _decoded(text: ctypes.c_char_p, otherwise: str) -> str:
    return text.value.decode() if text.value is not None else otherwise


def gpu_target(device_index: int = 0) -> str:
    """Return the target to build for on a GPU of this machine.

    Errors: NoDriver where there is no GPU, or it is older than any target; DriverError for an index that is not there.
    """
    target = driver().info(device_index).target
    if target is None:
        raise NoDriver("it is older than any target")
    return target
