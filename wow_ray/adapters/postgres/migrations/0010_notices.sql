-- Notices: which facts have led to deliveries, and the deliveries to webhooks.
-- Compatible from: 1

-- What the outbox holds by now was never to be told to anybody: it counts as routed.
ALTER TABLE {schema}.notices ADD COLUMN routed_at timestamptz DEFAULT now();
ALTER TABLE {schema}.notices ALTER COLUMN routed_at SET DEFAULT NULL;
CREATE INDEX notices_unrouted ON {schema}.notices (number) WHERE routed_at IS NULL;

-- `told`: people were told that it lasts, and are to be told when it is over.
ALTER TABLE {schema}.pauses ADD COLUMN told boolean NOT NULL DEFAULT false;
CREATE INDEX pauses_told ON {schema}.pauses (id) WHERE told;

-- Who resumed or skipped a row, and why, is told with it.
CREATE INDEX operator_actions_of_row ON {schema}.operator_actions (row_id, id) WHERE row_id IS NOT NULL;

-- One row for each thing sent to one webhook. `body` never changes: every attempt sends the same. `next_at` is when the next attempt
-- may begin, while one is under way the end of its lease; an attempt's end is written only where no other has begun since.
CREATE TABLE {schema}.deliveries (
    id text PRIMARY KEY,
    webhook text NOT NULL,
    kinds text[] NOT NULL,
    facts int NOT NULL,
    summary text NOT NULL,
    body text NOT NULL,
    state text NOT NULL DEFAULT 'waiting' CHECK (state IN ('waiting', 'sent', 'failed')),
    attempts int NOT NULL DEFAULT 0,
    next_at timestamptz DEFAULT clock_timestamp(),
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    updated_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    status int,
    error text NOT NULL DEFAULT '',
    CHECK ((state = 'waiting') = (next_at IS NOT NULL))
) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 0);

CREATE INDEX deliveries_due ON {schema}.deliveries (webhook, next_at) WHERE state = 'waiting';
CREATE INDEX deliveries_listed ON {schema}.deliveries (state, id);
