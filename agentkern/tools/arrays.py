"""Read and write the arrays of `agentkern run`: `.npy` and `.npz`, raw bits for dtypes that NumPy lacks.

Checks no dtype or shape: the call's own checks do.
"""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from agentkern.compiler.ir.reference_formats import Raw
from agentkern.tools.sources import usage_error

Number = int | float | bool


@dataclass(frozen=True, slots=True)
class GivenInputs:
    """What `--input` named: arrays from files and numbers."""

    arrays: Mapping[str, Raw]
    numbers: Mapping[str, Number]


def read_inputs(pairs: Mapping[str, str], numbers: Mapping[str, Number]) -> GivenInputs:
    """Read the file of every name in `pairs`.

    Errors: UsageError (AK805) for a file that is not an array file.
    """
    arrays = {name: _read_array(name, Path(file)) for name, file in pairs.items()}
    return GivenInputs(arrays, numbers)


def write_npz(path: Path, arrays: Mapping[str, Raw]) -> None:
    """Write arrays by name.

    Errors: UsageError (AK805) when the file cannot be written.
    """
    try:
        with path.open("wb") as file:
            np.savez(file, allow_pickle=False, **{name: _portable(array) for name, array in arrays.items()})
    except OSError as e:
        raise usage_error("-o", f"`{path}` cannot be written: {e.strerror}") from e


# What NumPy raises for files that are no arrays, that are damaged, encrypted or state shapes beyond all memory.
_NO_ARRAY = (
    OSError,
    ValueError,
    EOFError,
    RuntimeError,
    OverflowError,
    MemoryError,
    zipfile.BadZipFile,
    zlib.error,
)


def _read_array(name: str, file: Path) -> Raw:
    option = f"--input {name}"
    try:
        found = _load(name, file)
    except FileNotFoundError as e:
        raise usage_error(option, f"there is no file `{file}`; a number is written as one: `{name}=1e-6`") from e
    except _NO_ARRAY as e:
        raise usage_error(option, f"`{file}` is no .npy or .npz file: {e}") from e
    if isinstance(found, np.ndarray):
        return found.copy(order="C")
    raise usage_error(option, f"`{file}` has no array `{name}`; it has {', '.join(found) or 'none'}")


def _load(name: str, file: Path) -> Raw | list[str]:
    """The array, or the names that the file has instead. Errors: those of `_NO_ARRAY`."""
    with file.open("rb") as stream:  # NumPy leaves a damaged file open where it opens it itself
        loaded = np.load(stream, allow_pickle=False)
        if isinstance(loaded, np.ndarray):
            return loaded
        with loaded:
            names = list(loaded.files)
            if name not in names and len(names) != 1:
                return names
            found = loaded[name if name in names else names[0]]
    if not isinstance(found, np.ndarray):
        raise ValueError(f"`{name}` in it is no array")
    return found


def _portable(array: Raw) -> Raw:
    """Little-endian and contiguous, whatever this machine is."""
    return array.copy(order="C").astype(array.dtype.newbyteorder("<"), copy=False)
