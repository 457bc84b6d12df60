-- One row: what was asked, of which machine, and how the run ended.
CREATE TABLE run (
    id                INTEGER PRIMARY KEY CHECK (id = 1),
    experiment        TEXT    NOT NULL,  -- the name of the experiment, such as sweep
    created_unix_ms   INTEGER NOT NULL,
    plimsoll_version  TEXT    NOT NULL,
    workload          TEXT    NOT NULL,
    seed              TEXT    NOT NULL,  -- 64 bits without a sign
    command_line_json TEXT    NOT NULL,
    folder            TEXT,              -- the working directory, where commands are looked up
    plan_json         TEXT    NOT NULL,
    provenance_json   TEXT    NOT NULL,
    requirements_json TEXT    NOT NULL,
    ended             TEXT    CHECK (ended IN ('complete', 'interrupted', 'failed')),
    ended_unix_ms     INTEGER,
    failure           TEXT
);

-- Two rows per trial. The quantiles are there for the shell; the blob is what
-- is read back, an HdrHistogram of nanoseconds in its V2 encoding.
CREATE TABLE histogram (
    trial   INTEGER NOT NULL REFERENCES trial (id),
    kind    TEXT    NOT NULL,  -- latency or slip
    count   INTEGER NOT NULL,
    p50_ns  INTEGER,
    p90_ns  INTEGER,
    p99_ns  INTEGER,
    p999_ns INTEGER,
    max_ns  INTEGER,
    v2      BLOB    NOT NULL,
    PRIMARY KEY (trial, kind)
);

-- One row per second of a trial, warm-up included.
CREATE TABLE second (
    trial       INTEGER NOT NULL REFERENCES trial (id),
    number      INTEGER NOT NULL,
    at_ns       INTEGER NOT NULL,
    length_ns   INTEGER NOT NULL,
    measured    INTEGER NOT NULL CHECK (measured IN (0, 1)),
    sent        INTEGER NOT NULL,
    completed   INTEGER NOT NULL,
    errors      INTEGER NOT NULL,
    in_flight   INTEGER NOT NULL,
    p50_ns      INTEGER,
    p99_ns      INTEGER,
    cpu_share   REAL,
    steal_share REAL,
    PRIMARY KEY (trial, number)
) WITHOUT ROWID;
