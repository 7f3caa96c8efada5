-- The log: heads, events, and the function that appends.
-- Compatible from: 1

-- One row a slot, locked by an append until its transaction ends: so positions have no gaps and become visible in order.
-- A low fillfactor keeps the updates on their page (HOT); the table is vacuumed by count, since its size never says anything.
-- `largest` is the size of the largest event so far: readers bound their pages with it.
CREATE TABLE {schema}.slot_heads (
    slot int PRIMARY KEY,
    head bigint NOT NULL DEFAULT 0,
    largest int NOT NULL DEFAULT 0
) WITH (fillfactor = 10, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 0);

INSERT INTO {schema}.slot_heads (slot) SELECT generate_series(0, {slots} - 1);

-- `size` is that of the payload in bytes, so that a reader can bound a page before it loads the payloads.
CREATE TABLE {schema}.events (
    slot int NOT NULL,
    position bigint NOT NULL,
    context text NOT NULL,
    aggregate text NOT NULL,
    aggregate_id text NOT NULL,
    version bigint NOT NULL,
    sequence int NOT NULL,
    type text NOT NULL,
    revision int NOT NULL,
    tenant_id text,
    owner_id text,
    commit_id text,
    payload json NOT NULL,
    headers json,
    size int NOT NULL,
    occurred_at timestamptz NOT NULL,
    PRIMARY KEY (slot, position),
    UNIQUE (slot, context, aggregate, aggregate_id, version, sequence)
) PARTITION BY RANGE (slot);

-- Sixteen tables of neighbouring slots: smaller indexes, vacuum in parallel, and later whole ranges to archive.
DO $$
DECLARE
    tables CONSTANT int := least(16, {slots});
BEGIN
    FOR n IN 0 .. tables - 1 LOOP
        EXECUTE format(
            'CREATE TABLE {schema}.%I PARTITION OF {schema}.events FOR VALUES FROM (%s) TO (%s)
             WITH (autovacuum_vacuum_insert_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.05)',
            'events_' || lpad(n::text, 2, '0'), n * {slots} / tables, (n + 1) * {slots} / tables);
    END LOOP;
END $$;

-- A commit_id repeats an append to the same aggregate; appends without one pay nothing for this index.
CREATE UNIQUE INDEX events_commit ON {schema}.events (slot, commit_id, aggregate, aggregate_id)
    WHERE sequence = 0 AND commit_id IS NOT NULL;

-- The 32 bits that decide an aggregate's slot; every program computes them alike, see policy/slots.py.
CREATE FUNCTION {schema}.hash32(context text, aggregate text, aggregate_id text) RETURNS bigint
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN ('x' || substr(md5(context || ':' || aggregate || ':' || aggregate_id), 1, 8))::bit(32)::bigint;

-- The slot of an aggregate of this database's context.
CREATE FUNCTION {schema}.slot_of(aggregate text, aggregate_id text) RETURNS int
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN (('x' || substr(md5({context} || ':' || aggregate || ':' || aggregate_id), 1, 8))::bit(32)::bigint % {slots})::int;

-- The table of `events` that holds a slot, by its number.
CREATE FUNCTION {schema}.table_of(slot int) RETURNS int
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN ((slot + 1) * least(16, {slots}) - 1) / {slots};

-- Refuse what the log cannot take; answers the size of the largest event in bytes.
CREATE FUNCTION {schema}.check_events(aggregate text, aggregate_id text, types text[], payloads json[], max_bytes int) RETURNS int
LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
    payload json;
    largest int := 0;
BEGIN
    IF coalesce(cardinality(types), 0) = 0 OR coalesce(aggregate, '') = '' OR coalesce(aggregate_id, '') = '' THEN
        RAISE EXCEPTION 'an append needs an aggregate, its id and at least one event' USING ERRCODE = 'WR004';
    END IF;
    IF octet_length(aggregate_id) > 512 THEN
        RAISE EXCEPTION 'an aggregate''s id has at most 512 bytes, this one %', octet_length(aggregate_id) USING ERRCODE = 'WR004';
    END IF;
    IF cardinality(types) IS DISTINCT FROM cardinality(payloads)
            OR array_position(types, NULL) IS NOT NULL OR array_position(types, '') IS NOT NULL THEN
        RAISE EXCEPTION 'every event needs a type and a payload' USING ERRCODE = 'WR004';
    END IF;
    FOREACH payload IN ARRAY payloads LOOP
        IF payload IS NULL THEN
            RAISE EXCEPTION 'every event needs a type and a payload' USING ERRCODE = 'WR004';
        END IF;
        largest := greatest(largest, octet_length(payload::text));
        IF largest > max_bytes THEN
            RAISE EXCEPTION 'an event has % bytes, the log takes %', largest, max_bytes
                USING ERRCODE = 'WR003', HINT = 'Store the bulk elsewhere and append a reference.';
        END IF;
        -- An escaped NUL or lone surrogate is legal json and illegal jsonb: no reader could take it out again.
        IF position('\u' IN payload::text) > 0 THEN
            PERFORM payload::jsonb;
        END IF;
    END LOOP;
    RETURN largest;
END $$;

-- One function for each table of `events`: a plan over all of them would lock every one at each append.
-- Appends what `check_events` has passed, or a program of ours, which looks itself; `follows` = part of a batch begun in this
-- transaction, whose slots must not descend.
DO $do$
DECLARE
    definition CONSTANT text := $definition$
CREATE FUNCTION {schema}.append_NN(
    slot int, aggregate text, aggregate_id text, types text[], payloads json[], largest int, expected_version bigint, commit_id text,
    revisions int[], tenant_id text, owner_id text, headers json, follows boolean,
    OUT version bigint, OUT first_position bigint, OUT events int)
LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    held text := coalesce(current_setting('wow_ray.held', true), '');
    before bigint := expected_version;
    written int;
    repeated bigint;
    appended_at timestamptz;
BEGIN
    IF held <> '' AND NOT (follows AND held::int <= slot) THEN
        RAISE EXCEPTION 'this transaction has appended already, and two that take slots in different orders wait for each other for ever'
            USING ERRCODE = 'WR002', HINT = 'Append to several aggregates with one append_many; in SQL, ordered by slot_of and with '
                'follows => true from the second on.';
    END IF;
    held := set_config('wow_ray.held', slot::text, true);
    events := cardinality(types);

    -- Waits for every append to this slot under way; later statements then see what those committed.
    UPDATE {schema}.slot_heads h SET head = h.head + events, largest = greatest(h.largest, append_NN.largest)
        WHERE h.slot = append_NN.slot RETURNING h.head - events + 1 INTO first_position;
    appended_at := clock_timestamp();

    IF commit_id IS NOT NULL THEN
        SELECT e.version, e.position INTO version, repeated FROM {schema}.events_NN e
            WHERE e.slot = append_NN.slot AND e.commit_id = append_NN.commit_id AND e.aggregate = append_NN.aggregate
              AND e.aggregate_id = append_NN.aggregate_id AND e.sequence = 0;
        IF found THEN
            UPDATE {schema}.slot_heads h SET head = h.head - events WHERE h.slot = append_NN.slot;
            first_position := repeated;
            SELECT count(*) INTO events FROM {schema}.events_NN e
                WHERE e.slot = append_NN.slot AND e.context = {context} AND e.aggregate = append_NN.aggregate
                  AND e.aggregate_id = append_NN.aggregate_id AND e.version = append_NN.version;
            RETURN;
        END IF;
    END IF;

    IF before IS NULL THEN
        SELECT coalesce(max(e.version), 0) INTO before FROM {schema}.events_NN e
            WHERE e.slot = append_NN.slot AND e.context = {context} AND e.aggregate = append_NN.aggregate
              AND e.aggregate_id = append_NN.aggregate_id;
    END IF;
    version := before + 1;
    INSERT INTO {schema}.events_NN (slot, position, context, aggregate, aggregate_id, version, sequence, type, revision,
            tenant_id, owner_id, commit_id, payload, headers, size, occurred_at)
        SELECT append_NN.slot, first_position + e.n - 1, {context}, append_NN.aggregate, append_NN.aggregate_id, append_NN.version,
            e.n - 1, e.type, coalesce(revisions[e.n], 1), append_NN.tenant_id, append_NN.owner_id, append_NN.commit_id, e.payload,
            append_NN.headers, octet_length(e.payload::text), appended_at
        FROM unnest(types, payloads) WITH ORDINALITY e (type, payload, n)
        WHERE before = (
            SELECT coalesce(max(o.version), 0) FROM {schema}.events_NN o
            WHERE o.slot = append_NN.slot AND o.context = {context} AND o.aggregate = append_NN.aggregate
              AND o.aggregate_id = append_NN.aggregate_id);
    GET DIAGNOSTICS written = ROW_COUNT;
    IF written = 0 THEN
        SELECT coalesce(max(e.version), 0) INTO version FROM {schema}.events_NN e
            WHERE e.slot = append_NN.slot AND e.context = {context} AND e.aggregate = append_NN.aggregate
              AND e.aggregate_id = append_NN.aggregate_id;
        RAISE EXCEPTION '%/% is at version %, and % was expected', aggregate, aggregate_id, version, expected_version
            USING ERRCODE = 'WR001', DETAIL = json_build_object('expected', expected_version, 'actual', version)::text;
    END IF;
END $$;
$definition$;
BEGIN
    FOR n IN 0 .. least(16, {slots}) - 1 LOOP
        EXECUTE replace(definition, 'NN', lpad(n::text, 2, '0'));
    END LOOP;
END $do$;

-- Append events together as the next version of one aggregate, in the caller's transaction; for every program that is not ours.
--   expected_version  the version before the append; 0 = the aggregate must not exist, NULL = not checked
--   commit_id         repeating one answers the first commit and appends nothing
--   follows           goes on with a batch that this transaction began; slots (`slot_of`) must not descend
-- Raises WR001 (another version than expected; DETAIL is {"expected": e, "actual": a}), WR002 (the transaction holds a slot
-- already), WR003 (an event is too large), WR004 and class 22 (something cannot be stored).
CREATE FUNCTION {schema}.append(
    aggregate text, aggregate_id text, types text[], payloads json[],
    expected_version bigint DEFAULT NULL, commit_id text DEFAULT NULL, revisions int[] DEFAULT NULL,
    tenant_id text DEFAULT NULL, owner_id text DEFAULT NULL, headers json DEFAULT NULL,
    max_bytes int DEFAULT 1000000, follows boolean DEFAULT false,
    OUT version bigint, OUT slot int, OUT first_position bigint, OUT events int)
LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    largest CONSTANT int := {schema}.check_events(aggregate, aggregate_id, types, payloads, max_bytes);
BEGIN
    slot := {schema}.slot_of(aggregate, aggregate_id);
    EXECUTE format('SELECT * FROM {schema}.%I($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)',
            'append_' || lpad({schema}.table_of(slot)::text, 2, '0'))
        INTO version, first_position, events
        USING slot, aggregate, aggregate_id, types, payloads, largest, expected_version, commit_id, revisions, tenant_id, owner_id,
            headers, follows;
END $$;
