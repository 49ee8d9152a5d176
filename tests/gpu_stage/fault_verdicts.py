"""Who catches a seeded fault: the verifier, the synchronisation checker, the simulator."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from agentkern.compiler.analysis.synchronisation import check_synchronisation
from agentkern.compiler.ir.parser import IrSyntaxError, parse_kernel
from agentkern.compiler.ir.printer import print_kernel
from agentkern.compiler.ir.verifier import IrError, verify_kernel
from agentkern.runtime.simulator import Completion, SimulatorBuildError
from tests.gpu_stage.faults import Fault, faulty_text
from tests.gpu_stage.simulated import Outcome, run_text

MODES = (Completion.EARLIEST, Completion.LATEST)


@dataclass(frozen=True, slots=True)
class Verdict:
    """What each of the three says of a fault; empty where it says nothing."""

    verifier: str
    checker: str
    simulator: str = ""

    @property
    def caught_by(self) -> str:
        """The first that catches it, in the order in which they run."""
        named = (("verifier", self.verifier), ("checker", self.checker), ("simulator", self.simulator))
        return next((name for name, message in named if message), "nobody")

    @property
    def message(self) -> str:
        """What the first one says."""
        return self.verifier or self.checker or self.simulator


def static_verdict(text: str) -> Verdict:
    """The verifier's and the checker's findings; the verifier's error ends the matter."""
    try:
        kernel = parse_kernel(text)
        verify_kernel(kernel)
    except (IrSyntaxError, IrError) as e:
        return Verdict(str(e), "")
    findings = check_synchronisation(kernel)
    return Verdict("", str(findings[0]) if findings else "")


def changes_nothing(fault: Fault, original: str) -> bool:
    """Whether a fault's text reads as the same kernel."""
    return print_kernel(parse_kernel(faulty_text(fault))) == print_kernel(parse_kernel(original))


def simulated_verdict(fault: Fault, sound: Outcome, cache: Path) -> str:
    """The simulator's first finding, or how the numbers differ from those of the sound kernel."""
    try:
        outcomes = run_text(faulty_text(fault), fault.kernel, cache, MODES)
    except (AssertionError, SimulatorBuildError, ValueError) as e:
        return f"does not run: {str(e).splitlines()[0]}"
    for mode, outcome in zip(MODES, outcomes, strict=True):
        if outcome.messages:
            return f"{outcome.messages[0]} ({mode.name.lower()} completion)"
    earliest, latest = outcomes
    if not np.array_equal(earliest.bits, latest.bits):
        return f"{int((earliest.bits != latest.bits).sum())} elements depend on when copies and products complete"
    wrong = int((earliest.bits != sound.bits).sum())
    return f"{wrong} of {sound.bits.size} elements are wrong" if wrong else ""
