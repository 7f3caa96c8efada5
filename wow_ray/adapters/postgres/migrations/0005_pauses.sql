-- Pauses: why groups stand still, or have stood still.
-- Compatible from: 1

-- One row for each time; present while `ended_at` is NULL. The group is meant by its number, which a rename keeps; `partition` is
-- the lasting name of the one that stands still, '' = all. `request_id` is that of the action in `operator_actions` that asked for
-- it, '' = the partition noted it by itself.
CREATE TABLE {schema}.pauses (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    group_number int NOT NULL,
    partition text NOT NULL,
    reason text NOT NULL,
    since timestamptz NOT NULL DEFAULT clock_timestamp(),
    actor text NOT NULL,
    text text NOT NULL,
    request_id text NOT NULL,
    detail json NOT NULL DEFAULT '{}',
    ended_at timestamptz,
    ended_by text NOT NULL DEFAULT '',
    ended_text text NOT NULL DEFAULT ''
);

CREATE UNIQUE INDEX pauses_present ON {schema}.pauses (group_number, partition, reason) WHERE ended_at IS NULL;
CREATE INDEX pauses_of_group ON {schema}.pauses (group_number, id);
