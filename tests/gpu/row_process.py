"""A process that runs rows on the GPU: a fault or a hang costs one run, and the next starts in a new process."""

from __future__ import annotations

import multiprocessing
from multiprocessing.connection import Connection
from typing import Any

import numpy as np

from agentkern.runtime.driver import Driver, DriverError, driver
from tests.gpu.instruction_case import Bytes, Case, filled
from tests.gpu.instruction_pack import cubins

STREAM = 0
PATIENCE_S = 20.0
START_S = 120.0


class RowFailed(Exception):
    """A run faulted or did not end; the text says how."""


class RowProcess:
    """Runs cases one after the other in a child process, a new one after each failure."""

    def __init__(self, target: str) -> None:
        self.target = target
        self.child: multiprocessing.process.BaseProcess | None = None
        self.ends: Connection | None = None

    def run(self, case: Case) -> Bytes:
        """The case's output. Errors: RowFailed."""
        ends = self._started()
        ends.send((case, filled(case.expected.size).tobytes()))
        try:
            if not ends.poll(PATIENCE_S):
                raise RowFailed(f"{case.label}: the kernel does not end")
            answer = ends.recv()
        except (EOFError, RowFailed) as e:
            self.stop()
            raise RowFailed(f"{case.label}: {e or 'the process died'}") from e
        if isinstance(answer, str):
            self.stop()
            raise RowFailed(f"{case.label}: {answer}")
        return np.frombuffer(answer, np.uint8)

    def _started(self) -> Connection:
        if self.ends is None:
            cubins(self.target)  # built here where they are missing: the child may have no children of its own
            context = multiprocessing.get_context("spawn")
            self.ends, theirs = context.Pipe()
            self.child = context.Process(target=serve, args=(theirs, self.target), daemon=True)
            self.child.start()
            theirs.close()
            if not self.ends.poll(START_S) or self.ends.recv() != "ready":
                raise RowFailed("the process did not start")
        return self.ends

    def stop(self) -> None:
        """End the child."""
        if self.child is not None:
            self.child.kill()
            self.child.join()
        self.child, self.ends = None, None


def serve(ends: Connection, target: str) -> None:
    """Load every kernel, then answer cases until one fails."""
    gpu = driver()
    with gpu.on_device(0):
        modules = {
            kernel.name: (module, kernel)
            for cubin, kernels in cubins(target).values()
            for module in [gpu.load_module(cubin)]
            for kernel in kernels
        }
        ends.send("ready")
        while True:
            case, fill = ends.recv()
            try:
                ends.send(_launch(gpu, modules, case, fill))
            except DriverError as e:
                ends.send(str(e))
                return


def _launch(gpu: Driver, modules: dict[str, Any], case: Case, fill: bytes) -> bytes:
    module, kernel = modules[case.kernel.name]
    function = gpu.function(module, kernel.name, kernel.shared_bytes)
    places = {"in": gpu.upload(case.words.tobytes()), "out": gpu.upload(fill)}
    arguments = [places[name].to_bytes(8, "little") for name in ("in", "out")]
    if case.map is not None:
        arguments.append(case.map.map.driver_words(places[case.map.buffer] + case.map.offset, gpu))
    gpu.launch(function, case.blocks, kernel.threads, kernel.shared_bytes, STREAM, tuple(arguments))
    gpu.synchronize(STREAM)
    out = gpu.download(places["out"], len(fill))
    for address in places.values():
        gpu.free(address)
    return out
