"""The import path of `python -m agentkern`, without the working folder: its files are kernels, not modules.

Python puts that folder first, where a kernel called `json.py` or `z3.py` would stand in for the module of that name.
Imported before everything else; what the caller put on the path otherwise, as by PYTHONPATH, stays.
"""

import itertools
import sys

_LOCATING = "-m"
"""What `sys.argv` begins with while Python still looks for the module that it was told to run."""


def _runs_agentkern(arguments: list[str]) -> bool:
    """Whether an interpreter's own arguments name this package, or a module of it, as the program."""
    program = next((after for option, after in itertools.pairwise(arguments) if option == "-m"), "")
    return program.split(".")[0] == "agentkern"


if sys.argv[:1] == [_LOCATING] and not sys.flags.safe_path and _runs_agentkern(sys.orig_argv):
    del sys.path[0]
