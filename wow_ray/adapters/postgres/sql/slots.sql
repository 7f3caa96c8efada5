-- Statements on slots, owners and groups.

-- name: guard
-- Lock the rows of slots that are still ours, in slot order; what does not come back has a newer owner. First in every commit.
-- Caller: commits.write_all.
SELECT s.slot, clock_timestamp() AS now
FROM {schema}.slots s
WHERE (s.slot, s.epoch) IN (SELECT * FROM unnest($1::int[], $2::bigint[]))
ORDER BY s.slot
FOR NO KEY UPDATE OF s;

-- name: progress
-- Write the packed marks of slots whose rows are locked.
-- Caller: commits.write_all.
UPDATE {schema}.slots s SET progress = w.progress, progress_epoch = s.epoch
FROM unnest($1::int[], $2::bytea[]) AS w (slot, progress)
WHERE s.slot = w.slot;

-- name: fold
-- Delete the markers of effectively-once calls that the marks now contain, exactly these.
-- Caller: commits.write_all.
DELETE FROM {schema}.settled s
USING unnest($1::int[], $2::int[], $3::bigint[]) AS f (slot, group_number, position)
WHERE s.slot = f.slot AND s.group_number = f.group_number AND s.position = f.position;

-- name: reset_settled
-- Delete all markers of a group that begins anew.
-- Caller: slots.PostgresSlotStore.
DELETE FROM {schema}.settled WHERE group_number = $1;

-- name: reset_rows
-- Close the open rows of a group that begins anew, where they stopped behind the place it begins at.
-- Caller: slots.PostgresSlotStore.
UPDATE {schema}.parked
SET state = 'reset', etag = etag + 1, next_due = NULL, begun = false, updated_at = clock_timestamp()
WHERE group_name = $1 AND stopped_position > $2 AND state IN ('waiting', 'parked', 'retrying', 'exhausted')
RETURNING id;

-- name: give_up
-- Let slots have no owner, so that a successor need not wait for the lease.
-- Caller: slots.PostgresSlotStore.
UPDATE {schema}.slots SET owner = NULL WHERE slot = ANY ($1::int[]) AND owner = $2;

-- name: present_owners
-- Tell whose lease has to be waited for, and what shows that its process is gone: by id, seconds left, host and process,
-- and whether the session that renewed it has left a server that was not restarted since, and no renewal came for 1.5 s.
-- Caller: takeover.acquire.
SELECT o.id, o.host, o.pid, o.process_started, extract(epoch FROM o.lease_until - clock_timestamp())::float8 AS left,
    coalesce(o.backend_started > pg_postmaster_start_time() AND o.renewed_at < clock_timestamp() - interval '1.5 s'
        AND NOT EXISTS (SELECT FROM pg_stat_activity a WHERE a.pid = o.backend_pid AND a.backend_start = o.backend_started),
        false) AS session_gone
FROM {schema}.owners o
WHERE o.id IN (SELECT s.owner FROM {schema}.slots s WHERE s.slot = ANY ($1::int[])) AND o.id <> $2 AND o.lease_until > clock_timestamp()
ORDER BY o.id;

-- name: owners_of
-- Give the owners of some slots.
-- Caller: takeover.acquire_free.
SELECT slot, owner FROM {schema}.slots WHERE slot = ANY ($1::int[]) ORDER BY slot;

-- name: lock_slots
-- Lock the rows of slots to take over, in slot order; waits for commits of the old owner under way. In a transaction of its own
-- statement, so that what follows sees what they committed.
-- Caller: takeover.acquire.
SELECT slot, owner FROM {schema}.slots WHERE slot = ANY ($1::int[]) ORDER BY slot FOR NO KEY UPDATE;

-- name: lock_owners
-- Lock the leases of the present owners, so that none is renewed until the take-over has ended.
-- Caller: takeover.acquire.
SELECT id FROM {schema}.owners WHERE id = ANY ($1::text[]) ORDER BY id FOR UPDATE;

