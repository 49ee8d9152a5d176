"""`@ak.kernel`: records a function's source. Compiles and launches nothing by itself."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, overload

# The launcher lives above this layer and needs packages that a kernel file must not import:
# it is looked up at the first call.
LAUNCHER = "agentkern.runtime.call"
Helper = TypeVar("Helper", bound=Callable[..., object])


class Kernel:
    """A kernel's recorded source; calling it compiles for the arguments and launches."""

    def __init__(self, function: Callable[..., object], *, nondeterministic: bool = False) -> None:
        self.function = function
        self.nondeterministic = nondeterministic
        self.name = function.__name__
        self.__doc__ = function.__doc__
        self.__name__ = function.__name__
        self.__module__ = function.__module__

    @property
    def path(self) -> str:
        """The file that holds the kernel."""
        return inspect.getsourcefile(self.function) or self.function.__code__.co_filename

    @property
    def source(self) -> str:
        """The whole text of that file: kernels use its sizes. Errors: OSError when it is gone."""
        return Path(self.path).read_text(encoding="utf-8")

    def __call__(self, *args: object, **kwargs: object) -> object:
        """Run the kernel; `Out` tensors that are not given are made and returned."""
        launcher = importlib.import_module(LAUNCHER)
        return launcher.call_kernel(self, args, kwargs)

    def __repr__(self) -> str:
        return f"<kernel {self.name} of {self.path}>"


def compile(kernel: Kernel, *, schedule: Any = None, **fixed: float) -> Callable[..., Any]:
    """`kernel` as a function with static sizes and compile-time values fixed: `ak.compile(rms_norm, H=7168)`.

    `schedule` is one that a tool returned, as its JSON object. What is wrong with the kernel shows here, not at a call.
    """
    return importlib.import_module(LAUNCHER).compile_function(kernel, schedule, fixed)


@overload
def kernel(function: Callable[..., object]) -> Kernel: ...


@overload
def kernel(*, nondeterministic: bool) -> Callable[[Callable[..., object]], Kernel]: ...


def kernel(
    function: Callable[..., object] | None = None, *, nondeterministic: bool = False
) -> Kernel | Callable[[Callable[..., object]], Kernel]:
    """Mark a function as a kernel.

    `nondeterministic=True` allows atomic sums of floats, whose bits differ from run to run; every tool then says so.
    """
    if function is None:
        return lambda marked: Kernel(marked, nondeterministic=nondeterministic)
    return Kernel(function, nondeterministic=nondeterministic)


def inline(function: Helper) -> Helper:
    """Mark a function as a helper: kernels of its file may call it, and its body stands in the place of each call."""
    return function
