-- Retention: what is old is found in the order of its age.
-- Compatible from: 1

CREATE INDEX parked_attempts_old ON {schema}.parked_attempts (at);
CREATE INDEX parked_ended ON {schema}.parked (updated_at) WHERE NOT open;
CREATE INDEX operator_actions_ended ON {schema}.operator_actions (ended_at) WHERE state <> 'asked';
CREATE INDEX pauses_ended ON {schema}.pauses (ended_at) WHERE ended_at IS NOT NULL;
CREATE INDEX notices_routed ON {schema}.notices (routed_at) WHERE routed_at IS NOT NULL;
CREATE INDEX deliveries_ended ON {schema}.deliveries (updated_at) WHERE state <> 'waiting';
