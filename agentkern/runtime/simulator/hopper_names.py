"""Find which asynchronous and tensor-core instruction functions a .cu text names, and write their shim.

Families carry their shapes in the name (`ak_wgmma_m64n256k16_f32_bf16_ss`): thousands exist, a text uses a few, so only
those are written. Texts that name none get nothing, and cost nothing.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_ANY = re.compile(
    r"\bak_(?:mbarrier|tma|bulk|wgmma|mma|ldmatrix|stmatrix|cp_async|bar_sync|bar_arrive|elect_one|setmaxnreg|cluster"
    r"|mapa|lds_cluster|sts_cluster|fence_proxy|fence_acq_rel_cluster)\w*|\bAkTensorMap\b|\b__cluster_dims__\b|\b__cvta_generic_to_shared\b"
)
_CLUSTER = re.compile(r"\b__cluster_dims__\s*\(\s*(\d+)\s*(?:,\s*1\s*){0,2}\)")
_REGISTERS = re.compile(r"\b__maxnreg__\s*\(\s*(\d+)\s*\)")
_FORMATS = "bf16|f16|tf32|e4m3|e5m2|s8|u8"
_WGMMA = re.compile(
    rf"\bak_wgmma_m64n(\d+)k(\d+)_(f32|s32)_({_FORMATS})(?:_({_FORMATS}))?_(ss|rs)(?:_(at))?(?:_(bt))?(?!\w)"
)
_MMA = re.compile(rf"\bak_mma_m16n8k(\d+)_(f32|s32)_({_FORMATS})(?:_({_FORMATS}))?(?!\w)")
_NUMBERED = re.compile(
    r"\bak_(bulk_wait|bulk_wait_read|wgmma_wait|cp_async_wait|setmaxnreg_inc|setmaxnreg_dec)_(\d+)\b"
)
_PIN = re.compile(r"\bak_wgmma_pin_(f32|s32|u32)_(\d+)\b")
_ELEMENTS = {"f32": "float", "s32": "int", "u32": "unsigned"}
_STEP_K = {"bf16": 16, "f16": 16, "tf32": 8, "e4m3": 32, "e5m2": 32, "s8": 32, "u8": 32}
_CODES = {name: f"AK_SIM_{name.upper()}" for name in _STEP_K}
_OPERATIONS = {
    "bulk_wait": "AK_SIM_BULK_WAIT",
    "bulk_wait_read": "AK_SIM_BULK_WAIT_READ",
    "wgmma_wait": "AK_SIM_WGMMA_WAIT",
    "cp_async_wait": "AK_SIM_CP_ASYNC_WAIT",
    "setmaxnreg_inc": "AK_SIM_REGISTERS_INC",
    "setmaxnreg_dec": "AK_SIM_REGISTERS_DEC",
}
_INTEGERS = ("s8", "u8")
_SIXTEEN_BITS = ("bf16", "f16")


def uses_asynchronous(code: str) -> bool:
    """Whether `code`, a text without comments, names one of the functions."""
    return _ANY.search(code) is not None


@dataclass(frozen=True, slots=True)
class LaunchAttributes:
    """What a kernel's head says: blocks of a cluster, and registers of a thread at the launch (0: nothing)."""

    cluster_blocks: int
    registers: int


def launch_attributes(code: str, kernel: str) -> LaunchAttributes:
    """Read `__cluster_dims__` and `__maxnreg__` of `kernel`."""
    head = re.search(rf"\b__global__\b((?:(?!\b__global__\b)[^;{{])*?)\b{kernel}\s*\(", code)
    text = head.group(1) if head else ""
    cluster, registers = _CLUSTER.search(text), _REGISTERS.search(text)
    return LaunchAttributes(int(cluster.group(1)) if cluster else 1, int(registers.group(1)) if registers else 0)


def family_definitions(code: str) -> str:
    """Return the shim of the functions of families that `code` names, a line each."""
    lines: dict[str, str] = {}
    for match in _WGMMA.finditer(code):
        lines.setdefault(match.group(0), _wgmma_line(match))
    for match in _MMA.finditer(code):
        lines.setdefault(match.group(0), _mma_line(match))
    for match in _NUMBERED.finditer(code):
        name, (family, number) = match.group(0), match.groups()
        lines.setdefault(name, f"AK_SIM_NUMBERED({name}, {_OPERATIONS[family]}, {number})")
    for match in _PIN.finditer(code):
        name, (element, count) = match.group(0), match.groups()
        lines.setdefault(name, f"AK_SIM_PIN({name}, {_ELEMENTS[element]}, {count})")
    return "".join(f"{line}\n" for line in lines.values() if line)


def _wgmma_line(match: re.Match[str]) -> str:
    n, k, result, a, b, form, a_mn, b_mn = match.groups()
    b = b or a
    transposed = bool(a_mn or b_mn)
    possible = _is_product(k, result, a, b) and int(n) % 8 == 0 and 8 <= int(n) <= 256
    if not possible or (transposed and a not in _SIXTEEN_BITS) or (a_mn and form == "rs"):
        return ""
    element = "float" if result == "f32" else "int"
    numbers = f"{n}, {k}, {_CODES[a]}, {_CODES[b]}, {int(a_mn is not None)}, {int(b_mn is not None)}"
    return f"AK_SIM_WGMMA_{form.upper()}({match.group(0)}, {element}, {numbers})"


def _mma_line(match: re.Match[str]) -> str:
    k, result, a, b = match.groups()
    b = b or a
    if not _is_product(k, result, a, b):
        return ""
    element = "float" if result == "f32" else "int"
    return f"AK_SIM_MMA_SYNC({match.group(0)}, {element}, {k}, {_CODES[a]}, {_CODES[b]})"


def _is_product(k: str, result: str, a: str, b: str) -> bool:
    same = a == b or (a not in (*_SIXTEEN_BITS, "tf32") and _STEP_K[a] == _STEP_K[b])
    return same and int(k) == _STEP_K[a] and (result == "s32") == (a in _INTEGERS) == (b in _INTEGERS)
