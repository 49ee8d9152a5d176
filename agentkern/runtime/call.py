"""What a call of a decorated kernel and `agentkern.compile` lead to; imported when first needed."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Mapping

from agentkern.compiler.schedule import Schedule, schedule_from_json
from agentkern.dsl.kernel import Kernel
from agentkern.runtime.kernel_function import KernelFunction
from agentkern.runtime.kernel_settings import Scalar

_lock = threading.Lock()
_functions: weakref.WeakKeyDictionary[Kernel, KernelFunction] = weakref.WeakKeyDictionary()


def call_kernel(kernel: Kernel, positional: tuple[object, ...], named: Mapping[str, object]) -> object:
    """Run `kernel` on tensors where they lie; outputs that are not given are allocated and returned.

    Errors: CallError for a call that does not fit; KernelError; NoDriver, DriverError where tensors are on a GPU.
    """
    with _lock:
        if kernel not in _functions:
            _functions[kernel] = KernelFunction(kernel)
        function = _functions[kernel]
    return function(*positional, **named)


def compile_function(
    kernel: Kernel, schedule: Schedule | Mapping[str, object] | None, fixed: Mapping[str, Scalar]
) -> KernelFunction:
    """Return `kernel` as a function, compiled as far as `fixed` sizes and compile-time values allow.

    Errors: KernelError; ScheduleError.
    """
    chosen = schedule_from_json(schedule) if isinstance(schedule, Mapping) else schedule
    function = KernelFunction(kernel, fixed, chosen)
    function.compile()
    return function
