"""What the isolated process does for Triton submissions: run the host function on a GPU. Runs behind `confine`.

Triton starts a C compiler and an assembler of its own, so other programs may be executed here; files, the network and
other processes' memory are out of reach all the same. torch and triton are looked up here, where they are needed.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from agentkern.evals.candidates.triton_text import ENTRY

MISSING = "missing: "
_TORCH = {
    "f64": "float64", "f32": "float32", "tf32": "float32", "f16": "float16", "bf16": "bfloat16",
    "e4m3": "float8_e4m3fn", "e5m2": "float8_e5m2", "e8m0": "uint8",
    "i8": "int8", "i16": "int16", "i32": "int32", "i64": "int64",
    "u8": "uint8", "u16": "uint16", "u32": "uint32", "u64": "uint64", "bool": "bool",
}  # fmt: skip


class DevicePointer:
    """A tensor as a kernel's argument: an address and a dtype; nothing can be computed with it on the host."""

    def __init__(self, address: int, dtype: Any, shape: tuple[int, ...]) -> None:
        self._address = address
        self.dtype = dtype
        self.shape = shape

    def data_ptr(self) -> int:
        """Return the address, for Triton's launcher."""
        return self._address


def run_on_gpu(argument: Mapping[str, Any]) -> dict[str, Any]:
    """Call the host function: what the images hold then, or that a package is missing."""
    os.environ.update(TRITON_CACHE_DIR=str(Path.cwd() / "triton"))
    try:
        torch = importlib.import_module("torch")
        importlib.import_module("triton")
    except ModuleNotFoundError as e:
        return {"images": [], "findings": [f"{MISSING}{e.name}"], "completed": False}
    device = torch.device("cuda", argument["device"])
    images = [
        torch.frombuffer(bytearray(image["memory"]), dtype=torch.uint8).to(device) for image in argument["images"]
    ]
    kept: list[Any] = []
    given: dict[str, Any] = dict(argument["numbers"])
    for image, held in zip(argument["images"], images, strict=True):
        dtype = getattr(torch, _TORCH[image["dtype"]])
        given[image["name"]] = DevicePointer(held.data_ptr() + image["offset"], dtype, tuple(image["shape"]))

    def scratch(dtype: str, *shape: int) -> DevicePointer:
        kept.append(torch.empty(tuple(shape), dtype=getattr(torch, _TORCH[dtype]), device=device))
        return DevicePointer(kept[-1].data_ptr(), kept[-1].dtype, tuple(shape))

    given["scratch"] = scratch
    function = _load(argument["source"])
    function(**{name: given[name] for name in argument["parameters"]})
    torch.cuda.synchronize(device)
    return {"images": [held.cpu().numpy().tobytes() for held in images], "findings": [], "completed": True}


def _load(source: str) -> Callable[..., Any]:
    """Return the host function of a text. Triton reads kernels' texts from their file."""
    file = Path.cwd() / "candidate.py"
    file.write_text(source, encoding="utf-8")
    spec = importlib.util.spec_from_file_location("candidate", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return getattr(module, ENTRY)
