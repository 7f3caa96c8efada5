"""`wow-ray token`: make a token for somebody; its line goes into the file of tokens, the token to its holder."""

from __future__ import annotations

from typing import Annotated

import typer

from wow_ray.cli.options import DebugOption, JsonOption
from wow_ray.cli.shown import console, document
from wow_ray.ops.access import Role, made_token


def token(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Whose it is; the audit keeps this name.")],
    *,
    role: Annotated[Role, typer.Option("--role", help="viewer looks, operator commands, admin resets.")] = Role.VIEWER,
    as_json: JsonOption = False,
    debug: DebugOption = False,
) -> None:
    """Make a token for the console and the API. The line is to be kept in ops.tokens_file; the token is shown once."""
    del debug  # looked at where errors are told
    made, holder = made_token(name, role)
    if as_json:
        document({"token": made, "line": holder.line()})
        return
    # The line alone on standard output: `wow-ray token ann --role operator >>tokens`.
    console().print(holder.line(), soft_wrap=True)
    console(error=True).print(f"token of {name}, shown this once: {made}", soft_wrap=True)
