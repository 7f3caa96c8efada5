-- Statements on the plan.

-- name: present_plan
-- Give the plan that counts.
-- Caller: plans.PostgresPlans.
SELECT number, release, partitions, edition, actor, reason, still FROM {schema}.plans ORDER BY number DESC LIMIT 1;

-- name: propose_plan
-- Store a plan if it follows the present one; no row = it does not, or another one was first.
-- Caller: plans.PostgresPlans.
INSERT INTO {schema}.plans (number, release, partitions, edition, actor, reason, still)
SELECT $1, $2, $3::json, $4, $5, $6, $7 WHERE (SELECT coalesce(max(number), 0) FROM {schema}.plans) = $1 - 1
ON CONFLICT DO NOTHING RETURNING number;

-- name: forget_plans
-- Forget plans that were replaced long ago.
-- Caller: plans.PostgresPlans.
DELETE FROM {schema}.plans WHERE number <= $1 - 100;
