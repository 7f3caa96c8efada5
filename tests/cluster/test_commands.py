"""`wow-ray run`, `up`, `down` and `status`, as other processes, on a Ray and on a cluster of their own."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

import asyncpg
import pytest

from examples.shop.shop import StockReceived, app, article
from examples.shop.tables import make_tables
from tests.cluster.conftest import LOOPBACK_ONLY
from tests.cluster.lab import ROOT, gone
from tests.integration.cli_shop import SECONDS, Shop, shop
from tests.waiting import until, until_blocking
from wow_ray.actors.connecting import LOOPBACK
from wow_ray.cluster import database_of, open_operations, settings_of

BIN = Path(sys.executable).parent


def descendants(pid: int) -> list[int]:
    """Give the processes below one, and itself."""
    below: dict[int, list[int]] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            said = stat.read_text(encoding="utf-8")
            below.setdefault(int(said.rpartition(")")[2].split()[1]), []).append(int(stat.parent.name))
    found, todo = [], [pid]
    while todo:
        found.append(todo.pop())
        todo += below.get(found[-1], [])
    return found


def end(process: subprocess.Popen[str]) -> None:
    """End a program of ours with everything it has started, by number."""
    for pid in descendants(process.pid):
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    process.wait(SECONDS)


class Program:
    """A running `wow-ray run`; what it writes goes to a file."""

    def __init__(self, place: Shop, *arguments: str) -> None:
        """Start it in a session of its own."""
        self.output = place.folder.parent / "run.out"
        with self.output.open("w") as out:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "wow_ray.cli", "run", *arguments],
                cwd=place.folder,
                env=environ(place),
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                text=True,
                start_new_session=True,
            )

    def says(self, text: str) -> None:
        """Wait until it has said something."""

        def said() -> bool:
            return text in self.output.read_text(encoding="utf-8") or self.process.poll() is not None

        until_blocking(said, f"{text!r}", seconds=SECONDS)
        assert text in self.output.read_text(encoding="utf-8"), self.output.read_text(encoding="utf-8")


def environ(place: Shop) -> dict[str, str]:
    """Give the environment of the commands: the shop's, without what Python must not have."""
    left_out = {"PYTHONDONTWRITEBYTECODE", "RAY_ADDRESS"}
    return {name: value for name, value in place.environ.items() if name not in left_out}


def test_run_serves_until_ctrl_c_drains_it() -> None:
    """A private Postgres and a Ray of its own; `status` from elsewhere sees two partitions and the plan.

    Ctrl-C, which a terminal sends to every process of the group, ends it with 0, and no process of it is left.
    """
    with shop() as place:
        program = Program(place, "shop:app", "--partitions", "2")
        try:
            program.says("running 2 partitions: Notifier.on_paid")
            with place.producer() as producer:
                producer.place("o-1", "o-2", "o-3")
            program.says("handled 3, lag 0, parked 0")
            status = place.asked("status", "--app", "shop:app")
            assert (status["ready"], status["plan"], status["release"]) == (True, 1, "run")
            assert sorted(each["partition"] for each in status["partitions"]) == ["shop-0", "shop-1"]
            server, family = place.server_pid(), descendants(program.process.pid)

            os.killpg(program.process.pid, signal.SIGINT)

            assert program.process.wait(SECONDS) == 0, program.output.read_text(encoding="utf-8")
            assert "draining" in program.output.read_text(encoding="utf-8")
            until_blocking(lambda: all(map(gone, [*family, server])), "the end of all its processes", seconds=SECONDS)
        finally:
            end(program.process)


def test_up_without_a_cluster_or_a_postgres_of_yours_says_what_it_needs() -> None:
    """It would end with the command: exit 5 and 2, each with the next step."""
    with shop() as place:
        assert "RAY_ADDRESS" in place.asked("up", "shop:app", code=5)["error"]["message"]
        left = place.command("up", "shop:app", RAY_ADDRESS="127.0.0.1:1")
        assert (left.returncode, "WOW_RAY_POSTGRES_DSN" in left.stderr) == (2, True)


