"""The options that commands share, and how a command finds the app, the settings and the store it is about."""

from __future__ import annotations

import contextlib
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from wow_ray.cli.loading import load_app
from wow_ray.cli.stores import operations_of
from wow_ray.cluster import Database, database_of, settings_of
from wow_ray.errors import SettingsError
from wow_ray.handlers.specs import AppSpec
from wow_ray.names import checked_name
from wow_ray.settings import Settings, load, settings_file

APP = "WOW_RAY_APP"

Target = Annotated[
    str | None, typer.Argument(metavar="APP", help="The app, as module:attribute (shop:app). Default: $WOW_RAY_APP.")
]
AppOption = Annotated[
    str | None, typer.Option("--app", metavar="APP", help="The app, as module:attribute. Default: $WOW_RAY_APP.")
]
ContextOption = Annotated[
    str | None,
    typer.Option(
        "--context",
        metavar="NAME",
        help="A service of ops.services, or the app's context, in place of --app: imports nothing.",
    ),
]
DataDirOption = Annotated[
    Path | None, typer.Option("--data-dir", metavar="DIR", help="The folder of the private Postgres.", file_okay=False)
]
SettingsOption = Annotated[
    Path | None, typer.Option("--settings", metavar="FILE", help="In place of wow-ray.toml beside the app.")
]
JsonOption = Annotated[bool, typer.Option("--json", help="Write one JSON document and nothing else.")]
DebugOption = Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")]


@dataclass(frozen=True, slots=True)
class Found:
    """What a command is about; `spec` is known when the app was imported. `database` is not reached yet."""

    context: str
    settings: Settings
    spec: AppSpec | None
    database: Database


@dataclass(frozen=True, slots=True)
class Where:
    """How a command was told what it is about."""

    app: str | None = None
    context: str | None = None
    data_dir: Path | None = None
    settings: Path | None = None

    def found(self) -> Found:
        """Find it; raises `ConfigurationError` for what is wrong, `NotConnectedError` when no store is found."""
        context, settings, spec = self.read()
        refuse_two_stores(settings, self.data_dir)
        return Found(context, settings, spec, database_of(settings, context, self.data_dir))

    def read(self) -> tuple[str, Settings, AppSpec | None]:
        """Give the context, the settings and, when the app was imported, the app; raises as `found` does."""
        if self.app is not None and self.context is not None:
            raise SettingsError("--app and --context are both given; keep one", "WOW-USAGE")
        if self.context is not None:
            context = checked_name(self.context, "a context")
            settings = load(None, settings_file(self.settings, Path.cwd()), os.environ)
            spec = None
            if context in settings.ops.services:
                service = operations_of(settings, context)
                context, settings = service.context, service.settings
        else:
            # What the app prints while it is imported is no result of this command.
            with contextlib.redirect_stdout(sys.stderr):
                loaded = load_app(named(self.app))
                settings = settings_of(loaded.app, self.settings)
                spec = loaded.app.resolved(settings)
            context = spec.context
        return context, settings, spec


def named(target: str | None) -> str:
    """Give the import string that was given, else the one in the environment; raises when there is none."""
    found = target if target is not None else os.environ.get(APP)
    if not found:
        raise SettingsError(f"which app? give it as module:attribute (shop:app), or set {APP}", "WOW-USAGE")
    return found


def refuse_two_stores(settings: Settings, data_dir: Path | None) -> None:
    """Refuse a folder of a private server beside a DSN: guessing wrong would work on the other data."""
    if data_dir is not None and settings.dsn() is not None:
        raise SettingsError(
            "--data-dir and a postgres_dsn are both given, and they are two stores; keep one", "WOW-USAGE"
        )
