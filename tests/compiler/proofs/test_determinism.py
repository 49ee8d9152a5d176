"""Equal kernels give equal reports: from several threads, in another process, with sizes by other names."""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

from agentkern.compiler.analysis import kernel_facts
from agentkern.compiler.ir.core import Kernel
from agentkern.compiler.proofs import prove_kernel
from agentkern.compiler.proofs.prove import obligations
from agentkern.compiler.proofs.z3_solver import canonical_names, rename, solve
from tests.compiler.tile_sketch import Sketch


def wrapped(name: str = "T", rows: int = 4) -> Kernel:
    """One flat number split into a row and a column by division, with an offset: two stores that only Z3 parts."""
    k = Sketch(name)
    y = k.tensor("y", "out", f"{name} + 1", rows)
    with k.grid((f"{rows} * {name}", 1)) as (t,):
        o = k.op("ordinal", t)
        row = k.op("floor_div", o, k.number(rows))
        column = k.op("mod", o, k.number(rows))
        k.store(y, row, column)
        k.store(y, k.op("add", row, k.number(1)), k.op("sub", k.number(rows - 1), column))
    return k.done()


def test_eight_threads_give_equal_reports() -> None:
    kernels = [wrapped(rows=rows) for rows in range(2, 10)]
    alone = [prove_kernel(k) for k in kernels]
    with ThreadPoolExecutor(8) as pool:
        together = list(pool.map(prove_kernel, kernels))
    assert together == alone


def test_eight_threads_without_the_cache_agree() -> None:
    queries = [c.violation() for o in obligations(kernel_facts(wrapped())) for c in o.cases]
    with ThreadPoolExecutor(8) as pool:
        found = [list(pool.map(solve, [q] * 8)) for q in queries]
    assert all(verdict == verdicts[0] for verdicts in found for verdict in verdicts)


def test_names_of_sizes_do_not_change_a_query() -> None:
    def queries(name: str) -> list[object]:
        made = [c.violation() for o in obligations(kernel_facts(wrapped(name))) for c in o.cases]
        return [rename(v, canonical_names(v)) for v in made]

    assert queries("T") == queries("zz_rows")


SCRIPT = """
from tests.compiler.proofs.test_determinism import wrapped
from agentkern.compiler.proofs import prove_kernel
import json
print(json.dumps([r.to_json() for r in prove_kernel(wrapped()).records]))
"""


def test_another_process_and_hash_seed_give_the_same_report() -> None:
    texts = {
        subprocess.run(
            [sys.executable, "-c", SCRIPT],
            capture_output=True,
            text=True,
            check=True,
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(["."])},
        ).stdout
        for seed in ("1", "77")
    }
    assert len(texts) == 1
