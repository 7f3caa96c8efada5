-- How starts of partitions ended, and which events are tried with a mark since the process keeps dying (P15, H10).
-- Compatible from: 1

-- One row per incarnation of a partition. `ending` NULL = it runs, or nobody has taken its slots over since; then `excused` says
-- that somebody ended it on purpose. Host, pid and start time tell a successor on the same host whether the process is dead.
CREATE TABLE {schema}.starts (
    owner text PRIMARY KEY,
    partition text NOT NULL,
    host text NOT NULL,
    pid bigint NOT NULL,
    process_started double precision,
    started_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    excused boolean NOT NULL DEFAULT false,
    ending text CHECK (ending IN ('clean', 'unclean', 'excused')),
    ended_at timestamptz
);

CREATE INDEX starts_of_partition ON {schema}.starts (partition, started_at);

-- Empty while all is well. `trying`: its call may be under way. `charges`: how many processes died meanwhile.
CREATE TABLE {schema}.trying (
    slot int NOT NULL,
    group_number int NOT NULL,
    position bigint NOT NULL,
    charges int NOT NULL,
    trying boolean NOT NULL,
    PRIMARY KEY (slot, group_number, position)
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 0);

-- The same for the event a row stands at, whose call `begun` marks. Of no concern to a program of the release before.
ALTER TABLE {schema}.parked ADD COLUMN suspicions int NOT NULL DEFAULT 0;
