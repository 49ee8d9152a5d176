"""Every row of the instruction tables in the simulator: the bytes that the table says, whenever asynchronous work ends.

The runs are those of the GPU's tests, whose expected bytes come from the tables, NumPy and the probes' product model.
"""

from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pytest

from agentkern.runtime.simulator import (
    Buffer,
    Completion,
    SimulatorModule,
    SimulatorOptions,
    SimulatorReport,
    TensorMapArgument,
    build,
)
from tests.gpu.instruction_case import Bytes, Case, filled, module_text
from tests.gpu.instruction_pack import grouped_cases
from tests.gpu.product_bits import ProductModel
from tests.gpu.product_cases import rows_of, wgmma_cases

pytestmark = pytest.mark.toolchain
WIDTHS = (8, 48, 256)


def launch(module: SimulatorModule, case: Case, completion: Completion) -> tuple[Bytes, SimulatorReport]:
    """Run a case and return its output."""
    source = Buffer("in", case.words.copy())
    out = Buffer("out", filled(case.expected.size), writable=True)
    arguments: list[Buffer | TensorMapArgument] = [source, out]
    place = case.map
    if place is not None:
        buffer = source if place.buffer == "in" else out
        arguments.append(TensorMapArgument(buffer, lambda address: place.map.simulator_words(address + place.offset)))
    kernel, options = case.kernel, SimulatorOptions(completion=completion)
    report = module.launch(kernel.name, case.blocks, kernel.threads, kernel.shared_bytes, arguments, options)
    return out.array, report


def wrong(cases: Iterable[Case], folder: Path) -> list[str]:
    """What is not as it should be."""
    cases = list(cases)
    module = build(module_text(case.kernel for case in cases), folder)
    found: list[str] = []
    for case in cases:
        for completion in (Completion.EARLIEST, Completion.LATEST):
            got, report = launch(module, case, completion)
            if not np.array_equal(got, case.expected):
                found.append(
                    f"{case.row}, {case.label}, {completion.name}: {np.count_nonzero(got != case.expected)} bytes"
                )
            elif not report.clean:
                found.append(f"{case.row}, {case.label}, {completion.name}: {report.findings}")
    return found


@pytest.mark.parametrize("group", list(grouped_cases()))
def test_rows_of_a_group_do_what_the_table_says(simulator_cache, group):
    assert wrong(grouped_cases()[group], simulator_cache) == []


@pytest.mark.parametrize("width", WIDTHS)
def test_products_of_a_width_do_what_the_table_says(simulator_cache, width):
    rows = [row for row in rows_of("wgmma") if row.shape_mnk[1] == width]
    assert len(rows) == 30
    assert wrong((case for row in rows for case in wgmma_cases(row)), simulator_cache) == []


@pytest.fixture(scope="module")
def model(tmp_path_factory) -> ProductModel:
    return ProductModel(tmp_path_factory.mktemp("product_model"))


@pytest.mark.parametrize("family", ["mma", "wgmma"])
def test_products_have_the_bits_of_the_probes_model(simulator_cache, model, family):
    rows = [row for row in rows_of(family) if row.shape_mnk[1] in WIDTHS[:2]]
    assert wrong((case for number, row in enumerate(rows) for case in model.cases(row, number)), simulator_cache) == []
