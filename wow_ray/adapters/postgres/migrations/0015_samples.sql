-- Samples: how each group stood every fifteen seconds, for charts.
-- Compatible from: 1

-- `at` is the beginning of the stretch, so that two who take samples keep one. What happened is null where nobody knows it. Rows are
-- deleted in the order of their age (`retention.samples`).
CREATE TABLE {schema}.samples (
    at timestamptz NOT NULL,
    group_number int NOT NULL,
    lag bigint NOT NULL,
    unfinished bigint NOT NULL,
    parked bigint NOT NULL,
    exhausted bigint NOT NULL,
    span double precision,
    handled bigint,
    unrecoverable bigint,
    recoverable bigint,
    systemic bigint,
    backpressure bigint,
    PRIMARY KEY (at, group_number)
);
