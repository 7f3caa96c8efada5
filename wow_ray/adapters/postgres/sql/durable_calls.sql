-- Statements on durable calls.

-- name: submit_call
-- Store a call, unless there is one of that id, or one pending under its key; no row = there is.
-- Caller: durable_calls.PostgresDurableCalls.
INSERT INTO {schema}.durable_calls (id, function, payload, key, priority, headers, state, due, attempts, spent, failure, first_cause, fingerprint)
VALUES ($1, $2, $3, $4, $5, $6::json, 'waiting', clock_timestamp() + make_interval(secs => $7), $8, $9, $10, $10, $11)
ON CONFLICT DO NOTHING RETURNING id;

-- name: submit_calls
-- Store calls that have no keys, as arrays, unless there are some of their ids; answers the ids of the new ones.
-- Caller: durable_calls.PostgresDurableCalls.
INSERT INTO {schema}.durable_calls (id, function, payload, priority, headers, state, due, attempts, spent, failure, first_cause, fingerprint)
SELECT n.id, n.function, n.payload, n.priority, n.headers::json, 'waiting', clock_timestamp() + make_interval(secs => n.delay),
    n.attempts, n.spent, n.failure, n.failure, n.fingerprint
FROM unnest($1::text[], $2::text[], $3::text[], $4::smallint[], $5::text[], $6::float8[], $7::int[], $8::int[], $9::text[], $10::text[])
    AS n (id, function, payload, priority, headers, delay, attempts, spent, failure, fingerprint)
ON CONFLICT DO NOTHING RETURNING id;

-- name: standing_call
-- Give the call of that id, or the one that is pending under the key.
-- Caller: durable_calls.PostgresDurableCalls.
SELECT id FROM {schema}.durable_calls WHERE id = $1
UNION ALL SELECT id FROM {schema}.durable_calls WHERE function = $2 AND key = $3 AND state IN ('waiting', 'running')
LIMIT 1;

-- name: lock_limits
-- Let one worker at a time count the calls of functions that have a limit, locked in one order; held to the end of its claim.
-- Caller: durable_calls.PostgresDurableCalls.
SELECT pg_advisory_xact_lock(n.number) FROM (
    SELECT DISTINCT hashtextextended('{schema_name}/calls/' || f.name, 0) AS number FROM unnest($1::text[]) AS f (name) ORDER BY 1
) n;

-- name: count_running
-- Count the calls of these functions that are claimed and whose lease holds.
-- Caller: durable_calls.PostgresDurableCalls.
SELECT function, count(*) AS running FROM {schema}.durable_calls
WHERE lease_until IS NOT NULL AND function = ANY ($1::text[]) AND lease_until > clock_timestamp() GROUP BY function;

-- name: claim_calls
-- Claim what is claimable: functions, room for each, how many in all, worker, lease in seconds.
-- Caller: durable_calls.PostgresDurableCalls.
WITH found AS MATERIALIZED (
    SELECT c.id, f.name, f.room, p.priority, c.due
    FROM unnest($1::text[], $2::int[]) AS f (name, room)
    CROSS JOIN generate_series(9, 0, -1) AS p (priority)
    CROSS JOIN LATERAL (
        SELECT w.id, w.due FROM {schema}.durable_calls w
        WHERE w.state = 'waiting' AND w.function = f.name AND w.priority = p.priority AND w.due <= now()
        ORDER BY w.due LIMIT least(f.room, $3) FOR UPDATE SKIP LOCKED
    ) c
    UNION ALL
    SELECT c.id, f.name, f.room, c.priority, c.due
    FROM unnest($1::text[], $2::int[]) AS f (name, room)
    CROSS JOIN LATERAL (
        SELECT r.id, r.priority, r.lease_until AS due FROM {schema}.durable_calls r
        WHERE r.function = f.name AND r.lease_until <= now()
        ORDER BY r.lease_until LIMIT least(f.room, $3) FOR UPDATE SKIP LOCKED
    ) c
), placed AS (
    SELECT id, priority, due, room, row_number() OVER (PARTITION BY name ORDER BY priority DESC, due, id) AS place FROM found
), picked AS (
    SELECT id FROM placed WHERE place <= room ORDER BY priority DESC, due, id LIMIT $3
)
UPDATE {schema}.durable_calls c SET state = 'running', token = gen_random_uuid()::text, worker = $4,
    lease_until = clock_timestamp() + make_interval(secs => $5),
    attempts = attempts + (fallback <> 'begun')::int, spent = spent + (fallback <> 'begun')::int,
    fallbacks = fallbacks + (fallback = 'begun')::int, etag = etag + 1, updated_at = clock_timestamp()
FROM picked WHERE c.id = picked.id RETURNING {call};

-- name: extend_claims
-- Begin the leases of these claims anew; answers those that are still ours.
-- Caller: durable_calls.PostgresDurableCalls.
WITH mine AS MATERIALIZED (
    SELECT c.id FROM unnest($1::text[], $2::text[]) AS m (id, token)
    JOIN {schema}.durable_calls c ON c.id = m.id AND c.token = m.token AND c.state = 'running'
    ORDER BY c.id FOR UPDATE OF c
)
UPDATE {schema}.durable_calls c SET lease_until = clock_timestamp() + make_interval(secs => $3)
FROM mine WHERE c.id = mine.id RETURNING c.id;

