-- Commands on many rows: what was frozen, who runs it, and what came of each row, so that a batch outlives its process.
-- Compatible from: 1

-- `runner` has a lease while the stage is canary or running; one whose lease is over was interrupted, and may be resumed.
CREATE TABLE {schema}.batches (
    id text PRIMARY KEY,
    kind text NOT NULL,
    verb text NOT NULL,
    more boolean NOT NULL,
    stage text NOT NULL DEFAULT 'preview',
    actor text NOT NULL DEFAULT '',
    reason text NOT NULL DEFAULT '',
    rate float8,
    why text NOT NULL DEFAULT '',
    runner text,
    lease_until timestamptz,
    seen_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    updated_at timestamptz NOT NULL DEFAULT clock_timestamp()
);

CREATE INDEX batches_newest ON {schema}.batches (kind, seen_at);
CREATE INDEX batches_oldest ON {schema}.batches (updated_at);

-- `view` is how the row was shown, as JSON; `outcome` NULL = nothing is known of it.
CREATE TABLE {schema}.batch_items (
    batch text NOT NULL REFERENCES {schema}.batches (id) ON DELETE CASCADE,
    place int NOT NULL,
    item text NOT NULL,
    etag bigint NOT NULL,
    view text NOT NULL,
    outcome text,
    PRIMARY KEY (batch, place)
);

CREATE UNIQUE INDEX batch_items_of ON {schema}.batch_items (batch, item);
