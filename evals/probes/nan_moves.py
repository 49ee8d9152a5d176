"""Run nan_moves.cu as compiled by nvcc and by NVRTC and record each result's bits.

Usage: python nan_moves.py RESULT.jsonl. Needs nvcc on the path, cuda-bindings and a GPU.
"""

import ctypes
import json
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

from cuda.bindings import driver, nvrtc

SOURCE = Path(__file__).with_name("nan_moves.cu")
VALUES = (
    0x7FC00000, 0xFFC00000, 0x7F800001, 0xFF812345, 0x7FFFFFFF, 0xFFFFFFFF, 0x7FC12345, 0xFFC54321,
    0x00000000, 0x80000000, 0x7F800000, 0xFF800000, 0x3F800000, 0xBF800000, 0x00000001, 0x80000001,
)  # fmt: skip
KERNELS = tuple(
    line.split("(")[1].split(",")[0] for line in SOURCE.read_text().splitlines() if line.startswith("KERNEL(")
)


def checked(result: tuple) -> object:
    """Return a call's value, or raise its status."""
    status, *values = result
    if int(status) != 0:
        raise RuntimeError(str(status))
    return values[0] if len(values) == 1 else tuple(values)


def by_nvrtc(options: list[str]) -> bytes:
    """Compile the source with NVRTC to a cubin."""
    program = checked(nvrtc.nvrtcCreateProgram(SOURCE.read_bytes(), b"nan_moves.cu", 0, [], []))
    flags = [o.encode() for o in ["--gpu-architecture=sm_90a", *options]]
    checked(nvrtc.nvrtcCompileProgram(program, len(flags), flags))
    image = b" " * checked(nvrtc.nvrtcGetCUBINSize(program))
    checked(nvrtc.nvrtcGetCUBIN(program, image))
    return image


def by_nvcc(options: list[str]) -> bytes:
    """Compile the source with nvcc to a cubin."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "out.cubin"
        subprocess.run(
            ["nvcc", "-cubin", "-arch=sm_90a", "-diag-suppress=550", *options, str(SOURCE), "-o", str(out)], check=True
        )
        return out.read_bytes()


def run(image: bytes, name: str, a: list[int], b: list[int]) -> list[int]:
    """Run one kernel over pairs of bit patterns."""
    module = checked(driver.cuModuleLoadData(image))
    kernel = checked(driver.cuModuleGetFunction(module, name.encode()))
    n = len(a)
    pointers = [checked(driver.cuMemAlloc(4 * n)) for _ in range(3)]
    checked(driver.cuMemcpyHtoD(pointers[0], struct.pack(f"{n}I", *a), 4 * n))
    checked(driver.cuMemcpyHtoD(pointers[1], struct.pack(f"{n}I", *b), 4 * n))
    arguments = (*(int(p) for p in pointers), n)
    types = (ctypes.c_void_p,) * 3 + (ctypes.c_int,)
    checked(driver.cuLaunchKernel(kernel, (n + 31) // 32, 1, 1, 32, 1, 1, 0, 0, (arguments, types), 0))
    checked(driver.cuCtxSynchronize())
    out = ctypes.create_string_buffer(4 * n)
    checked(driver.cuMemcpyDtoH(out, pointers[2], 4 * n))
    for p in pointers:
        checked(driver.cuMemFree(p))
    checked(driver.cuModuleUnload(module))
    return list(struct.unpack(f"{n}I", out.raw))


def main(path: str) -> None:
    """Compile four ways, run every kernel over all pairs, write one line a kernel."""
    images = {
        "nvrtc -fmad=false": by_nvrtc(["--fmad=false"]),
        "nvrtc": by_nvrtc([]),
        "nvcc -fmad=false": by_nvcc(["-fmad=false"]),
        "nvcc": by_nvcc([]),
    }
    checked(driver.cuInit(0))
    device = checked(driver.cuDeviceGet(0))
    context = checked(driver.cuDevicePrimaryCtxRetain(device))
    checked(driver.cuCtxSetCurrent(context))
    a = [x for x in VALUES for _ in VALUES]
    b = [y for _ in VALUES for y in VALUES]
    with Path(path).open("w") as out:
        for name in KERNELS:
            results = {key: run(image, name, a, b) for key, image in images.items()}
            base = results["nvrtc -fmad=false"]
            # the NaN inputs of x, paired with y = 1.0
            one = VALUES.index(0x3F800000)
            nan = {f"{VALUES[i]:08x}": f"{base[i * len(VALUES) + one]:08x}" for i in range(8)}
            line = {
                "probe": "nan_moves",
                "kernel": name,
                "compilers_agree": all(r == base for r in results.values()),
                "x_to_result_with_y_1": nan,
                "all_bits": [f"{v:08x}" for v in base],
            }
            out.write(json.dumps(line) + "\n")


if __name__ == "__main__":
    main(sys.argv[1])
