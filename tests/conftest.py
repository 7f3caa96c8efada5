"""What every test may ask for: a real Postgres, a pgbouncer in front of it, a schema of one's own."""

import os
import shutil
import tempfile
import uuid
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import asyncpg
import pytest
from hypothesis import settings

from tests.missing_tools import pytest_make_collect_report, pytest_runtest_makereport
from tests.pgbouncer import running_pgbouncer
from wow_ray.adapters.embedded import EmbeddedPostgres

__all__ = ["pytest_make_collect_report", "pytest_runtest_makereport"]

# How long one example takes says more about the machine than about the code.
settings.register_profile("wow-ray", deadline=None)
settings.load_profile("wow-ray")


@pytest.fixture(scope="session")
def postgres_dsn() -> Iterator[str]:
    """A Postgres for the whole session: `WOW_RAY_TEST_DSN` if set, else a private one that ends with the session."""
    if given := os.environ.get("WOW_RAY_TEST_DSN"):
        yield given
        return
    place = Path(tempfile.mkdtemp(prefix="wow-ray-tests-"))
    place.chmod(0o711)  # under root the server's user passes through it
    quiet = {"log_min_messages": "fatal", "log_checkpoints": "off"}
    try:
        with EmbeddedPostgres(place / "state", durable=False, conf=quiet) as server:
            yield server.dsn
    finally:
        shutil.rmtree(place, ignore_errors=True)


@pytest.fixture(scope="session")
def postgres_url_pgbouncer(postgres_dsn: str) -> Iterator[str]:
    """The same Postgres through a pgbouncer in transaction mode; skipped where there is no pgbouncer."""
    with running_pgbouncer(postgres_dsn) as dsn:
        yield dsn


@pytest.fixture
async def schema(postgres_dsn: str) -> AsyncIterator[str]:
    """The name of a schema that does not exist yet; whatever is made under it is dropped after the test."""
    name = f"test_{uuid.uuid4().hex[:12]}"
    yield name
    connection = await asyncpg.connect(postgres_dsn)
    try:
        await connection.execute(f'drop schema if exists "{name}" cascade')
    finally:
        await connection.close()
