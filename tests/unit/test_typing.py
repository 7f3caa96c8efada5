"""The API type-checks as it is meant to be written, and what is meant to be refused is refused."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_the_api_type_checks_and_mistakes_do_not() -> None:
    """`api.py` is api.md's example; each mistake in `refused.py` carries an ignore, which strict mypy wants needed."""
    command = [sys.executable, "-m", "mypy", "tests/typing/api.py", "tests/typing/refused.py"]
    found = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    mine = [line for line in found.stdout.splitlines() if line.startswith("tests/typing")]
    assert mine == []
    assert found.returncode in {0, 1}, found.stderr
