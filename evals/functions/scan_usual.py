"""Hold the usual forms to their definitions over all 2^32 inputs: equal bits wherever a form says that it holds.

The prelude's own text is compiled with plain operators, which `scan.py` holds to the simulator's. `divide_by` takes
three operands: its dividends are all 2^32, its divisors a few of every size.
Usage: python -m evals.functions.scan_usual [NAME ...]
"""

import datetime
import hashlib
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from agentkern.compiler.codegen.expressions import operation
from agentkern.compiler.codegen.prelude import PRELUDE, prelude_functions, prelude_text
from agentkern.compiler.codegen.usual_forms import definition_function, form_functions
from agentkern.compiler.ir.function_usual import USUAL
from agentkern.dsl.dtypes import DTYPES
from evals.functions.scan import FLAGS, HERE
from evals.numerics.scan import cpu_model, first_line

DIVISORS = ("0x1p-126f", "0x1.8p-60f", "0.999999940395f", "1.0f", "3.0f", "0x1.fffffep0f", "7168.0f", "0x1.5p125f")
_BLOCK = """
static unsigned long long scan(float b, unsigned long long* held) {
  const float y = ak_div_row_rcp(b);
  unsigned long long wrong = 0;
  for (unsigned long long start = 0; start < 1ull << 32; start += 4096) {
    unsigned bad = 0, good = 0;
    for (unsigned k = 0; k < 4096; ++k) {
      float x = __uint_as_float((unsigned)start + k);
      bool holds = IS_USUAL;
      good += holds;
      bad += holds && __float_as_uint(USUAL) != __float_as_uint(DEFINITION);
    }
    wrong += bad, *held += good;
  }
  return wrong;
}
int main() {
  unsigned long long held = 0, wrong = 0;
  const float divisors[] = {DIVISORS};
  for (float b : divisors) wrong += scan(b, &held);
  printf("{\\"usual\\": %llu, \\"unlike_definition\\": %llu}\\n", held, wrong);
}
"""


def program(name: str, form: int = 0, reach: float | None = None) -> str:
    """C++ that counts the inputs for which a form of one operation holds, and those whose bits differ.

    `reach`: count what is at most that large, whatever the form says.
    """
    (usual, is_usual), definition = form_functions(name)[form], definition_function(name)
    rows = prelude_functions([usual, is_usual, definition, "ak_div_row_rcp"])
    text = [row.text for row in rows if row.name in PRELUDE and PRELUDE[row.name].kind == "math"]
    several = len(USUAL[name].value.parameters) > 1
    operands = ("x", "b", "y") if several else ("x",)
    call = f"({', '.join(operands)})"
    holds = is_usual + call if reach is None else f"fabsf(x) <= {reach!r}f"
    block = _BLOCK.replace("IS_USUAL", holds).replace("USUAL", usual + call)
    block = block.replace("DEFINITION", operation(name, DTYPES["f32"]).format(*operands))
    block = block.replace("DIVISORS", ", ".join(DIVISORS if several else ("1.0f",)))
    head = '#define __device__\n#define __forceinline__ inline\nextern "C" int printf(const char*, ...);\n'
    head += (HERE / "plain.h").read_text()
    return "\n".join([head, *text, block])


def scan(name: str, form: int = 0, reach: float | None = None) -> dict[str, object]:
    """Compile and run one scan."""
    start = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        source, binary = Path(folder, "usual.cpp"), Path(folder, "usual")
        source.write_text(program(name, form, reach))
        subprocess.run(["g++", *FLAGS, "-o", str(binary), str(source), "-lm"], check=True)
        run = subprocess.run([str(binary)], check=True, capture_output=True, text=True)
    return {**json.loads(run.stdout), "seconds": round(time.perf_counter() - start, 1)}


def text_digest(name: str) -> str:
    """SHA-256 of the text that a scan speaks of."""
    functions = [*(function for form in form_functions(name) for function in form), definition_function(name)]
    return hashlib.sha256(prelude_text(functions).encode()).hexdigest()


def main(names: list[str]) -> int:
    """Run the scans named, all by default, and record them. Returns 1 if bits differ."""
    path = HERE / "results" / "usual" / "forms.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    found = json.loads(path.read_text())["forms"] if path.exists() else {}
    for name in names or USUAL:
        found[name] = {"date": datetime.date.today().isoformat(), "text_sha256": text_digest(name), **scan(name)}
        reach = USUAL[name].reach
        if reach is not None:
            found[name]["value_alone"] = {"up_to": reach, **scan(name, reach=reach)}
        if USUAL[name].wide is not None:
            found[name]["wide"] = scan(name, 1)
        print(f"{name}: {found[name]}", flush=True)
    head = {"what": "usual forms against their definitions, all 2^32 inputs", "divisors": list(DIVISORS)}
    tail = {"cpu": cpu_model(), "compiler": first_line("g++", "--version"), "flags": " ".join(FLAGS)}
    path.write_text(json.dumps({**head, "forms": found, **tail}, indent=2) + "\n")
    return int(any(row["unlike_definition"] for form in found.values() for row in (form, form.get("wide", form))))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
