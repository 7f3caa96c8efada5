-- Durable calls: functions that are tried again later, and where their claims stand.
-- Compatible from: 1

-- Arguments and results are JSON in text: what it means is known to the function's annotations alone. Claimable are
-- rows that wait for `due`, and those that run past `lease_until`; what is written of a running one names its token.
CREATE TABLE {schema}.durable_calls (
    id text PRIMARY KEY,
    function text NOT NULL,
    payload text NOT NULL,
    key text,
    priority smallint NOT NULL CHECK (priority BETWEEN 0 AND 9),
    headers json NOT NULL DEFAULT '{}',
    state text NOT NULL CHECK (state IN ('waiting', 'running', 'succeeded', 'exhausted', 'cancelled', 'discarded')),
    due timestamptz NOT NULL,
    attempts int NOT NULL,
    spent int NOT NULL,
    busy int NOT NULL DEFAULT 0,
    etag bigint NOT NULL DEFAULT 1,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    updated_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    token text,
    worker text,
    lease_until timestamptz,
    fallbacks int NOT NULL DEFAULT 0,
    fallback text NOT NULL DEFAULT 'none',
    aside_since timestamptz,
    result text,
    reason text,
    note text NOT NULL DEFAULT '',
    failure text,
    fallback_failure text,
    first_cause text,
    fingerprint text,
    ended_at timestamptz,
    request_id text NOT NULL DEFAULT '',
    CHECK ((state = 'running') = (token IS NOT NULL)),
    CHECK ((state = 'running') = (lease_until IS NOT NULL))
) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 0);

-- One index probe for each function and priority finds what is due, however many wait for later or are over.
CREATE INDEX durable_calls_due ON {schema}.durable_calls (function, priority, due) WHERE state = 'waiting';
CREATE INDEX durable_calls_running ON {schema}.durable_calls (function, lease_until) WHERE state = 'running';
CREATE UNIQUE INDEX durable_calls_one_pending ON {schema}.durable_calls (function, key) WHERE key IS NOT NULL AND state IN ('waiting', 'running');
CREATE INDEX durable_calls_listed ON {schema}.durable_calls (state, id);
CREATE INDEX durable_calls_finished ON {schema}.durable_calls (ended_at) WHERE state IN ('succeeded', 'cancelled', 'discarded');
