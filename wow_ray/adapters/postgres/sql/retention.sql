-- Statements that delete what is old. Each looks at a bounded number of rows, from a place on, and says up to where it has looked.

-- name: forget_attempts
-- Delete attempts of rows that have ended, or are deleted.
-- Caller: retention.PostgresRemains.
WITH old AS MATERIALIZED (
    SELECT row_id, at, kind FROM {schema}.parked_attempts
    WHERE at <= clock_timestamp() - make_interval(secs => $1) AND ($3::timestamptz IS NULL OR at > $3) ORDER BY at LIMIT $2
), gone AS (
    DELETE FROM {schema}.parked_attempts a USING old
    WHERE a.row_id = old.row_id AND a.at = old.at AND a.kind = old.kind
      AND NOT EXISTS (SELECT FROM {schema}.parked p WHERE p.id = old.row_id AND p.open)
    RETURNING 1
)
SELECT (SELECT count(*) FROM gone) AS deleted, count(*) AS looked, max(at) AS last FROM old;

-- name: forget_rows
-- Delete rows that have ended, with their history.
-- Caller: retention.PostgresRemains.
WITH old AS MATERIALIZED (
    SELECT id, updated_at AS at FROM {schema}.parked
    WHERE NOT open AND updated_at <= clock_timestamp() - make_interval(secs => $1) AND ($3::timestamptz IS NULL OR updated_at > $3)
    ORDER BY updated_at LIMIT $2 FOR UPDATE SKIP LOCKED
), history AS (
    DELETE FROM {schema}.parked_attempts a USING old WHERE a.row_id = old.id
), gone AS (
    DELETE FROM {schema}.parked p USING old WHERE p.id = old.id RETURNING 1
)
SELECT (SELECT count(*) FROM gone) AS deleted, count(*) AS looked, max(at) AS last FROM old;

-- name: forget_audit
-- Delete what people asked for and has been done or refused.
-- Caller: retention.PostgresRemains.
WITH old AS MATERIALIZED (
    SELECT id, ended_at AS at FROM {schema}.operator_actions
    WHERE ended_at <= clock_timestamp() - make_interval(secs => $1) AND state <> 'asked' AND ($3::timestamptz IS NULL OR ended_at > $3)
    ORDER BY ended_at LIMIT $2 FOR UPDATE SKIP LOCKED
), gone AS (
    DELETE FROM {schema}.operator_actions a USING old WHERE a.id = old.id RETURNING 1
)
SELECT (SELECT count(*) FROM gone) AS deleted, count(*) AS looked, max(at) AS last FROM old;

-- name: forget_pauses
-- Delete pauses that are over and of which nothing is left to be told.
-- Caller: retention.PostgresRemains.
WITH old AS MATERIALIZED (
    SELECT id, ended_at AS at FROM {schema}.pauses
    WHERE ended_at <= clock_timestamp() - make_interval(secs => $1) AND NOT told AND ($3::timestamptz IS NULL OR ended_at > $3)
    ORDER BY ended_at LIMIT $2 FOR UPDATE SKIP LOCKED
), gone AS (
    DELETE FROM {schema}.pauses p USING old WHERE p.id = old.id RETURNING 1
)
SELECT (SELECT count(*) FROM gone) AS deleted, count(*) AS looked, max(at) AS last FROM old;

-- name: forget_facts
-- Delete facts that have led to what they lead to.
-- Caller: retention.PostgresRemains.
WITH old AS MATERIALIZED (
    SELECT number, routed_at AS at FROM {schema}.notices
    WHERE routed_at <= clock_timestamp() - make_interval(secs => $1) AND ($3::timestamptz IS NULL OR routed_at > $3)
    ORDER BY routed_at LIMIT $2 FOR UPDATE SKIP LOCKED
), gone AS (
    DELETE FROM {schema}.notices n USING old WHERE n.number = old.number RETURNING 1
)
SELECT (SELECT count(*) FROM gone) AS deleted, count(*) AS looked, max(at) AS last FROM old;

-- name: forget_deliveries
-- Delete deliveries that were sent or given up.
-- Caller: retention.PostgresRemains.
WITH old AS MATERIALIZED (
    SELECT id, updated_at AS at FROM {schema}.deliveries
    WHERE state <> 'waiting' AND updated_at <= clock_timestamp() - make_interval(secs => $1) AND ($3::timestamptz IS NULL OR updated_at > $3)
    ORDER BY updated_at LIMIT $2 FOR UPDATE SKIP LOCKED
), gone AS (
    DELETE FROM {schema}.deliveries d USING old WHERE d.id = old.id RETURNING 1
)
SELECT (SELECT count(*) FROM gone) AS deleted, count(*) AS looked, max(at) AS last FROM old;

-- name: forget_samples
-- Delete samples of how groups stood.
-- Caller: retention.PostgresRemains.
WITH old AS MATERIALIZED (
    SELECT at, group_number FROM {schema}.samples
    WHERE at <= now() - make_interval(secs => $1) AND ($3::timestamptz IS NULL OR at > $3)
    ORDER BY at, group_number LIMIT $2 FOR UPDATE SKIP LOCKED
), gone AS (
    DELETE FROM {schema}.samples s USING old WHERE s.at = old.at AND s.group_number = old.group_number RETURNING 1
)
SELECT (SELECT count(*) FROM gone) AS deleted, count(*) AS looked, max(at) AS last FROM old;
