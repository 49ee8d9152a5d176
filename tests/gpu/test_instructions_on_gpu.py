"""Every row of the instruction tables on the GPU: each lane writes what it holds, compared with what the row says.

Layouts of registers, canonical layouts of shared memory, swizzles, edges of tensors, phases of barriers: all expected
bytes are made from the tables and by NumPy, none by code of the simulator. Products are compared over adversarial inputs
too, with the bits of the probes' model.
"""

from __future__ import annotations

import os
import sys
import time
from collections import defaultdict
from collections.abc import Iterator

import numpy as np
import pytest

from agentkern.compiler.targets.instructions import Instruction
from agentkern.compiler.targets.instructions_index import find_instruction, instruction_names
from agentkern.runtime.driver import Driver, DriverError, driver
from tests.gpu.instruction_case import Bytes, Case, filled
from tests.gpu.instruction_pack import cases_of, cubins
from tests.gpu.product_bits import ProductModel
from tests.gpu.product_cases import rows_of

pytestmark = [pytest.mark.gpu, pytest.mark.toolchain]
STREAM = 0
NOT_READY = 600
PATIENCE_S = 20.0


class Runner:
    """Loads the machine code of all runs and launches them."""

    def __init__(self, gpu: Driver, target: str) -> None:
        self.gpu = gpu
        self.target = target
        self.modules = {
            kernel.name: (module, kernel)
            for cubin, kernels in cubins(target).values()
            for module in [gpu.load_module(cubin)]
            for kernel in kernels
        }

    def run(self, case: Case) -> Bytes:
        """Launch a run and return its output."""
        module, kernel = self.modules[case.kernel.name]
        gpu = self.gpu
        function = gpu.function(module, kernel.name, kernel.shared_bytes)
        places = {"in": gpu.upload(case.words.tobytes()), "out": gpu.upload(filled(case.expected.size).tobytes())}
        arguments = [places[name].to_bytes(8, "little") for name in ("in", "out")]
        if case.map is not None:
            address = places[case.map.buffer] + case.map.offset
            arguments.append(case.map.map.driver_words(address, gpu))
        gpu.launch(function, case.blocks, kernel.threads, kernel.shared_bytes, STREAM, tuple(arguments))
        self.wait(case)
        out = gpu.download(places["out"], case.expected.size)
        for address in places.values():
            gpu.free(address)
        return np.frombuffer(out, np.uint8)

    def wait(self, case: Case) -> None:
        """Wait for the kernel; one that never ends would hold the process for good, so the process ends itself."""
        deadline = time.monotonic() + PATIENCE_S
        while time.monotonic() < deadline:
            try:
                self.gpu.call("cuStreamQuery", None)
            except DriverError as e:
                if e.status != NOT_READY:
                    raise
            else:
                return
        sys.stderr.write(f"\n{case.row}, {case.label}: the kernel does not end\n")
        sys.stderr.flush()
        os._exit(3)


@pytest.fixture(scope="module")
def runner() -> Iterator[Runner]:
    gpu = driver()
    target = gpu.info(0).target
    if target is None:
        pytest.skip("no target for this GPU")
    with gpu.on_device(0):
        yield Runner(gpu, target)


def difference(got: Bytes, case: Case) -> str | None:
    """None where the bytes are those expected, else the first word that is not."""
    wrong = np.flatnonzero(got != case.expected)
    if wrong.size == 0:
        return None
    at = int(wrong[0]) // 4 * 4
    pair = [array[at : at + 4].tobytes()[::-1].hex() for array in (got, case.expected)]
    return f"{case.label}: {wrong.size} of {got.size} bytes; word {at // 4} is {pair[0]}, not {pair[1]}"


@pytest.mark.parametrize("name", list(instruction_names()))
def test_row_does_what_the_table_says(runner: Runner, name: str):
    row = find_instruction(name)
    assert row is not None
    if not row.exists_on(runner.target):
        pytest.skip(f"not on {runner.target}")
    cases = cases_of(name)
    assert cases
    assert [d for d in (difference(runner.run(case), case) for case in cases) if d is not None] == []


PRODUCTS: dict[str, list[tuple[int, Instruction]]] = defaultdict(list)
for _number, _row in enumerate([*rows_of("mma"), *rows_of("wgmma")]):
    assert _row.shape_mnk is not None
    PRODUCTS[f"{_row.family} n{_row.shape_mnk[1]}"].append((_number, _row))


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> ProductModel:
    return ProductModel(tmp_path_factory.mktemp("product_model"))


@pytest.mark.parametrize("group", list(PRODUCTS))
def test_products_have_the_bits_of_the_model(runner: Runner, model: ProductModel, group: str):
    rows = [(number, row) for number, row in PRODUCTS[group] if row.exists_on(runner.target)]
    if not rows:
        pytest.skip(f"not on {runner.target}")
    runs = [case for number, row in rows for case in model.cases(row, number)]
    found = [(case.row, difference(runner.run(case), case)) for case in runs]
    assert [f"{name}, {text}" for name, text in found if text is not None] == []
