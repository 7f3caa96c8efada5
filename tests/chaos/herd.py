"""The programs that are killed: starting, stopping, freezing them, and the Postgres they share."""

from __future__ import annotations

import asyncio
import random
import signal
import subprocess
import sys
from pathlib import Path

import asyncpg

from tests.waiting import until
from wow_ray.adapters.postgres import Database

ROOT = Path(__file__).resolve().parents[2]


class Herd:
    """All programs of one test, one after the other; `folder` is what they share with the test."""

    def __init__(self, database: Database, folder: Path, chance: random.Random) -> None:
        self.database = database
        self.folder = folder
        self.chance = chance
        self.number = 0
        self.kills = 0
        self.running: dict[int, subprocess.Popen[bytes]] = {}

    def start(self, partitions: int) -> int:
        """Start one program; answers its number."""
        self.number += 1
        command = [sys.executable, "-m", "tests.chaos.victim", self.database.dsn, self.database.schema]
        with (self.folder / f"errors-{self.number}").open("wb") as errors:
            self.running[self.number] = subprocess.Popen(
                [*command, str(self.folder), str(self.number), str(partitions)], cwd=ROOT, stderr=errors
            )
        return self.number

    async def runs(self, number: int) -> None:
        """Wait until a program handles events."""
        await until(lambda: self._started(number), f"program {number} to run", seconds=60)

    def _started(self, number: int) -> bool:
        code = self.running[number].poll()
        assert code is None, f"program {number} ended with {code}: {self.errors(number)}"
        return (self.folder / f"started-{number}").exists()

    async def kill(self, number: int) -> None:
        """Kill a program."""
        program = self.running.pop(number)
        assert program.poll() is None, f"program {number} ended by itself: {self.errors(number)}"
        program.kill()
        await asyncio.to_thread(program.wait)
        self.kills += 1

    def freeze(self, number: int) -> None:
        """Let a program stand still."""
        self.running[number].send_signal(signal.SIGSTOP)

    def thaw(self, number: int) -> None:
        """Let a frozen program go on."""
        self.running[number].send_signal(signal.SIGCONT)

    async def ended(self, number: int, seconds: float = 15) -> int:
        """Wait for a program's own end; answers its exit code."""
        program = self.running[number]
        await until(lambda: program.poll() is not None, f"program {number} to end", seconds=seconds)
        return int(program.returncode)

    def errors(self, number: int) -> str:
        """Give the last of what a program had to say."""
        return (self.folder / f"errors-{number}").read_text(encoding="utf-8", errors="replace")[-2_000:]

    async def end(self) -> None:
        """Kill what is left."""
        for number in list(self.running):
            program = self.running.pop(number)
            program.kill()
            await asyncio.to_thread(program.wait)

    async def moment(self, shortest: float, longest: float) -> None:
        """Let a random time pass."""
        loop = asyncio.get_running_loop()
        end = loop.time() + self.chance.uniform(shortest, longest)
        await until(lambda: loop.time() >= end, "a moment to pass")


async def prepared(dsn: str, schema: str) -> None:
    """Make the table that the sums are written to."""
    connection = await asyncpg.connect(dsn)
    try:
        await connection.execute(
            f'create table "{schema}".sums (id text primary key, steps bigint not null, last bigint not null)'
        )
    finally:
        await connection.close()
