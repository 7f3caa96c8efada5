-- Which program a plan is for, also among those of one name, what it reads, and who asked for it.
-- Compatible from: 1

-- A program of an earlier release reads none of these, and what it stores is of no edition and asked for by nobody.
ALTER TABLE {schema}.plans
    ADD COLUMN edition text NOT NULL DEFAULT '',
    ADD COLUMN still boolean NOT NULL DEFAULT false,
    ADD COLUMN actor text NOT NULL DEFAULT '',
    ADD COLUMN reason text NOT NULL DEFAULT '';
