"""The operators' API on a Ray Serve of its own, as an operator starts it, beside an app that runs elsewhere."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.cluster.conftest import LOOPBACK_ONLY
from tests.cluster.lab import ROOT
from tests.cluster.test_commands import BIN, a_cluster, end
from tests.integration.cli_shop import SECONDS, Shop, shop
from tests.waiting import until_blocking
from wow_ray.actors.connecting import LOOPBACK

pytestmark = pytest.mark.skipif(
    not LOOPBACK_ONLY, reason="Ray listens on every interface; run it through tests/netns.sh"
)

ADDRESS = "http://127.0.0.1:8000"
AWAY = '{"gone": {"postgres_dsn": "postgresql://wow:hunter2@127.0.0.1:1/none"}}'


def environ(place: Shop, **more: str) -> dict[str, str]:
    """Give what an operator's shell has: the app's name, and where Python finds it and `serve`."""
    kept = {name: value for name, value in place.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    path = os.pathsep.join([str(ROOT), str(place.folder)])
    return {**kept, "WOW_RAY_APP": "shop:app", "PYTHONPATH": path, **more}


@contextmanager
def serve_run(place: Shop) -> Iterator[Path]:
    """Run `serve run serve.app:app` with a Ray of its own; gives the file it writes to."""
    sessions = Path(tempfile.mkdtemp(prefix="wr-serve-"))
    output = sessions / "out"
    with output.open("w") as out:
        process = subprocess.Popen(
            [str(BIN / "serve"), "run", "serve.app:app"],
            cwd=place.folder,
            env=environ(place, RAY_ADDRESS="local", RAY_TMPDIR=str(sessions), WOW_RAY_OPS__SERVICES=AWAY),
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=out,
            text=True,
            start_new_session=True,
        )
    try:
        yield output
    finally:
        end(process)
        shutil.rmtree(sessions, ignore_errors=True)


def asked(method: str, path: str, **options: Any) -> httpx.Response | None:  # noqa: ANN401 - httpx's own
    """Ask; `None` = nobody answers."""
    with suppress(httpx.TransportError):
        return httpx.request(method, f"{ADDRESS}{path}", timeout=20, trust_env=False, **options)
    return None


def answers(path: str, status: int, output: Path | None = None) -> httpx.Response:
    """Wait until a page answers with a status."""
    last: httpx.Response | None = None

    def there() -> bool:
        nonlocal last
        last = asked("GET", path)
        return last is not None and last.status_code == status

    try:
        until_blocking(there, f"{path} to answer {status}", seconds=1.5 * SECONDS)
    except AssertionError as error:
        said = "" if output is None else output.read_text(encoding="utf-8")
        raise AssertionError(f"{error}; last {last and last.text}\n{said}") from error
    assert last is not None
    return last


def heard_elsewhere() -> bool:
    """Tell whether it listens on more than 127.0.0.1."""
    with socket.socket() as probe:
        return probe.connect_ex((LOOPBACK, 8000)) == 0


def test_serve_run_shows_a_parked_order_resumes_it_and_tells_when_the_app_is_away() -> None:
    """P9, P10, H60: ready while the app runs, a resume is done by it once; a 503 while it is away, with its store."""
    with shop() as place, place.dev("shop:app") as dev, serve_run(place) as output:
        assert answers("/readyz", 200, output).json()["ready"]
        assert not heard_elsewhere()
        assert "Nothing: every slot has an owner" in answers("/", 200, output).text
        services = answers("/api/v1/services", 200).text
        assert [each["state"] for each in json.loads(services)["services"]] == ["running", "away"]
        assert "hunter2" not in services + answers("/services", 200).text + answers("/services/gone/", 503).text
        assert answers("/static/console.css", 200).headers["content-type"].startswith("text/css")
        (place.broken / "o-1").touch()
        with place.producer() as producer:
            producer.place("o-1")
        until_blocking(lambda: answers("/api/v1/parked", 200).json()["rows"], "the order to be parked", seconds=SECONDS)
        (row,) = answers("/api/v1/parked", 200).json()["rows"]
        (place.broken / "o-1").unlink()
        path, body = f"/api/v1/parked/{row['id']}/resume", {"etag": row["etag"], "reason": "back"}
        command: dict[str, Any] = {"json": body, "headers": {"Idempotency-Key": "k-1"}}

        first, again = asked("POST", path, **command), asked("POST", path, **command)

        assert first is not None
        assert again is not None
        assert (first.status_code, again.status_code, again.json()["state"]) == (200, 200, "done"), first.text
        until_blocking(lambda: "o-1@1" in dev.said(), "the order to be handled", seconds=SECONDS)
        stale = asked("POST", path, json=body)
        assert stale is not None
        assert (stale.status_code, stale.headers["content-type"]) == (409, "application/problem+json")
        dev.end()
        assert dev.said().count("o-1@1") == 1
        found = answers("/readyz", 503, output).json()
        assert found["next"]
        with place.dev("shop:app"):  # its store may be at another address now
            assert answers("/readyz", 200, output).json()["ready"]


def test_serve_deploy_puts_it_on_a_cluster_on_loopback() -> None:
    """`serve deploy serve/config.yaml`: the nodes' environment has the app and the store; there is none, so 503."""
    with shop() as place:
        dsn = "postgresql://nobody@127.0.0.1:1/none"
        told = environ(place, WOW_RAY_POSTGRES_DSN=dsn)
        with a_cluster(told) as dashboard:
            command = [str(BIN / "serve"), "deploy", "--address", dashboard, str(ROOT / "serve" / "config.yaml")]
            until_blocking(
                lambda: (
                    subprocess.run(command, env=told, check=False, timeout=SECONDS, capture_output=True).returncode == 0
                ),
                "the cluster to take the configuration",
                seconds=2 * SECONDS,
            )
            found = answers("/readyz", 503)
            assert not heard_elsewhere()
            assert (found.headers["content-type"], found.json()["code"]) == ("application/problem+json", "WOW-STORE")
