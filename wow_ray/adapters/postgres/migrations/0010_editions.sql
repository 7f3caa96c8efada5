-- Which program a plan is for, also among those of one name, and who asked for it.
-- Compatible from: 1

-- A program of an earlier release reads neither, and what it stores is of no edition and asked for by nobody.
ALTER TABLE {schema}.plans
    ADD COLUMN edition text NOT NULL DEFAULT '',
    ADD COLUMN actor text NOT NULL DEFAULT '',
    ADD COLUMN reason text NOT NULL DEFAULT '';
