"""Texts of strangers on a page: what a browser would obey is shown instead, and nothing is longer than a page bears."""

from __future__ import annotations

import unicodedata

_UNSAFE = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
_KEPT = "\n\t"
MOST = 20_000
"""Characters of one text on a page, 16 KB of an error's texts among them."""


def inert(text: str) -> str:
    r"""Show marks of direction, controls and the like as `⟨U+202E⟩`; markup is for the templates to escape."""
    text = cut(text, MOST)
    if text.isprintable():
        return text
    return "".join(
        f"⟨U+{ord(each):04X}⟩" if each not in _KEPT and unicodedata.category(each) in _UNSAFE else each
        for each in text.replace("\r\n", "\n")
    )


def cut(text: str, most: int) -> str:
    """Keep head and tail of a text that has more characters than a place bears."""
    if len(text) <= most:
        return text
    head = most - most // 4
    return f"{text[:head]} … {len(text) - most:,} characters left out … {text[len(text) - most // 4 :]}"
