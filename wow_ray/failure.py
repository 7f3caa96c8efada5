"""An exception as data: what kind of failure it is, and the text of it that may be stored and shown.

A live exception never leaves its process; what is stored is a `Failure`, bounded in size, free of what a database
refuses and of secrets. `fingerprint` is cheap enough for every failed attempt; `Failure.capture` (text, traceback,
redaction) is for when a row is written (H51). The only thing read from outside is source lines, through `linecache`.
"""

from __future__ import annotations

import linecache
import sysconfig
from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path
from types import TracebackType

from wow_ray.raised import attributes_of, cause_of, context_of, members_of, named, traceback_of
from wow_ray.redaction import safe, visible

LIMIT = 16_384
"""The most bytes of UTF-8 that all texts of one `Failure` have together."""

LINKS = 16
"""How far a chain of causes is followed."""

CARRIED = "__wow_failure__"
"""The attribute of an error that stands for one in another process: that one, turned into data there."""

_TYPE, _SOURCE, _MESSAGE, _NOTES, _LEAVES = 256, 256, 4_096, 8, 8
_HEAD_FRAMES, _TAIL_FRAMES = 8, 16
_LINE = 512
_BECAUSE = "\n\nThe above exception was the direct cause of the following:\n\n"
_MEANWHILE = "\n\nDuring handling of the above exception, another one occurred:\n\n"


class Category(StrEnum):
    """What a failure means for the retries: see section 4 of the contract."""

    UNRECOVERABLE = "unrecoverable"
    RECOVERABLE = "recoverable"
    SYSTEMIC = "systemic"
    BACKPRESSURE = "backpressure"


@dataclass(frozen=True, slots=True)
class Failure:
    """One failure, as it is stored and shown; all texts together have at most `LIMIT` bytes in UTF-8.

    `source` says who chose the category (`list`, `classifier:<name>`, `module:<name>`, `default`), `type` is the
    class of the unwrapped error with its module, `fingerprint` groups failures that are alike.
    """

    category: Category
    source: str
    type: str
    message: str
    traceback: str
    fingerprint: str

    @classmethod
    def capture(cls, error: BaseException, category: Category, source: str) -> Failure:
        """Turn an exception into data; never raises, whatever the exception's own code does.

        Secrets are hidden before anything is cut; message and traceback keep head and tail. Cheap for messages of
        many megabytes and tracebacks of thousands of frames: what will not be kept is not looked at.
        """
        if isinstance(carried := attributes_of(error).get(CARRIED), cls):
            return replace(carried, category=category, source=source)
        error = unwrapped(error)
        kind, source = _cut(visible(_type_name(error)), _TYPE), _cut(visible(source), _SOURCE)
        message, mark = _cut(_message(error), _MESSAGE), fingerprint(error)
        room = LIMIT - sum(len(text.encode()) for text in (kind, source, message, mark))
        return cls(category, source, kind, message, _cut(_traceback(error, message), room), mark)


capture = Failure.capture


def minimal(failure: Failure) -> Failure:
    """Give the form for a row that the store refused: the type in ASCII, a fixed sentence, no text of the error."""
    kind, source = (
        _cut(text.encode("ascii", "backslashreplace").decode(), _TYPE) for text in (failure.type, failure.source)
    )
    message = "The store refused this error's text; the program's log has it."
    return replace(failure, type=kind, source=source, message=message, traceback="")


def fingerprint(error: BaseException) -> str:
    """Hash the type of the unwrapped error and its first application frame to 16 hex digits.

    That frame is the innermost one outside the standard library, installed packages and this package, else the
    innermost; it counts by module and function, not by path or line, so it is the same on every node and survives
    edits above it.
    """
    error = unwrapped(error)
    own = last = None
    step = traceback_of(error)
    while step is not None:
        last = step.tb_frame
        if _is_application(last.f_code.co_filename):
            own = last
        step = step.tb_next
    frame = own or last
    where = "" if frame is None else f"{frame.f_globals.get('__name__', '')}:{frame.f_code.co_qualname}"
    return _mark(f"{_type_name(error)}|{where}")


@lru_cache(maxsize=1_024)
def _mark(text: str) -> str:
    return blake2b(text.encode("utf-8", "backslashreplace"), digest_size=8).hexdigest()


def unwrapped(error: BaseException) -> BaseException:
    """Take off the wrappers that only carry an error from elsewhere, and answer what they carry (K4).

    A wrapper is Ray's `RayTaskError`, known by its name so that Ray is not imported, or a class of ours that says
    `__wow_wrapper__ = True`; it carries its `cause`, else its `__cause__`. Follows at most 16 of them.
    """
    for _ in range(LINKS):
        if not is_wrapper(type(error)):
            break
        inner = _carried_by(error)
        if inner is None:
            break
        error = inner
    return error


def causes(error: BaseException) -> Iterator[BaseException]:
    """Go from the error along explicit `__cause__`, each link unwrapped: at most 16, and none twice (K4)."""
    seen: set[int] = set()
    link: BaseException | None = error
    while link is not None and len(seen) < LINKS:
        link = unwrapped(link)
        if id(link) in seen:
            return
        seen.add(id(link))
        yield link
        link = cause_of(link)


