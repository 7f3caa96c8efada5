-- Statements of effectively-once calls.

-- name: mark_transaction
-- Mark the open transaction as ours, so that a handler that ends it is found out. $1 is the mark.
-- Caller: effects.PostgresEffects.
SELECT set_config('wow_ray.effect', $1, true);

-- name: settle
-- Insert the settled marker and lock the slot's row at the epoch, last before COMMIT. No row = the slot has a newer owner.
-- The row that comes back says whether the transaction is still the one that was marked. From here on it holds the row, so
-- the server ends the session when no COMMIT comes within 5 s.
-- Caller: effects.PostgresEffectTransaction.
WITH mine AS (
    SELECT slot FROM {schema}.slots WHERE slot = $2 AND epoch = $4 FOR SHARE
), settled AS (
    INSERT INTO {schema}.settled (group_number, slot, position, epoch)
    SELECT $1::int, mine.slot, $3::bigint, $4::bigint FROM mine
    RETURNING slot
)
SELECT current_setting('wow_ray.effect', true) = $5 AS same, set_config('idle_in_transaction_session_timeout', '5s', true)
FROM settled;

-- name: wait_for_commits
-- Wait until no commit of a call in this slot is under way.
-- Caller: effects.PostgresEffects.
SELECT slot FROM {schema}.slots WHERE slot = $1 FOR NO KEY UPDATE;

-- name: is_settled
-- Tell whether the call's marker is there; in a statement after the wait.
-- Caller: effects.PostgresEffects.
SELECT EXISTS (SELECT FROM {schema}.settled WHERE group_number = $1 AND slot = $2 AND position = $3);
