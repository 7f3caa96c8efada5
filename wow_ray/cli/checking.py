"""`python -m wow_ray.cli.checking APP [SETTINGS]`: whether an app can be started, in a process that may break.

The last line of its output is JSON with the error; exits 0 when there is none.
"""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from wow_ray.cli.exits import error_document
from wow_ray.cli.loading import load_app
from wow_ray.cluster import settings_of


def main(arguments: Sequence[str]) -> int:
    """Load and resolve; see the module."""
    settings = Path(arguments[1]) if len(arguments) > 1 else None
    try:
        with contextlib.redirect_stdout(sys.stderr):
            loaded = load_app(arguments[0])
            loaded.app.resolved(settings_of(loaded.app, settings))
    except Exception as error:  # noqa: BLE001 - that is what this process is for
        sys.stdout.write("\n" + json.dumps(error_document(error)) + "\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
