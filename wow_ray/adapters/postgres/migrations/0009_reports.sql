-- Reports: what each partition says of itself, for operators to look at.
-- Compatible from: 1

-- One row for each partition, by its lasting name, replaced every two seconds by the incarnation that holds the lease, and taken away
-- when that stops. Unlogged: nobody needs it after a crash of the server, and replacing it waits for no disk.
CREATE UNLOGGED TABLE {schema}.partition_reports (
    partition text PRIMARY KEY,
    owner text NOT NULL,
    at timestamptz NOT NULL,
    report json NOT NULL
) WITH (
    fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 500, autovacuum_vacuum_cost_delay = 0,
    toast.autovacuum_vacuum_scale_factor = 0, toast.autovacuum_vacuum_threshold = 500, toast.autovacuum_vacuum_cost_delay = 0
);
