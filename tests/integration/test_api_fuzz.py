"""The API is called as its own OpenAPI says, and as it does not, on a real store: never an error of ours (P12, S109).

Schemathesis makes requests of each operation, right ones and wrong ones, and compares every answer with what OpenAPI
promises. Ids of what there is are put into some of them, so that the requests are not about nothing alone.
"""

from __future__ import annotations

import json
import os
import re
import uuid
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from schemathesis import checks
from schemathesis.core.result import Ok
from schemathesis.generation import GenerationMode

from tests.integration.api_world import World, served
from wow_ray.ops.access import Role
from wow_ray.ops.http import api
from wow_ray.ops.http.problems import MEDIA

ENDLESS = "/api/v1/events"
"""Its answer does not end, so it is not among those that are made up."""
OPEN = {"/healthz", "/readyz"}
MORE = os.environ.get("WOW_RAY_FUZZ")
"""Set to a number: so many requests of each kind and operation, others each time. Else a few, the same each time."""
EFFORT = settings(
    max_examples=int(MORE or 5),
    derandomize=MORE is None,
    database=None,
    phases=(Phase.explicit, Phase.generate),  # a shorter request fails no better, and each takes time
    suppress_health_check=list(HealthCheck),
)
PROMISED = [
    checks.not_a_server_error,
    checks.status_code_conformance,
    checks.content_type_conformance,
    checks.response_headers_conformance,
    checks.response_schema_conformance,
]
MODES = {"right": GenerationMode.POSITIVE, "wrong": GenerationMode.NEGATIVE}


def _nothing() -> Any:  # noqa: ANN401 - never called: OpenAPI is made without a store
    raise AssertionError


DESCRIBED = api(_nothing).openapi()
COMPONENTS = DESCRIBED["components"]["schemas"]
# Without what it says of tokens: made-up ones would close the door to the right one, too.
SCHEMA = schemathesis.openapi.from_dict({name: each for name, each in DESCRIBED.items() if name != "security"})
OPERATIONS = {each.ok().label: each.ok() for each in SCHEMA.get_all_operations() if isinstance(each, Ok)}
CALLED = sorted(name for name, each in OPERATIONS.items() if each.path != ENDLESS)
TAKING = {name for name, each in OPERATIONS.items() if each.query or each.headers or each.body}
"""What can be asked wrongly; any text is an id."""
KINDS = [(name, kind) for name in CALLED for kind in MODES if kind == "right" or name in TAKING]
GUARDED = sorted(name for name, each in OPERATIONS.items() if each.path not in OPEN)
CHANGING = [name for name in GUARDED if OPERATIONS[name].method == "post"]
NUL, HALF, HUGE, LONG = "\x00", "\ud800", 10**40, "x" * 20_000
"""What no database keeps, half of a character, a number that no column takes, a text longer than anybody writes."""
NO_BODIES = [
    b"",
    b"{",
    b"\xff\xfe",
    b"null",
    b"[]",
    b'"text"',
    b"1e999",
    b"[" * 5_000,
    b'{"reason": NaN, "etag": Infinity}',
]
NO_SEGMENTS = [
    "%00",
    "%ed%a0%80",
    "%ff",
    "x" * 4_000,
    "%2e%2e%2f%2e%2e",
    "%27%20or%201=1--",
    "%0d%0aX-Other:%201",
    "-1",
]
NO_VALUES = [NUL, LONG, str(HUGE), "-1", "NaN", "' or 1=1--", "\r\nX-Other: 1", "", "%"]


@pytest.fixture(scope="module")
def world(postgres_dsn: str) -> Iterator[World]:
    """The served app, with something of everything."""
    with served(postgres_dsn, f"test_{uuid.uuid4().hex[:12]}") as opened:
        yield opened


@pytest.fixture(scope="module")
def session(world: World) -> Iterator[requests.Session]:
    """Somebody who may do everything."""
    with requests.Session() as opened:
        opened.headers.update(world.header(Role.ADMIN))
        yield opened


def told(answer: requests.Response) -> int:
    """Check that what is refused says what was wrong and what would be right, as a problem; gives the status."""
    assert answer.status_code < 500, answer.text
    if answer.status_code >= 400:
        assert answer.headers["content-type"] == MEDIA
        problem = answer.json()
        assert problem["status"] == answer.status_code
        assert problem["code"].startswith("WOW")
        assert problem["detail"]
        assert problem["next"]
    return answer.status_code


def test_no_operation_is_left_out() -> None:
    """Whatever OpenAPI describes is called, but for what does not end."""
    described = {f"{method.upper()} {path}" for path, methods in DESCRIBED["paths"].items() for method in methods}
    assert {*CALLED, f"GET {ENDLESS}"} == described


