"""Makes pages of templates: everything escaped, every text inert, and the words of the contract at hand."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from hashlib import sha256
from importlib.resources import files
from typing import Any
from urllib.parse import quote, urlencode

from fastapi import Request
from fastapi.responses import HTMLResponse
from jinja2 import Environment, PackageLoader, StrictUndefined, pass_context
from jinja2.ext import Extension
from jinja2.runtime import Context
from markupsafe import Markup

from wow_ray.ops.console import words
from wow_ray.ops.console.charts import bar
from wow_ray.ops.console.inert import cut, inert
from wow_ray.ops.console.timeline import number

SECTIONS = frozenset({"/parked", "/subscriptions", "/calls", "/partitions", "/notices", "/audit", "/docs", "/help"})
"""Pages that every service has: from one of them to another service leads to the same page of that one."""
STATIC = files("wow_ray.ops.console") / "static"


def page(
    template: str, values: Mapping[str, Any], *, request: Request | None = None, status: int = 200
) -> HTMLResponse:
    """Make a page of a template."""
    shared: dict[str, Any] = {"visitor": None, "path": "", "at": "", "places": (), "section": "/", "stamp": STAMP}
    if request is not None:
        shared |= {"visitor": getattr(request.state, "visitor", None), "path": request.url.path}
        # Which service this page is of, and which others there are for whoever looks.
        shared |= {"at": request.app.state.at, "places": request.app.state.directory.open_to(request)}
        shared["section"] = request.url.path if request.url.path in SECTIONS else "/"
    return HTMLResponse(_PAGES.get_template(template).render({**shared, **values}), status)


def refusal(status: int, detail: str, following: str, at: str = "") -> HTMLResponse:
    """Make the page that says why a request is not answered, and what to do; `at` is where its service is."""
    values = {"status": status, "detail": detail, "following": following, "title": "Not done", "at": at}
    return page("problem.html", values, status=status)


class OfOneService(Extension):
    """Lets templates write addresses as if there were one service: each is put under that of the service shown.

    What is to lead to another one is written as a value: `href="{{ place.at }}/"`.
    """

    def preprocess(self, source: str, name: str | None, filename: str | None = None) -> str:
        """Put the service's address before every other."""
        del name, filename
        return _ADDRESS.sub(r'\1="{{ at }}/', source)


_ADDRESS = re.compile(r'\b(href|action|formaction|data-live-from)="/(?!static/)')


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


def _clock(at: float, seconds: float) -> Markup:
    """Write a time of a chart over so many seconds: the day, too, where there is more than one."""
    moment = datetime.fromtimestamp(at, UTC)
    told = f"{moment:%H:%M}" if seconds < 86_400 else f"{moment:%d %b %H:%M}"  # noqa: PLR2004 - a day
    return Markup('<time datetime="{}">{}</time>').format(moment.isoformat(timespec="seconds"), told)


@pass_context
def _link(context: Context, path: str, given: Mapping[str, Any] | None = None, **changes: Any) -> str:  # noqa: ANN401 - what a query holds
    """Write an address of this service with what is given and what is changed of it; empty values are left out."""
    path = f"{context['at']}{path}" if path else path
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
        extensions=[OfOneService],
        undefined=StrictUndefined,
        finalize=_finalized,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {
        "age": words.age,
        "clock": _clock,
        "cut": cut,
        "part": lambda text: quote(str(text), safe=""),
        "number": lambda number: f"{number:,}",
        "sentence": words.sentence,
        "when": _when,
    }
    made.globals |= {"bar": bar, "classified": words.classified, "link": _link, "number_of": number}
    made.globals |= {"times": words.times, "words": words}
    return made


_PAGES = _environment()
STAMP = _stamped()
