"""Every verb of the API has a command, and every filter and field of it an option: OpenAPI is walked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from typer.main import get_command

from tests.unit.ops_window import client_of
from wow_ray.cli.program import program
from wow_ray.errors import NotConnectedError

BULK = {
    "get {at}/bulk": "{group} list",
    "post {at}/bulk/preview": "{group} preview",
    "post {at}/bulk/start": "{group} start",
    "get {at}/bulk/{batch_id}": "{group} status",
    "post {at}/bulk/{batch_id}/stop": "{group} stop",
    "post {at}/bulk/{batch_id}/resume": "{group} resume",
}
COMMANDS = {
    "get /overview": "status",
    "get /partitions": "partitions list",
    "post /partitions/scale": "scale",
    "get /history": "history",
    "get /subscriptions/{name}/history": "history",
    "get /subscriptions": "subscriptions list",
    "get /subscriptions/{name}": "subscriptions show",
    "get /subscriptions/{name}/pauses": "subscriptions show",
    "get /subscriptions/{name}/settings": "subscriptions settings",
    "post /subscriptions/{name}/pause": "subscriptions pause",
    "post /subscriptions/{name}/resume": "subscriptions resume",
    "post /subscriptions/{name}/reset": "subscriptions reset",
    "get /parked": "parked list",
    "get /parked/groups": "parked groups",
    "get /parked/count": "parked count",
    "get /parked/{row_id}": "parked show",
    "get /parked/{row_id}/events": "parked events",
    "post /parked": "parked park",
    "post /parked/{row_id}/resume": "parked resume",
    "post /parked/{row_id}/retry-now": "parked retry-now",
    "post /parked/{row_id}/skip": "parked skip",
    "get /audit": "audit",
    "get /calls": "calls list",
    "get /calls/{call_id}": "calls show",
    "post /calls/{call_id}/retry": "calls retry",
    "post /calls/{call_id}/cancel": "calls cancel",
    "post /calls/{call_id}/discard": "calls discard",
    "get /functions": "functions list",
    "get /functions/{name}/pauses": "functions show",
    "post /functions/{name}/pause": "functions pause",
    "post /functions/{name}/resume": "functions resume",
    "get /notices": "notices list",
    "get /notices/{delivery_id}": "notices show",
    "post /notices/{delivery_id}/resend": "notices resend",
    "post /notices/test": "notices test",
    **{
        call.replace("{at}", at): command.replace("{group}", group)
        for at, group in (("/parked", "bulk"), ("/calls", "calls bulk"))
        for call, command in BULK.items()
    },
}
WITHOUT = {"get /events": "tells a page that shows something when to look again; a command looks once"}
"""Calls that no command makes, and why."""
NAMES = {
    "error": "--fingerprint",
    "aggregate_id": "--aggregate",
    "idempotency-key": "--request-id",
    "x-actor": "--actor",
    "format": "--csv",
    "filter": "",
}
"""Options by other names than those of the API; empty: looked into."""
OTHERWISE = {
    "parked list": {"reason": "--stopped-for"},
    "parked groups": {"reason": "--stopped-for"},
    "parked count": {"reason": "--stopped-for"},
    "bulk preview": {"reason": "--stopped-for"},
    "scale": {"partitions": "partitions"},
    "bulk start": {"id": "batch"},
    "calls bulk start": {"id": "batch"},
    "notices test": {"webhook": "webhook"},
    "parked park": {"aggregate": "aggregate", "aggregate_id": "aggregate", "group": "group"},
}
UNSAID = {
    **{path: {"after", "sort", "limit"} for path in ("parked groups", "parked count", "bulk preview")},
    "calls bulk preview": {"after", "limit"},
    **{path: {"limit"} for path in ("subscriptions show", "functions show")},
    "scale": {"idempotency-key", "request_id"},
}
"""What a filter of the API has that says nothing there, and what the last pauses need not be asked for with."""


@pytest.fixture
async def described() -> Mapping[str, Any]:
    """What the API says of itself."""
    async with client_of(NotConnectedError("none")) as client:
        found: Mapping[str, Any] = (await client.get("/openapi.json")).json()
        return found


def calls_of(described: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Give every call of the API; one for each value of a verb that stands in the path."""
    for path, methods in described["paths"].items():
        if not path.startswith("/api/v1"):
            continue
        for method, call in methods.items():
            name = f"{method} {path.removeprefix('/api/v1')}"
            verbs = next(
                (each["schema"]["enum"] for each in call.get("parameters", ()) if each["name"] == "verb"), None
            )
            yield from ((name.replace("{verb}", verb), call) for verb in verbs or ("",))


def command_at(path: str) -> Any:  # noqa: ANN401 - of click
    """Find a command; `None` = there is none."""
    found: Any = get_command(program)
    for name in path.split():
        found = getattr(found, "commands", {}).get(name)
    return found


def test_every_verb_has_a_command(described: Mapping[str, Any]) -> None:
    """And no command is named here that there is not, for no call that there is not."""
    calls = {name for name, _ in calls_of(described)}
    assert calls == COMMANDS.keys() | WITHOUT.keys()
    assert [command for command in COMMANDS.values() if command_at(command) is None] == []


def asked_by(call: Mapping[str, Any], described: Mapping[str, Any]) -> set[str]:
    """Give everything that a call may say: parameters, headers, fields of its body and of a filter in it."""
    asked = {each["name"].lower() for each in call.get("parameters", ()) if each["in"] in {"query", "header"}}
    body = call.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema", {})
    left = [body]
    while left:
        schema = left.pop()
        if (reference := schema.get("$ref")) is not None:
            left.append(described["components"]["schemas"][reference.rpartition("/")[2]])
        for name, field in schema.get("properties", {}).items():
            asked.add(name)
            if name == "filter":
                left.append(field)
    return asked


def test_every_filter_and_field_has_an_option(described: Mapping[str, Any]) -> None:
    """An option is named as the field is, but for those named here; paths are arguments."""
    missing = []
    for name, call in calls_of(described):
        path = COMMANDS.get(name)
        if path is None:
            continue
        command = command_at(path)
        there = {option for each in command.params for option in (*each.opts, each.name)}
        renamed = {**NAMES, **OTHERWISE.get(path, {})}
        for field in sorted(asked_by(call, described) - UNSAID.get(path, set())):
            option = renamed.get(field, f"--{field.replace('_', '-')}")
            if option and option not in there:
                missing.append(f"{path}: {field}")
    assert missing == []


def test_what_a_body_and_its_filter_say_is_looked_at(described: Mapping[str, Any]) -> None:
    """The walk finds fields at every depth, so that one without an option is missed."""
    calls = dict(calls_of(described))
    assert {"verb", "filter", "text", "stopped_version", "sort"} <= asked_by(
        calls["post /parked/bulk/preview"], described
    )
    assert {"reason", "etag", "through_version", "only"} <= asked_by(calls["post /parked/{row_id}/skip"], described)
    assert {"function", "state", "key"} <= asked_by(calls["get /calls"], described)


def test_every_command_takes_json_and_says_how_it_ends() -> None:
    """Each command that asks a store writes one document on demand; exit codes stand in the help."""
    for path in {*COMMANDS.values()}:
        assert "--json" in {option for each in command_at(path).params for option in each.opts}, path
    assert "3 conflict" in (program.info.help or "")
