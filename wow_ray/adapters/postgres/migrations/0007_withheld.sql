-- Facts that nobody is told of at once: a park that an outage may have caused is taken back when the outage shows.
-- Compatible from: 1

ALTER TABLE {schema}.notices ADD COLUMN not_before timestamptz NOT NULL DEFAULT clock_timestamp();
