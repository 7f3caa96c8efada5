"""Variables of the environment for the length of a block, as a deployment would set them: processes inherit them."""

import os
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def told(**variables: str | None) -> Iterator[None]:
    """Set variables, `None` = take one away; afterwards all are as before."""
    before = {name: os.environ.get(name) for name in variables}
    _set(**variables)
    try:
        yield
    finally:
        _set(**before)


def _set(**variables: str | None) -> None:
    for name, value in variables.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value
