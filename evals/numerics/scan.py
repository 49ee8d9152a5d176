"""Scan prelude functions over all 2^32 inputs against exact judges and record the results.

The prelude's own text is compiled by the host compiler with the simulator's arithmetic, as the
simulator compiles it. Usage: python evals/numerics/scan.py [NAME ...]
"""

import datetime
import hashlib
import json
import platform
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from agentkern.compiler.codegen.prelude import PRELUDE, prelude_text

HERE = Path(__file__).parent
SHIM = HERE.parent.parent / "agentkern" / "runtime" / "simulator" / "shim"
# the prelude function behind a scan, where there is one; the others scan the simulator's or the host's arithmetic
PRELUDE_OF = {
    "rsqrt": "ak_rsqrt_f32",
    "floor": "ak_floor_f32",
    "ceil": "ak_ceil_f32",
    "trunc": "ak_trunc_f32",
    "round": "ak_round_f32",
    "cast_e4m3_soft": "ak_soft_cvt_e4m3_f32",
    "cast_e5m2_soft": "ak_soft_cvt_e5m2_f32",
    "div_row": "ak_div_row_f32",
}
NAMES = (
    "rsqrt",
    "rsqrt_by_f64",
    "sqrt",
    "floor",
    "ceil",
    "trunc",
    "round",
    "cast_bf16",
    "cast_f16",
    "cast_e4m3",
    "cast_e4m3_soft",
    "cast_e5m2_soft",
    "control_rsqrt",
    "control_cast_e4m3",
)
FLAGS = ("-O2", "-std=c++17", "-march=x86-64-v3", "-ffp-contract=off", "-w")


def host_text(program: Path) -> str:
    """Return the simulator's arithmetic, every math function of the prelude, and a program."""
    shim = "\n".join((SHIM / name).read_text() for name in ("abi.h", "threads.h", "arithmetic.h", "instructions.h"))
    math = prelude_text(name for name, row in PRELUDE.items() if row.kind == "math")
    return f"{shim}\n{math}\n{program.read_text()}"


def build(program: Path, folder: Path) -> Path:
    """Compile a program behind the shim and the prelude; return the executable."""
    text, binary = folder / program.name, folder / program.stem
    text.write_text(host_text(program))
    subprocess.run(["g++", *FLAGS, "-o", str(binary), str(text)], check=True)
    return binary


def first_line(*command: str) -> str:
    """Return the first line that a command prints."""
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()[0]


def cpu_model() -> str:
    """Return the name of this machine's processor."""
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", maxsplit=1)[1].strip()
    return platform.processor()


def scanned_text(name: str) -> dict[str, str]:
    """Return the prelude function of a scan and the digest of its text, by which a stale record shows."""
    function = PRELUDE_OF.get(name)
    if function is None:
        return {}
    digest = hashlib.sha256(prelude_text([function]).encode()).hexdigest()
    return {"prelude_function": function, "text_sha256": digest}


def record(name: str, outcome: dict[str, object], seconds: float) -> None:
    """Write one result file."""
    body = {
        "function": name,
        "date": datetime.date.today().isoformat(),
        **scanned_text(name),
        **outcome,
        "seconds": round(seconds, 1),
        "cpu": cpu_model(),
        "compiler": first_line("g++", "--version"),
        "flags": " ".join(FLAGS),
    }
    target = HERE / "results" / f"{name}.json"
    target.write_text(json.dumps(body, indent=2) + "\n")
    print(f"{name}: {outcome}, {seconds:.0f} s", flush=True)


def main(names: list[str]) -> int:
    """Run the scans named, all of them by default; return 1 if one found a mismatch."""
    failed = False
    with tempfile.TemporaryDirectory() as folder:
        binary = build(HERE / "scan.cpp", Path(folder))
        for name in names or NAMES:
            start = time.perf_counter()
            run = subprocess.run([str(binary), name], check=False, capture_output=True, text=True)
            outcome = json.loads(run.stdout)
            if outcome["mismatches"] == 0:
                del outcome["first"]
            record(name, outcome, time.perf_counter() - start)
            # a control is a near miss: its judge must find mismatches
            failed = failed or (run.returncode == 0) == name.startswith("control")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
