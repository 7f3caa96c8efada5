"""The ports on Postgres: schema, log, slots, ledger, effects, leases."""

from wow_ray.adapters.postgres.connect import Database
from wow_ray.adapters.postgres.errors import classify_postgres, wants_jitter
from wow_ray.adapters.postgres.migrating import migrate
from wow_ray.adapters.postgres.processes import owner_here
from wow_ray.adapters.postgres.schema import check
from wow_ray.adapters.postgres.stores import open_client_stores, open_partition_stores

__all__ = [
    "Database",
    "check",
    "classify_postgres",
    "migrate",
    "open_client_stores",
    "open_partition_stores",
    "owner_here",
    "wants_jitter",
]
