-- Statements on the plan.

-- name: present_plan
-- Give the plan that counts.
-- Caller: plans.PostgresPlans.
SELECT number, release, partitions, edition, actor, reason, still FROM {schema}.plans ORDER BY number DESC LIMIT 1;

-- name: propose_plan
-- Store a plan if it follows the present one, and who asked for it, for the audit; no row = it does not, or another one was first.
-- Caller: plans.PostgresPlans.
WITH stored AS (
    INSERT INTO {schema}.plans (number, release, partitions, edition, actor, reason, still)
    SELECT $1::int, $2, $3::json, $4, $5, $6, $7 WHERE (SELECT coalesce(max(number), 0) FROM {schema}.plans) = $1::int - 1
    ON CONFLICT DO NOTHING RETURNING number, actor, reason
), noted AS (
    INSERT INTO {schema}.operator_actions
        (request_id, verb, group_name, slot, aggregate, aggregate_id, actor, reason, state, code, outcome, ended_at)
    SELECT 'plan ' || number, 'scale', '', 0, '', '', actor, reason, 'done', 'done', $8::json, clock_timestamp()
    FROM stored WHERE actor <> '' ON CONFLICT (request_id) DO NOTHING
)
SELECT number FROM stored;

-- name: forget_plans
-- Forget plans that were replaced long ago.
-- Caller: plans.PostgresPlans.
DELETE FROM {schema}.plans WHERE number <= $1 - 100;
