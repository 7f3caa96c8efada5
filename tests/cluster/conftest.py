"""One Ray for the whole folder, where nobody else can reach it; an app of its own for each test."""

from __future__ import annotations

import gc
import os
import shutil
import sys
import tempfile
import warnings
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from tests.cluster.shop import DSN
from wow_ray.actors.connecting import connected, prepare_local

# Ray reads it when it is imported, which the next line does.
prepare_local()

from tests.cluster.lab import ROOT, Lab, lab_of  # noqa: E402 - as said

LOOPBACK_ONLY = os.environ.get("LOOPBACK_ONLY") == "1"
"""Whether `tests/netns.sh` runs this: else Ray listens on every interface and keeps its token."""


@pytest.fixture(scope="session")
def modules() -> Iterator[Path]:
    """A folder for modules that actors import."""
    place = Path(tempfile.mkdtemp(prefix="wow-ray-modules-"))
    sys.path.insert(0, str(place))
    yield place
    sys.path.remove(str(place))
    shutil.rmtree(place, ignore_errors=True)


@pytest.fixture(scope="session")
def ray_session(postgres_dsn: str, modules: Path) -> Iterator[str]:
    """A local Ray whose processes find the session's Postgres in their environment; answers its address.

    Its folder, some 10 MB, is removed at the end.
    """
    patch = pytest.MonkeyPatch()
    patch.setenv(DSN, postgres_dsn)
    patch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT), str(modules)]))
    patch.delenv("PYTHONDONTWRITEBYTECODE", raising=False)
    patch.delenv("RAY_ADDRESS", raising=False)
    sessions = Path(tempfile.mkdtemp(prefix="wr-ray-"))
    patch.setenv("RAY_TMPDIR", str(sessions))
    try:
        with connected(ROOT, cpus=8):
            yield postgres_dsn
    finally:
        patch.undo()
        shutil.rmtree(sessions, ignore_errors=True)
        with warnings.catch_warnings():
            # Ray ends its processes and does not wait for them: what is left of them is collected here, not later.
            warnings.simplefilter("ignore", ResourceWarning)
            gc.collect()


@pytest.fixture
async def lab(ray_session: str, modules: Path) -> AsyncIterator[Lab]:
    """An app with one reactor."""
    async with lab_of(ray_session, modules) as lab:
        yield lab


@pytest.fixture
async def calling_lab(ray_session: str, modules: Path) -> AsyncIterator[Lab]:
    """An app with one reactor, and two actors that run durable calls and nothing else."""
    async with lab_of(ray_session, modules, callers=2) as lab:
        yield lab


@pytest.fixture
async def scoring_lab(ray_session: str, modules: Path) -> AsyncIterator[Lab]:
    """An app with one reactor, and one of `isolation="actor"`."""
    async with lab_of(ray_session, modules, scores=True) as lab:
        yield lab
