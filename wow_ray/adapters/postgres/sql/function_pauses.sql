-- Statements on pauses of durable functions.

-- name: present_function_pauses
-- Give every pause that is present.
-- Caller: function_pauses.PostgresFunctionPauses.
SELECT {function_pause} FROM {schema}.function_pauses WHERE ended_at IS NULL ORDER BY id;

-- name: function_pause_history
-- Give the newest pauses of a function.
-- Caller: function_pauses.PostgresFunctionPauses.
SELECT {function_pause} FROM {schema}.function_pauses WHERE function = $1 ORDER BY id DESC LIMIT $2;

-- name: function_pause_action
-- Store what was asked, unless there is an action under that request; no row = there is.
-- Caller: function_pauses.PostgresFunctionPauses.
INSERT INTO {schema}.operator_actions (request_id, verb, group_name, slot, aggregate, aggregate_id, actor, reason, state, code)
VALUES ($1, $2, $3, 0, 'call', '', $4, $5, 'done', 'done') ON CONFLICT (request_id) DO NOTHING RETURNING id;

-- name: set_function_pause
-- Pause a function; no row = it is paused for that reason already.
-- Caller: function_pauses.PostgresFunctionPauses.
INSERT INTO {schema}.function_pauses (function, reason, actor, text, request_id) VALUES ($1, $2, $3, $4, $5)
ON CONFLICT (function, reason) WHERE ended_at IS NULL DO NOTHING RETURNING id;

-- name: find_function_pause
-- Give the pause that is present of a function for that reason.
-- Caller: function_pauses.PostgresFunctionPauses.
SELECT id FROM {schema}.function_pauses WHERE function = $1 AND reason = $2 AND ended_at IS NULL;

-- name: end_function_pause
-- End one pause.
-- Caller: function_pauses.PostgresFunctionPauses.
UPDATE {schema}.function_pauses SET ended_at = clock_timestamp(), ended_by = $3, ended_text = $4
WHERE function = $1 AND reason = $2 AND ended_at IS NULL RETURNING id;
