"""Texts that may be stored and shown: without secrets, and without what a database refuses or a terminal obeys (P4)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

_WINDOW = 65_536  # of a text of any length this much of either end is looked at: far more than is kept of it
_HEAD = 4_096

_STOPPED = r"""[^\s"'<>&;,]"""
# A delimiter ends a value only where a blank, the end or the next key follows: else it is part of the secret.
_VALUE = rf"""(?!\*\*\*)(?:{_STOPPED}|["'](?=\w)|[&;,](?!\s|[\w.\-]{{1,64}}\s?[=:]|\Z))+"""
# A value broken by a line's end goes on with the first word of the next line, unless that begins something known,
# and with every following line that is one long word.
_FOLDED = (
    rf"""(?:\r?\n[ \t]*(?!File "|[~^]|[\w.\-]+:\s){_STOPPED}+)?"""
    rf"""(?:\r?\n[ \t]*{_STOPPED}{{16,}}(?=[ \t]*(?:\r?\n|\Z)))*"""
)
_IN_URL = (
    r"""(://[^\s:/?#@"']*(?:\r?\n[ \t]*[^\s:/?#@"']*)?:)(?!\*\*\*@)"""
    r"""(?:(?!://)[^\s"'<>])*(?:\r?\n[ \t]*(?:(?!://)[^\s"'<>])*)?(@)"""
)
_HEADER = r"""(authorization["']?\s{0,8}[=:]\s{0,8}["']?)(?!\*\*\*)[^\s"']+(?:[ \t]{1,8}[^\s"',;]+)?""" + _FOLDED
_BEARER = rf"""\b(bearer\s{{1,8}}){_VALUE}{_FOLDED}"""
_BASIC = rf"""\b(basic\s{{1,8}})(?-i:(?=[a-z]*[A-Z0-9+/=]))[A-Z0-9+/]{{8,}}={{0,2}}{_FOLDED}"""
_KEYED = (
    r"""((?:api[_\-]?key|token(?!s\b|iz)|passw(?:or)?d|passphrase|\bpwd|secret|(?:access|private)[_\-]?key"""
    r"""|credential|signature(?==))(?!\w*(?:error|exception))[\w\-]{0,32}["']?\s{0,8}(?:=>|[=:])\s{0,8})"""
    r"""(?!["']?\*\*\*)"""
    rf"""(?:b?"(?:\\.|[^"\\])*"|b?'(?:\\.|[^'\\])*'|["']?{_VALUE}{_FOLDED})"""
)
_SECRETS = (
    (re.compile(_IN_URL, re.IGNORECASE), r"\1***\2"),
    *((re.compile(pattern, re.IGNORECASE), r"\1***") for pattern in (_HEADER, _BEARER, _BASIC, _KEYED)),
)
# Secrets that are known by their own looks. Each begins where a word does, and gives nothing back that it has taken: so
# the time is that of one look at the text, whatever the text.
_BEGINS = r"(?<![\w\-])"
_OWN_LOOKS = (
    r"eyJ[\w\-]{8,}+\.[\w\-]{8,}+(?:\.[\w\-]++)?",  # JSON Web Tokens
    r"(?:AKIA|ASIA)[A-Z0-9]{16}(?![A-Z0-9])",
    r"gh[pousr]_[A-Za-z0-9]{20,}+",
    r"github_pat_\w{20,}+",
    r"glpat-[\w\-]{16,}+",
    r"xox[a-z]-[\w\-]{8,}+",
    r"[sr]k_(?:live|test)_\w{8,}+",
    r"sk-[\w\-]{16,}+",
    r"whsec_[\w+/=]{8,}+",
    r"AIza[\w\-]{30,}+",
    r"npm_[A-Za-z0-9]{30,}+",
    r"pypi-[\w\-]{16,}+",
)
_TOKENS = re.compile(f"{_BEGINS}(?:{'|'.join(_OWN_LOOKS)})", re.ASCII)
_HOOK = re.compile(r"(hooks\.slack\.com/(?:services|workflows|triggers)/)(?!\*\*\*)[\w/\-]++")
_PEM = re.compile(r"(-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY-----)(?!\*\*\*)(?:(?!-----END)[\s\S])*+")
_LOOKS = (
    "eyj",
    "akia",
    "asia",
    "gh",
    "github",
    "glpat",
    "xox",
    "k_live",
    "k_test",
    "sk-",
    "whsec",
    "aiza",
    "npm_",
    "pypi-",
    "-----b",
)
_SUSPECT = (
    "://",
    "auth",
    "bearer",
    "basic",
    "key",
    "token",
    "pass",
    "pwd",
    "secret",
    "credential",
    "signature",
    "hooks.",
    *_LOOKS,
)


@dataclass(frozen=True, slots=True)
class Hidden:
    """What an app has hidden besides: by `also_hide`, made once for all texts of the process."""

    patterns: tuple[re.Pattern[str], ...] = ()
    suspect: tuple[str, ...] = ()


_hidden = Hidden()


def also_hide(keys: Sequence[str], prefixes: Sequence[str]) -> None:
    """Hide in this process the values of these keys, and words that begin with these prefixes; replaces what was said.

    Both are plain texts of whatever case, no patterns: nothing that is written there can make a text take long.
    """
    global _hidden  # noqa: PLW0603 - one for the process, as its log is
    found = []
    if keys:
        names = "|".join(map(re.escape, keys))
        found.append(rf"""({_BEGINS}(?:{names})["']?\s{{0,8}}(?:=>|[=:])\s{{0,8}}["']?)(?!\*\*\*){_STOPPED}++""")
    if prefixes:
        found.append(rf"({_BEGINS}(?:{'|'.join(map(re.escape, prefixes))}))(?!\*\*\*){_STOPPED}++")
    patterns = tuple(re.compile(pattern, re.IGNORECASE | re.ASCII) for pattern in found)
    _hidden = Hidden(patterns, tuple(each.lower() for each in (*keys, *prefixes)))


def redacted(text: str) -> str:
    """Hide what looks like a secret: passwords in URLs, authorizations, values of keys such as `token`, tokens as such.

    A secret that a line's end breaks in two is hidden whole, at the price of a word too many. Hosts, users and class
    names stay. What an app has hidden besides goes too. Applying it twice changes nothing more.
    """
    if not _is_suspect(text):
        return text
    for pattern, shown in _SECRETS:
        text = pattern.sub(shown, text)
    text = _PEM.sub(r"\1***", _HOOK.sub(r"\1***", _TOKENS.sub("***", text)))
    for pattern in _hidden.patterns:
        text = pattern.sub(r"\1***", text)
    return text


_CONTROLS = {code: chr(0x2400 + code) for code in range(32) if chr(code) not in "\t\n\r"} | {0x7F: "\u2421"}


def visible(text: str) -> str:
    r"""Show what a database refuses or a terminal obeys: NUL and other controls as `␀…`, lone surrogates as `\ud83d`.

    The literal six characters `\u0000` are not touched: they were visible already.
    """
    if text.isascii() and text.isprintable():
        return text
    return text.translate(_CONTROLS).encode("utf-8", "backslashreplace").decode()


def _is_suspect(text: str) -> bool:
    """Whether a text may hold a secret at all; quick, also for megabytes."""
    return any(map(text.lower().__contains__, (*_SUSPECT, *_hidden.suspect)))


def safe(text: str) -> str:
    """Hide secrets and show odd characters in a text of any length.

    Of a very long one only the ends are looked at. Where the tail may begin inside a secret whose beginning is out of
    sight, its first two words go.
    """
    if len(text) <= 2 * _WINDOW:
        return visible(redacted(text))
    left, tail = len(text) - 2 * _WINDOW, text[-_WINDOW:]
    if _is_suspect(_before(text, len(text) - _WINDOW)):
        tail = re.sub(r"\A\S*\s*\S*", "", tail, count=1)
    return visible(f"{redacted(text[:_WINDOW])}\n… {left:,} characters left out …\n{redacted(tail)}")


def _before(text: str, end: int) -> str:
    """Give the last three words before `end`; of megabytes without a blank the beginning and the last of them."""
    begin = end
    for _ in range(3):
        begin = max(text.rfind(" ", 0, begin), text.rfind("\n", 0, begin), 0)
    near = max(begin, end - 2 * _WINDOW)
    return text[begin : begin + _HEAD] + text[near:end]
