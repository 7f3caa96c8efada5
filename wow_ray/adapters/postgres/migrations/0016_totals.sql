-- What is open is counted as it changes, and found by any filter: a million rows are looked at as fast as ten.
-- Compatible from: 1

-- Open ledger rows by what people group them by; '' = none. A slot has rows of its own here, because its owner alone
-- changes its ledger rows: nobody waits for another's commit.
CREATE TABLE {schema}.parked_totals (
    slot int NOT NULL,
    group_name text NOT NULL,
    state text NOT NULL,
    category text NOT NULL,
    fingerprint text NOT NULL,
    rows bigint NOT NULL,
    PRIMARY KEY (slot, group_name, state, category, fingerprint)
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 0);

CREATE FUNCTION {schema}.total_parked() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'INSERT' THEN
        INSERT INTO {schema}.parked_totals AS t
        SELECT slot, group_name, state, coalesce(category, ''), coalesce(fingerprint, ''), count(*) FROM fresh WHERE open
        GROUP BY 1, 2, 3, 4, 5 ORDER BY 1, 2, 3, 4, 5
        ON CONFLICT (slot, group_name, state, category, fingerprint) DO UPDATE SET rows = t.rows + excluded.rows;
        RETURN NULL;
    END IF;
    IF TG_OP = 'UPDATE' THEN
        INSERT INTO {schema}.parked_totals AS t
        SELECT slot, group_name, state, coalesce(category, ''), coalesce(fingerprint, ''), sum(n) FROM (
            SELECT slot, group_name, state, category, fingerprint, 1 AS n FROM fresh WHERE open
            UNION ALL SELECT slot, group_name, state, category, fingerprint, -1 FROM former WHERE open
        ) AS changed
        GROUP BY 1, 2, 3, 4, 5 HAVING sum(n) <> 0 ORDER BY 1, 2, 3, 4, 5
        ON CONFLICT (slot, group_name, state, category, fingerprint) DO UPDATE SET rows = t.rows + excluded.rows;
    ELSE
        INSERT INTO {schema}.parked_totals AS t
        SELECT slot, group_name, state, coalesce(category, ''), coalesce(fingerprint, ''), -count(*) FROM former WHERE open
        GROUP BY 1, 2, 3, 4, 5 ORDER BY 1, 2, 3, 4, 5
        ON CONFLICT (slot, group_name, state, category, fingerprint) DO UPDATE SET rows = t.rows + excluded.rows;
    END IF;
    DELETE FROM {schema}.parked_totals t USING former f
    WHERE f.open AND t.rows = 0 AND t.slot = f.slot AND t.group_name = f.group_name AND t.state = f.state
        AND t.category = coalesce(f.category, '') AND t.fingerprint = coalesce(f.fingerprint, '');
    RETURN NULL;
END $$;

CREATE TRIGGER parked_total_added AFTER INSERT ON {schema}.parked
REFERENCING NEW TABLE AS fresh FOR EACH STATEMENT EXECUTE FUNCTION {schema}.total_parked();
CREATE TRIGGER parked_total_changed AFTER UPDATE ON {schema}.parked
REFERENCING OLD TABLE AS former NEW TABLE AS fresh FOR EACH STATEMENT EXECUTE FUNCTION {schema}.total_parked();
CREATE TRIGGER parked_total_deleted AFTER DELETE ON {schema}.parked
REFERENCING OLD TABLE AS former FOR EACH STATEMENT EXECUTE FUNCTION {schema}.total_parked();

-- The triggers keep writers away until this is committed, so nothing is counted twice or not at all.
INSERT INTO {schema}.parked_totals
SELECT slot, group_name, state, coalesce(category, ''), coalesce(fingerprint, ''), count(*) FROM {schema}.parked WHERE open
GROUP BY 1, 2, 3, 4, 5;

-- Each filter finds its rows in the order of the list; errors that are alike have a first and a last by state.
DROP INDEX {schema}.parked_counts;
CREATE INDEX parked_open ON {schema}.parked (id) WHERE open;
CREATE INDEX parked_open_aggregate ON {schema}.parked (aggregate, id) WHERE open;
CREATE INDEX parked_open_subscription ON {schema}.parked (subscription, id) WHERE open;
CREATE INDEX parked_open_group ON {schema}.parked (group_name, id) WHERE open;
CREATE INDEX parked_open_reason ON {schema}.parked (reason, id) WHERE open;
CREATE INDEX parked_open_category ON {schema}.parked (category, id) WHERE open;
CREATE INDEX parked_open_type ON {schema}.parked (type, id) WHERE open;
CREATE INDEX parked_open_version ON {schema}.parked (stopped_version, id) WHERE open;
CREATE INDEX parked_open_seen ON {schema}.parked (coalesce(fingerprint, ''), state, parked_at) WHERE open;
CREATE INDEX parked_of_aggregate ON {schema}.parked (aggregate_id, id);

-- Durable calls that are not over are counted from an index of a few bytes a call: a count kept up to date by each change
-- of a call would be paid for by whoever submits, claims and finishes thousands a second.
CREATE INDEX durable_calls_counted ON {schema}.durable_calls (function, state) WHERE state IN ('waiting', 'running', 'exhausted');

-- What runs alone has a lease. Asked for by state, the index of the list served, too: each claim looked at all that run,
-- once for each function, since few of a million calls ever do.
DROP INDEX {schema}.durable_calls_running;
CREATE INDEX durable_calls_leased ON {schema}.durable_calls (function, lease_until) WHERE lease_until IS NOT NULL;
