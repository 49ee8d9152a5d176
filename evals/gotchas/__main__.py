"""Try every habit and write the record: python -m evals.gotchas."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import asdict

from evals.gotchas.habits import FOLDER, habits, outcome

RECORD = FOLDER / "results" / "outcomes.json"


def main() -> None:
    """Write one row a habit, and how many there are of each outcome."""
    rows = {habit.key: asdict(outcome(habit)) for habit in habits()}
    counts = Counter(row["found"] for row in rows.values())
    RECORD.write_text(json.dumps({"counts": dict(sorted(counts.items())), "habits": rows}, indent=1) + "\n")
    for found, count in sorted(counts.items()):
        print(f"{count:4} {found}")


if __name__ == "__main__":
    main()
