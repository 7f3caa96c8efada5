"""Settings of what is stored and shown of people's data, and for how long."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from wow_ray.settings.section import SecondsOrForever, Section

DAY = 86_400.0
HiddenText = Annotated[str, Field(min_length=3, max_length=100, pattern=r"^[!-~]+$")]


class RedactionSettings(Section):
    """`redaction`: what is hidden in stored texts besides what always is (P4), as plain texts.

    `keys` have their values hidden (`pin` hides `pin=1234`), `prefixes` what follows in the same word (`acme_live_`).
    """

    keys: tuple[HiddenText, ...] = ()
    prefixes: tuple[HiddenText, ...] = ()


class MaskingSettings(Section):
    """`masking`: what of payloads is shown to nobody, besides fields that are secret everywhere (P4).

    Patterns with `*` and `?`: `fields` of names of fields (`*iban` fits `sender_iban` and `senderIban`), `whole` of
    names of event types and functions whose payloads are not shown at all.
    """

    fields: tuple[HiddenText, ...] = ()
    whole: tuple[Annotated[str, Field(min_length=1, max_length=200)], ...] = ()


Kept = Annotated[SecondsOrForever, Field(ge=3_600)]


class RetentionSettings(Section):
    """`retention`: for how long what is over is kept, `"forever"` = it is never deleted (H53). What waits always stays.

    `attempts` = the history of rows that have ended, `rows` = those rows, `audit` = what people asked for, `notices` =
    facts and deliveries, `calls` = finished durable calls with their results, `samples` = what charts are drawn from.
    """

    attempts: Kept = 90 * DAY
    rows: Kept = 365 * DAY
    audit: Kept = None
    notices: Kept = 30 * DAY
    calls: Kept = 7 * DAY
    samples: Kept = 2 * DAY
