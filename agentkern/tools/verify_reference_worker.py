"""Call a user's reference function on saved inputs, in a process of its own.

Run as a script: `python -I verify_reference_worker.py FOLDER`. FOLDER/request.json names the file, the function, the
cases with their tensors' dtypes and scalars; FOLDER/K.npz holds case K's raw arrays. Writes FOLDER/K.out.npz and
FOLDER/answer.json. Imports nothing of agentkern, so that a reference cannot lean on what it checks.
"""

from __future__ import annotations

import importlib.util
import inspect
import json
import resource
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import torch

MEMORY_BYTES = 32 << 30
# dtype name -> (torch's dtype, the NumPy type that torch's storage is exchanged through)
TORCH: dict[str, tuple[torch.dtype, type[np.generic]]] = {
    "f64": (torch.float64, np.float64),
    "f32": (torch.float32, np.float32),
    "tf32": (torch.float32, np.float32),
    "f16": (torch.float16, np.float16),
    "bf16": (torch.bfloat16, np.int16),
    "e4m3": (torch.float8_e4m3fn, np.uint8),
    "e5m2": (torch.float8_e5m2, np.uint8),
    "e8m0": (torch.float8_e8m0fnu, np.uint8),
    "i8": (torch.int8, np.int8),
    "i16": (torch.int16, np.int16),
    "i32": (torch.int32, np.int32),
    "i64": (torch.int64, np.int64),
    "u8": (torch.uint8, np.uint8),
    "u16": (torch.uint16, np.uint16),
    "u32": (torch.uint32, np.uint32),
    "u64": (torch.uint64, np.uint64),
    "bool": (torch.bool, np.bool_),
}
_NAMES = {dtype: name for name, (dtype, _) in TORCH.items() if name != "tf32"}
_INTEGER_VIEW = {"bf16": torch.int16, "e4m3": torch.uint8, "e5m2": torch.uint8, "e8m0": torch.uint8}


def to_torch(name: str, raw: np.ndarray) -> torch.Tensor:
    """Return a tensor over a copy of raw storage."""
    dtype, exchanged = TORCH[name]
    return torch.from_numpy(np.array(raw, order="C").view(exchanged)).view(dtype)


def from_torch(tensor: torch.Tensor) -> tuple[str, np.ndarray]:
    """Return the dtype's name and raw storage."""
    if tensor.dtype not in _NAMES:
        raise TypeError(f"{tensor.dtype} is no dtype of the language; it has {', '.join(_NAMES.values())}")
    name = _NAMES[tensor.dtype]
    plain = tensor.detach().cpu().contiguous()
    raw = plain.view(_INTEGER_VIEW[name]).numpy() if name in _INTEGER_VIEW else plain.numpy()
    return name, raw.view(np.uint16) if name == "bf16" else raw


def load(path: Path) -> ModuleType:
    """Return the module of a file."""
    sys.path.insert(0, str(path.parent))
    spec = importlib.util.spec_from_file_location("user_reference", path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def call(function: Callable[..., Any], given: Mapping[str, Any], required: Sequence[str]) -> Any:
    """Call by parameter names where the function has them all, else with the tensors in order."""
    parameters = inspect.signature(function).parameters
    by_name = {name: value for name, value in given.items() if name in parameters}
    takes_any = any(p.kind is p.VAR_KEYWORD for p in parameters.values())
    if takes_any:
        return function(**given)
    if all(name in parameters for name in required):
        return function(**by_name)
    return function(*(given[name] for name in required))


Lists = Mapping[str, Sequence[str]]
NO_LISTS: Lists = {}


def grouped(tensors: Mapping[str, Any], lists: Lists) -> dict[str, Any]:
    """Return tensors by parameter, those of a list together under its name."""
    owners = {entry: name for name, entries in lists.items() for entry in entries}
    names = dict.fromkeys(owners.get(name, name) for name in tensors)
    return {name: [tensors[e] for e in lists[name]] if name in lists else tensors[name] for name in names}


def _is_one_list(value: Any) -> bool:
    """Whether a value is a list of tensors, not a tuple that holds one or a dict."""
    return not isinstance(value, Mapping) and not any(isinstance(item, list | tuple) for item in value)


def named_outputs(
    value: Any, names: Sequence[str], lists: Lists = NO_LISTS, called: str = "the reference"
) -> dict[str, torch.Tensor]:
    """Return the outputs by name from a tensor, a tuple in order, or a dict; each tensor of a list under its own."""
    wanted = list(grouped(dict.fromkeys(names), lists))
    if isinstance(value, torch.Tensor) or (len(wanted) == 1 and wanted[0] in lists and _is_one_list(value)):
        value = (value,)
    if not isinstance(value, Mapping):
        if not isinstance(value, list | tuple):
            raise TypeError(f"{called} returns `{type(value).__name__}`, not tensors of torch")
        if len(value) != len(wanted):
            raise ValueError(f"{called} returns {len(value)} tensors, the kernel has outputs {', '.join(wanted)}")
        value = dict(zip(wanted, value, strict=True))
    found: dict[str, Any] = {}
    for name in wanted:
        if name not in value:
            raise KeyError(f"{called} returns no `{name}`")
        if name not in lists:
            found[name] = value[name]
            continue
        if len(value[name]) != len(lists[name]):
            raise ValueError(f"`{name}` of {called} has {len(value[name])} tensors, not {len(lists[name])}")
        found |= zip(lists[name], value[name], strict=True)
    for name, tensor in found.items():
        if not isinstance(tensor, torch.Tensor):
            raise TypeError(f"`{name}` of {called} is of `{type(tensor).__name__}`, not a tensor of torch")
    return found


def answer_case(function: Callable[..., Any], request: dict[str, Any], number: int, folder: Path) -> dict[str, Any]:
    """Return the outputs of one case by name, with the dtype's name after a colon."""
    case = request["cases"][number]
    with np.load(folder / f"{number}.npz") as stored:
        tensors = {name: to_torch(dtype, stored[name]) for name, dtype in case["tensors"].items()}
        before = {name: to_torch(dtype, stored[name]) for name, dtype in request["partial"].items()}
    lists = request["lists"]
    inputs = grouped(tensors, lists)
    given = {**case["sizes"], **case["scalars"], **grouped(before, lists), **inputs}
    found = named_outputs(call(function, given, list(inputs)), request["outputs"], lists, request["called"])
    refuse_dtypes(found, request["dtypes"])
    if request.get("frozen"):
        refuse_changes(function.__name__, folder / f"{number}.npz", tensors)
    named = {name: from_torch(tensor) for name, tensor in found.items()}
    return {f"{name}:{dtype}": raw for name, (dtype, raw) in named.items()}


def refuse_dtypes(found: Mapping[str, torch.Tensor], asked: Mapping[str, str]) -> None:
    """Hold outputs to the dtypes that are asked of them. Errors: ValueError names one that has another."""
    for name, dtype in asked.items():
        if found[name].dtype != TORCH[dtype][0]:
            raise ValueError(f"`{name}` is returned in {_NAMES.get(found[name].dtype, found[name].dtype)}, not {dtype}")


def refuse_changes(function: str, file: Path, tensors: Mapping[str, torch.Tensor]) -> None:
    """Compare tensors with what they were made from. Errors: ValueError names one that the function has changed."""
    with np.load(file) as stored:
        for name, tensor in tensors.items():
            if from_torch(tensor)[1].tobytes() != np.ascontiguousarray(stored[name]).tobytes():
                raise ValueError(f"`{function}` changes its argument `{name}` in place; compute from a copy of it")


def main() -> int:
    """Answer every case of a folder."""
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    most = MEMORY_BYTES if hard == resource.RLIM_INFINITY else min(MEMORY_BYTES, hard)
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
    folder = Path(sys.argv[1])
    request = json.loads((folder / "request.json").read_text())
    torch.set_num_threads(1)
    module = load(Path(request["file"]))
    function = getattr(module, request["function"], None)
    if function is None:
        known = ", ".join(name for name, value in vars(module).items() if inspect.isfunction(value))
        raise AttributeError(f"{request['file']} has no function `{request['function']}`; it has {known}")
    exact = getattr(module, f"{request['function']}_f64", None)
    for number in range(len(request["cases"])):
        np.savez(folder / f"{number}.out.npz", **answer_case(function, request, number, folder))
        if exact is not None:
            np.savez(folder / f"{number}.f64.npz", **answer_case(exact, request, number, folder))
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (
        ArithmeticError,
        AttributeError,
        ImportError,
        KeyError,
        RuntimeError,
        SyntaxError,
        TypeError,
        ValueError,
    ) as e:
        said = f"{type(e).__name__}: {e}".encode(errors="backslashreplace")
        (Path(sys.argv[1]) / "error.txt").write_bytes(said)
        sys.exit(1)
