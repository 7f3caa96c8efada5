"""The log of a program in the foreground: one line an event on standard error, foreign texts made harmless."""

from __future__ import annotations

import logging
import sys
from collections.abc import MutableMapping
from typing import Any

import structlog

from wow_ray.cli.shown import harmless


class _StandardError(logging.Handler):
    """Writes to whatever standard error is now: a live display on the terminal takes its place and draws around it."""

    def emit(self, record: logging.LogRecord) -> None:
        """Write one record."""
        try:
            sys.stderr.write(self.format(record) + "\n")
        except Exception:  # noqa: BLE001 - a log never fails the program
            self.handleError(record)


def log_to_stderr(*, debug: bool) -> None:
    """Show what the library, the app and its libraries log, from INFO on; with `debug` everything of wow-ray's."""
    formatter = structlog.stdlib.ProcessorFormatter(
        foreign_pre_chain=[
            structlog.stdlib.add_log_level,
            structlog.stdlib.add_logger_name,
            structlog.processors.TimeStamper(fmt="%H:%M:%S", utc=False),
        ],
        processors=[
            structlog.stdlib.ProcessorFormatter.remove_processors_meta,
            structlog.processors.format_exc_info,
            _harmless_values,
            structlog.dev.ConsoleRenderer(
                colors=sys.stderr.isatty(), exception_formatter=structlog.dev.plain_traceback, pad_event_to=0
            ),
        ],
    )
    handler = _StandardError()
    handler.setFormatter(formatter)
    root = logging.getLogger()
    root.handlers = [handler]
    root.setLevel(logging.INFO)
    logging.getLogger("wow_ray").setLevel(logging.DEBUG if debug else logging.INFO)


def _harmless_values(_: object, __: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """Make every text of a record harmless; tracebacks keep their lines."""
    for name, value in event.items():
        if isinstance(value, str):
            event[name] = harmless(value, lines=name in {"exception", "stack"})
    return event
