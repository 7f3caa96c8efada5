-- Statements on starts and on what is tried with a mark.

-- name: former_owners
-- Give what shows how owners ended that have not given up their slots and were not judged yet: their process, whether they still
-- have a lease, when it was last renewed, and whether the session that renewed it has left a server not restarted since.
-- Caller: endings.judge.
SELECT t.owner, t.host, t.pid, t.process_started, t.excused, o.id IS NOT NULL AS leased, coalesce(o.renewed_at, clock_timestamp()) AS seen,
    coalesce(o.backend_started > pg_postmaster_start_time()
        AND NOT EXISTS (SELECT FROM pg_stat_activity a WHERE a.pid = o.backend_pid AND a.backend_start = o.backend_started),
        false) AS session_gone
FROM {schema}.starts t LEFT JOIN {schema}.owners o ON o.id = t.owner
WHERE t.owner = ANY ($1::text[]) AND t.ending IS NULL;

-- name: end_starts
-- Note how owners have ended.
-- Caller: endings.judge.
UPDATE {schema}.starts t SET ending = e.ending, ended_at = e.at
FROM unnest($1::text[], $2::text[], $3::timestamptz[]) AS e (owner, ending, at)
WHERE t.owner = e.owner AND t.ending IS NULL;

-- name: unclean_owners
-- Tell which of these owners' processes died.
-- Caller: endings.judge.
SELECT owner FROM {schema}.starts WHERE owner = ANY ($1::text[]) AND ending = 'unclean';

-- name: begin_start
-- Note the start of an owner, once.
-- Caller: endings.begin.
INSERT INTO {schema}.starts (owner, partition, host, pid, process_started) VALUES ($1, $2, $3, $4, $5) ON CONFLICT DO NOTHING;

-- name: forget_starts
-- Forget starts of a partition but for the last fifty.
-- Caller: endings.begin.
DELETE FROM {schema}.starts WHERE partition = $1 AND owner NOT IN (
    SELECT owner FROM {schema}.starts WHERE partition = $1 ORDER BY started_at DESC LIMIT 50
);

-- name: recent_starts
-- Give how the last starts of a partition ended, the newest first.
-- Caller: endings.begin.
SELECT started_at, ended_at, ending FROM {schema}.starts
WHERE partition = $1 AND owner <> $2 AND ending IS NOT NULL ORDER BY started_at DESC LIMIT 20;

-- name: end_clean
-- Note that an owner has given up its slots.
-- Caller: slots.PostgresSlotStore.
UPDATE {schema}.starts SET ending = 'clean', ended_at = clock_timestamp() WHERE owner = $1 AND ending IS NULL;

-- name: excuse_start
-- Note that a partition's newest start is about to be ended on purpose.
-- Caller: slots.PostgresSlotStore.
UPDATE {schema}.starts SET excused = true
WHERE ending IS NULL AND owner = (SELECT owner FROM {schema}.starts WHERE partition = $1 ORDER BY started_at DESC LIMIT 1);

-- name: load_trying
-- Load what former owners marked.
-- Caller: loading.load.
SELECT slot, group_number, position, charges, trying FROM {schema}.trying WHERE slot = ANY ($1::int[]) ORDER BY slot, group_number, position;

-- name: forget_trying
-- Take all marks of slots whose rows are locked away, to be put anew.
-- Caller: commits.write_all.
DELETE FROM {schema}.trying WHERE slot = ANY ($1::int[]);

-- name: put_trying
-- Put the marks of slots whose rows are locked.
-- Caller: commits.write_all.
INSERT INTO {schema}.trying (slot, group_number, position, charges, trying)
SELECT * FROM unnest($1::int[], $2::int[], $3::bigint[], $4::int[], $5::boolean[]);
