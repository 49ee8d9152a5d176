"""Scan the division by a row constant against IEEE division and record the results.

Usage: python evals/numerics/scan_division.py
"""

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from scan import HERE, build, record


def main() -> int:
    """Run the scan; return 1 on a mismatch or on a control that found none."""
    with tempfile.TemporaryDirectory() as folder:
        binary = build(HERE / "scan_division.cpp", Path(folder))
        start = time.perf_counter()
        run = subprocess.run([str(binary)], check=False, capture_output=True, text=True)
        sets = [json.loads(line) for line in run.stdout.splitlines()]
        for outcome in sets:
            if outcome["mismatches"] == 0:
                del outcome["first"]
        record("div_row", {"sets": sets}, time.perf_counter() - start)
    return int(run.returncode != 0 or sets[-1]["mismatches"] == 0)


if __name__ == "__main__":
    sys.exit(main())
