"""Makes pages of templates: everything escaped, every text inert, and the words of the contract at hand."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from hashlib import sha256
from importlib.resources import files
from typing import Any
from urllib.parse import quote, urlencode

from fastapi import Request
from fastapi.responses import HTMLResponse
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from wow_ray.ops.access import Visitor
from wow_ray.ops.console import words
from wow_ray.ops.console.charts import bar
from wow_ray.ops.console.inert import cut, inert

STATIC = files("wow_ray.ops.console") / "static"


def page(
    template: str, values: Mapping[str, Any], *, request: Request | None = None, status: int = 200
) -> HTMLResponse:
    """Make a page of a template."""
    visitor: Visitor | None = None if request is None else getattr(request.state, "visitor", None)
    shared = {"visitor": visitor, "path": "" if request is None else request.url.path, "stamp": STAMP}
    return HTMLResponse(_PAGES.get_template(template).render({**shared, **values}), status)


def refusal(status: int, detail: str, following: str) -> HTMLResponse:
    """Make the page that says why a request is not answered, and what to do."""
    values = {"status": status, "detail": detail, "following": following, "title": "Not done"}
    return page("problem.html", values, status=status)


def _finalized(value: object) -> object:
    """Make whatever a template writes harmless; markup made here stays."""
    if value is None:
        return ""
    return value if isinstance(value, Markup) or not isinstance(value, str) else inert(value)


def _when(value: datetime | None, now: datetime | None = None) -> Markup:
    """Write a time, with how long ago that is, or in how long."""
    if value is None:
        return Markup("—")
    at = value.astimezone(UTC)
    exact = f"{at:%Y-%m-%d %H:%M:%S} UTC"
    if now is None:
        return Markup('<time datetime="{}">{}</time>').format(at.isoformat(), exact)
    seconds = (now - value).total_seconds()
    told = "now" if abs(seconds) < 1 else f"{words.age(seconds)} ago" if seconds > 0 else f"in {words.age(-seconds)}"
    return Markup('<time datetime="{}" title="{}">{}</time>').format(at.isoformat(), exact, told)


def _link(path: str, given: Mapping[str, Any] | None = None, **changes: Any) -> str:  # noqa: ANN401 - what a query holds
    """Write an address with what is given and what is changed of it; empty values are left out."""
    values = {**(given or {}), **changes}
    kept = [(name, each) for name, value in values.items() for each in (value if isinstance(value, list) else [value])]
    query = urlencode([(name, str(each)) for name, each in kept if each not in {None, ""}])
    return f"{path}?{query}" if query else path


def _stamped() -> str:
    """Name the present version of the static files, so that a browser keeps none that is older."""
    text = b"".join((STATIC / name).read_bytes() for name in ("console.css", "console.js"))
    return sha256(text).hexdigest()[:12]


def _environment() -> Environment:
    """Make the environment of the templates."""
    made = Environment(
        loader=PackageLoader("wow_ray.ops.console", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_finalized,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {
        "age": words.age,
        "cut": cut,
        "part": lambda text: quote(str(text), safe=""),
        "number": lambda number: f"{number:,}",
        "sentence": words.sentence,
        "when": _when,
    }
    made.globals |= {"bar": bar, "classified": words.classified, "link": _link, "times": words.times, "words": words}
    return made


_PAGES = _environment()
STAMP = _stamped()
