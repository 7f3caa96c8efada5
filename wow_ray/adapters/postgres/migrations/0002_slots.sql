-- Owners, slots, groups: who may write what, and how far everybody has come.
-- Compatible from: 1

-- One row per incarnation of a partition while it holds a lease. `backend_*` names the session that renews it: gone from a server
-- that was not restarted, it tells a successor on another host that the process is gone (both are empty behind a pooler).
CREATE TABLE {schema}.owners (
    id text PRIMARY KEY,
    partition text NOT NULL,
    host text NOT NULL,
    pid bigint NOT NULL,
    process_started double precision,
    backend_pid int,
    backend_started timestamptz,
    renewed_at timestamptz NOT NULL,
    lease_until timestamptz NOT NULL
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 500, autovacuum_vacuum_cost_delay = 0);

-- Fence and checkpoint at once: whoever writes anything of a slot locks its row at the epoch first. `progress` is the packed
-- marks of all groups (policy/progress.py), written at `progress_epoch`. No index but the key, so that updates stay HOT.
CREATE TABLE {schema}.slots (
    slot int PRIMARY KEY,
    partition text,
    owner text,
    epoch bigint NOT NULL DEFAULT 0,
    progress bytea NOT NULL DEFAULT '',
    progress_epoch bigint NOT NULL DEFAULT 0
) WITH (fillfactor = 30, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 500, autovacuum_vacuum_cost_delay = 0);

ALTER TABLE {schema}.slots ALTER COLUMN progress SET STORAGE MAIN;  -- a side table would double every write of a long one

INSERT INTO {schema}.slots (slot) SELECT generate_series(0, {slots} - 1);

-- `retired_at`: not declared by the newest program; it must be said where such a group goes on before it runs again.
CREATE TABLE {schema}.groups (
    number int GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name text NOT NULL UNIQUE,
    kind text NOT NULL,
    registered_at timestamptz NOT NULL DEFAULT now(),
    retired_at timestamptz
);

-- Every name a group ever had, so that a program of an earlier release still writes rows under the present one.
CREATE TABLE {schema}.group_names (
    name text PRIMARY KEY,
    number int NOT NULL
);

-- `first_name` is part of invocation keys and never changes.
CREATE TABLE {schema}.subscriptions (
    group_number int NOT NULL,
    name text NOT NULL,
    first_name text NOT NULL,
    PRIMARY KEY (group_number, name)
);

-- Where a group without progress of its own stands. Progress that was written at `epoch` or earlier does not count for it:
-- the group was sent to the end meanwhile, and that owner did not know.
CREATE TABLE {schema}.group_starts (
    group_number int NOT NULL,
    slot int NOT NULL,
    position bigint NOT NULL,
    epoch bigint NOT NULL DEFAULT -1,
    PRIMARY KEY (slot, group_number)
);

-- One row per effectively-once call that is not yet part of `slots.progress`.
CREATE TABLE {schema}.settled (
    slot int NOT NULL,
    group_number int NOT NULL,
    position bigint NOT NULL,
    epoch bigint NOT NULL,
    PRIMARY KEY (slot, group_number, position)
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000, autovacuum_vacuum_cost_delay = 0);
