"""What a cold command line imports: time is lost in imports first."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.tools.kernel_texts import RMS_NORM

# Each of these takes longer to import than a kernel to check.
HEAVY = ("torch", "mcp", "rich", "jsonschema", "cuda", "matplotlib", "z3", "inspect_ai", "jinja2")


@pytest.mark.parametrize(
    "arguments",
    [("check",), ("compile", "--dim", "H=64"), ("run", "--dim", "H=64", "--device", "interp", "--dim", "T=2")],
    ids=["check", "compile", "run"],
)
def test_a_command_imports_nothing_heavy(tmp_path: Path, arguments: tuple[str, ...]):
    kernel = tmp_path / "kernel.py"
    kernel.write_text(RMS_NORM, encoding="utf-8")
    name, *rest = arguments
    script = (
        "import sys\nfrom agentkern.tools.cli import main\n"
        f"try:\n    main({[name, str(kernel), *rest, '--json']!r})\nexcept SystemExit as e:\n    assert e.code == 0\n"
        "print(sorted({name.partition('.')[0] for name in sys.modules}), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    loaded = done.stderr.strip().splitlines()[-1]
    assert [heavy for heavy in HEAVY if f"'{heavy}'" in loaded] == []