@contextmanager
def a_cluster(told: Mapping[str, str], *more: str, cpus: int = 4, address: str = f"{LOOPBACK}:6390") -> Iterator[str]:
    """Start a head with a dashboard, as an operator would; answers the address for jobs."""
    ip, port = address.split(":")
    sessions = Path(tempfile.mkdtemp(prefix="wr-head-"))
    command = ["start", "--head", "--block", "--port", port, "--dashboard-host", "127.0.0.1", "--dashboard-port"]
    command += ["8299", "--num-cpus", str(cpus), "--disable-usage-stats", "--temp-dir", str(sessions), *more]
    # The session's Ray, in the same place, has the ports that agents take otherwise.
    command += ["--node-ip-address", ip, "--dashboard-agent-listen-port", "52399"]
    with (sessions / "head.out").open("w") as out:
        head = subprocess.Popen(
            [str(BIN / "ray"), *command], env=told, stdin=subprocess.DEVNULL, stdout=out, stderr=out, text=True
        )
    try:
        until_blocking(lambda: listens(8299), "the dashboard", seconds=2 * SECONDS)
        yield "http://127.0.0.1:8299"
    finally:
        end(head)
        shutil.rmtree(sessions, ignore_errors=True)


def listens(port: int) -> bool:
    """Tell whether somebody listens on a port of this machine."""
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def submitted(told: Mapping[str, str], address: str, *arguments: str) -> str:
    """Submit a `wow-ray` command as a job with the example's folder, wait for its end, and give what it said."""
    environ = {**told, "RAY_API_SERVER_ADDRESS": address}
    command = [str(BIN / "ray"), "job", "submit", "--working-dir", "examples/shop", "--", "wow-ray", *arguments]
    tried: list[subprocess.CompletedProcess[str]] = []

    def taken() -> bool:
        """Submit; the agent that takes jobs comes up later than the dashboard that is asked."""
        done = subprocess.run(
            command, cwd=ROOT, env=environ, capture_output=True, text=True, check=False, timeout=3 * SECONDS
        )
        tried.append(done)
        return "No available agent" not in done.stdout + done.stderr

    until_blocking(taken, "the cluster to take the job", seconds=3 * SECONDS)
    assert tried[-1].returncode == 0, (tried[-1].stdout, tried[-1].stderr)
    return tried[-1].stdout


async def test_a_job_brings_the_app_up_and_another_one_down(
    postgres_dsn: str, schema: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`ray job submit --working-dir examples/shop -- wow-ray up shop:app`: it runs on when the job has ended.

    The address of the store is in the nodes' environment and in no argument; an event is handled once. `down` drains
    it: no slot has an owner.
    """
    if not LOOPBACK_ONLY:
        pytest.skip("a head listens on every interface; run it through tests/netns.sh")
    for name, value in (("POSTGRES_DSN", postgres_dsn), ("POSTGRES_SCHEMA", schema), ("SLOTS", "16")):
        monkeypatch.setenv(f"WOW_RAY_{name}", value)
    for name in ("PYTHONDONTWRITEBYTECODE", "RAY_ADDRESS"):
        monkeypatch.delenv(name, raising=False)
    told = {**os.environ, "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}", "COLUMNS": "200"}
    await make_tables(postgres_dsn)
    with a_cluster(told) as address:
        said = submitted(told, address, "up", "shop:app", "--release", "r7", "--partitions", "2")

        assert "shop is up: 2 partitions of release r7" in said
        async with app.connect() as client, open_operations(database_of(settings_of(app), "shop")) as operations:
            await client.store.append(article("a-1"), [StockReceived(quantity=7)], expected_version=0)
            await until(lambda: _level(postgres_dsn, "a-1"), "the stock to be written", seconds=SECONDS)
            status = await operations.status()
            assert (status.ready, status.plan, status.release, len(status.partitions)) == (True, 1, "r7", 2)

            assert "shop is down" in submitted(told, address, "down", "shop:app")

            assert len((await operations.status()).unowned) == 16
    assert await _level(postgres_dsn, "a-1") == 7


async def _level(dsn: str, name: str) -> int:
    """Give the level of an article's stock; 0 = there is no row."""
    connection = await asyncpg.connect(dsn)
    try:
        return int(await connection.fetchval("select level from stock where article = $1", name) or 0)
    finally:
        await connection.close()