@pytest.mark.parametrize(("name", "kind"), KINDS)
def test_every_answer_is_one_that_openapi_promises(
    world: World, session: requests.Session, name: str, kind: str
) -> None:
    """Of right requests and wrong ones; no answer is an error of the server."""
    operation = OPERATIONS[name]

    @EFFORT
    @given(st.data())
    def calls(data: st.DataObject) -> None:
        case = data.draw(operation.as_strategy(generation_mode=MODES[kind]))
        for parameter in case.path_parameters or {}:
            if world.known.get(parameter) and data.draw(st.booleans(), "about something"):
                case.path_parameters[parameter] = data.draw(st.sampled_from(world.known[parameter]))
        answer = case.call(base_url=world.address, session=session, timeout=20)
        case.validate_response(answer, checks=PROMISED)
        if answer.status_code >= 400:
            assert answer.headers["content-type"] == [MEDIA]
            assert answer.json()["next"]

    calls()


@pytest.mark.parametrize("name", [each for each in CHANGING if OPERATIONS[each].body])
def test_what_is_no_request_is_refused_with_what_would_be_right(
    world: World, session: requests.Session, name: str
) -> None:
    """No JSON, other JSON, another type; and the right form with texts and numbers that nobody can keep."""
    operation = OPERATIONS[name]
    address = world.address + _about(world, operation.path)
    for text in NO_BODIES:
        answer = session.post(address, data=text, headers={"Content-Type": "application/json"}, timeout=20)
        assert 400 <= told(answer) < 500, text
    form = session.post(address, data={"reason": "x"}, timeout=20)
    assert told(form) == 422
    schema = DESCRIBED["paths"][operation.path]["post"]["requestBody"]["content"]["application/json"]["schema"]
    hostile: object
    for hostile in (NUL, HALF, HUGE, -HUGE, LONG, None, [], {"a": {}}):
        body = json.dumps(_filled(schema, hostile))
        answer = session.post(address, data=body, headers={"Content-Type": "application/json"}, timeout=20)
        assert told(answer) in {404, 409, 422}, body[:200]


@pytest.mark.parametrize("name", [each for each in CALLED if "{" in OPERATIONS[each].path])
def test_an_id_that_there_cannot_be_is_looked_for_in_vain(world: World, session: requests.Session, name: str) -> None:
    """Ids come from people: whatever stands in a path, the answer is that there is no such thing."""
    operation = OPERATIONS[name]
    for segment in NO_SEGMENTS:
        path = re.sub(r"\{\w+\}", segment, operation.path)
        for body in ('{"reason": "x", "etag": 1}', '{"reason": "x"}'):
            headers = {"Content-Type": "application/json"}
            request = requests.Request(operation.method.upper(), world.address, headers, data=body)
            prepared = session.prepare_request(request)
            prepared.url = world.address + path  # as it is, without being made right
            answer = session.send(prepared, timeout=20)
            assert told(answer) in {404, 405, 422}, segment


@pytest.mark.parametrize("name", [each for each in CALLED if OPERATIONS[each].query])
def test_a_filter_or_a_cursor_that_there_cannot_be_is_refused_or_finds_nothing(
    world: World, session: requests.Session, name: str
) -> None:
    """P12, S30: hostile values, one after the other, in every parameter; and twice."""
    operation = OPERATIONS[name]
    for parameter in operation.query:
        for value in NO_VALUES:
            for values in (value, [value, value]):
                path = world.address + _about(world, operation.path)
                told(session.get(path, params={parameter.name: values}, timeout=20))


@pytest.mark.parametrize("name", GUARDED)
def test_nobody_gets_past_the_door_of_any_operation(world: World, name: str) -> None:
    """S109: without a token 401 on every route of OpenAPI, and 403 for a viewer who would change something."""
    operation = OPERATIONS[name]
    address, method = world.address + _about(world, operation.path), operation.method.upper()
    for headers in ({}, {"Authorization": "Basic YTpi"}, {"Cookie": "wow_ray_session=x"}):
        answer = requests.request(method, address, headers=headers, json={}, timeout=20)
        assert told(answer) == 401
    if name in CHANGING:
        answer = requests.request(method, address, headers=world.header(Role.VIEWER), json={}, timeout=20)
        assert (told(answer), answer.json()["code"]) == (403, "WOW-ROLE")


def test_the_stream_of_events_is_opened_refused_and_followed_as_the_others(
    world: World, session: requests.Session
) -> None:
    """Its answer does not end, so its beginning is looked at."""
    told(session.get(world.address + ENDLESS, params={"row": LONG}, timeout=20))
    for row in (None, NUL, world.known["row_id"][0]):
        with session.get(world.address + ENDLESS, params={"row": row}, stream=True, timeout=20) as answer:
            assert (answer.status_code, answer.headers["content-type"]) == (200, "text/event-stream; charset=utf-8")
            assert next(answer.iter_lines()).startswith(b"retry:")


def _about(world: World, path: str) -> str:
    """Put what there is into a path."""
    return re.sub(r"\{(\w+)\}", lambda found: world.known.get(found[1], ["none"])[0], path)


def _filled(schema: Mapping[str, Any], value: object) -> object:
    """Give the right form with a value in every place that is not one of a few words."""
    found = dict(schema)
    while "$ref" in found:
        found = COMPONENTS[found["$ref"].rpartition("/")[2]]
    if "properties" in found:
        return {name: _filled(each, value) for name, each in found["properties"].items()}
    if "enum" in found or "const" in found:
        return found.get("const", found.get("enum", [None])[0])
    return value
