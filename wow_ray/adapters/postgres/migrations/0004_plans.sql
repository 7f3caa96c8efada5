-- The plan: which partition is to own which slots.
-- Compatible from: 1

-- Numbered without gaps; the key lets only one plan have a number, so proposing is compare-and-set. `partitions` gives the slots by
-- the partition's name. The last hundred are kept.
CREATE TABLE {schema}.plans (
    number int PRIMARY KEY,
    release text NOT NULL,
    partitions json NOT NULL,
    made_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
