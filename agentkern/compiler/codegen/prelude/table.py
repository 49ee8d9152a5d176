"""The row type of prelude functions, and how one is written.

A kernel's text starts with the prelude functions that it uses. Instruction functions hold inline
PTX (or an accessor that the simulator must see) and vanish under AK_SIMULATOR, whose shim gives
the same name a C++ meaning. Math functions are CUDA C++ over the correctly rounded intrinsics and
integer operations only, and are compiled unchanged for CPU and GPU. So are block functions, in
which all threads of a block work together through accessors and barriers.
"""

import re
from dataclasses import dataclass
from typing import Literal

Kind = Literal["instruction", "math", "block"]

PREFIX = "static __device__ __forceinline__ "

_DECLARATION = re.compile(r"^[\w ]+\*? ?(ak_\w+)\(.*\)$")


@dataclass(frozen=True, slots=True)
class PreludeFunction:
    """One function that a kernel's text may use.

    declaration: C++ return type, name and parameters. body: its statements. requires: names of
    other prelude functions that the body calls. min_arch: compute capability times ten.
    source: where the behaviour is defined.
    """

    declaration: str
    kind: Kind
    body: str
    note: str
    source: str
    requires: tuple[str, ...] = ()
    min_arch: int = 80

    def __post_init__(self) -> None:
        if _DECLARATION.match(self.declaration) is None:
            raise ValueError(f"not the declaration of a prelude function: {self.declaration}")

    @property
    def name(self) -> str:
        """Name of the function."""
        matched = _DECLARATION.match(self.declaration)
        assert matched is not None
        return matched.group(1)

    @property
    def text(self) -> str:
        """The function as CUDA C++ text, ending with a newline."""
        lines = [f"// {line}" for line in self.note.splitlines()]
        lines.append(f"{PREFIX}{self.declaration} {{")
        lines += [f"  {line}" if line else "" for line in self.body.strip("\n").splitlines()]
        lines.append("}")
        if self.kind == "instruction":
            lines = ["#ifndef AK_SIMULATOR", *lines, "#endif"]
        return "\n".join(lines) + "\n"


@dataclass(frozen=True, slots=True)
class PreludeType:
    """One type that prelude functions take. Hidden from the simulator, whose shim has its own of the same name."""

    name: str
    definition: str
    note: str
    source: str
    requires: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The type as CUDA C++ text, ending with a newline."""
        return f"#ifndef AK_SIMULATOR\n// {self.note}\n{self.definition}\n#endif\n"
