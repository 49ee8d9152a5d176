"""What the tests of the runtime share: a driver that only takes notes."""

import ctypes
import shutil
import subprocess
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def fake_driver_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a `libcuda.so.1` built from fake_driver.c."""
    compiler = shutil.which("cc") or shutil.which("g++")
    if compiler is None:
        pytest.skip("toolchain: no C compiler")
    folder = tmp_path_factory.mktemp("driver")
    source = Path(__file__).parent / "fake_driver.c"
    subprocess.run([compiler, "-x", "c", "-shared", "-fPIC", "-o", folder / "libcuda.so.1", source], check=True)
    return folder


@pytest.fixture(scope="session")
def fake_library(fake_driver_folder: Path) -> ctypes.CDLL:
    """The fake driver, loaded here."""
    library = ctypes.CDLL(str(fake_driver_folder / "libcuda.so.1"))
    library.fake_log.restype = ctypes.c_char_p
    library.fake_set_current.argtypes = (ctypes.c_void_p,)
    return library
