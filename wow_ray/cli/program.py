"""The `wow-ray` program: its commands, and how each of them ends."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Sequence
from typing import Any

import typer
from typer.main import get_command

from wow_ray.cli.audit import audit
from wow_ray.cli.bulk import bulk, of_calls
from wow_ray.cli.calls import calls
from wow_ray.cli.demo import demo
from wow_ray.cli.dev import dev
from wow_ray.cli.exits import Exit, error_document, exit_of, message_of
from wow_ray.cli.functions import functions
from wow_ray.cli.history import history
from wow_ray.cli.looking import partitions, status
from wow_ray.cli.migrating import migrate
from wow_ray.cli.notices import notices
from wow_ray.cli.parked import parked
from wow_ray.cli.run import run
from wow_ray.cli.scaling import scale
from wow_ray.cli.services import services
from wow_ray.cli.shown import console, document, harmless
from wow_ray.cli.subscriptions import subscriptions
from wow_ray.cli.token import token
from wow_ray.cli.up import down, up

program = typer.Typer(
    name="wow-ray",
    help="Event handling with durable retries. "
    "Exit codes: 0 done, 1 failed, 2 usage, 3 conflict, 4 not found, 5 unreachable.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
program.command("demo")(demo)
program.command("dev")(dev)
program.command("run")(run)
program.command("up")(up)
program.command("down")(down)
program.command("migrate")(migrate)
program.command("status")(status)
program.command("services")(services)
program.command("history")(history)
program.command("token")(token)
program.command("scale")(scale)
program.command("audit")(audit)
program.add_typer(subscriptions, name="subscriptions")
program.add_typer(partitions, name="partitions")
program.add_typer(parked, name="parked")
program.add_typer(bulk, name="bulk")
program.add_typer(calls, name="calls")
calls.add_typer(of_calls, name="bulk")
program.add_typer(functions, name="functions")
program.add_typer(notices, name="notices")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and answer its exit code; expected errors are told in one line, or as JSON with `--json`."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    try:
        ended = get_command(program).main(args=given, prog_name="wow-ray", standalone_mode=False)
    except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001 - the end of the program: everything is told here
        return told(error, given)
    return ended if isinstance(ended, int) else Exit.DONE


def told(error: BaseException, given: Sequence[str]) -> int:
    """Tell an error and answer its exit code."""
    as_json = "--json" in given
    if (usage := getattr(error, "format_message", None)) is not None:
        return _usage_told(error, str(usage()), as_json=as_json)
    if "--debug" in given:
        traceback.print_exception(error)
    if as_json:
        document(error_document(error))
    elif not isinstance(error, KeyboardInterrupt):
        code, message = message_of(error)
        console(error=True).print(harmless(f"error: {code} {message}", lines=True), soft_wrap=True)
    return exit_of(error)


def _usage_told(error: Any, text: str, *, as_json: bool) -> int:  # noqa: ANN401 - an error of the parser
    """Tell what the parser of the command line did not understand; asked for nothing it has shown its help."""
    if as_json:
        document({"error": {"code": "WOW-USAGE", "message": text, "exit": int(Exit.USAGE)}})
    else:
        error.show()
    return Exit.USAGE
