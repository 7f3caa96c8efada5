-- Statements of the wake-ups.

-- name: notify
-- Tell that something was appended, never in the transaction of the append.
-- Caller: wakes._send.
SELECT pg_notify($1::text, message) FROM unnest($2::text[]) message;
