"""`wow-ray demo`: the example shop at work, on a Ray and a Postgres of its own, with failures, repairs and a proof."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

import wow_ray
from wow_ray.cli.exits import Exit
from wow_ray.cli.logs import log_to_stderr
from wow_ray.cli.options import DebugOption, JsonOption
from wow_ray.cli.shown import document
from wow_ray.errors import ConfigurationError

EXTRA = f"{sys.executable} -m pip install 'wow-ray[demo]'"
WIDE = 120
"""Columns where nobody looks at it."""


def demo(
    *,
    keep: Annotated[bool, typer.Option("--keep", help="Stay open afterwards, until Ctrl-C, to try commands.")] = False,
    as_json: JsonOption = False,
    debug: DebugOption = False,
) -> int:
    """Show the example shop at work, on a Ray and a Postgres of its own; 0 means that all it claims was proved.

    With a DSN in the environment it works in schemas of its own there, and drops them afterwards.
    """
    log_to_stderr(debug=debug)
    program = _program()
    page = program.Console(file=sys.stderr if as_json else sys.stdout)
    if not page.is_terminal:
        page.width = WIDE
    shown = program.Demo(page, keep=keep)
    shown.run()
    if as_json:
        document({"holds": shown.holds, "findings": [finding._asdict() for finding in shown.findings]})
    return Exit.DONE if shown.holds else Exit.FAILED


def _program() -> Any:  # noqa: ANN401 - a module that is found, not imported by name
    """Find the example's demo: the wheel holds a copy, a working copy has it beside the package."""
    package = Path(wow_ray.__file__).parent
    library = package / "_demo" if (package / "_demo").is_dir() else package.parent
    sys.path.insert(0, str(library))
    try:
        return importlib.import_module("examples.shop.demo.program")
    except ModuleNotFoundError as error:
        raise ConfigurationError(
            f"the demo lacks the module {error.name!r}; install it: {EXTRA}", "WOW-DEMO"
        ) from error
