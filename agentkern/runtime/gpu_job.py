"""The job of a GPU worker: copy memory to the device, run launches in order, copy it back.

Everything is resolved but addresses: an argument is bytes, or an offset into one of the images. A failure of the driver
ends the process, for after a fault its context is of no use.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from agentkern.dsl.dtypes import DTYPES
from agentkern.runtime.device import module_of
from agentkern.runtime.driver import Driver, driver
from agentkern.runtime.launch_arguments import address_bytes
from agentkern.runtime.tensor_map import TensorMap

JOBS = {"gpu_run": "agentkern.runtime.gpu_job:run"}
"""The table for a worker that runs on GPUs."""

_DEFAULT_STREAM = 0
_turn = threading.Lock()


def run(payload: dict[str, Any], _report: Callable[[Any], None]) -> list[bytes]:
    """Run `payload["launches"]` over `payload["images"]` and return what the images hold then.

    Errors: NoDriver; DriverError.
    """
    started, index = driver(), payload["device"]
    with _turn, started.on_device(index):
        module = module_of(payload["cubin"], index)
        addresses = [started.upload(image) for image in payload["images"]]
        for launch in payload["launches"]:
            function = started.function(module, launch["function"], launch["shared_bytes"])
            _launch(started, function, launch, addresses)
        started.synchronize(_DEFAULT_STREAM)
        images = [
            started.download(address, len(image)) for address, image in zip(addresses, payload["images"], strict=True)
        ]
        for address in addresses:
            started.free(address)
        return images


def _launch(started: Driver, function: Any, launch: dict[str, Any], addresses: list[int]) -> None:
    arguments = tuple(_argument(started, argument, addresses) for argument in launch["arguments"])
    started.launch(function, launch["blocks"], launch["threads"], launch["shared_bytes"], _DEFAULT_STREAM, arguments)


def _argument(started: Driver, argument: bytes | dict[str, Any], addresses: list[int]) -> bytes:
    """An argument's bytes: as they are, an address, a table of these, or the map of the tensor at it."""
    if isinstance(argument, bytes):
        return argument
    if "table" in argument:
        return b"".join(_argument(started, entry, addresses) for entry in argument["table"])
    address = addresses[argument["image"]] + argument["offset"]
    if "map" not in argument:
        return address_bytes(address)
    fields = argument["map"]
    shape, strides, box = (tuple(fields[name]) for name in ("shape", "strides_bytes", "box"))
    return TensorMap(DTYPES[fields["dtype"]], shape, strides, box, fields["swizzle"]).driver_words(address, started)
