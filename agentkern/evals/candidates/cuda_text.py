"""The text of a CUDA submission, made ready for the device compiler and for the host's. Compiles nothing.

Headers are a closed list: on a GPU machine the CUDA ones are CUDA's own; everywhere else, and on the host, what they
and the C ones declare is written here or in `cuda_host.h`. Lines keep their numbers.
"""

from __future__ import annotations

import os
import re
import sysconfig
from functools import cache
from pathlib import Path

_INCLUDE = re.compile(r'^([ \t]*)#[ \t]*include[ \t]*([<"])([^>"\n]*)[>"][^\n]*$', re.MULTILINE)
_OTHER_INCLUDE = re.compile(r"^[ \t]*#[ \t]*include(?![ \t]*[<\"])[^\n]*$|__has_include|\bimport[ \t]*<", re.MULTILINE)
_EXTERN_SHARED = re.compile(
    r"\bextern\s+__shared__\s+((?:__align__|alignas)\s*\([^()]*\)\s*)?([\w:<>\s]+?)\s*\b(\w+)\s*\[\s*\]\s*;"
)
CUDA_HEADERS = ("cuda_fp16.h", "cuda_bf16.h", "cuda_fp8.h")
"""Headers with types that the device compiler needs from CUDA's own files."""
_PLAIN_HEADERS = (
    "cuda_runtime.h", "cuda.h", "device_launch_parameters.h", "math_constants.h",
    "stdint.h", "cstdint", "stddef.h", "cstddef", "math.h", "cmath", "float.h", "cfloat", "limits.h", "climits",
)  # fmt: skip
HEADERS = (*CUDA_HEADERS, *_PLAIN_HEADERS)
# What the plain headers declare that the device compiler does not know by itself.
_DEVICE_NAMES = (
    "typedef signed char int8_t; typedef unsigned char uint8_t; typedef short int16_t; typedef unsigned short uint16_t;"
    " typedef int int32_t; typedef unsigned uint32_t; typedef long long int64_t; typedef unsigned long long uint64_t;\n"
)
CONSTANTS = "".join(
    f"#define {name} {value}\n"
    for name, value in (
        ("INFINITY", "__builtin_huge_valf()"), ("NAN", '__builtin_nanf("")'),
        ("FLT_MAX", "3.402823466e+38f"), ("FLT_MIN", "1.175494351e-38f"), ("FLT_EPSILON", "1.192092896e-07f"),
        ("DBL_MAX", "1.7976931348623157e+308"), ("INT_MAX", "2147483647"), ("INT_MIN", "(-2147483647 - 1)"),
        ("UINT_MAX", "4294967295u"), ("LLONG_MAX", "9223372036854775807ll"),
        ("CUDART_INF_F", "__int_as_float(0x7f800000)"), ("CUDART_NAN_F", "__int_as_float(0x7fffffff)"),
    )
)  # fmt: skip
_DEVICE_CONSTANTS = CONSTANTS.replace("__builtin_huge_valf()", "__int_as_float(0x7f800000)").replace(
    '__builtin_nanf("")', "__int_as_float(0x7fffffff)"
)


def unknown_headers(source: str) -> tuple[str, ...]:
    """Return what the text includes that is not on the list, or names in a way that cannot be read."""
    named = [match.group(3).strip() for match in _INCLUDE.finditer(source)]
    others = [match.group(0).strip() for match in _OTHER_INCLUDE.finditer(source)]
    return tuple(dict.fromkeys([name for name in named if name not in HEADERS] + others))


def cuda_headers_of(source: str) -> tuple[str, ...]:
    """Return the CUDA headers that the text includes."""
    named = [match.group(3).strip() for match in _INCLUDE.finditer(source)]
    return tuple(name for name in CUDA_HEADERS if name in named)


def device_text(source: str) -> str:
    """Return the text for the device compiler: plain headers replaced by what they declare."""
    kept = _INCLUDE.sub(lambda match: match.group(0) if match.group(3).strip() in CUDA_HEADERS else "", source)
    return f'{_DEVICE_NAMES}{_DEVICE_CONSTANTS}#line 1 "kernel.cu"\n{kept}'


def host_text(source: str) -> str:
    """Return the text for the host compiler, behind `cuda_host.h`: no headers, dynamic shared memory as a pointer."""
    without = _INCLUDE.sub("", source)
    return _EXTERN_SHARED.sub(r"\2 *const \3 = (\2 *)ak_cuda_dynamic_shared;", without)


@cache
def cuda_include_folder() -> Path | None:
    """Return the folder of CUDA's headers, from CUDA_HOME, an installed package or the usual place."""
    named = [Path(os.environ[name]) / "include" for name in ("CUDA_HOME", "CUDA_PATH") if os.environ.get(name)]
    packages = Path(sysconfig.get_paths()["purelib"]) / "nvidia"
    installed = [packages / "cu13" / "include", packages / "cuda_runtime" / "include"]
    for folder in (*named, *installed, Path("/usr/local/cuda/include")):
        if (folder / "cuda_fp16.h").is_file():
            return folder
    return None
