"""Scan the f32 functions of the prelude over all 2^32 inputs and record the errors.

The prelude's own text is compiled with the simulator's arithmetic, as the simulator compiles it. Judge: the host's f64
functions; where their value is within 2^-48 of a middle of two f32 values, mpmath with 60 digits.
Usage: python -m evals.functions.scan [NAME ...]
"""

import datetime
import hashlib
import json
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import mpmath

from agentkern.compiler.codegen.prelude import PRELUDE, prelude_functions, prelude_text
from agentkern.compiler.codegen.prelude.functions import FUNCTIONS
from evals.numerics.scan import cpu_model, first_line, host_text

HERE = Path(__file__).parent
FLAGS = ("-O3", "-std=c++17", "-march=x86-64-v3", "-ffp-contract=off", "-fno-trapping-math", "-fno-math-errno", "-w")
mpmath.mp.dps = 60


def softplus(x: mpmath.mpf) -> mpmath.mpf:
    return max(x, mpmath.mpf(0)) + mpmath.log1p(mpmath.exp(-abs(x)))


def gelu_tanh(x: mpmath.mpf) -> mpmath.mpf:
    return x / (1 + mpmath.exp(-2 * mpmath.sqrt(2 / mpmath.pi) * (x + mpmath.mpf("0.044715") * x**3)))


EXACT = {
    "exp": mpmath.exp,
    "exp2": lambda x: mpmath.power(2, x),
    "expm1": mpmath.expm1,
    "log": mpmath.log,
    "log2": lambda x: mpmath.log(x) / mpmath.log(2),
    "log1p": mpmath.log1p,
    "tanh": mpmath.tanh,
    "erf": mpmath.erf,
    "sin": mpmath.sin,
    "cos": mpmath.cos,
    "sigmoid": lambda x: 1 / (1 + mpmath.exp(-x)),
    "silu": lambda x: x / (1 + mpmath.exp(-x)),
    "softplus": softplus,
    "gelu": lambda x: x / 2 * mpmath.erfc(-x / mpmath.sqrt(2)),
    "gelu_tanh": gelu_tanh,
}
"""What each function stands for, with as many digits as asked."""


def value(bits: int) -> float:
    """The f32 value of its bits."""
    return struct.unpack("<f", struct.pack("<I", bits))[0]


def is_rounding(exact: mpmath.mpf, got: float) -> bool:
    """Whether `got`, an f32, is the nearest to an exact value that is no middle."""
    bits = struct.unpack("<I", struct.pack("<f", abs(got)))[0]
    below, above = value(bits - 1) if bits else -value(1), value(bits + 1)
    size = exact if got >= 0 else -exact
    return (mpmath.mpf(below) + abs(got)) / 2 < size < (mpmath.mpf(above) + abs(got)) / 2


def build(folder: Path) -> Path:
    """Compile the scans behind the simulator's arithmetic and the texts; return the executable."""
    names = [row.name for row in FUNCTIONS]
    rows = [row for row in prelude_functions(names) if row.name in PRELUDE and PRELUDE[row.name].kind == "math"]
    plain = (HERE / "plain.h").read_text() + "\n".join(row.text for row in rows)
    program = (HERE / "scan.cpp").read_text()
    source, binary = folder / "functions.cpp", folder / "functions"
    empty = folder / "empty.cpp"
    empty.write_text("")
    source.write_text(f"{host_text(empty)}\nnamespace plain {{\n{plain}\n}}\n{program}")
    subprocess.run(["g++", *FLAGS, "-o", str(binary), str(source), "-lmvec", "-lm"], check=True)
    return binary


def scan(name: str, binary: Path) -> dict[str, object]:
    """Run one scan; return its totals with the doubtful inputs judged."""
    start = time.perf_counter()
    run = subprocess.run([str(binary), name], check=True, capture_output=True, text=True)
    *doubts, totals = (json.loads(line) for line in run.stdout.splitlines())
    wrong = [d for d in doubts if not is_rounding(EXACT[name](mpmath.mpf(value(d["x"]))), value(d["y"]))]
    totals["misrounded"] += len(wrong)
    for key in ("max_ulp_at", "max_ulp_of_input_at"):
        totals[key] = value(totals[key])
    if name in ("sin", "cos"):  # negative inputs mirror the others, and were only held to that
        totals["misrounded"] *= 2
    else:
        del totals["unlike_mirror"]
    if not name.startswith("gelu"):  # the others do not cancel
        del totals["max_ulp_of_input"], totals["max_ulp_of_input_at"]
    totals["seconds"] = round(time.perf_counter() - start, 1)
    return totals


def record(name: str, totals: dict[str, object]) -> None:
    """Write one result file."""
    text = prelude_text([f"ak_{name}_f32"])
    body = {
        "function": name,
        "date": datetime.date.today().isoformat(),
        "text_sha256": hashlib.sha256(text.encode()).hexdigest(),
        **totals,
        "cpu": cpu_model(),
        "compiler": first_line("g++", "--version"),
        "flags": " ".join(FLAGS),
    }
    (HERE / "results").mkdir(exist_ok=True)
    (HERE / "results" / f"{name}.json").write_text(json.dumps(body, indent=2) + "\n")
    print(f"{name}: {totals}", flush=True)


def main(names: list[str]) -> int:
    """Run the scans named, all of them by default."""
    with tempfile.TemporaryDirectory() as folder:
        binary = build(Path(folder))
        for name in names or EXACT:
            record(name, scan(name, binary))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
