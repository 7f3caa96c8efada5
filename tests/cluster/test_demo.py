"""`wow-ray demo`, as another process: the whole day on a Ray of its own, and what is left of it."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
import uuid
from pathlib import Path

from tests.cluster.lab import gone
from tests.waiting import until_blocking

PATIENCE = 240.0
"""Seconds it may take on a machine that does much else; some 40 on one that does not."""
MARK = "MARK_OF_THIS_TEST"


def marked(mark: str) -> list[int]:
    """Give the processes that inherited a mark, however they were started."""
    found = []
    for environ in Path("/proc").glob("[0-9]*/environ"):
        try:
            if f"{MARK}={mark}".encode() in environ.read_bytes():
                found.append(int(environ.parent.name))
        except OSError:
            continue
    return found


def test_the_demo_proves_what_it_claims_and_leaves_nothing_behind() -> None:
    """Exit 0 and nine claims that hold, with a process killed in the middle and every parked aggregate dealt with.

    Started where a package of the name `examples` lies; afterwards none of its processes runs and its folder is gone.
    """
    mark = uuid.uuid4().hex
    hidden = {"PYTHONDONTWRITEBYTECODE", "PYTHONPATH"}
    kept = {name: text for name, text in os.environ.items() if name not in hidden and name[:8] != "WOW_RAY_"}
    with tempfile.TemporaryDirectory(prefix="wow-ray-elsewhere-") as here:
        (Path(here) / "examples").mkdir()
        (Path(here) / "examples" / "__init__.py").touch()
        done = subprocess.run(
            [sys.executable, "-m", "wow_ray.cli", "demo", "--json"],
            cwd=here,
            env={**kept, MARK: mark},
            capture_output=True,
            text=True,
            check=False,
            timeout=PATIENCE,
        )

    assert done.returncode == 0, done.stdout + done.stderr
    said = json.loads(done.stdout)
    assert said["holds"], said
    assert [finding["claim"] for finding in said["findings"] if not finding["holds"]] == []
    assert len(said["findings"]) == 9
    numbers = {finding["claim"]: finding["numbers"] for finding in said["findings"]}
    assert re.match(r"after \d+\.\d s it handled", numbers["for a killed process another one went on"])
    assert re.search(r" is killed: SIGKILL", done.stderr)
    assert re.search(r"\d+ are resumed, [1-9]\d* are skipped", done.stderr)
    (folder,) = re.findall(r"a private Postgres in (\S+)/postgres", done.stderr)
    until_blocking(lambda: all(map(gone, marked(mark))), "the end of all its processes", seconds=30)
    assert not Path(folder).exists()
