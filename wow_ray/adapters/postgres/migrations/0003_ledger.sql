-- The failure ledger: parked aggregates, their history, what operators asked, what people are told.
-- Compatible from: 1

-- Positions and bounded error texts, never payloads. `open` follows `state`; one open row per group and aggregate.
CREATE TABLE {schema}.parked (
    id text PRIMARY KEY,
    group_name text NOT NULL,
    subscription text NOT NULL,
    slot int NOT NULL,
    aggregate text NOT NULL,
    aggregate_id text NOT NULL,
    state text NOT NULL,
    reason text NOT NULL,
    stopped_version bigint NOT NULL,
    stopped_sequence int NOT NULL,
    stopped_position bigint NOT NULL,
    attempts int NOT NULL,
    backpressure int NOT NULL,
    retries int NOT NULL,
    next_due timestamptz,
    begun boolean NOT NULL,
    skip_version bigint,
    skip_sequence int,
    told boolean NOT NULL,
    etag bigint NOT NULL,
    parked_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    category text, source text, type text, message text, traceback text, fingerprint text,
    first_category text, first_source text, first_type text, first_message text, first_traceback text, first_fingerprint text,
    open boolean NOT NULL GENERATED ALWAYS AS (state IN ('waiting', 'parked', 'retrying', 'exhausted')) STORED
) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 0);

CREATE UNIQUE INDEX parked_one_open ON {schema}.parked (group_name, aggregate, aggregate_id) WHERE open;
CREATE INDEX parked_held ON {schema}.parked (slot) WHERE open;
CREATE INDEX parked_due ON {schema}.parked (next_due, slot) WHERE state = 'parked';
CREATE INDEX parked_counts ON {schema}.parked (group_name, state) WHERE open;
CREATE INDEX parked_listed ON {schema}.parked (state, id);
CREATE INDEX parked_listed_of_group ON {schema}.parked (group_name, state, id);
CREATE INDEX parked_alike ON {schema}.parked (fingerprint, id) WHERE open;

-- A bounded history; the same attempt is there once, however often its commit was sent.
CREATE TABLE {schema}.parked_attempts (
    row_id text NOT NULL,
    at timestamptz NOT NULL,
    kind text NOT NULL,
    category text, source text, type text, message text, traceback text, fingerprint text,
    PRIMARY KEY (row_id, at, kind)
);

-- What operators asked for; the row is the audit. Applied by the owner of the slot, together with its effect.
CREATE TABLE {schema}.operator_actions (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    request_id text NOT NULL UNIQUE,
    verb text NOT NULL,
    group_name text NOT NULL,
    slot int NOT NULL,
    aggregate text NOT NULL,
    aggregate_id text NOT NULL,
    row_id text,
    etag bigint,
    through_version bigint,
    actor text NOT NULL,
    reason text NOT NULL,
    state text NOT NULL DEFAULT 'asked' CHECK (state IN ('asked', 'done', 'refused')),
    code text NOT NULL DEFAULT '',
    text text NOT NULL DEFAULT '',
    outcome json NOT NULL DEFAULT '{}',
    asked_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    ended_at timestamptz
);

CREATE INDEX operator_actions_open ON {schema}.operator_actions (slot, id) WHERE state = 'asked';

-- The outbox of facts, once per transition. Numbers are given under one lock, so that they become visible in order.
CREATE TABLE {schema}.notices (
    number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    kind text NOT NULL,
    row_id text NOT NULL,
    etag bigint NOT NULL,
    at timestamptz NOT NULL DEFAULT clock_timestamp(),
    UNIQUE (row_id, etag, kind)
);
