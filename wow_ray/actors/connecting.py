"""Connecting to Ray: a local one of our own, or the cluster that `RAY_ADDRESS` names."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

LOOPBACK = "127.0.0.2"
"""Ray replaces 127.0.0.1 by the address it finds for this host, and its processes would speak over the network."""

JOB = "RAY_JOB_CONFIG_JSON_ENV_VAR"
"""Set by Ray for a program that was submitted as a job: the job says where its files are."""

LOCAL: Mapping[str, str] = {
    # Nothing is told to anybody.
    "RAY_USAGE_STATS_ENABLED": "0",
    # A process that dies is noticed and replaced in 0.2 to 0.7 s instead of 2 s.
    "RAY_timeout_ms_task_wait_for_death_info": "50",
    "RAY_core_worker_internal_heartbeat_ms": "50",
    # Processes listen on every interface, whatever they advertise: whoever is not us needs the token.
    "RAY_AUTH_MODE": "token",
}
"""What a local Ray runs under, unless the environment says otherwise."""


def prepare_local() -> None:
    """Set what a local Ray runs under, where the environment does not say otherwise; before Ray is imported."""
    for name, value in LOCAL.items():
        os.environ.setdefault(name, value)


def is_local(environ: Mapping[str, str] = os.environ) -> bool:
    """Whether there is no cluster to connect to, so that Ray is started here."""
    return not environ.get("RAY_ADDRESS")


LEFT_OUT = (".git", ".hg", ".venv", "venv", "node_modules", "__pycache__", "*.py[cod]", ".*_cache", "*.log", "*.out")
"""What of an app's folder is no part of the program; its `.gitignore` and `.rayignore` count besides."""


def files_of_program() -> str:
    """Name the state of the files that actors started from here get: it differs when any of them does.

    Empty where they see a folder as it is at the time.
    """
    import ray  # noqa: PLC0415 - as in `connected`

    return str(ray.get_runtime_context().runtime_env.get("working_dir", ""))


@contextmanager
def connected(folder: Path, *, cpus: int | None = None, quiet: bool = True, lasting: bool = False) -> Iterator[None]:
    """Connect until the block ends; a local Ray begins and ends with it, a cluster goes on.

    Actors find the app's modules from `folder` on: on a local Ray, and on a cluster whose nodes have that folder,
    through PYTHONPATH. On a cluster, `lasting` actors get a copy of it as it is now, so that one that is started anew
    runs the program that it was started with, whatever has become of the folder; the job that this process belongs to
    has such a copy already (`ray job submit --working-dir`). Takes some seconds.
    """
    local = is_local()
    if local:
        prepare_local()
        paths = [str(folder), *filter(None, [os.environ.get("PYTHONPATH")])]
        os.environ["PYTHONPATH"] = os.pathsep.join(paths)
    import ray  # noqa: PLC0415 - it reads the environment when it is imported, and costs half a second

    options: dict[str, Any] = {"log_to_driver": not quiet, "logging_level": logging.ERROR if quiet else logging.INFO}
    if local:
        options |= {"address": "local", "include_dashboard": False, "num_cpus": cpus}
        if sys.platform == "linux":
            options["_node_ip_address"] = LOOPBACK
    elif lasting and JOB not in os.environ:
        options["runtime_env"] = {"working_dir": str(folder), "excludes": list(LEFT_OUT)}
    elif JOB not in os.environ:
        options["runtime_env"] = {"env_vars": {"PYTHONPATH": str(folder)}}
    ray.init(**options)
    try:
        yield
    finally:
        ray.shutdown()
