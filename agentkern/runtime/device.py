"""Run compiled kernels on the GPU: load a cubin once per device, launch on the caller's stream.

Arguments come from a bound call and are not checked again. Returns before the kernel has run, as any launch does.
"""

from __future__ import annotations

import ctypes
import hashlib
import sys
import threading

from agentkern.compiler.abi import Argument, KernelAbi
from agentkern.runtime.cubin import kernels_of
from agentkern.runtime.driver import driver
from agentkern.runtime.launch_arguments import PackedLaunch, pack_launches
from agentkern.runtime.launch_blocks import MAX_BLOCKS
from agentkern.runtime.tensor_map import MAP_BYTES
from agentkern.runtime.tensor_view import Device
from agentkern.runtime.tensors import BoundCall, with_scratch

_lock = threading.Lock()
_modules: dict[tuple[int, bytes], ctypes.c_void_p] = {}


class WrongLayout(Exception):
    """The kernel in the cubin takes other parameters than the ABI says: a bug of the compiler."""


class GpuKernel:
    """A kernel on one GPU. Safe for several threads."""

    def __init__(self, abi: KernelAbi, cubin: bytes, device_index: int) -> None:
        """Load `cubin` on GPU `device_index`.

        Errors: NoDriver; DriverError when the GPU cannot run it; WrongLayout.
        """
        check_layout(abi, cubin)
        self._abi = abi
        self.device = Device("cuda", device_index)
        self._driver = driver()
        with self._driver.on_device(device_index):
            module = module_of(cubin, device_index)
            self._functions = {
                launch.function: self._driver.function(module, launch.function, launch.shared_bytes)
                for launch in abi.launches
            }

    def with_scratch(self, call: BoundCall) -> BoundCall:
        """Return the call with memory for the scratch of this build, which may be more than the kernel's text names."""
        return with_scratch(call, self._abi)

    def launch(self, call: BoundCall, stream: int | None = None) -> None:
        """Run a call on `stream`, the current one of the caller's library when None.

        Errors: DriverError.
        """
        assert call.device == self.device, f"bound for {call.device}, loaded on {self.device}"
        used = current_stream(self.device.index) if stream is None else stream
        with self._driver.on_device(self.device.index):
            for packed in pack_launches(self._abi, call):
                self._launch(packed, used)

    def _launch(self, packed: PackedLaunch, stream: int) -> None:
        assert packed.blocks <= MAX_BLOCKS, f"{packed.function}: {packed.blocks} blocks"
        self._driver.launch(
            self._functions[packed.function],
            packed.blocks,
            packed.threads,
            packed.shared_bytes,
            stream,
            packed.arguments,
        )


def current_stream(device_index: int) -> int:
    """Return torch's current stream on GPU `device_index`; the default stream where torch is not in use."""
    torch = sys.modules.get("torch")
    if torch is None or not torch.cuda.is_initialized():
        return 0
    return torch.cuda.current_stream(device_index).cuda_stream


def check_layout(abi: KernelAbi, cubin: bytes) -> None:
    """Compare the parameters that the machine code takes with those that the ABI packs.

    Errors: WrongLayout.
    """
    kernels = {kernel.name: kernel for kernel in kernels_of(cubin)}
    for launch in abi.launches:
        if launch.function not in kernels:
            raise WrongLayout(f"no kernel `{launch.function}` in the cubin, which has {', '.join(kernels) or 'none'}")
        wanted = [_width(argument) for argument in launch.arguments]
        found = [width for _, width in kernels[launch.function].parameters]
        if wanted != found:
            raise WrongLayout(f"`{launch.function}` takes parameters of {found} bytes, the ABI packs {wanted}")


def _width(argument: Argument) -> int:
    """Bytes of a parameter."""
    if argument.kind == "scalar":
        return argument.dtype.nbytes
    if argument.kind in ("table", "stride_table"):
        return 8 * argument.words
    return MAP_BYTES if argument.kind == "tensor_map" else 8


def module_of(cubin: bytes, device_index: int) -> ctypes.c_void_p:
    """Return the module of `cubin` on GPU `device_index`, whose context is current; loaded at the first call."""
    key = (device_index, hashlib.blake2b(cubin, digest_size=16).digest())
    with _lock:
        if key not in _modules:
            _modules[key] = driver().load_module(cubin)
        return _modules[key]
