-- Statements on the failure ledger.

-- name: put_rows
-- Let rows be in these states, by id; a group's former name is written as its present one.
-- Caller: commits.write_all.
INSERT INTO {schema}.parked ({row})
SELECT r.id, coalesce((SELECT g.name FROM {schema}.group_names n JOIN {schema}.groups g USING (number) WHERE n.name = r.group_name), r.group_name),
    {row_tail}
FROM json_populate_recordset(NULL::{schema}.parked, $1::json) r
ON CONFLICT (id) DO UPDATE SET ({row}) = ROW ({row_new});

-- name: add_attempts
-- Add to the rows' history; what is there is not added again.
-- Caller: commits.write_all.
INSERT INTO {schema}.parked_attempts ({attempt})
SELECT {attempt} FROM json_populate_recordset(NULL::{schema}.parked_attempts, $1::json)
ON CONFLICT DO NOTHING;

-- name: trim_attempts
-- Keep the newest attempts of each row, at most so many.
-- Caller: commits.write_all.
DELETE FROM {schema}.parked_attempts a
USING (
    SELECT row_id, at, kind, row_number() OVER (PARTITION BY row_id ORDER BY at DESC, kind) AS place
    FROM {schema}.parked_attempts WHERE row_id = ANY ($1::text[])
) old
WHERE old.place > $2 AND a.row_id = old.row_id AND a.at = old.at AND a.kind = old.kind;

-- name: end_intents
-- Store how intents ended, once.
-- Caller: commits.write_all.
UPDATE {schema}.operator_actions a
SET state = CASE WHEN d.applied THEN 'done' ELSE 'refused' END, code = d.code, text = d.text, outcome = d.outcome, ended_at = clock_timestamp()
FROM json_to_recordset($1::json) AS d (id bigint, applied boolean, code text, text text, outcome json)
WHERE a.id = d.id AND a.state = 'asked';

-- name: lock_notices
-- Let one commit at a time number facts; held to its end, which follows at once.
-- Caller: telling.tell.
SELECT pg_advisory_xact_lock(hashtextextended('{schema_name}/notices', 0));

-- name: add_notices
-- Put facts into the outbox, once for each state of their row.
-- Caller: telling.tell.
INSERT INTO {schema}.notices (kind, row_id, etag, not_before)
SELECT kind, row_id, etag, clock_timestamp() + make_interval(secs => seconds)
FROM unnest($1::text[], $2::text[], $3::bigint[], $4::float8[]) AS new (kind, row_id, etag, seconds)
ON CONFLICT DO NOTHING;

-- name: withdraw_notices
-- Take back what was said of reopened rows before that and nobody was told yet.
-- Caller: commits.write_all.
DELETE FROM {schema}.notices n USING unnest($1::text[], $2::bigint[]) AS reopened (row_id, etag)
WHERE n.row_id = reopened.row_id AND n.etag < reopened.etag AND n.not_before > clock_timestamp();

-- name: row
-- Give one row, open or ended.
-- Caller: ledger.PostgresLedger.
SELECT {row} FROM {schema}.parked WHERE id = $1;

-- name: open_row
-- Give the open row of an aggregate in a group.
-- Caller: ledger.PostgresLedger.
SELECT {row} FROM {schema}.parked WHERE group_name = $1 AND aggregate = $2 AND aggregate_id = $3 AND open;

-- name: list_rows
-- List rows by id, after one of them. A NULL asks for any.
-- Caller: ledger.PostgresLedger.
SELECT {row} FROM {schema}.parked WHERE {wanted} AND ($13::text IS NULL OR id > $13) ORDER BY id LIMIT $14;

-- name: list_rows_newest
-- List rows the other way round, before one of them.
-- Caller: ledger.PostgresLedger.
SELECT {row} FROM {schema}.parked WHERE {wanted} AND ($13::text IS NULL OR id < $13) ORDER BY id DESC LIMIT $14;

