-- Statements on the log.

-- name: append
-- Append one commit by the function of its slot's table; everything that could be refused for itself has been.
-- Caller: event_log.PostgresEventStore.
SELECT version, first_position, events FROM {schema}.append_{table}(
    $1::int, $2::text, $3::text, $4::text[], $5::json[], $6::int, $7::bigint, $8::text, $9::int[], $10::text, $11::text, $12::json,
    $13::boolean);

-- name: append_expected
-- Append one commit in a transaction of its own, when the version before it is known: a quarter faster than the function.
-- The version is looked up as of before the wait for the slot; whoever appended meanwhile is met at the unique key. No row = it is
-- another version than expected, and nothing was changed.
-- Caller: event_log.PostgresEventStore.
WITH h AS (
    UPDATE {schema}.slot_heads SET head = head + cardinality($4::text[]), largest = greatest(largest, $6::int)
    WHERE slot = $1::int AND $7::bigint = (
        SELECT coalesce(max(version), 0) FROM {schema}.events_{table}
        WHERE slot = $1::int AND context = $12::text AND aggregate = $2::text AND aggregate_id = $3::text)
    RETURNING head - cardinality($4::text[]) AS before
), added AS (
    INSERT INTO {schema}.events_{table} (slot, position, context, aggregate, aggregate_id, version, sequence, type, revision,
        tenant_id, owner_id, payload, headers, size, occurred_at)
    SELECT $1::int, h.before + e.n, $12::text, $2::text, $3::text, $7::bigint + 1, e.n - 1, e.type, coalesce(e.revision, 1), $9::text, $10::text,
        e.payload, $11::json, octet_length(e.payload::text), clock_timestamp()
    FROM h, unnest($4::text[], $5::json[], $8::int[]) WITH ORDINALITY e (type, payload, revision, n)
)
SELECT before FROM h;

-- name: bound_wait
-- Bound how long the open transaction waits for a slot; for sessions that cannot be told once for all.
-- Caller: event_log.PostgresEventStore.
SELECT set_config('lock_timeout', $1, true);

-- name: version_of
-- Give the version an aggregate is at.
-- Caller: event_log.PostgresEventStore.
SELECT coalesce(max(version), 0) AS version FROM {schema}.events
WHERE slot = $1 AND context = $2 AND aggregate = $3 AND aggregate_id = $4;

-- name: stream
-- Read one page of an aggregate's own events, from a place in it on.
-- Caller: event_log.PostgresEventStore.
SELECT slot, position, aggregate, aggregate_id, version, sequence, type, revision, tenant_id, owner_id, payload, headers, occurred_at
FROM {schema}.events
WHERE slot = $1 AND context = $2 AND aggregate = $3 AND aggregate_id = $4 AND (version, sequence) >= ($5, $6)
ORDER BY version, sequence
LIMIT $7;

-- name: heads
-- Give the last position of some slots, by primary key alone (a scan would pay for every dead version of all heads), and the size
-- of their largest event.
-- Caller: reader.PostgresLogReader.
SELECT slot, head, largest FROM {schema}.slot_heads WHERE slot = ANY ($1::int[]);

-- name: page
-- Read parts of many slots, of each at most its limit; only when all of that together is small enough, whatever it is.
-- Comes in the order of the ranges as a rule; the reader sees to it.
-- Caller: reader.PostgresLogReader.
SELECT e.slot, e.position, e.aggregate, e.aggregate_id, e.version, e.sequence, e.type, e.revision, e.tenant_id, e.owner_id, e.payload,
    e.headers, e.occurred_at
FROM unnest($1::int[], $2::bigint[], $3::bigint[], $4::bigint[]) AS r (slot, after, upto, most)
CROSS JOIN LATERAL (
    SELECT * FROM {schema}.events e
    WHERE e.slot = r.slot AND e.position > r.after AND e.position <= r.upto
      AND (e.type = ANY ($5::text[]) OR e.aggregate = ANY ($6::text[]))
    ORDER BY e.position
    LIMIT r.most
) e;

-- name: bounded_page
-- Read the same up to a bound in bytes, at least one row of each range.
-- Caller: reader.PostgresLogReader.
SELECT slot, position, aggregate, aggregate_id, version, sequence, type, revision, tenant_id, owner_id, payload, headers, occurred_at
FROM (
    SELECT e.*, sum(e.size) OVER w - e.size AS before, lag(e.slot) OVER w IS DISTINCT FROM e.slot AS first
    FROM unnest($1::int[], $2::bigint[], $3::bigint[], $4::bigint[]) AS r (slot, after, upto, most)
    CROSS JOIN LATERAL (
        SELECT * FROM {schema}.events e
        WHERE e.slot = r.slot AND e.position > r.after AND e.position <= r.upto
          AND (e.type = ANY ($5::text[]) OR e.aggregate = ANY ($6::text[]))
        ORDER BY e.position
        LIMIT r.most
    ) e
    WINDOW w AS (ORDER BY e.slot, e.position ROWS UNBOUNDED PRECEDING)
) bounded
WHERE before < $7::bigint OR first;

-- name: at
-- Read single rows by slot and position.
-- Caller: reader.PostgresLogReader.
SELECT e.slot, e.position, e.aggregate, e.aggregate_id, e.version, e.sequence, e.type, e.revision, e.tenant_id, e.owner_id, e.payload,
    e.headers, e.occurred_at
FROM unnest($1::int[], $2::bigint[]) AS p (slot, position)
CROSS JOIN LATERAL (SELECT * FROM {schema}.events e WHERE e.slot = p.slot AND e.position = p.position) e
ORDER BY e.slot, e.position;

-- name: streams
-- Read parts of many aggregates' streams in one statement; `n` is the part's place among those asked for.
-- Caller: reader.PostgresLogReader.
SELECT e.slot, e.position, e.aggregate, e.aggregate_id, e.version, e.sequence, e.type, e.revision, e.tenant_id, e.owner_id, e.payload,
    e.headers, e.occurred_at, w.n
FROM unnest($1::int[], $2::text[], $3::text[], $4::bigint[], $5::int[], $6::bigint[])
    WITH ORDINALITY AS w (slot, aggregate, aggregate_id, version, sequence, upto, n)
CROSS JOIN LATERAL (
    SELECT * FROM {schema}.events e
    WHERE e.slot = w.slot AND e.context = $7 AND e.aggregate = w.aggregate AND e.aggregate_id = w.aggregate_id
      AND (e.version, e.sequence) >= (w.version, w.sequence) AND e.position <= w.upto
    ORDER BY e.version, e.sequence
    LIMIT $8
) e
ORDER BY w.n, e.version, e.sequence;

-- name: identity
-- Name the server's data, its timeline and this schema: another answer than before means the log may have gone back.
-- Caller: identity.identity_of.
SELECT (SELECT system_identifier FROM pg_control_system()) || '/' ||
    CASE WHEN pg_is_in_recovery() THEN (SELECT lpad(to_hex(timeline_id), 8, '0') FROM pg_control_checkpoint())
         ELSE lower(left(pg_walfile_name(pg_current_wal_lsn()), 8)) END || '/' ||
    (SELECT identity FROM {schema}.meta);
