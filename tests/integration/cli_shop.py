"""A shop on disk, and the real `wow-ray` command run on it as other processes."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.waiting import until_blocking
from wow_ray.adapters.embedded import find_server
from wow_ray.adapters.embedded.state import is_alive

SECONDS = 40.0
"""How long anything may take on a machine that does much else."""

SHOP = """
from pathlib import Path

from pydantic import BaseModel

from wow_ray import Aggregate, App, Event, on_event, retry

app = App("shop")
order = Aggregate("order")
broken = Path(__file__).with_name("broken")


@order.event("order_paid")
class OrderPaid(BaseModel):
    number: int = 1


@app.reactor(start="beginning")
@retry(max_attempts=2, initial_backoff="10ms", recoverable=[ValueError])
class Notifier:
    @on_event
    async def on_paid(self, event: Event[OrderPaid]) -> None:
        if (broken / event.ref.id).exists():
            raise ValueError("the carrier \\x1b[31m is down")
        print(f"told {event.ref}@{event.version}", flush=True)
"""

PRODUCER = '''
"""Appends one event to each aggregate named on a line of its input, and says what was appended."""
import asyncio
import sys

from shop import OrderPaid, app, order


async def main() -> None:
    async with app.connect() as client:
        while line := await asyncio.to_thread(sys.stdin.readline):
            commit = await client.store.append(order(line.strip()), [OrderPaid()], expected_version=None)
            print(commit.version, flush=True)


asyncio.run(main())
'''


class Shop:
    """The shop's folder, and the folder its private server's state lies in."""

    def __init__(self, place: Path) -> None:
        """Write the shop."""
        self.folder = place / "shop"
        self.broken = self.folder / "broken"
        self.broken.mkdir(parents=True)
        self.source = self.folder / "shop.py"
        self.source.write_text(SHOP, encoding="utf-8")
        (self.folder / "producer.py").write_text(PRODUCER, encoding="utf-8")
        self.state = place / "wow-ray" / "shop"
        kept = {name: value for name, value in os.environ.items() if not name.startswith("WOW_RAY_")}
        self.environ = {**kept, "XDG_STATE_HOME": str(place), "PYTHONUNBUFFERED": "1", "COLUMNS": "200"}
        self.environ["WOW_RAY_OPS__PORT"] = "0"  # several run at once

    def command(self, *arguments: str, **environ: str) -> subprocess.CompletedProcess[str]:
        """Run `wow-ray` to its end, in the shop's folder."""
        return subprocess.run(
            [sys.executable, "-m", "wow_ray.cli", *arguments],
            cwd=self.folder,
            env={**self.environ, **environ},
            capture_output=True,
            text=True,
            check=False,
            timeout=SECONDS,
        )

    def asked(self, *arguments: str, code: int = 0) -> Any:  # noqa: ANN401 - a JSON document
        """Run a command with `--json`, expect its exit code and nothing but one document, and give that."""
        done = self.command(*arguments, "--json")
        assert done.returncode == code, (arguments, done.stdout, done.stderr)
        return json.loads(done.stdout)

    @contextmanager
    def dev(self, *arguments: str, **environ: str) -> Iterator[Dev]:
        """Run `wow-ray dev`, once it says that it runs; killed at the end if a test has not ended it."""
        dev = Dev(self, arguments, environ)
        try:
            yield dev.running()
        finally:
            dev.end()

    @contextmanager
    def producer(self, **environ: str) -> Iterator[Producer]:
        """Connect a producer in a process of its own, which stays connected."""
        producer = Producer(self, environ)
        try:
            yield producer
        finally:
            producer.process.kill()
            producer.process.communicate()

    def server(self) -> str | None:
        """Give the address of the private server, if one runs."""
        return find_server(self.state)

    def server_pid(self) -> int:
        """Give the process of the private server, whether or not it lives."""
        return int((self.state / "pg" / "postmaster.pid").read_text(encoding="utf-8").split()[0])


class Producer:
    """A process that appends on request."""

    def __init__(self, shop: Shop, environ: dict[str, str]) -> None:
        """Start it, in another folder than the shop's."""
        self.process = subprocess.Popen(
            [sys.executable, str(shop.folder / "producer.py")],
            cwd="/",
            env={**shop.environ, **environ},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def place(self, *ids: str) -> None:
        """Append one event to each aggregate, one after the other."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        for identity in ids:
            self.process.stdin.write(identity + "\n")
            self.process.stdin.flush()
            assert self.process.stdout.readline().strip().isdigit()


class Dev:
    """A running `wow-ray dev`; what it wrote goes to files, so that it never waits for a reader."""

    def __init__(self, shop: Shop, arguments: tuple[str, ...], environ: dict[str, str]) -> None:
        """Start it."""
        folder = Path(tempfile.mkdtemp(prefix="dev-", dir=shop.folder.parent))
        self.output, self.errors = folder / "out", folder / "err"
        with self.output.open("w") as out, self.errors.open("w") as err:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "wow_ray.cli", "dev", *arguments],
                cwd=shop.folder,
                env={**shop.environ, **environ},
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                # A terminal's Ctrl-C reaches the program alone in these tests.
                start_new_session=True,
            )
        self.shop = shop

    def running(self) -> Dev:
        """Wait until it runs."""
        self.says("running")
        return self

    def said(self) -> str:
        """Give everything it wrote, output first."""
        return self.output.read_text(encoding="utf-8") + self.errors.read_text(encoding="utf-8")

    def says(self, text: str, times: int = 1) -> None:
        """Wait until it has said something, so many times."""
        with self._told():
            until_blocking(
                lambda: self.said().count(text) >= times or self.process.poll() is not None, text, seconds=SECONDS
            )
            assert self.said().count(text) >= times, f"{text!r} was not said"

    def ends(self, code: int) -> None:
        """Wait until it has ended, with this exit code."""
        with self._told():
            assert self.process.wait(SECONDS) == code

    def interrupt(self, number: int = signal.SIGINT) -> None:
        """Send a signal."""
        self.process.send_signal(number)

    def end(self) -> None:
        """Kill it if it runs, and wait until its server is gone too."""
        self.process.kill()
        self.process.wait()
        with contextlib.suppress(FileNotFoundError):
            pid = self.shop.server_pid()
            until_blocking(lambda: not is_alive(pid), "the end of the private server", seconds=SECONDS)

    @contextmanager
    def _told(self) -> Iterator[None]:
        """Add what it wrote to a failure."""
        try:
            yield
        except (AssertionError, subprocess.TimeoutExpired) as error:
            raise AssertionError(f"{error}\n{self.said()}") from error


@contextmanager
def shop() -> Iterator[Shop]:
    """Give a shop in a folder that the server's user can pass through, also under root; removed at the end."""
    place = Path(tempfile.mkdtemp(prefix="wow-ray-cli-"))
    place.chmod(0o711)
    try:
        yield Shop(place)
    finally:
        shutil.rmtree(place, ignore_errors=True)
