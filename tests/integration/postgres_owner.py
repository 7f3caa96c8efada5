"""A program that owns a private Postgres, for the tests to watch, stop and kill.

    python -m tests.integration.postgres_owner STATE_DIR [--uid N --site FOLDER] [--file-limit BYTES] [--fork]

Prints one line of JSON: `dsn` and `pid`, or `error`. Then it waits for the end of its standard input, stops the
server in good order and ends. With `--uid` it becomes that user first, for whom the wheel is installed in `--site`;
with `--fork` a child of its own, whose id is printed as `child`, lives on for a minute.
"""

import argparse
import json
import os
import resource
import signal
import sys
from pathlib import Path

from wow_ray.adapters.embedded import EmbeddedPostgres, EmbeddedPostgresError


def become(uid: int, site: Path) -> None:
    """Become an ordinary user whose Python finds its packages in `site`; all that is needed is imported by now."""
    sys.path.insert(0, str(site))
    os.environ["HOME"] = "/nonexistent"
    os.setgroups([])
    os.setgid(uid)
    os.setuid(uid)


def say(answer: dict[str, object]) -> None:
    """One line of JSON."""
    sys.stdout.write(json.dumps(answer) + "\n")
    sys.stdout.flush()


def main() -> None:
    """See the module."""
    parser = argparse.ArgumentParser()
    parser.add_argument("state_dir", type=Path)
    parser.add_argument("--uid", type=int)
    parser.add_argument("--site", type=Path)
    parser.add_argument("--file-limit", type=int)
    parser.add_argument("--fork", action="store_true")
    options = parser.parse_args()
    if options.uid is not None:
        become(options.uid, options.site)
    if options.file_limit is not None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (options.file_limit, options.file_limit))
    try:
        server = EmbeddedPostgres(options.state_dir, durable=False).start()
    except EmbeddedPostgresError as error:
        say({"error": str(error)})
        return
    answer: dict[str, object] = {"dsn": server.dsn, "pid": server.pid}
    if options.fork:
        answer["child"] = child = os.fork()
        if child == 0:
            os.dup2(os.open(os.devnull, os.O_RDWR), 0)
            os.dup2(0, 1)  # whoever reads from us is not to wait for the child as well
            signal.alarm(60)
            signal.pause()
    say(answer)
    sys.stdin.read()
    server.stop()


if __name__ == "__main__":
    main()
