"""Bars, drawn as SVG beside the number they draw: from zero, all of a table to one scale."""

from __future__ import annotations

from markupsafe import Markup

WIDTH = 100.0
LEAST = 1.0
"""What is not nothing is seen, however small."""


def bar(number: int, largest: int, said: str) -> Markup:
    """Draw one bar of a table whose largest number is given; `said` is what it tells those who do not see it."""
    length = 0.0 if number <= 0 else max(LEAST, WIDTH * number / max(largest, 1))
    return Markup(
        '<svg class="bar" viewBox="0 0 100 10" preserveAspectRatio="none" role="img" aria-label="{said}">'
        '<rect class="track" width="100" height="10"></rect><rect width="{length}" height="10"></rect></svg>'
    ).format(said=said, length=f"{length:.1f}")
