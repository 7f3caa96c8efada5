"""`wow-ray demo`: a day of the shop in some seconds, on Ray, and the proof that nothing of it was lost.

A private Postgres and a Ray of its own start, orders come in while handlers run in processes of their own, some of what
they call fails and one process is killed; what no retry can help is parked, then repaired and resumed as an operator
would. The checker compares everything with the log.
"""

import asyncio
import contextlib
import secrets
import signal
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from socket import socket

from rich.console import Console

from examples.shop.demo import stage, summary
from examples.shop.demo.customers import plan
from examples.shop.demo.day import Day
from examples.shop.demo.environment import told
from examples.shop.demo.evening import stay_open
from examples.shop.demo.outside import address_of, answering, reserved
from examples.shop.demo.postgres import Place, opened
from examples.shop.demo.proof import Finding, prove
from examples.shop.demo.screen import Screen
from examples.shop.demo.witness import Witness
from examples.shop.shop import OUTSIDE
from examples.shop.world import World
from wow_ray.actors.connecting import connected

SEED = 7
ORDERS = 700
LIBRARY = Path(__file__).resolve().parents[3]
"""The folder from which the shop's modules are imported."""
SHORT = Path("/tmp")  # noqa: S108 - a folder of our own in it; sockets have paths of 100 characters at most
"""Where the demo's folder is made."""


class Demo:
    """One run of the demo; `findings` are what the checker says, empty until it has looked."""

    def __init__(self, console: Console, *, keep: bool) -> None:
        """With `keep` the shop stays open after a proof that holds, until Ctrl-C."""
        self.screen = Screen(console)
        self.keep = keep
        self.findings: Sequence[Finding] = ()

    @property
    def holds(self) -> bool:
        """Whether the checker has looked, and every claim holds."""
        return bool(self.findings) and all(finding.holds for finding in self.findings)

    def run(self) -> None:
        """Run it all; nothing of it is left afterwards, however it ends. Raises what starting the servers raises.

        SIGTERM and SIGHUP end it as Ctrl-C does, by `KeyboardInterrupt`.
        """
        with (
            _signals_as_ctrl_c(),
            tempfile.TemporaryDirectory(
                prefix="wow-ray-", dir=SHORT if SHORT.is_dir() else None, ignore_cleanup_errors=True
            ) as name,
            reserved() as door,
            opened(folder := Path(name)) as place,
            self._ray(folder, door),
            _signals_as_ctrl_c(),  # Ray takes SIGTERM for itself
            contextlib.suppress(KeyboardInterrupt) if self.keep else contextlib.nullcontext(),
        ):
            asyncio.run(self._lived(place, Witness(folder / "journal"), door))

    @contextmanager
    def _ray(self, folder: Path, door: socket) -> Iterator[None]:
        """Start a Ray of our own, whose processes know the outside and the journal; a token of its own guards it."""
        sessions = folder / "ray"
        sessions.mkdir()
        known = {OUTSIDE: address_of(door), stage.JOURNAL: str(folder / "journal")}
        ray = {"RAY_TMPDIR": str(sessions), "RAY_ADDRESS": None, "RAY_AUTH_TOKEN": secrets.token_hex(32)}
        try:
            with (
                told(**known, **ray, PYTHONDONTWRITEBYTECODE=None, PYTHONPATH=None),
                contextlib.chdir(LIBRARY),
                (folder / "said").open("w", encoding="utf-8") as said,
                contextlib.redirect_stdout(said),  # Ray tells of every process that dies; so does the demo
                connected(LIBRARY),
            ):
                yield
        except SystemExit as error:  # what Ray makes of SIGTERM while it starts
            raise KeyboardInterrupt from error

    async def _lived(self, place: Place, witness: Witness, door: socket) -> None:
        """Live through the day, and judge it."""
        screen = self.screen
        asked = plan(SEED, ORDERS)
        world = World(SEED, unknown_buyers=asked.unknown, damaged_parcels=asked.damaged)
        async with answering(world, door):
            screen.say(f"The shop opens on {place.described} and a Ray of its own.")
            day = Day(asked, place, world, witness, screen)
            evidence = await day.live()
            self.findings = prove(evidence)
            screen.summary(summary.title(day, len(evidence.log)), summary.COLUMNS, summary.rows(day))
            screen.findings(self.findings)
            screen.say("Every claim holds." if self.holds else "Not every claim holds: see what is marked above.")
            if self.keep and self.holds:
                await stay_open(day)


@contextmanager
def _signals_as_ctrl_c() -> Iterator[None]:
    """Have the signals that end a program do what Ctrl-C does, so that nothing stays behind.

    A shell that starts a program in the background has it ignore Ctrl-C: it must not ignore these because of that.
    """
    numbers = (signal.SIGTERM, signal.SIGHUP)
    before = [(number, signal.signal(number, _as_ctrl_c)) for number in numbers]
    before.append((signal.SIGINT, signal.signal(signal.SIGINT, signal.default_int_handler)))
    try:
        yield
    finally:
        for number, handler in before:
            signal.signal(number, handler)


def _as_ctrl_c(*_: object) -> None:
    signal.raise_signal(signal.SIGINT)