-- name: search_rows
-- Find rows with a text among the next so many; says how many were looked at, and through which id.
-- Caller: ledger.PostgresLedger.
WITH looked AS MATERIALIZED (
    SELECT id, type, message FROM {schema}.parked WHERE {wanted_but_text} AND ($13::text IS NULL OR id > $13) ORDER BY id LIMIT $15
), found AS (SELECT id FROM looked WHERE {has_text} ORDER BY id LIMIT $14)
SELECT l.looked, l.through, {row} FROM (SELECT count(*) AS looked, max(id) AS through FROM looked) l
LEFT JOIN (SELECT {row} FROM {schema}.parked WHERE id IN (SELECT id FROM found)) p ON true ORDER BY id;

-- name: search_rows_newest
-- Do the same the other way round.
-- Caller: ledger.PostgresLedger.
WITH looked AS MATERIALIZED (
    SELECT id, type, message FROM {schema}.parked WHERE {wanted_but_text} AND ($13::text IS NULL OR id < $13) ORDER BY id DESC LIMIT $15
), found AS (SELECT id FROM looked WHERE {has_text} ORDER BY id DESC LIMIT $14)
SELECT l.looked, l.through, {row} FROM (SELECT count(*) AS looked, min(id) AS through FROM looked) l
LEFT JOIN (SELECT {row} FROM {schema}.parked WHERE id IN (SELECT id FROM found)) p ON true ORDER BY id DESC;

-- name: count_wanted
-- Count the rows with a text, of the newest so many that are wanted otherwise.
-- Caller: ledger.PostgresLedger.
SELECT count(*) AS looked, count(*) FILTER (WHERE {has_text}) AS rows
FROM (SELECT type, message FROM {schema}.parked WHERE {wanted_but_text} ORDER BY id DESC LIMIT $13) AS found;

-- name: count_totals
-- Count open rows by what is counted as it changes. A NULL asks for any.
-- Caller: ledger.PostgresLedger.
SELECT coalesce(sum(rows), 0)::bigint AS rows FROM {schema}.parked_totals
WHERE state = ANY ($1::text[]) AND ($2::text IS NULL OR group_name = $2) AND ($3::text IS NULL OR fingerprint = $3)
    AND ($4::text IS NULL OR category = $4);

-- name: alike
-- Group the newest so many rows by the fingerprint of their last error, with the newest row's text.
-- Caller: ledger.PostgresLedger.
WITH looked AS MATERIALIZED (
    SELECT id, fingerprint, parked_at, type, message FROM {schema}.parked WHERE {wanted_but_text} ORDER BY id DESC LIMIT $14
), alike AS (
    SELECT fingerprint, count(*) AS rows, min(parked_at) AS first, max(parked_at) AS last, max(id) AS newest
    FROM looked WHERE {has_text} GROUP BY fingerprint ORDER BY rows DESC, fingerprint NULLS LAST LIMIT $13
)
SELECT a.fingerprint, a.rows, (SELECT count(*) FROM looked) < $14 AS exact, a.first, a.last, p.category, p.type, p.message, p.subscription
FROM alike a JOIN {schema}.parked p ON p.id = a.newest ORDER BY a.rows DESC, a.fingerprint COLLATE "C" NULLS LAST;

