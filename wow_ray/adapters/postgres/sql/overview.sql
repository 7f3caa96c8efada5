-- Statements on the store as a whole, for operators to look at.

-- name: overview_store
-- Say what store this is, and its time.
-- Caller: overview.PostgresOverview.
SELECT clock_timestamp() AS now, 'PostgreSQL ' || current_setting('server_version') AS server, schema_version FROM {schema}.meta;

-- name: overview_groups
-- Give all groups with their subscriptions.
-- Caller: overview.PostgresOverview.
SELECT g.number, g.name, g.retired_at IS NOT NULL AS retired,
    array(SELECT s.name FROM {schema}.subscriptions s WHERE s.group_number = g.number ORDER BY s.name) AS subscriptions
FROM {schema}.groups g ORDER BY g.number;

-- name: overview_slots
-- Give every slot: head, owner, packed progress, where groups without progress of their own stand, markers not folded yet.
-- Caller: overview.PostgresOverview.
SELECT s.slot, h.head, s.partition, s.owner, s.progress, s.progress_epoch, g.groups, g.positions, g.epochs, m.settled_groups, m.settled
FROM {schema}.slots s
JOIN {schema}.slot_heads h USING (slot)
CROSS JOIN LATERAL (
    SELECT array_agg(g.group_number) AS groups, array_agg(g.position) AS positions, array_agg(g.epoch) AS epochs
    FROM {schema}.group_starts g WHERE g.slot = s.slot
) g
CROSS JOIN LATERAL (
    SELECT array_agg(m.group_number) AS settled_groups, array_agg(m.position) AS settled FROM {schema}.settled m WHERE m.slot = s.slot
) m
ORDER BY s.slot;

-- name: overview_owners
-- Give who holds or held a lease, and the seconds left of it.
-- Caller: overview.PostgresOverview.
SELECT id, partition, host, pid, extract(epoch FROM lease_until - clock_timestamp())::float8 AS lease_left
FROM {schema}.owners ORDER BY partition, id;

-- name: overview_sizes
-- Say what takes how much room: the tables of events together, rows as the last ANALYZE or VACUUM counted them.
-- Caller: overview.PostgresOverview.
SELECT CASE WHEN c.relispartition THEN 'events' ELSE c.relname END AS name,
    sum(greatest(c.reltuples, 0))::bigint AS rows, sum(pg_total_relation_size(c.oid))::bigint AS bytes
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = '{schema_name}' AND c.relkind = 'r'
GROUP BY 1 ORDER BY 3 DESC, 1;

-- name: overview_holders
-- Say what keeps old rows and old log from being cleaned up: snapshots of this database, transactions left prepared, replication slots.
-- Caller: overview.PostgresOverview.
SELECT name, seconds, bytes FROM (
    SELECT coalesce(nullif(application_name, ''), 'a session') || ', pid ' || pid AS name,
        extract(epoch FROM clock_timestamp() - xact_start)::float8 AS seconds, 0::bigint AS bytes
    FROM pg_stat_activity
    WHERE datname = current_database() AND backend_xmin IS NOT NULL AND xact_start IS NOT NULL
        AND pid <> pg_backend_pid() AND backend_type <> 'autovacuum worker'
    UNION ALL
    SELECT 'the prepared transaction ' || gid, extract(epoch FROM clock_timestamp() - prepared)::float8, 0
    FROM pg_prepared_xacts WHERE database = current_database()
    UNION ALL
    SELECT 'the replication slot ' || slot_name, 0, coalesce(pg_wal_lsn_diff(pg_current_wal_lsn(), restart_lsn), 0)::bigint
    FROM pg_replication_slots
) h ORDER BY seconds DESC, bytes DESC, name LIMIT 20;