-- name: end_leases
-- End the leases of owners that lost slots: what is left of them must stop.
-- Caller: takeover.acquire.
DELETE FROM {schema}.owners WHERE id = ANY ($1::text[]);

-- name: raise_epochs
-- Make somebody the owner of locked slots, at a new epoch.
-- Caller: takeover.acquire.
UPDATE {schema}.slots SET epoch = epoch + 1, owner = $2, partition = $3 WHERE slot = ANY ($1::int[]);

-- name: hung_sessions
-- End the sessions of ours that a waiting take-over waits for. A commit of ours locks these rows for a moment only.
-- Caller: takeover.acquire.
SELECT a.pid, pg_terminate_backend(a.pid) AS ended
FROM unnest(pg_blocking_pids($1::int)) AS b (pid)
JOIN pg_stat_activity a ON a.pid = b.pid
WHERE a.datname = current_database() AND a.usename = current_user;

-- name: load_slots
-- Load epochs and packed progress of slots just taken over.
-- Caller: loading.load.
SELECT slot, epoch, progress, progress_epoch, clock_timestamp() AS now FROM {schema}.slots WHERE slot = ANY ($1::int[]) ORDER BY slot;

-- name: load_starts
-- Load where each group stands that has no progress of its own, as three arrays for each slot.
-- Caller: loading.load.
SELECT s.slot, array_agg(s.group_number) AS groups, array_agg(s.position) AS positions, array_agg(s.epoch) AS epochs
FROM {schema}.group_starts s WHERE s.slot = ANY ($1::int[]) GROUP BY s.slot;

-- name: load_settled
-- Load the markers of effectively-once calls that no commit has folded.
-- Caller: loading.load.
SELECT slot, group_number, array_agg(position) AS positions FROM {schema}.settled WHERE slot = ANY ($1::int[]) GROUP BY slot, group_number;

-- name: load_held
-- Load who is held: the aggregates of all open rows.
-- Caller: loading.load.
SELECT slot, group_name, aggregate, aggregate_id FROM {schema}.parked WHERE slot = ANY ($1::int[]) AND open;

-- name: load_live
-- Load the rows that go on by themselves.
-- Caller: loading.load.
SELECT {row} FROM {schema}.parked WHERE slot = ANY ($1::int[]) AND open AND state IN ('waiting', 'retrying') ORDER BY id;

-- name: lock_registration
-- Let one program register at a time.
-- Caller: registering.register.
SELECT pg_advisory_xact_lock(hashtextextended('{schema_name}/register', 0));

-- name: known_groups
-- Give all groups, with whether they are retired.
-- Caller: registering._stored.
SELECT number, name, retired_at IS NOT NULL AS retired FROM {schema}.groups ORDER BY number;

-- name: rename_group
-- Give a group its new name, and its rows and open intents with it.
-- Caller: registering.register.
WITH renamed AS (UPDATE {schema}.groups SET name = $2 WHERE number = $1),
     rows AS (UPDATE {schema}.parked SET group_name = $2 WHERE group_name = $3),
     intents AS (UPDATE {schema}.operator_actions SET group_name = $2 WHERE group_name = $3)
INSERT INTO {schema}.group_names (name, number) VALUES ($2, $1) ON CONFLICT (name) DO UPDATE SET number = excluded.number;

-- name: add_groups
-- Register new groups; answers their numbers.
-- Caller: registering.register.
WITH added AS (
    INSERT INTO {schema}.groups (name, kind) SELECT * FROM unnest($1::text[], $2::text[]) RETURNING number, name
), named AS (
    INSERT INTO {schema}.group_names (name, number) SELECT name, number FROM added
    ON CONFLICT (name) DO UPDATE SET number = excluded.number
)
SELECT number, name FROM added;