-- name: alike_totals
-- Group open rows so by what is counted as it changes; the first and the last of each are looked up by state.
-- Caller: ledger.PostgresLedger.
WITH alike AS MATERIALIZED (
    SELECT fingerprint, sum(rows)::bigint AS rows FROM {schema}.parked_totals
    WHERE state = ANY ($1::text[]) AND ($2::text IS NULL OR group_name = $2) AND ($3::text IS NULL OR fingerprint = $3)
        AND ($4::text IS NULL OR category = $4)
    GROUP BY fingerprint HAVING sum(rows) > 0
    ORDER BY rows DESC, nullif(fingerprint, '') COLLATE "C" NULLS LAST LIMIT $5
)
SELECT nullif(a.fingerprint, '') AS fingerprint, a.rows, true AS exact, f.first, n.last, n.category, n.type, n.message, n.subscription
FROM alike a
CROSS JOIN LATERAL (
    SELECT min(e.parked_at) AS first FROM unnest($1::text[]) AS s (state) CROSS JOIN LATERAL (
        SELECT parked_at FROM {schema}.parked WHERE open AND coalesce(fingerprint, '') = a.fingerprint AND state = s.state
            AND ($2::text IS NULL OR group_name = $2) AND ($4::text IS NULL OR category = $4)
        ORDER BY parked_at LIMIT 1
    ) e
) f
CROSS JOIN LATERAL (
    SELECT e.* FROM unnest($1::text[]) AS s (state) CROSS JOIN LATERAL (
        SELECT parked_at AS last, category, type, message, subscription FROM {schema}.parked
        WHERE open AND coalesce(fingerprint, '') = a.fingerprint AND state = s.state
            AND ($2::text IS NULL OR group_name = $2) AND ($4::text IS NULL OR category = $4)
        ORDER BY parked_at DESC LIMIT 1
    ) e ORDER BY e.last DESC LIMIT 1
) n
ORDER BY a.rows DESC, nullif(a.fingerprint, '') COLLATE "C" NULLS LAST;

-- name: count_categories
-- Count rows by the category of their last error.
-- Caller: ledger.PostgresLedger.
SELECT nullif(category, '') AS category, sum(rows)::bigint AS rows FROM {schema}.parked_totals WHERE state = ANY ($1::text[]) GROUP BY category HAVING sum(rows) > 0;

-- name: count_rows
-- Count open rows by group and state.
-- Caller: ledger.PostgresLedger.
SELECT group_name, state, sum(rows)::bigint AS rows FROM {schema}.parked_totals GROUP BY group_name, state HAVING sum(rows) > 0;

-- name: due_rows
-- Give rows whose next retry is due, the longest due first.
-- Caller: ledger.PostgresLedger.
SELECT {row} FROM {schema}.parked
WHERE state = 'parked' AND next_due <= clock_timestamp() AND slot = ANY ($1::int[])
    AND subscription = ANY ($2::text[])
ORDER BY next_due, id LIMIT $3;

-- name: attempts
-- Give a row's history.
-- Caller: ledger.PostgresLedger.
SELECT {attempt} FROM {schema}.parked_attempts WHERE row_id = $1 ORDER BY at, kind;

-- name: ask
-- Store an intent, unless there is one under that request.
-- Caller: ledger.PostgresLedger.
INSERT INTO {schema}.operator_actions (request_id, verb, group_name, slot, aggregate, aggregate_id, row_id, etag, through_version, actor, reason)
VALUES ($1, $2, coalesce((SELECT g.name FROM {schema}.group_names n JOIN {schema}.groups g USING (number) WHERE n.name = $3), $3),
    $4, $5, $6, $7, $8, $9, $10, $11)
ON CONFLICT (request_id) DO NOTHING;

-- name: intent
-- Give an intent by its request.
-- Caller: ledger.PostgresLedger.
SELECT {intent} FROM {schema}.operator_actions WHERE request_id = $1;

-- name: open_intents
-- Give the intents that wait to be applied in some slots.
-- Caller: ledger.PostgresLedger.
SELECT {intent} FROM {schema}.operator_actions WHERE state = 'asked' AND slot = ANY ($1::int[]) ORDER BY id;

-- name: actions
-- List what operators asked for, the newest first, before one of them. A NULL asks for any.
-- Caller: ledger.PostgresLedger.
SELECT {intent} FROM {schema}.operator_actions
WHERE ($1::text IS NULL OR group_name = $1) AND ($2::text IS NULL OR aggregate = $2) AND ($3::text IS NULL OR aggregate_id = $3)
  AND ($4::text IS NULL OR actor = $4) AND ($5::bigint IS NULL OR id < $5)
ORDER BY id DESC LIMIT $6;

-- name: list_notices
-- Give facts from the outbox.
-- Caller: ledger.PostgresLedger.
SELECT number, kind, row_id FROM {schema}.notices WHERE number > $1 AND not_before <= clock_timestamp() ORDER BY number LIMIT $2;
