"""Reading the settings: code, file and environment, each over the one before, every mistake by its dotted name."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError
from pydantic_settings import EnvSettingsSource
from pydantic_settings import SettingsError as UnreadableError

from wow_ray.durations import seconds
from wow_ray.errors import SettingsError
from wow_ray.names import nearest
from wow_ray.settings.notices import WebhookSettings
from wow_ray.settings.services import ServiceSettings
from wow_ray.settings.tree import (
    PREFIX,
    FunctionSettings,
    Settings,
    SubscriptionSettings,
    duration_of,
    paths,
    section_of,
)

Raw = Mapping[str, Any]

DSN = frozenset({"postgres_dsn", "postgres_dsn_file"})
UNSHOWN = DSN | {"redis_url", "url", "secret", "tokens"}

NO_SETTINGS = frozenset({"WOW_RAY_APP", "WOW_RAY_CI"})
"""Names in the environment that say something else: which app the commands are about, and that CI runs the tests."""

FOREVER = "forever"
NAMED: Mapping[str, type[BaseModel]] = {"notices.webhooks": WebhookSettings, "ops.services": ServiceSettings}
"""Sections that hold sections by name."""

_NAMES = [PREFIX + path.upper().replace(".", "__") for path in paths(Settings)]
_SECTIONS = {f"{PREFIX}SUBSCRIPTIONS", f"{PREFIX}NOTICES__WEBHOOKS", f"{PREFIX}OPS__SERVICES"} | {
    name.rsplit("__", 1)[0] for name in _NAMES if "__" in name
}


def settings_file(given: Path | None, beside: Path) -> Path | None:
    """Choose the file to read: the one given, else `wow-ray.toml` in the folder of the app, if there is one."""
    if given is not None:
        return given
    found = beside / "wow-ray.toml"
    return found if found.is_file() else None


def load(app_settings: Raw | None, file: Path | None, environ: Mapping[str, str]) -> Settings:
    """Read code, then file, then environment, each over the one before.

    Raises:
        SettingsError: with the setting's dotted name and the source it was found in.
    """
    sources = (
        ("App(settings=...)", app_settings or {}),
        (str(file), _from_file(file) if file is not None else {}),
        ("the environment", _from_environment(environ)),
    )
    merged: Raw = {}
    for source, raw in sources:
        checked = _checked(raw, Settings, "", source)
        if checked.keys() >= DSN:
            raise SettingsError(f"postgres_dsn and postgres_dsn_file are both given in {source}; keep one")
        _validated(checked, source)
        if checked.keys() & DSN:
            merged = {key: value for key, value in merged.items() if key not in DSN}
        merged = _over(*_spelled_alike(merged, checked))
    settings = _validated(merged, "all sources together")
    if settings.partitions > settings.slots:
        raise SettingsError(
            f"partitions is {settings.partitions} with slots {settings.slots}; each partition needs one"
        )
    return settings


def _from_file(file: Path) -> Raw:
    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"{file} cannot be read: {error}") from error
    except tomllib.TOMLDecodeError as error:
        raise SettingsError(f"{file} is no TOML: {error}") from None


def _from_environment(environ: Mapping[str, str]) -> Raw:
    ours = {name.upper(): value for name, value in environ.items() if name.upper().startswith(PREFIX)}
    ours = {name: ours[name] for name in ours if name not in NO_SETTINGS and not name.startswith("WOW_RAY_TEST_")}
    for name in ours:
        if name.startswith(f"{PREFIX}SUBSCRIPTIONS__"):
            example = f"""{PREFIX}SUBSCRIPTIONS='{{"Processor.handler": {{"retry": {{"max_attempts": 8}}}}}}'"""
            raise SettingsError(f"{name}: a name there has no dots and no case; give one JSON value instead: {example}")
        if name.startswith(f"{PREFIX}FUNCTIONS__"):
            example = f"""{PREFIX}FUNCTIONS='{{"Stock.put_back": {{"max_retries": 8}}}}'"""
            raise SettingsError(f"{name}: a name there has no dots and no case; give one JSON value instead: {example}")
        if name not in _NAMES:
            raise SettingsError(f"{name} is no setting{nearest(name, _NAMES)}")
        if name in _SECTIONS and not _is_object(ours[name]):
            raise SettingsError(f"{name} is a section: in the environment it is one JSON object, {{...}}")
    for name, value in ours.items():
        try:
            _read({name: value})
        except UnreadableError:
            raise SettingsError(f'{name} is no JSON; several values are one list or object, as in ["…"]') from None
    return _read(ours)


def _read(variables: Mapping[str, str]) -> Raw:
    source = EnvSettingsSource(Settings)
    source.env_vars = {name.lower(): value for name, value in variables.items()}
    return source()


def _is_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except json.JSONDecodeError:
        return False


def _checked(raw: object, model: type[BaseModel], above: str, source: str) -> dict[str, Any]:
    """Refuse unknown names, and turn durations into seconds."""
    if not isinstance(raw, Mapping):
        raise SettingsError(f"{above.rstrip('.')} in {source} is {raw!r}; it is a section, not a value")
    checked: dict[str, Any] = {}
    for name, value in raw.items():
        path, field = f"{above}{name}", model.model_fields.get(name)
        if field is None:
            raise SettingsError(f"{path} in {source} is no setting{nearest(path, paths(model, above))}")
        section, duration = section_of(field), duration_of(field)
        if path == "subscriptions":
            checked[name] = _checked_subscriptions(value, source)
        elif path == "functions":
            checked[name] = _checked_functions(value, source)
        elif path in NAMED and isinstance(value, Mapping):
            checked[name] = {each: _checked(one, NAMED[path], f"{path}.{each}.", source) for each, one in value.items()}
        elif section is not None:
            checked[name] = _checked(value, section, f"{path}.", source)
        elif duration is not None and duration.forever and value == FOREVER:
            checked[name] = None
        elif duration is not None and value is not None:
            checked[name] = seconds(value, f"{path} in {source}", zero=duration.zero)
        else:
            checked[name] = value
    return checked


def _checked_subscriptions(raw: object, source: str) -> dict[str, Any]:
    """Check the settings of single subscriptions; whether there are such subscriptions is known to the app alone."""
    if not isinstance(raw, Mapping):
        raise SettingsError(f"subscriptions in {source} is {raw!r}; it is a section of names, not a value")
    for name, value in raw.items():
        if "." in name:
            continue
        if name in SubscriptionSettings.model_fields:
            hint = f"did you mean subscription.{name}?"
        elif isinstance(value, Mapping):
            hint = f"""a name with a dot needs quotes, as in subscriptions."{name}.{next(iter(value), "handler")}\""""
        else:
            hint = 'write subscriptions."Processor.handler"'
        raise SettingsError(f"subscriptions.{name} in {source}: no subscription is called {name!r}; {hint}", "WOW-C4")
    return {
        name: _checked(value, SubscriptionSettings, f'subscriptions."{name}".', source) for name, value in raw.items()
    }


