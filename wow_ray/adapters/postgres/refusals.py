"""What keeps a program from beginning at a server, in our own words; see `errors` for what goes wrong later."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from wow_ray.adapters.postgres.errors import sqlstate_of
from wow_ray.errors import SettingsError, StoreDataError, StoreUnavailableError


@contextmanager
def refusals() -> Iterator[None]:
    """Say in our own words what a server answers to strangers, and what the driver says of an address."""
    try:
        yield
    except StoreDataError as error:
        raise SettingsError(f"postgres_dsn is no address of a Postgres: {error.message}") from error
    except (OSError, ValueError) as error:
        raise StoreUnavailableError(f"the store cannot be reached: {error}") from error
    except Exception as error:
        if not sqlstate_of(error):
            raise
        raise StoreUnavailableError(f"the server refuses this program: {error}") from error
