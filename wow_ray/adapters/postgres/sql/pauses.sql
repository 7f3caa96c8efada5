-- Statements on pauses.

-- name: present_pauses
-- Give every pause that is present, under its group's present name.
-- Caller: pauses.PostgresPauses.
SELECT p.id, g.name, {pause} FROM {schema}.pauses p JOIN {schema}.groups g ON g.number = p.group_number
WHERE p.ended_at IS NULL ORDER BY p.id;

-- name: pause_history
-- Give the newest pauses of a group.
-- Caller: pauses.PostgresPauses.
SELECT p.id, g.name, {pause} FROM {schema}.pauses p JOIN {schema}.groups g ON g.number = p.group_number
WHERE p.group_number = $1 ORDER BY p.id DESC LIMIT $2;

-- name: pause_action
-- Store what was asked, unless there is an action under that request; no row = there is, or there is no such group.
-- Caller: pauses.PostgresPauses.
INSERT INTO {schema}.operator_actions (request_id, verb, group_name, slot, aggregate, aggregate_id, actor, reason, state, code)
SELECT $1, $2, g.name, 0, '', '', $4, $5, 'done', 'done' FROM {schema}.groups g WHERE g.number = $3
ON CONFLICT (request_id) DO NOTHING RETURNING id;

-- name: repeated_action
-- Give the action that is stored under a request.
-- Caller: pause_actions.repeated.
SELECT {intent} FROM {schema}.operator_actions WHERE request_id = $1;

-- name: pause_outcome
-- Say what came of the action.
-- Caller: pause_actions.ended.
UPDATE {schema}.operator_actions SET outcome = $2::json, ended_at = clock_timestamp() WHERE id = $1 RETURNING {intent};

-- name: set_pause
-- Pause a group; no row = it is paused there for that reason already.
-- Caller: pauses.PostgresPauses.
INSERT INTO {schema}.pauses (group_number, partition, reason, actor, text, request_id) VALUES ($1, $2, $3, $4, $5, $6)
ON CONFLICT (group_number, partition, reason) WHERE ended_at IS NULL DO NOTHING RETURNING id;

-- name: find_pause
-- Give the pause that is present of a group, there, for that reason.
-- Caller: pauses.PostgresPauses.
SELECT id FROM {schema}.pauses WHERE group_number = $1 AND partition = $2 AND reason = $3 AND ended_at IS NULL;

-- name: end_pause
-- End one pause.
-- Caller: pauses.PostgresPauses.
UPDATE {schema}.pauses SET ended_at = clock_timestamp(), ended_by = $4, ended_text = $5
WHERE group_number = $1 AND partition = $2 AND reason = $3 AND ended_at IS NULL RETURNING id;

-- name: note_pause
-- Let a pause be shown that a partition made by itself; no row = there is no such group.
-- Caller: pauses.PostgresPauses.
INSERT INTO {schema}.pauses (group_number, partition, reason, actor, text, request_id, detail)
SELECT g.number, $2, $3, $2, $4, '', $5::json FROM {schema}.groups g WHERE g.number = $1
ON CONFLICT (group_number, partition, reason) WHERE ended_at IS NULL DO UPDATE SET text = excluded.text, detail = excluded.detail
RETURNING id;

-- name: forget_notes
-- Keep the newest ended ones of a kind, at most so many.
-- Caller: pauses.PostgresPauses.
DELETE FROM {schema}.pauses WHERE id IN (
    SELECT id FROM {schema}.pauses WHERE group_number = $1 AND partition = $2 AND reason = $3 AND ended_at IS NOT NULL AND NOT told
    ORDER BY id DESC OFFSET $4
);

-- name: over_pauses
-- End what a partition has noted; a NULL means any, save for these reasons.
-- Caller: pauses.PostgresPauses.
UPDATE {schema}.pauses SET ended_at = clock_timestamp(), ended_by = $1, ended_text = $2
WHERE partition = $1 AND ended_at IS NULL AND reason <> ALL ($5::text[])
  AND ($3::int IS NULL OR group_number = $3) AND ($4::text IS NULL OR reason = $4);
