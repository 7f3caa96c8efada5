"""What the pages and the forms of the console take from a request, and how a form is read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any
from urllib.parse import parse_qs

from fastapi import Depends, Request
from pydantic import BaseModel, ConfigDict, Field, field_validator
from starlette.exceptions import HTTPException

from wow_ray.failure import Category
from wow_ray.ops.access.access import Visitor, is_word
from wow_ray.ops.commands import Command
from wow_ray.ops.finding import ParkedQuery
from wow_ray.ops.progress import SHOWN
from wow_ray.policy.parked import Reason, State

MOST_FORM = 256_000
"""Bytes of a form: a selection of some thousand rows, and a reason."""
ROWS = 50
"""Rows of one page."""


class Filters(BaseModel):
    """Which rows a page shows: the address is the state. An empty field of a form asks for any."""

    model_config = ConfigDict(extra="forbid")

    subscription: str | None = None
    group: str | None = None
    aggregate: str | None = None
    aggregate_id: str | None = None
    state: list[State] = Field(default_factory=list)
    reason: Reason | None = None
    category: Category | None = None
    error_type: str | None = None
    text: str | None = None
    fingerprint: str | None = None
    version: int | None = Field(None, ge=0, le=2**62)
    sort: str = Field("oldest", pattern="^(oldest|newest)$")
    view: str = Field("rows", pattern="^(rows|groups)$")
    after: str | None = None

    @field_validator("*", mode="before")
    @classmethod
    def _empty_is_any(cls, value: Any) -> Any:  # noqa: ANN401 - whatever a form sends
        if isinstance(value, str) and not value.strip():
            return None
        return [each for each in value if each] if isinstance(value, list) else value

    @field_validator("sort", "view", mode="before")
    @classmethod
    def _or_as_ever(cls, value: Any, info: Any) -> Any:  # noqa: ANN401 - as above
        return value or cls.model_fields[info.field_name].default

    def query(self, limit: int = ROWS) -> ParkedQuery:
        """Give it in the words of `Operations`."""
        return ParkedQuery(
            states=frozenset(self.state) or SHOWN,
            group=self.group,
            subscription=self.subscription,
            aggregate=self.aggregate,
            aggregate_id=self.aggregate_id,
            reason=self.reason,
            fingerprint=self.fingerprint,
            after=self.after,
            limit=limit,
            category=self.category,
            error_type=self.error_type,
            text=self.text,
            stopped_version=self.version,
            newest_first=self.sort == "newest",
        )

    def given(self) -> dict[str, Any]:
        """Give what differs from nothing asked, as it stands in an address, without the place in the list."""
        return self.model_dump(mode="json", exclude_defaults=True, exclude_none=True, exclude={"after"})


class Asked(BaseModel):
    """Which actions the audit shows."""

    model_config = ConfigDict(extra="forbid")

    actor: str | None = None
    group: str | None = None
    aggregate_id: str | None = None
    before: int | None = Field(None, ge=1, le=2**62)


@dataclass(frozen=True, slots=True)
class Form:
    """What a form has sent, and who sent it."""

    fields: dict[str, str]
    visitor: Visitor

    def command(self, *, etag: bool = True) -> Command:
        """Read who asks and why, and the row as it was seen; refuses a form without."""
        number = self.number("etag") if etag else None
        if etag and number is None:
            raise HTTPException(422, "the form does not say which state of the row was seen; open the page again")
        request_id = self.fields.get("request_id") or None
        return Command(self.visitor.name, self.fields.get("reason", ""), request_id, number)

    def number(self, name: str) -> int | None:
        """Read a whole number, `None` = not given; refuses what is none."""
        text = self.fields.get(name, "").strip()
        if not text:
            return None
        if not text.isdecimal() or not text.isascii() or len(text) > 18:  # noqa: PLR2004 - what 64 bits hold
            raise HTTPException(422, f"{name} is no whole number")
        return int(text)


async def form_of(request: Request) -> Form:
    """Read a form, when it carries the word of its session (S109)."""
    visitor: Visitor = request.state.visitor
    fields = await fields_of(request)
    # A token in a header is no cookie: no other site can make a browser send it.
    if visitor.by != "token" and not is_word(visitor, fields.get("csrf")):
        raise HTTPException(403, "the form is not of this session; open the page again and repeat it")
    return Form(fields, visitor)


async def fields_of(request: Request) -> dict[str, str]:
    """Read the fields of a form, the last of each name; refuses what is no form, or too long for one."""
    kind = request.headers.get("Content-Type", "").partition(";")[0].strip().lower()
    if kind != "application/x-www-form-urlencoded":
        raise HTTPException(415, "a form is sent as application/x-www-form-urlencoded")
    body = b""
    async for part in request.stream():
        body += part
        if len(body) > MOST_FORM:
            raise HTTPException(413, f"a form has at most {MOST_FORM} bytes")
    try:
        found = parse_qs(body.decode("ascii"), keep_blank_values=True, max_num_fields=50, errors="strict")
    except ValueError as error:
        raise HTTPException(422, "the form is not encoded as one") from error
    return {name: values[-1].replace("\r\n", "\n") for name, values in found.items()}


Sent = Annotated[Form, Depends(form_of)]
