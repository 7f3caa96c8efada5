-- Statements on samples of how groups stood.

-- name: add_samples
-- Keep one sample of each group for the present stretch; no rows = they are there.
-- Caller: samples.PostgresSamples.
INSERT INTO {schema}.samples
SELECT date_bin(make_interval(secs => $1), clock_timestamp(), 'epoch'), s.*
FROM unnest(
    $2::int[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[],
    $7::float8[], $8::bigint[], $9::bigint[], $10::bigint[], $11::bigint[], $12::bigint[]
) s
ON CONFLICT DO NOTHING
RETURNING group_number;

-- name: read_samples
-- Sum groups up moment by moment, then take moments together: the largest of what stood, the sum of what happened.
-- Caller: samples.PostgresSamples.
WITH moments AS (
    SELECT at, sum(lag) AS lag, sum(unfinished) AS unfinished, sum(parked) AS parked, sum(exhausted) AS exhausted, max(span) AS span,
        sum(handled) AS handled, sum(unrecoverable) AS unrecoverable, sum(recoverable) AS recoverable, sum(systemic) AS systemic,
        sum(backpressure) AS backpressure
    FROM {schema}.samples
    WHERE at > now() - make_interval(secs => $1) AND ($3::int IS NULL OR group_number = $3)
    GROUP BY at
)
SELECT date_bin(make_interval(secs => $2), at, 'epoch') AS at, max(lag)::bigint AS lag, max(unfinished)::bigint AS unfinished,
    max(parked)::bigint AS parked, max(exhausted)::bigint AS exhausted, coalesce(sum(span), 0) AS span,
    coalesce(sum(handled), 0)::bigint AS handled, coalesce(sum(unrecoverable), 0)::bigint AS unrecoverable,
    coalesce(sum(recoverable), 0)::bigint AS recoverable, coalesce(sum(systemic), 0)::bigint AS systemic,
    coalesce(sum(backpressure), 0)::bigint AS backpressure
FROM moments GROUP BY 1 ORDER BY 1;