-- name: finish_claims
-- Write how claims end, where the token is still the row's; answers those with their new etags and states.
-- Caller: durable_calls.PostgresDurableCalls.
WITH d AS MATERIALIZED (
    SELECT * FROM json_to_recordset($1::json) AS d (id text, token text, state text, after float8, attempts int, spent int, busy int,
        fallbacks int, fallback text, aside boolean, result text, reason text, note text, failure text, fallback_failure text,
        first_cause text, fingerprint text)
), mine AS MATERIALIZED (
    SELECT c.id FROM d JOIN {schema}.durable_calls c ON c.id = d.id AND c.token = d.token AND c.state = 'running'
    ORDER BY c.id FOR UPDATE OF c
)
UPDATE {schema}.durable_calls c SET state = d.state,
    due = CASE WHEN d.after IS NULL THEN c.due ELSE clock_timestamp() + make_interval(secs => d.after) END,
    attempts = d.attempts, spent = d.spent, busy = d.busy, fallbacks = d.fallbacks, fallback = d.fallback,
    aside_since = CASE WHEN d.aside THEN coalesce(c.aside_since, clock_timestamp()) END,
    result = d.result, reason = d.reason, note = d.note, failure = d.failure, fallback_failure = d.fallback_failure,
    first_cause = d.first_cause, fingerprint = d.fingerprint,
    token = CASE WHEN d.state = 'running' THEN c.token END, worker = CASE WHEN d.state = 'running' THEN c.worker END,
    lease_until = CASE WHEN d.state = 'running' THEN c.lease_until END,
    ended_at = CASE WHEN d.state NOT IN ('running', 'waiting') THEN clock_timestamp() END,
    etag = c.etag + 1, updated_at = clock_timestamp()
FROM d JOIN mine ON mine.id = d.id WHERE c.id = d.id RETURNING c.id, c.etag, c.state;

-- name: next_due_call
-- Give the seconds until the next call of these functions can be claimed.
-- Caller: durable_calls.PostgresDurableCalls.
SELECT extract(epoch FROM min(c.at) - clock_timestamp())::float8 AS seconds FROM (
    SELECT w.due AS at FROM unnest($1::text[]) AS f (name) CROSS JOIN generate_series(0, 9) AS p (priority)
    CROSS JOIN LATERAL (
        SELECT due FROM {schema}.durable_calls WHERE state = 'waiting' AND function = f.name AND priority = p.priority ORDER BY due LIMIT 1
    ) w
    UNION ALL
    SELECT r.lease_until FROM unnest($1::text[]) AS f (name) CROSS JOIN LATERAL (
        SELECT lease_until FROM {schema}.durable_calls WHERE lease_until IS NOT NULL AND function = f.name ORDER BY lease_until LIMIT 1
    ) r
) c;

-- name: call_by_id
-- Give a call.
-- Caller: durable_calls.PostgresDurableCalls.
SELECT {call} FROM {schema}.durable_calls c WHERE id = $1;

-- name: list_calls
-- List calls by id, after one of them. A NULL asks for any.
-- Caller: durable_calls.PostgresDurableCalls.
SELECT {call} FROM {schema}.durable_calls c
WHERE state = ANY ($1::text[]) AND ($2::text IS NULL OR function = $2) AND ($3::text IS NULL OR fingerprint = $3)
  AND ($4::text IS NULL OR key = $4) AND ($5::text IS NULL OR id > $5)
ORDER BY id LIMIT $6;

-- name: count_calls
-- Count what is not finished.
-- Caller: durable_calls.PostgresDurableCalls.
SELECT function, state, count(*) AS calls FROM {schema}.durable_calls WHERE state IN ('waiting', 'running', 'exhausted') GROUP BY function, state;

-- name: lock_call
-- Give a call to be changed; it stays as it is until the transaction ends.
-- Caller: durable_calls.PostgresDurableCalls.
SELECT {call} FROM {schema}.durable_calls c WHERE id = $1 FOR UPDATE;

-- name: put_call
-- Change a call as somebody asked.
-- Caller: durable_calls.PostgresDurableCalls.
UPDATE {schema}.durable_calls SET state = $2, due = $3, spent = $4, busy = $5, fallbacks = $6, fallback = $7, reason = $8, note = $9,
    fallback_failure = $10, ended_at = $11, request_id = $12, token = $13, worker = $14, lease_until = $15,
    aside_since = NULL, etag = etag + 1, updated_at = clock_timestamp()
WHERE id = $1;

-- name: call_action
-- Store what was asked of a call, with its outcome; no row = something is stored under that request.
-- Caller: durable_calls.PostgresDurableCalls.
INSERT INTO {schema}.operator_actions (request_id, verb, group_name, slot, aggregate, aggregate_id, row_id, etag, actor, reason, state, code, text, outcome, ended_at)
VALUES ($1, $2, $3, 0, 'call', $4, $4, $5, $6, $7, $8, $9, $10, $11::json, clock_timestamp())
ON CONFLICT (request_id) DO NOTHING RETURNING {intent};

-- name: call_action_of
-- Give what is stored under a request.
-- Caller: durable_calls.PostgresDurableCalls.
SELECT {intent} FROM {schema}.operator_actions WHERE request_id = $1;

-- name: forget_calls
-- Delete finished calls that ended longer ago than so many seconds.
-- Caller: durable_calls.PostgresDurableCalls.
DELETE FROM {schema}.durable_calls WHERE id IN (
    SELECT id FROM {schema}.durable_calls
    WHERE state IN ('succeeded', 'cancelled', 'discarded') AND ended_at < clock_timestamp() - make_interval(secs => $1)
    ORDER BY ended_at LIMIT $2
) RETURNING id;

-- name: call_time
-- Give the store's time.
-- Caller: durable_calls.PostgresDurableCalls.
SELECT clock_timestamp() AS now;
