-- Statements on notices and their deliveries.

-- name: pauses_to_tell
-- Tell whether a pause has lasted so many seconds untold, or a told one is over.
-- Caller: notices.PostgresOutbox.
SELECT EXISTS (SELECT FROM {schema}.pauses WHERE ended_at IS NULL AND NOT told AND since <= clock_timestamp() - make_interval(secs => $1))
    OR EXISTS (SELECT FROM {schema}.pauses WHERE told AND ended_at IS NOT NULL) AS any;

-- name: lock_numbering
-- Let nobody else number facts until the transaction ends, as commits do.
-- Caller: notices.PostgresOutbox.
SELECT pg_advisory_xact_lock(hashtextextended('{schema_name}/notices', 0));

-- name: note_told_pauses
-- Make facts of pauses that have lasted, and of told ones that are over.
-- Caller: notices.PostgresOutbox.
WITH lasting AS (
    UPDATE {schema}.pauses SET told = true
    WHERE ended_at IS NULL AND NOT told AND since <= clock_timestamp() - make_interval(secs => $1) RETURNING id
), over AS (
    UPDATE {schema}.pauses SET told = false WHERE told AND ended_at IS NOT NULL RETURNING id
)
INSERT INTO {schema}.notices (kind, row_id, etag)
SELECT 'paused', 'pause/' || id, 0 FROM lasting UNION ALL SELECT 'back', 'pause/' || id, 0 FROM over
ON CONFLICT DO NOTHING RETURNING number;

-- name: unrouted_facts
-- Give facts that are to be told and are not routed, with the row (without its long texts) or the pause they are about, and the command
-- that led to them.
-- Caller: notices.PostgresOutbox.
SELECT f.*, r.*, q.*, a.actor AS fact_actor, a.reason AS fact_why, c.function AS call_function
FROM (
    SELECT number AS fact_number, kind AS fact_kind, at AS fact_at, row_id AS fact_row FROM {schema}.notices
    WHERE routed_at IS NULL AND not_before <= clock_timestamp() ORDER BY number LIMIT $1
) f
LEFT JOIN LATERAL (SELECT {row_told} FROM {schema}.parked WHERE id = f.fact_row) r ON true
LEFT JOIN LATERAL (
    SELECT g.name AS pause_group, p.partition AS pause_partition, p.reason AS pause_reason, p.since AS pause_since, p.text AS pause_text,
        p.ended_at AS pause_ended_at, p.ended_by AS pause_ended_by, p.actor AS pause_actor
    FROM {schema}.pauses p JOIN {schema}.groups g ON g.number = p.group_number
    WHERE p.id = substring(f.fact_row FROM '^pause/([0-9]{1,18})$')::bigint
) q ON true
LEFT JOIN LATERAL (
    SELECT o.actor, o.reason FROM {schema}.operator_actions o
    WHERE f.fact_kind IN ('resumed', 'skipped') AND o.row_id = f.fact_row AND o.state = 'done' AND o.verb IN ('resume', 'skip', 'skip_one')
    ORDER BY o.id DESC LIMIT 1
) a ON true
LEFT JOIN {schema}.durable_calls c ON c.id = substring(f.fact_row FROM '^call/(.+)$')
ORDER BY f.fact_number;

-- name: route_facts
-- Note that facts have led to what they lead to.
-- Caller: notices.PostgresOutbox.
UPDATE {schema}.notices SET routed_at = clock_timestamp() WHERE number = ANY ($1::bigint[]) AND routed_at IS NULL RETURNING number;

-- name: add_delivery
-- Store a delivery that is to be sent at once.
-- Caller: notices.PostgresOutbox.
INSERT INTO {schema}.deliveries (id, webhook, kinds, facts, summary, body) VALUES ($1, $2, $3::text[], $4, $5, $6);

-- name: claim_delivery
-- Begin an attempt of a webhook's delivery that is due the longest; its lease is so many seconds.
-- Caller: notices.PostgresOutbox.
UPDATE {schema}.deliveries d
SET attempts = attempts + 1, next_at = clock_timestamp() + make_interval(secs => $2), updated_at = clock_timestamp()
WHERE id = (
    SELECT id FROM {schema}.deliveries WHERE webhook = $1 AND state = 'waiting' AND next_at <= clock_timestamp()
    ORDER BY next_at, id LIMIT 1 FOR UPDATE SKIP LOCKED
) RETURNING {delivery}, clock_timestamp() AS now;

-- name: end_attempt
-- Tell how an attempt ended, unless another has begun since.
-- Caller: notices.PostgresOutbox.
UPDATE {schema}.deliveries SET
    state = CASE WHEN $3 THEN 'sent' WHEN $6::float8 IS NULL THEN 'failed' ELSE 'waiting' END,
    next_at = CASE WHEN $3 OR $6::float8 IS NULL THEN NULL ELSE clock_timestamp() + make_interval(secs => $6::float8) END,
    status = $4, error = $5, updated_at = clock_timestamp()
WHERE id = $1 AND attempts = $2 AND state = 'waiting' RETURNING id;

-- name: abandon_deliveries
-- Give up what waits for webhooks that are not configured.
-- Caller: notices.PostgresOutbox.
UPDATE {schema}.deliveries SET state = 'failed', next_at = NULL, error = $2, updated_at = clock_timestamp()
WHERE state = 'waiting' AND webhook <> ALL ($1::text[]) RETURNING id;

-- name: list_deliveries
-- List deliveries, the newest first, before one of them. A NULL asks for any.
-- Caller: notices.PostgresOutbox.
SELECT {delivery} FROM {schema}.deliveries d
WHERE state = ANY ($1::text[]) AND ($2::text IS NULL OR webhook = $2) AND ($3::text IS NULL OR id < $3) ORDER BY id DESC LIMIT $4;

-- name: delivery_by_id
-- Give a delivery.
-- Caller: notices.PostgresOutbox.
SELECT {delivery} FROM {schema}.deliveries d WHERE id = $1;

-- name: count_deliveries
-- Count the deliveries by webhook and state.
-- Caller: notices.PostgresOutbox.
SELECT webhook, state, count(*) AS deliveries FROM {schema}.deliveries GROUP BY webhook, state;

-- name: lock_delivery
-- Give a delivery to be changed.
-- Caller: notices.PostgresOutbox.
SELECT {delivery} FROM {schema}.deliveries d WHERE id = $1 FOR UPDATE;

-- name: send_again
-- Have a delivery sent again from its first attempt.
-- Caller: notices.PostgresOutbox.
UPDATE {schema}.deliveries SET state = 'waiting', attempts = 0, next_at = clock_timestamp(), updated_at = clock_timestamp() WHERE id = $1;

-- name: outbox_time
-- Give the store's time.
-- Caller: notices.PostgresOutbox.
SELECT clock_timestamp() AS now;

-- name: notice_action_of
-- Give what is stored under a request.
-- Caller: notices._action.
SELECT {intent} FROM {schema}.operator_actions WHERE request_id = $1;

-- name: notice_action
-- Store what was asked of a delivery, with its outcome; no row = something is stored under that request.
-- Caller: notices.PostgresOutbox.
INSERT INTO {schema}.operator_actions (request_id, verb, group_name, slot, aggregate, aggregate_id, actor, reason, state, code, text, outcome, ended_at)
VALUES ($1, $2, $3, 0, 'notice', $4, $5, $6, $7, $8, $9, $10::json, clock_timestamp())
ON CONFLICT (request_id) DO NOTHING RETURNING {intent};
