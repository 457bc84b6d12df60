-- One row per slot after a step of the load. The quantiles are there for the
-- shell; the blob is what is read back: for each bucket that holds any, its
-- distance from the one before and its count, as LEB128 numbers.
CREATE TABLE slot (
    trial    INTEGER NOT NULL REFERENCES trial (id),
    step     INTEGER NOT NULL,
    number   INTEGER NOT NULL,
    requests INTEGER NOT NULL,
    sum_ns   INTEGER NOT NULL,
    p50_ns   INTEGER,
    p99_ns   INTEGER,
    buckets  BLOB    NOT NULL,
    PRIMARY KEY (trial, step, number)
) WITHOUT ROWID;