def is_wrapper(cls: type[BaseException]) -> bool:
    """Whether errors of the class only carry another one; see `unwrapped`."""
    if getattr(cls, "__wow_wrapper__", False) is True:
        return True
    return any(base.__name__ == "RayTaskError" and named(base)[0].startswith("ray.") for base in cls.__mro__)


def _carried_by(wrapper: BaseException) -> BaseException | None:
    """Answer what a wrapper carries, if anything."""
    try:
        inner = getattr(wrapper, "cause", None)
        carries = isinstance(inner, BaseException)
    except BaseException:  # noqa: BLE001 - foreign code, as it may be in any error
        carries = False
    return inner if carries else cause_of(wrapper)


_INSTALLED = [sysconfig.get_path(kind) for kind in ("stdlib", "platstdlib", "purelib", "platlib")]
_LIBRARY = tuple(f"{path}/" for path in (*_INSTALLED, Path(__file__).parent))


@lru_cache(maxsize=4_096)
def _is_application(filename: str) -> bool:
    """Whether a frame of this file is the application's own code."""
    packages = ("/site-packages/", "/dist-packages/")
    return not (filename.startswith(("<", *_LIBRARY)) or any(part in filename for part in packages))


def _type_name(error: BaseException) -> str:
    module, name = named(type(error))
    return name if module in {"builtins", ""} else f"{module}.{name}"


def _message(error: BaseException) -> str:
    """Give the error's own text, safe to store but for its length (of very long ones head and tail)."""
    try:
        text = str(error)
    except BaseException as broken:  # noqa: BLE001 - a failure is recorded whatever its own code raises
        text = f"<its text cannot be had: str() raised {type(broken).__name__}>"
    return safe(text)


def _cut(text: str, room: int) -> str:
    """Keep head and tail of a text so that it has at most `room` bytes in UTF-8."""
    if len(text) * 4 <= room:
        return text
    data = text.encode()
    if len(data) <= room:
        return text
    mark = f"\n… {len(data) - room:,} bytes left out …\n".encode()
    keep = room - len(mark)
    head, tail = data[: keep - keep // 2], data[len(data) - keep // 2 :]
    return (head.decode(errors="ignore").encode() + mark + tail.decode(errors="ignore").encode()).decode()


def _traceback(error: BaseException, message: str) -> str:
    """Write the chain of errors as Python does, the oldest first, each with its frames, text and notes.

    `message` is the text of the error itself, as `_one` writes it.
    """
    parts: list[str] = []
    seen: set[int] = set()
    link: BaseException | None = error
    joint = ""
    while link is not None and len(seen) < LINKS and id(link) not in seen:
        seen.add(id(link))
        parts.append(_one(link, message if link is error else _cut(_message(link), _MESSAGE)) + joint)
        cause = cause_of(link)
        link, joint = (context_of(link), _MEANWHILE) if cause is None else (unwrapped(cause), _BECAUSE)
    return "".join(reversed(parts))


def _one(error: BaseException, message: str) -> str:
    """Write one error of a chain: frames, then type and text, then notes, then the errors of a group by one line."""
    lines = list(_frames(traceback_of(error)))
    lines.append(f"{visible(_type_name(error))}: {message}")
    notes = attributes_of(error).get("__notes__")
    shown = [note for note in notes if isinstance(note, str)][:_NOTES] if isinstance(notes, list) else []
    lines.extend(_cut(safe(note), _MESSAGE // 4) for note in shown)
    leaves = (members_of(error) or ())[:_LEAVES]
    lines.extend(
        f"  | {visible(_type_name(leaf))}: {_cut(_message(leaf), _MESSAGE // 4)}" for leaf in map(unwrapped, leaves)
    )
    return "\n".join(lines)


def _frames(step: TracebackType | None) -> Iterator[str]:
    """Write the outermost and innermost frames of a traceback; what lies between is counted."""
    steps = []
    while step is not None:
        steps.append(step)
        step = step.tb_next
    if steps:
        yield "Traceback (most recent call last):"
    left = len(steps) - _HEAD_FRAMES - _TAIL_FRAMES
    for place, at in enumerate(steps):
        if left > 0 and _HEAD_FRAMES <= place < _HEAD_FRAMES + left:
            if place == _HEAD_FRAMES:
                yield f"  … {left:,} frames left out …"
            continue
        code = at.tb_frame.f_code
        source = _source_line(code.co_filename, at)
        frame = _frame if len(source) <= _LINE else _frame.__wrapped__
        yield frame(code.co_filename, at.tb_lineno, code.co_name, source)


def _source_line(file: str, at: TracebackType) -> str:
    """Look a line of source up; of files that are not on the disk their loader is asked, which may be anybody's."""
    try:
        return linecache.getline(file, at.tb_lineno, at.tb_frame.f_globals)
    except Exception:  # noqa: BLE001 - a traceback without sources still says where
        return ""


@lru_cache(maxsize=2_048)
def _frame(file: str, line: int, name: str, source: str) -> str:
    """Write one frame, with its source where there is any; poison aggregates fail in the same ones again and again."""
    place = f'  File "{visible(file)}", line {line}, in {visible(name)}'
    source = source.strip()
    return f"{place}\n    {_cut(safe(source), _LINE)}" if source else place
