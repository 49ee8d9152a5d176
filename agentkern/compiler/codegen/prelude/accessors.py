"""Accessors of global and shared memory: every access of a kernel goes through one.

They move raw bits. `ldg` reads data that no one writes during the grid, so it may be moved and
merged; the others keep their order. Addresses must be aligned to the access. Source: PTX ISA,
ld, ld.global.nc, st.
"""

from dataclasses import dataclass

from agentkern.compiler.codegen.prelude.float_atomics import FLOAT_ATOMICS
from agentkern.compiler.codegen.prelude.table import PreludeFunction

_SOURCE = "PTX ISA: ld, ld.global.nc, st"


@dataclass(frozen=True, slots=True)
class Width:
    """One access width. `hint`: cache hint of read-only loads, chosen by measurement."""

    suffix: str
    c_type: str
    ptx_type: str
    constraint: str
    fields: tuple[str, ...] = ()
    hint: str = ""

    @property
    def is_vector(self) -> bool:
        """Whether the access moves several registers."""
        return bool(self.fields)


WIDTHS: tuple[Width, ...] = (
    Width("u8", "unsigned char", "u8", "h"),
    Width("u16", "unsigned short", "u16", "h"),
    Width("u32", "unsigned int", "u32", "r"),
    Width("u64", "unsigned long long", "u64", "l"),
    Width("v2u32", "uint2", "v2.u32", "r", ("x", "y")),
    Width("v4u32", "uint4", "v4.u32", "r", ("x", "y", "z", "w")),
)


def _operands(width: Width, first: int) -> str:
    """PTX operand list of the value: `%0` or `{%0, %1}`."""
    if not width.is_vector:
        return f"%{first}"
    return "{" + ", ".join(f"%{first + i}" for i in range(len(width.fields))) + "}"


def _address(space: str) -> tuple[str, str]:
    """Constraint and C++ expression of an address in `space`."""
    if space == "shared":
        return "r", "(unsigned int)__cvta_generic_to_shared(p)"
    return "l", "__cvta_generic_to_global(p)"


def _load(prefix: str, space: str, width: Width) -> PreludeFunction:
    read_only = prefix == "ak_ldg"
    mnemonic = f"ld.{space}" + (f".nc{width.hint}" if read_only else "") + f".{width.ptx_type}"
    count = max(len(width.fields), 1)
    # an 8-bit value travels in a 16-bit register
    register = "unsigned short" if width.suffix == "u8" else width.c_type
    places = [f"v.{field}" for field in width.fields] or ["v"]
    outputs = ", ".join(f'"={width.constraint}"({place})' for place in places)
    constraint, expression = _address(space)
    volatile, clobber = ("", "") if read_only else (" volatile", ' : "memory"')
    result = "(unsigned char)v" if width.suffix == "u8" else "v"
    body = (
        f"{register} v;\n"
        f'asm{volatile}("{mnemonic} {_operands(width, 0)}, [%{count}];" : {outputs}'
        f' : "{constraint}"({expression}){clobber});\n'
        f"return {result};"
    )
    what = {"ak_ldg": "read-only global", "ak_ld": "global", "ak_lds": "shared"}[prefix]
    return PreludeFunction(
        declaration=f"{width.c_type} {prefix}_{width.suffix}(const void* p)",
        kind="instruction",
        body=body,
        note=f"load from {what} memory",
        source=_SOURCE,
    )


def _store(prefix: str, space: str, width: Width) -> PreludeFunction:
    places = [f"v.{field}" for field in width.fields] or ["v"]
    if width.suffix == "u8":
        places = ["(unsigned short)v"]
    inputs = ", ".join(f'"{width.constraint}"({place})' for place in places)
    constraint, expression = _address(space)
    return PreludeFunction(
        declaration=f"void {prefix}_{width.suffix}(void* p, {width.c_type} v)",
        kind="instruction",
        body=(
            f'asm volatile("st.{space}.{width.ptx_type} [%0], {_operands(width, 1)};"'
            f' :: "{constraint}"({expression}), {inputs} : "memory");'
        ),
        note=f"store to {space} memory",
        source=_SOURCE,
    )


def _update(kind: str, number: str, space: str = "global") -> PreludeFunction:
    """Combine a value with one in memory, in one step and without giving back the old one."""
    c_type, constraint = ("unsigned int", "r") if number.endswith("32") else ("unsigned long long", "l")
    ptx_type = number.replace("i", "s")
    prefix, scope = ("ak_red", "gpu") if space == "global" else (f"ak_red_{space}", "cta")
    register, address = _address(space)
    return PreludeFunction(
        declaration=f"void {prefix}_{kind}_{number}(void* p, {c_type} v)",
        kind="instruction",
        body=(
            f'asm volatile("red.relaxed.{scope}.{space}.{kind}.{ptx_type} [%0], %1;"'
            f' :: "{register}"({address}), "{constraint}"(v) : "memory");'
        ),
        note=f"{kind} to {space} memory, in one step",
        source="PTX ISA: red",
    )


_UPDATES: tuple[PreludeFunction, ...] = (
    *(_update(kind, number) for kind in ("max", "min") for number in ("u32", "i32", "u64", "i64")),
    _update("add", "u32"),
    _update("add", "u64"),
    _update("add", "u32", "shared"),
)
"""Integer sums do not depend on signs."""

ACCESSORS: tuple[PreludeFunction, ...] = (
    *(
        row
        for width in WIDTHS
        for row in (
            _load("ak_ldg", "global", width),
            _load("ak_ld", "global", width),
            _store("ak_st", "global", width),
            _load("ak_lds", "shared", width),
            _store("ak_sts", "shared", width),
        )
    ),
    *_UPDATES,
    *FLOAT_ATOMICS,
)