def _checked_functions(raw: object, source: str) -> dict[str, Any]:
    """Check the settings of single durable functions; whether there are such functions is known to the app alone."""
    if not isinstance(raw, Mapping):
        raise SettingsError(f"functions in {source} is {raw!r}; it is a section of names, not a value")
    return {name: _checked(value, FunctionSettings, f'functions."{name}".', source) for name, value in raw.items()}


def _validated(raw: Raw, source: str) -> Settings:
    try:
        return Settings.model_validate(raw)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        path = ".".join(f'"{part}"' if "." in str(part) else str(part) for part in first["loc"])
        hidden = UNSHOWN & {str(part) for part in first["loc"]} or isinstance(first["input"], Mapping | BaseModel)
        said = "" if hidden else f" is {first['input']!r}"
        raise SettingsError(f"{path} in {source}{said}: {first['msg'].removeprefix('Value error, ')}") from None


def _over(below: Raw, above: Raw) -> dict[str, Any]:
    """Lay one tree over another, value by value."""
    merged = dict(below)
    for name, value in above.items():
        under = merged.get(name)
        merged[name] = _over(under, value) if isinstance(under, Mapping) and isinstance(value, Mapping) else value
    return merged


def _spelled_alike(below: Raw, above: Raw) -> tuple[Raw, Raw]:
    """Where one says `Processor.handler` and the other puts the context before it, use the longer name in both."""
    theirs, ours = below.get("subscriptions", {}), above.get("subscriptions", {})
    longer = {name.split(".", 1)[1]: name for name in (*theirs, *ours) if name.count(".") > 1}

    def spelled(tree: Raw) -> Raw:
        names = tree.get("subscriptions", {})
        renamed = {longer.get(name, name) if longer.get(name) not in names else name: names[name] for name in names}
        return {**tree, "subscriptions": renamed} if names else tree

    return spelled(below), spelled(above)