-- name: add_starts
-- Fix where new groups start, in every slot as of one snapshot: a consistent cut of the log.
-- Caller: registering.register.
INSERT INTO {schema}.group_starts (group_number, slot, position)
SELECT g.number, h.slot, CASE WHEN g.at_end THEN h.head ELSE 0 END
FROM {schema}.slot_heads h CROSS JOIN unnest($1::int[], $2::boolean[]) AS g (number, at_end)
ON CONFLICT DO NOTHING;

-- name: move_starts_to_end
-- Let returning groups go on at the end, in every slot as of one snapshot, whatever progress has been written up to now.
-- Caller: registering.register.
INSERT INTO {schema}.group_starts (group_number, slot, position, epoch)
SELECT g.number, h.slot, h.head, s.epoch
FROM {schema}.slot_heads h JOIN {schema}.slots s USING (slot) CROSS JOIN unnest($1::int[]) AS g (number)
ON CONFLICT (slot, group_number) DO UPDATE SET position = excluded.position, epoch = excluded.epoch;

-- name: retire_groups
-- Note which groups the newest program does not declare; the others are not retired any more.
-- Caller: registering.register.
UPDATE {schema}.groups SET retired_at = CASE WHEN number = ANY ($1::int[]) THEN NULL ELSE clock_timestamp() END
WHERE (retired_at IS NOT NULL) = (number = ANY ($1::int[]));

-- name: known_subscriptions
-- Give the subscriptions of some groups.
-- Caller: registering.register.
SELECT group_number, name, first_name FROM {schema}.subscriptions WHERE group_number = ANY ($1::int[]);

-- name: rename_subscription
-- Give a subscription its new name, and its rows with it; the first name stays.
-- Caller: registering.register.
WITH rows AS (UPDATE {schema}.parked SET subscription = $3 WHERE group_name = $4 AND subscription = $2)
UPDATE {schema}.subscriptions SET name = $3 WHERE group_number = $1 AND name = $2;

-- name: add_subscriptions
-- Register new subscriptions; their first name is the present one.
-- Caller: registering.register.
INSERT INTO {schema}.subscriptions (group_number, name, first_name) SELECT n, s, s FROM unnest($1::int[], $2::text[]) AS x (n, s);

-- name: begin_lease
-- Begin a lease of so many seconds by the database's clock; this session is the one that renews it.
-- Caller: lease.Keeper.
INSERT INTO {schema}.owners (id, partition, host, pid, process_started, backend_pid, backend_started, renewed_at, lease_until)
SELECT $1, $2, $3, $4, $5, a.pid, a.backend_start, clock_timestamp(), clock_timestamp() + make_interval(secs => $6)
FROM (SELECT 1) one LEFT JOIN pg_stat_activity a ON a.pid = pg_backend_pid() AND $7
ON CONFLICT (id) DO UPDATE SET lease_until = excluded.lease_until, renewed_at = excluded.renewed_at,
    backend_pid = excluded.backend_pid, backend_started = excluded.backend_started;

-- name: renew_lease
-- Renew a lease, and nobody else's; no row = it was taken over. The session is noted again, since it may be a new one.
-- Caller: lease.Keeper.
UPDATE {schema}.owners o SET lease_until = clock_timestamp() + make_interval(secs => $2), renewed_at = clock_timestamp(),
    backend_pid = $3, backend_started = $4
WHERE o.id = $1 RETURNING o.id;

-- name: own_session
-- Give this session's process number and start, by which others can tell whether it is gone.
-- Caller: lease.Keeper.
SELECT pid, backend_start FROM pg_stat_activity WHERE pid = pg_backend_pid();

-- name: end_lease
-- End a lease at once, and sweep away leases that ended a day ago.
-- Caller: lease.Keeper.
DELETE FROM {schema}.owners WHERE id = $1 OR lease_until < clock_timestamp() - interval '1 day';

-- name: store_time
-- Give the store's time.
-- Caller: slots.PostgresSlotStore.
SELECT clock_timestamp() AS now;

-- name: own_backend
-- Give the server's own number of this session, which behind a pooler only holds within a transaction.
-- Caller: takeover.acquire.
SELECT pg_backend_pid() AS pid;
