"""Every row of the instruction tables on the GPU: each lane writes what it holds, compared with what the row says.

Layouts of registers, canonical layouts of shared memory, swizzles, edges of tensors, phases of barriers: all expected
bytes are made from the tables and by NumPy, none by code of the simulator. Products are compared over adversarial inputs
too, with the bits of the probes' model.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

import numpy as np
import pytest

from agentkern.compiler.targets.instructions import Instruction
from agentkern.compiler.targets.instructions_index import find_instruction, instruction_names
from agentkern.runtime.driver import driver
from tests.gpu.instruction_case import Bytes, Case
from tests.gpu.instruction_pack import cases_of
from tests.gpu.product_bits import ProductModel
from tests.gpu.product_cases import rows_of
from tests.gpu.row_process import RowFailed, RowProcess

pytestmark = [pytest.mark.gpu, pytest.mark.toolchain]


@pytest.fixture(scope="module")
def runner() -> Iterator[RowProcess]:
    target = driver().info(0).target
    if target is None:
        pytest.skip("no target for this GPU")
    process = RowProcess(target)
    yield process
    process.stop()


def differences(runner: RowProcess, cases: list[Case]) -> list[str]:
    """What differs from the expected bytes; ends at a run that fails, since each costs a new process."""
    found: list[str] = []
    for case in cases:
        try:
            text = difference(runner.run(case), case)
        except RowFailed as e:
            return [*found, f"{case.row}, {e}"]
        found += [] if text is None else [f"{case.row}, {text}"]
    return found


def difference(got: Bytes, case: Case) -> str | None:
    """None where the bytes are those expected, else the first word that is not."""
    wrong = np.flatnonzero(got != case.expected)
    if wrong.size == 0:
        return None
    at = int(wrong[0]) // 4 * 4
    pair = [array[at : at + 4].tobytes()[::-1].hex() for array in (got, case.expected)]
    return f"{case.label}: {wrong.size} of {got.size} bytes; word {at // 4} is {pair[0]}, not {pair[1]}"


@pytest.mark.parametrize("name", list(instruction_names()))
def test_row_does_what_the_table_says(runner: RowProcess, name: str):
    row = find_instruction(name)
    assert row is not None
    if not row.exists_on(runner.target):
        pytest.skip(f"not on {runner.target}")
    cases = cases_of(name)
    assert cases
    assert differences(runner, cases) == []


PRODUCTS: dict[str, list[tuple[int, Instruction]]] = defaultdict(list)
for _number, _row in enumerate([*rows_of("mma"), *rows_of("wgmma")]):
    assert _row.shape_mnk is not None
    PRODUCTS[f"{_row.family} n{_row.shape_mnk[1]}"].append((_number, _row))


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> ProductModel:
    return ProductModel(tmp_path_factory.mktemp("product_model"))


@pytest.mark.parametrize("group", list(PRODUCTS))
def test_products_have_the_bits_of_the_model(runner: RowProcess, model: ProductModel, group: str):
    rows = [(number, row) for number, row in PRODUCTS[group] if row.exists_on(runner.target)]
    if not rows:
        pytest.skip(f"not on {runner.target}")
    runs = [case for number, row in rows for case in model.cases(row, number)]
    assert differences(runner, runs) == []
