"""Write `fault_table.md`: every seeded fault and who catches it. Needs a C++ compiler.

python -m tests.gpu_stage.write_fault_table [CACHE]
"""

from __future__ import annotations

import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from agentkern.runtime.simulator import Completion
from tests.gpu_stage.fault_verdicts import Verdict, simulated_verdict, static_verdict
from tests.gpu_stage.faults import ATTENTION, FAULTS, PRODUCT, Fault, faulty_text, kernel_text
from tests.gpu_stage.simulated import SIZES, run_text

TABLE = Path(__file__).parent / "fault_table.md"
_ORDER = ("verifier", "checker", "simulator", "nobody")


def judge(cache: Path) -> list[tuple[Fault, Verdict]]:
    """Every fault with what is said of it."""
    sound = {name: run_text(kernel_text(name), name, cache, (Completion.EARLIEST,))[0] for name in (PRODUCT, ATTENTION)}
    found: list[tuple[Fault, Verdict]] = []
    for fault in FAULTS:
        static = static_verdict(faulty_text(fault))
        simulated = "" if static.verifier else simulated_verdict(fault, sound[fault.kernel], cache)
        found.append((fault, Verdict(static.verifier, static.checker, simulated)))
    return found


def table_text(verdicts: Sequence[tuple[Fault, Verdict]]) -> str:
    """The page."""
    first = Counter(verdict.caught_by for _, verdict in verdicts)
    both = sum(bool(v.checker and v.simulator) for _, v in verdicts)
    checker_only = sum(bool(v.checker and not v.simulator) for _, v in verdicts)
    unnamed = sum(v.caught_by == "simulator" and v.simulator.endswith("are wrong") for _, v in verdicts)
    sizes = "; ".join(f"{name}: " + ", ".join(f"{k}={n}" for k, n in s.items()) for name, s in SIZES.items())
    lines = [
        "# Seeded faults of the thread-level kernels and who catches them",
        "",
        f"Written by `python -m tests.gpu_stage.write_fault_table`. {len(verdicts)} faults of `faults.py`:"
        f" {', '.join(f'{first[name]} first caught by the {name}' for name in _ORDER[:3])}, {first['nobody']} by nobody."
        f" The checker and the simulator run independently: both catch {both}, the checker alone {checker_only}."
        f" {unnamed} break no rule of synchronisation: only their numbers are wrong, which names no operation.",
        "",
        f"Simulated sizes: {sizes}; the product on one block; earliest and latest completion; bits compared with those"
        " of the kernel without the fault.",
        "",
    ]
    missed = [f"{fault.kernel}: {fault.name}" for fault, verdict in verdicts if verdict.caught_by == "nobody"]
    lines += ["## Caught by nobody", "", *(f"- {name}" for name in missed or ["none"]), ""]
    for kernel in (PRODUCT, ATTENTION):
        lines += [f"## {kernel}", "", "| fault | caught by | message | simulator |", "|---|---|---|---|"]
        for fault, verdict in verdicts:
            if fault.kernel == kernel:
                simulator = "same" if verdict.caught_by == "simulator" else verdict.simulator or "-"
                cells = (fault.name, verdict.caught_by, verdict.message or "-", simulator)
                lines.append("| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in cells) + " |")
        lines.append("")
    return "\n".join(lines)


def main(arguments: Sequence[str]) -> int:
    """Judge and write."""
    with tempfile.TemporaryDirectory() as folder:
        verdicts = judge(Path(arguments[0] if arguments else folder))
    TABLE.write_text(table_text(verdicts), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
