"""Event handling with durable retries on Postgres and Ray."""

__all__: list[str] = []
