"""`ops.services`: the services that one console shows besides its own."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated

from pydantic import Field, SecretStr, model_validator

from wow_ray.settings.section import Section

NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,39}\Z")


class ServiceSettings(Section):
    """`ops.services.NAME`: one service; what is not said of it is as for the console's own.

    `context` is that of its app, by default the name. `redis_url` is where its durable calls lie, unless in Postgres.
    With `tokens_file` or `tokens` it lets in who holds one of these, and nobody else.
    """

    context: str | None = None
    postgres_dsn: Annotated[SecretStr, Field(min_length=1)] | None = None
    postgres_dsn_file: Path | None = None
    postgres_schema: Annotated[str, Field(pattern=r"^[a-z_][a-z0-9_]*$", max_length=40)] | None = None
    pgbouncer: bool | None = None
    redis_url: Annotated[SecretStr, Field(min_length=1)] | None = None
    tokens_file: Path | None = None
    tokens: SecretStr | None = None

    @property
    def has_database(self) -> bool:
        """Whether it names a database."""
        return self.postgres_dsn is not None or self.postgres_dsn_file is not None

    @property
    def has_tokens(self) -> bool:
        """Whether it lets in people of its own."""
        return self.tokens_file is not None or self.tokens is not None

    @model_validator(mode="after")
    def _fits_together(self) -> ServiceSettings:
        if self.postgres_dsn is not None and self.postgres_dsn_file is not None:
            raise ValueError("postgres_dsn and postgres_dsn_file are both given; keep one")
        return self
