"""The SQL of this adapter, by name.

Statements stand in `sql/*.sql`, one file a subject, each as `-- name:`, a sentence, its caller, the text. They are
rendered once for a schema: names are written out in full, since behind a pooler nobody keeps a search path.
"""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files

from wow_ray.errors import SettingsError
from wow_ray.policy.notices import TOLD

ROW = [
    "id",
    "group_name",
    "subscription",
    "slot",
    "aggregate",
    "aggregate_id",
    "state",
    "reason",
    "stopped_version",
    "stopped_sequence",
    "stopped_position",
    "attempts",
    "backpressure",
    "retries",
    "next_due",
    "begun",
    "skip_version",
    "skip_sequence",
    "etag",
    "parked_at",
    "updated_at",
    "told",
    "suspicions",
    "category",
    "source",
    "type",
    "message",
    "traceback",
    "fingerprint",
    "first_category",
    "first_source",
    "first_type",
    "first_message",
    "first_traceback",
    "first_fingerprint",
]
"""The columns of a ledger row in the order of every read and write."""

_TOLD = {
    "message": f"left(message, {TOLD}) AS message",
    "traceback": "'' AS traceback",
    **{column: f"NULL AS {column}" for column in ROW if column.startswith("first_")},
}
"""The columns of which a notice tells less than there is."""

ATTEMPT = ["row_id", "at", "kind", "category", "source", "type", "message", "traceback", "fingerprint"]
"""The columns of an attempt."""

INTENT = [
    "id",
    "request_id",
    "verb",
    "group_name",
    "slot",
    "aggregate",
    "aggregate_id",
    "row_id",
    "etag",
    "through_version",
    "actor",
    "reason",
    "state",
    "code",
    "text",
    "outcome",
    "asked_at",
    "ended_at",
]
"""The columns of an intent."""

PAUSE = [
    "group_number",
    "partition",
    "reason",
    "since",
    "actor",
    "text",
    "request_id",
    "detail",
    "ended_at",
    "ended_by",
    "ended_text",
]
"""The columns of a pause besides its id."""

WANTED_BUT_TEXT = """state = ANY ($1::text[])
  AND ($2::text IS NULL OR group_name = $2) AND ($3::text IS NULL OR subscription = $3)
  AND ($4::text IS NULL OR aggregate = $4) AND ($5::text IS NULL OR aggregate_id = $5)
  AND ($6::text IS NULL OR fingerprint = $6) AND ($7::text IS NULL OR reason = $7)
  AND ($8::text IS NULL OR category = $8) AND ($9::text IS NULL OR type = $9)
  AND ($11::bigint IS NULL OR stopped_version = $11) AND (NOT $12::boolean OR open)"""
"""Which ledger rows a filter means, but for its text; a NULL asks for any. `ledger._wanted` gives the arguments."""

HAS_TEXT = "($10::text IS NULL OR position(lower($10) IN lower(type || chr(10) || message)) > 0)"
"""Which of them have the text."""

CALL = [
    "id",
    "function",
    "payload",
    "key",
    "priority",
    "headers",
    "state",
    "due",
    "attempts",
    "spent",
    "busy",
    "etag",
    "created_at",
    "updated_at",
    "token",
    "worker",
    "lease_until",
    "fallbacks",
    "fallback",
    "aside_since",
    "result",
    "reason",
    "note",
    "failure",
    "fallback_failure",
    "first_cause",
    "ended_at",
    "request_id",
]
"""The columns of a durable call."""

FUNCTION_PAUSE = [
    "id",
    "function",
    "reason",
    "since",
    "actor",
    "text",
    "request_id",
    "ended_at",
    "ended_by",
    "ended_text",
]
"""The columns of a pause of a durable function."""
DELIVERY = [
    "id",
    "webhook",
    "kinds",
    "facts",
    "summary",
    "body",
    "state",
    "attempts",
    "next_at",
    "created_at",
    "updated_at",
    "status",
    "error",
]
"""The columns of a delivery of notices."""

BATCH_STAGE = """CASE WHEN b.stage IN ('canary', 'running') AND b.lease_until <= clock_timestamp()
    THEN 'interrupted' ELSE b.stage END"""
"""The stage of a batch as it is by now."""

SUBJECTS = (
    "batches",
    "durable_calls",
    "effects",
    "function_pauses",
    "ledger",
    "log",
    "notices",
    "overview",
    "pauses",
    "plans",
    "reports",
    "retention",
    "samples",
    "schema",
    "slots",
    "starts",
    "wakes",
)

_SCHEMA = re.compile(r"[a-z_][a-z0-9_]{0,62}\Z")
_PART = re.compile(r"^-- name: (\w+)\n((?:--[^\n]*\n)+)", re.MULTILINE)


def checked_schema(name: str) -> str:
    """Answer `name` when a schema may have it.

    Lower case letters, digits and underscores, not beginning with a digit.
    """
    if _SCHEMA.match(name) is None or name.startswith("pg_"):
        msg = f"postgres_schema is {name!r}; use lower case letters, digits and '_', as in 'wow'"
        raise SettingsError(msg)
    return name


def text_of(subject: str) -> str:
    """Give the text of one file of statements."""
    return (files(__package__) / "sql" / f"{subject}.sql").read_text(encoding="utf-8")


def parsed(text: str) -> dict[str, tuple[str, str]]:
    """Take a file apart: by name, what is said of the statement and its text."""
    parts = _PART.split(text)[1:]
    return {
        name: (said, sql.strip().rstrip(";"))
        for name, said, sql in zip(parts[::3], parts[1::3], parts[2::3], strict=True)
    }


TABLES = 16
"""How many tables `events` consists of, when there are as many slots."""


def table_of(slot: int, slots: int) -> int:
    """Give the number of the table of `events` that holds a slot; the schema's `table_of` computes the same."""
    return ((slot + 1) * min(TABLES, slots) - 1) // slots


@cache
def statements(schema: str) -> dict[str, str]:
    """Render every statement for a schema, by name; one that names `{table}` once for each, as `append/07`."""
    values = {
        "schema": f'"{checked_schema(schema)}"',
        "schema_name": schema,
        "row": ", ".join(ROW),
        "row_told": ", ".join(_TOLD.get(column, column) for column in ROW),
        "row_tail": ", ".join(f"r.{column}" for column in ROW[2:]),
        "row_new": ", ".join(f"excluded.{column}" for column in ROW),
        "attempt": ", ".join(ATTEMPT),
        "intent": ", ".join(INTENT),
        "call": ", ".join(f"c.{column}" for column in CALL),
        "delivery": ", ".join(f"d.{column}" for column in DELIVERY),
        "wanted": f"{WANTED_BUT_TEXT} AND {HAS_TEXT}",
        "wanted_but_text": WANTED_BUT_TEXT,
        "has_text": HAS_TEXT,
        "batch_stage": BATCH_STAGE,
        "pause": ", ".join(f"p.{column}" for column in PAUSE),
        "function_pause": ", ".join(FUNCTION_PAUSE),
    }
    found = [(name, sql) for subject in SUBJECTS for name, (_, sql) in parsed(text_of(subject)).items()]
    all_ = {name: rendered(sql, values) for name, sql in found if "{table}" not in sql}
    for name, sql in found:
        if "{table}" in sql:
            for n in range(TABLES):
                all_[f"{name}/{n:02}"] = rendered(sql, values | {"table": f"{n:02}"})
    return all_


def rendered(sql: str, values: dict[str, str]) -> str:
    """Fill in what stands in braces; other braces stay, they are SQL's."""
    for name, value in values.items():
        sql = sql.replace(f"{{{name}}}", value)
    return sql
