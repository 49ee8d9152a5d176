"""A kernel as a function over tensors on a GPU: check, choose the build, launch on the caller's stream, return outputs.

Builds are made by a function that the caller gives and kept by class: static sizes, strides, alignment, device.
Compiles nothing itself.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass

from agentkern.compiler.abi import KernelAbi, Variant
from agentkern.compiler.ir.core import Kernel
from agentkern.runtime.call_errors import CallError
from agentkern.runtime.device import GpuKernel, current_stream
from agentkern.runtime.list_arguments import returned_outputs
from agentkern.runtime.signature import Signature
from agentkern.runtime.tensors import BoundCall, bind_call, check_variant, variant_of


@dataclass(frozen=True, slots=True)
class BuildClass:
    """What a build is made for: calls that agree in all of it share one."""

    statics: tuple[tuple[str, int], ...]
    variant: Variant
    device_index: int


@dataclass(frozen=True, slots=True)
class DeviceBuild:
    """What the builder returns: machine code for the device, and how to call it."""

    abi: KernelAbi
    cubin: bytes


class CallableKernel:
    """A kernel as a function over tensors. Safe for several threads."""

    def __init__(
        self, signature: Signature, kernel: Kernel | KernelAbi, builder: Callable[[BuildClass], DeviceBuild]
    ) -> None:
        """Make a function of `signature`; `kernel` tells which rows have run-time length, see `variant_of`."""
        self._signature = signature
        self._kernel = kernel
        self._builder = builder
        self._lock = threading.Lock()
        self._loaded: dict[BuildClass, GpuKernel] = {}

    def __call__(self, *positional: object, **named: object) -> object:
        """Run the kernel; outputs that are not given are allocated and returned, one as itself, several as a tuple.

        Errors: AK7xx for a call that does not fit; NoDriver; DriverError; what the builder raises.
        """
        call = bind_call(self._signature, positional, named, stream=stream_of_caller())
        if call.device.kind != "cuda":
            first = call.tensors[0].param.name if call.tensors else self._signature.name
            raise CallError("AK701", name=first, got=call.device, expected="a GPU")
        self.launch(call)
        return made_outputs(call)

    def launch(self, call: BoundCall) -> None:
        """Launch a call that is bound to a GPU.

        Errors: as a call.
        """
        kernel = self._kernel_for(call)
        kernel.launch(kernel.with_scratch(call))

    @property
    def builds(self) -> int:
        """How many builds the calls so far needed."""
        return len(self._loaded)

    def _kernel_for(self, call: BoundCall) -> GpuKernel:
        static_names = [info.name for info in self._signature.sizes if info.static]
        statics = tuple((name, call.sizes[name]) for name in static_names)
        wanted = BuildClass(statics, variant_of(self._kernel, call), call.device.index)
        # Compiling under the lock: two threads that want the same build make it once.
        with self._lock:
            if wanted not in self._loaded:
                build = self._builder(wanted)
                check_variant(build.abi, call)
                self._loaded[wanted] = GpuKernel(build.abi, build.cubin, wanted.device_index)
            return self._loaded[wanted]


def made_outputs(call: BoundCall) -> object:
    """Return the outputs that were allocated: one as itself, several as a tuple, None where all were given."""
    outputs = {b.param.name: b.view.owner for b in call.tensors if b.param.access == "out"}
    allocated = frozenset(b.param.name for b in call.tensors if b.allocated) & outputs.keys()
    empty = {listed.name for listed in call.lists if listed.access == "out" and not listed.entries} & call.left_out
    made = returned_outputs(call.names, call.lists, outputs, allocated | empty)
    return made[0] if len(made) == 1 else made or None


def stream_of_caller() -> int | None:
    """Return torch's current stream, where it uses a GPU."""
    torch = sys.modules.get("torch")
    if torch is None or not torch.cuda.is_initialized():
        return None
    return current_stream(torch.cuda.current_device())
