"""What can be timed on a GPU: a compiled kernel, a function over tensors, a copy, an empty launch.

Each makes its tensors anew for every round, poisons outputs, and keeps what the check needs. Times nothing itself.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import torch

from agentkern.runtime.device import GpuKernel, current_stream
from agentkern.runtime.signature import Signature
from agentkern.runtime.tensors import BoundCall, bind_call
from agentkern.runtime.timing import Prepared, Subject

_POISON_BYTE = 0xFF

Arguments = Mapping[str, object]
"""Arguments by name, made for one round."""


def kernel_subject(
    name: str,
    kernel: GpuKernel,
    signature: Signature,
    arguments: Callable[[int], Arguments],
    check: Callable[[Arguments, Mapping[str, object]], str | None],
) -> Subject:
    """Return a compiled kernel as a subject.

    `arguments` makes those of a round, without outputs; `check` gets them and the outputs by name.
    Binding is not timed.
    """

    def prepare(number: int) -> Prepared:
        given = arguments(number)
        stream = current_stream(kernel.device.index)
        call = kernel.with_scratch(bind_call(signature, (), given, device=kernel.device, stream=stream))
        _poison_outputs(call)
        return Prepared(lambda: kernel.launch(call, stream), lambda: check(given, call.outputs))

    return Subject(name, prepare)


def function_subject(
    name: str,
    function: Callable[[Arguments], object],
    arguments: Callable[[int], Arguments],
    check: Callable[[Arguments, object], str | None],
) -> Subject:
    """Return a function over tensors as a subject, a library's or a compiled one; `check` gets what it returned."""

    def prepare(number: int) -> Prepared:
        given = arguments(number)
        returned: list[object] = []

        def launch() -> None:
            returned[:] = [function(given)]

        return Prepared(launch, lambda: check(given, returned[0]))

    return Subject(name, prepare)


def copy_subject(bytes_moved: int, device_index: int = 0) -> Subject:
    """Return a device copy that moves as many bytes, read and written together: what `of_copy` compares with."""
    elements = max(1, bytes_moved // 2)

    def prepare(number: int) -> Prepared:
        device = torch.device("cuda", device_index)
        generator = torch.Generator(device).manual_seed(number)
        source = torch.randint(0, 255, (elements,), dtype=torch.uint8, device=device, generator=generator)
        target = torch.empty_like(source)
        poison(target)

        def launch() -> None:
            target.copy_(source)

        return Prepared(launch, lambda: None if torch.equal(source, target) else "the copy differs")

    return Subject("copy", prepare)


def empty_subject(device_index: int = 0) -> Subject:
    """Return a launch that does next to nothing: the part of every time that is the launch itself."""

    def prepare(number: int) -> Prepared:
        target = torch.full((1,), -1.0, device=torch.device("cuda", device_index))

        def launch() -> None:
            target.fill_(float(number))

        return Prepared(launch, lambda: None if target.item() == number else "nothing was written")

    return Subject("empty", prepare)


def poison(tensor: torch.Tensor) -> None:
    """Fill with bytes of all ones: a NaN in every float type, -1 or the largest number in the integers.

    Shape and strides may be any; only elements are filled.
    """
    raw = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}[tensor.element_size()]
    tensor.view(raw).fill_(_POISON_BYTE if raw is torch.uint8 else -1)


def _poison_outputs(call: BoundCall) -> None:
    for bound in call.tensors:
        owner = bound.view.owner
        if bound.param.access == "out" and isinstance(owner, torch.Tensor):
            poison(owner)
