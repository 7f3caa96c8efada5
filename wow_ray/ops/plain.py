"""Values that are shown, as plain JSON: times in ISO 8601 and UTC, a time without end as `None`."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import fields
from datetime import UTC, datetime
from enum import Enum
from typing import Any


def plain(value: object) -> Any:  # noqa: ANN401, PLR0911 - whatever JSON knows, case by case
    """Turn a value into what JSON knows; a time without end is `None`."""
    match value:
        case View():
            return value.to_json()
        case datetime():
            return value.astimezone(UTC).isoformat()
        case Enum():
            return value.value
        case float() if not math.isfinite(value):
            return None
        case Mapping():
            return {str(key): plain(each) for key, each in value.items()}
        case tuple() | list():
            return [plain(each) for each in value]
        case _:
            return value


class View:
    """A value with fields to show."""

    __slots__ = ()

    def to_json(self) -> dict[str, Any]:
        """Give the fields by name, as JSON knows them."""
        return {field.name: plain(getattr(self, field.name)) for field in fields(self)}  # type: ignore[arg-type] # a dataclass
