"""Where tokens are configured, looked at again when the file changes, so that one is withdrawn without a restart."""

from __future__ import annotations

import logging
from pathlib import Path

from wow_ray.errors import SettingsError
from wow_ray.ops.access.tokens import TokenBook

log = logging.getLogger("wow_ray.ops")


class TokenSource:
    """A file of tokens, lines of the environment (a comma ends one, too), or both."""

    def __init__(self, file: Path | None = None, lines: str | None = None) -> None:
        """Read them; raises `SettingsError` for what cannot be read or is no token, and when there is none in them."""
        self._file = file
        self._lines = (lines or "").replace(",", "\n")
        self._stamp = _stamp(file)
        self._book = self._read()
        if (file is not None or lines is not None) and not self._book.holders:
            where = "ops.tokens" if file is None else f"ops.tokens_file {file}"
            raise SettingsError(f"{where} holds no token; add one with `wow-ray token NAME --role operator`")

    def book(self) -> TokenBook:
        """Give the tokens there are now; a file that is broken or gone by then leaves the last ones in force."""
        stamp = _stamp(self._file)
        if stamp != self._stamp:
            self._stamp = stamp
            try:
                book = self._read()
            except SettingsError as error:
                log.error("%s; the tokens read before stay in force", error.message)  # noqa: TRY400 - a sentence tells it
            else:
                # An empty file must not open the door to everybody.
                self._book = book if book.holders else TokenBook(self._book.holders)
        return self._book

    def _read(self) -> TokenBook:
        """Read everything."""
        text = "" if self._file is None else _text(self._file)
        # Both at once, so that a name stands once in all.
        source = "ops.tokens" if self._file is None else f"ops.tokens_file {self._file}"
        return TokenBook.parsed(f"{text}\n{self._lines}", source)


def _text(file: Path) -> str:
    """Read the file."""
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"ops.tokens_file {file} cannot be read: {error}") from error


def _stamp(file: Path | None) -> tuple[int, int, int] | None:
    """Tell versions of a file apart."""
    if file is None:
        return None
    try:
        found = file.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino
