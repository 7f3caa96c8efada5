"""`notices`: which webhooks are told of what, and how (P13)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Literal
from urllib.parse import urlsplit

from pydantic import Field, SecretStr, field_validator, model_validator

from wow_ray.errors import SettingsError
from wow_ray.settings.section import Count, Seconds, SecondsOrZero, Section

Event = Literal["parked", "exhausted", "resumed", "skipped", "resolved", "paused", "back"]
DEFAULT = "default"
"""The name of the webhook that is written straight into `notices`."""
NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,39}\Z")


class WebhookSettings(Section):
    """`notices.webhooks.NAME`: one webhook.

    `url_file` and `secret_file` name files, read at every attempt, so that neither stands in the settings; a secret's
    file may hold several, a line each, while one is replaced. `subscriptions` are patterns of names as in a shell, none
    = all. `signed = false` says that a receiver of `format = "json"` is to do without signatures. `ca_file` holds
    authorities, in PEM, that are believed besides those of the machine. `proxy` is the address of one, of the form
    http://host:port, with a user and a password if it asks for them.
    """

    url: SecretStr | None = None
    url_file: Path | None = None
    secret: SecretStr | None = None
    secret_file: Path | None = None
    signed: bool = True
    events: Annotated[tuple[Event, ...], Field(min_length=1)] | None = None
    subscriptions: tuple[Annotated[str, Field(min_length=1)], ...] = ()
    format: Literal["json", "slack"] = "json"
    allow_private: bool = False
    ca_file: Path | None = None
    proxy: SecretStr | None = None

    @property
    def is_given(self) -> bool:
        """Whether there is such a webhook."""
        return self.url is not None or self.url_file is not None

    @property
    def wants_secret(self) -> bool:
        """Whether it cannot do without one."""
        return self.is_given and self.signed and self.format == "json"

    @field_validator("url", "proxy")
    @classmethod
    def _is_address(cls, value: SecretStr | None) -> SecretStr | None:
        """Refuse at start what the sender would refuse at every attempt."""
        text = "" if value is None else value.get_secret_value().strip()
        try:
            fits = urlsplit(text).scheme in {"http", "https"} and bool(urlsplit(text).hostname)
        except ValueError:
            fits = False
        if value is not None and not fits:
            raise ValueError("that is no address of the form https://host/path")
        return value

    @model_validator(mode="after")
    def _fits_together(self) -> WebhookSettings:
        for first, second in (("url", "url_file"), ("secret", "secret_file")):
            if getattr(self, first) is not None and getattr(self, second) is not None:
                raise ValueError(f"{first} and {second} are both given; keep one")
        text = "" if self.url is None else self.url.get_secret_value()
        if text.strip().startswith("http:") and not self.allow_private:
            raise ValueError("url is http; use https, or set allow_private = true for a receiver in your own network")
        return self

    def address(self) -> str:
        """Give the url; raises `SettingsError` when its file cannot be read or is empty."""
        if self.url is not None:
            return self.url.get_secret_value().strip()
        return next(iter(_lines("url_file", self.url_file)))

    def through(self) -> str | None:
        """Give the address of the proxy, `None` = there is none."""
        return None if self.proxy is None else self.proxy.get_secret_value().strip()

    def secrets(self) -> tuple[str, ...]:
        """Give the secrets to sign with, none = it is not signed; raises `SettingsError` as `address` does."""
        if self.secret is not None:
            return (self.secret.get_secret_value(),)
        return () if self.secret_file is None else _lines("secret_file", self.secret_file)


class NoticesSettings(WebhookSettings):
    """`notices`: one webhook written straight into it is called `default`; `webhooks` are more, by name.

    `attempts` of a delivery, each of `timeout`; `pause_after` is for how long a pause lasts before it is told of,
    `gather` for how long facts are gathered after some were sent. `console_url` is where the console is, for links.
    """

    attempts: Annotated[Count, Field(le=20)] = 10
    timeout: Annotated[Seconds, Field(le=60)] = 10.0
    pause_after: SecondsOrZero = 30.0
    gather: SecondsOrZero = 10.0
    console_url: Annotated[str, Field(pattern=r"^https?://[!-~]+$", max_length=500)] | None = None
    webhooks: dict[str, WebhookSettings] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _has_names(self) -> NoticesSettings:
        for name, webhook in self.webhooks.items():
            if NAME.match(name) is None:
                raise ValueError(f"webhooks.{name}: a name has letters in lower case, digits, '-' and '_', at most 40")
            if not webhook.is_given:
                raise ValueError(f"webhooks.{name} has no url; set url or url_file")
        if self.is_given and DEFAULT in self.webhooks:
            raise ValueError(f"webhooks.{DEFAULT} and notices.url are both given; keep one")
        for name, webhook in self.all():
            if webhook.wants_secret and webhook.secret is None and webhook.secret_file is None:
                raise ValueError(
                    f"the webhook {name} has no secret, so nobody could tell its notices from anybody's; set "
                    "secret_file, or signed = false"
                )
        return self

    def all(self) -> Iterator[tuple[str, WebhookSettings]]:
        """Give the webhooks by name."""
        if self.is_given:
            yield DEFAULT, self
        yield from self.webhooks.items()


def _lines(name: str, file: Path | None) -> tuple[str, ...]:
    """Read the lines of a file; raises `SettingsError` when it cannot be read or there are none."""
    assert file is not None  # noqa: S101 - looked at before
    try:
        found = tuple(filter(None, map(str.strip, file.read_text(encoding="utf-8").splitlines())))
    except (OSError, ValueError) as error:
        raise SettingsError(f"notices: {name} {file} cannot be read: {error}") from error
    if not found:
        raise SettingsError(f"notices: {name} {file} is empty")
    return found
