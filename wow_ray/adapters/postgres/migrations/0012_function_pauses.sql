-- Pauses of durable functions: why workers leave their calls alone, or have left them alone.
-- Compatible from: 1

-- One row for each time; present while `ended_at` is NULL. A function is meant by its stable name, wherever its calls lie.
-- `request_id` is that of the action in `operator_actions` that asked for it.
CREATE TABLE {schema}.function_pauses (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    function text NOT NULL,
    reason text NOT NULL,
    since timestamptz NOT NULL DEFAULT clock_timestamp(),
    actor text NOT NULL,
    text text NOT NULL,
    request_id text NOT NULL,
    ended_at timestamptz,
    ended_by text NOT NULL DEFAULT '',
    ended_text text NOT NULL DEFAULT ''
);

CREATE UNIQUE INDEX function_pauses_present ON {schema}.function_pauses (function, reason) WHERE ended_at IS NULL;
CREATE INDEX function_pauses_of_function ON {schema}.function_pauses (function, id);
