-- Statements on the schema itself.

-- name: lock_migration
-- Let one migration run at a time.
-- Caller: migrating.migrate.
SELECT pg_advisory_xact_lock(hashtextextended('{schema_name}/migrate', 0));

-- name: create_schema
-- Make the schema, unless it is there.
-- Caller: migrating.migrate.
CREATE SCHEMA IF NOT EXISTS {schema};

-- name: create_meta
-- Make the tables that say what the schema is and what was applied, unless they are there.
-- Caller: migrating.migrate.
CREATE TABLE IF NOT EXISTS {schema}.meta (
    only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
    identity uuid NOT NULL DEFAULT gen_random_uuid(),
    schema_version int NOT NULL,
    compatible_from int NOT NULL,
    context text NOT NULL,
    slots int NOT NULL,
    hash text NOT NULL,
    hash_vectors json NOT NULL
);
CREATE TABLE IF NOT EXISTS {schema}.migrations (
    number int PRIMARY KEY,
    name text NOT NULL,
    applied_at timestamptz NOT NULL DEFAULT clock_timestamp()
);

-- name: has_meta
-- Tell whether the schema was ever migrated.
-- Caller: schema.facts.
SELECT to_regclass('{schema}.meta') IS NOT NULL;

-- name: meta
-- Say what the schema is.
-- Caller: schema.facts.
SELECT schema_version, compatible_from, context, slots, hash, hash_vectors FROM {schema}.meta;

-- name: fix_meta
-- Fix context, slots and hash for ever.
-- Caller: migrating.migrate.
INSERT INTO {schema}.meta (schema_version, compatible_from, context, slots, hash, hash_vectors) VALUES (0, 0, $1, $2, $3, $4::json);

-- name: note_migration
-- Note that a migration was applied.
-- Caller: migrating.migrate.
INSERT INTO {schema}.migrations (number, name) VALUES ($1, $2);

-- name: set_versions
-- Note which schema this is now, and the oldest program it serves.
-- Caller: migrating.migrate.
UPDATE {schema}.meta SET schema_version = $1, compatible_from = $2;

-- name: encoding
-- Give the database's encoding.
-- Caller: migrating.migrate.
SELECT pg_encoding_to_char(encoding) FROM pg_database WHERE datname = current_database();
