-- Statements on batches of commands.

-- name: keep_batch
-- Store a batch of which nothing is asked yet.
-- Caller: batches.PostgresBatches.
INSERT INTO {schema}.batches (id, kind, verb, more) VALUES ($1, $2, $3, $4);

-- name: keep_batch_items
-- Store its rows, in their order.
-- Caller: batches.PostgresBatches.
INSERT INTO {schema}.batch_items (batch, place, item, etag, view)
SELECT $1, t.place, t.item, t.etag, t.view
FROM unnest($2::text[], $3::bigint[], $4::text[]) WITH ORDINALITY AS t (item, etag, view, place);

-- name: forget_batches
-- Delete some batches to which nothing has happened for so many seconds.
-- Caller: batches.PostgresBatches.
DELETE FROM {schema}.batches WHERE id IN (
    SELECT id FROM {schema}.batches WHERE updated_at < clock_timestamp() - make_interval(secs => $1)
    ORDER BY updated_at LIMIT 20 FOR UPDATE SKIP LOCKED
);

-- name: find_batches
-- Give one batch, or the newest of a kind, as they stand by now.
-- Caller: batches.PostgresBatches.
SELECT b.id, b.kind, b.verb, b.more, {batch_stage} AS stage, b.actor, b.reason, b.rate, b.why, b.seen_at, i.*
FROM {schema}.batches b CROSS JOIN LATERAL (
    SELECT count(*) AS size, count(*) FILTER (WHERE outcome = 'recovered') AS recovered,
        count(*) FILTER (WHERE outcome = 'failed') AS failed, count(*) FILTER (WHERE outcome = 'changed') AS changed,
        count(*) FILTER (WHERE outcome = 'under_way') AS under_way
    FROM {schema}.batch_items WHERE batch = b.id
) i
WHERE b.kind = $1 AND ($2::text IS NULL OR b.id = $2) ORDER BY b.seen_at DESC, b.id DESC LIMIT $3;

-- name: batch_items
-- Give the rows of a batch in their order.
-- Caller: batches.PostgresBatches.
SELECT item, etag, view, outcome FROM {schema}.batch_items WHERE batch = $1 ORDER BY place;

-- name: begin_batch
-- Have a batch in one of some stages run; no row = it is in another one, or gone.
-- Caller: batches.PostgresBatches.
UPDATE {schema}.batches b SET stage = 'canary', runner = $4, actor = $5, reason = $6, rate = $7, why = '',
    lease_until = clock_timestamp() + make_interval(secs => $8), updated_at = clock_timestamp()
WHERE kind = $1 AND id = $2 AND {batch_stage} = ANY ($3::text[]) RETURNING id;

-- name: beat_batch
-- Say that it still runs; no row = it was stopped, or another process runs it.
-- Caller: batches.PostgresBatches.
UPDATE {schema}.batches SET stage = $3, lease_until = clock_timestamp() + make_interval(secs => $4), updated_at = clock_timestamp()
WHERE id = $1 AND runner = $2 AND stage IN ('canary', 'running') RETURNING id;

-- name: batch_came
-- Note what came of a row.
-- Caller: batches.PostgresBatches.
UPDATE {schema}.batch_items SET outcome = $3 WHERE batch = $1 AND item = $2 AND outcome IS NULL;

-- name: end_batch
-- End a batch that a process runs.
-- Caller: batches.PostgresBatches.
UPDATE {schema}.batches SET stage = $3, why = $4, runner = NULL, updated_at = clock_timestamp()
WHERE id = $1 AND runner = $2 AND stage IN ('canary', 'running');

-- name: interrupt_batch
-- Let somebody else resume a batch that a process runs.
-- Caller: batches.PostgresBatches.
UPDATE {schema}.batches SET lease_until = clock_timestamp(), updated_at = clock_timestamp()
WHERE id = $1 AND runner = $2 AND stage IN ('canary', 'running');

-- name: stop_batch
-- Stop a batch, whoever runs it; no row = it has ended before, or there is none.
-- Caller: batches.PostgresBatches.
UPDATE {schema}.batches SET stage = 'stopped', why = $3, runner = NULL, updated_at = clock_timestamp()
WHERE kind = $1 AND id = $2 AND stage IN ('preview', 'canary', 'running') RETURNING id;
