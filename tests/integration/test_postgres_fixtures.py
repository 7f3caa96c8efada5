"""The servers that other tests stand on do what they are asked for."""

import asyncpg


async def test_a_schema_can_be_made_under_the_given_name(postgres_dsn: str, schema: str) -> None:
    """The name is free, and what is made under it is dropped after the test."""
    connection = await asyncpg.connect(postgres_dsn)
    await connection.execute(f'create schema "{schema}"; create table "{schema}".t (i int)')
    await connection.close()


async def test_pgbouncer_shares_connections_between_transactions(postgres_url_pgbouncer: str) -> None:
    """Through pgbouncer a query is answered, and a server connection is lent for a transaction only."""
    first = await asyncpg.connect(postgres_url_pgbouncer, statement_cache_size=0)
    second = await asyncpg.connect(postgres_url_pgbouncer, statement_cache_size=0)
    # Neither holds a transaction, so both are served by the one server connection there is.
    assert await first.fetchval("select pg_backend_pid()") == await second.fetchval("select pg_backend_pid()")
    await first.close()
    await second.close()
