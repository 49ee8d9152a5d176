"""Write evals/results/floor.json from a run of the agents without a model.

agentkern eval run --lane mock --agent null --agent nearest --agent nearest_open -o RUN
python evals/floor_record.py RUN
"""

import json
import sys
from pathlib import Path

from agentkern.evals.floor import floor_record

RECORD = Path(__file__).parent / "results" / "floor.json"

if __name__ == "__main__":
    RECORD.parent.mkdir(exist_ok=True)
    RECORD.write_text(json.dumps(floor_record(Path(sys.argv[1])), indent=1) + "\n")
