-- The tables of versions 1 to 3, as each version had them when it was written first
-- (1 and 2) and last (3). A line that some of them lack ends in their numbers.
CREATE TABLE run (
    id                INTEGER PRIMARY KEY CHECK (id = 1),
    created_unix_ms   INTEGER NOT NULL,
    plimsoll_version  TEXT    NOT NULL,
    workload          TEXT    NOT NULL,
    seed              TEXT    NOT NULL,
    command_line_json TEXT    NOT NULL,
    plan_json         TEXT    NOT NULL,
    provenance_json   TEXT    NOT NULL,
    requirements_json TEXT    NOT NULL,
    ended             TEXT    CHECK (ended IN ('complete', 'interrupted', 'failed')),
    ended_unix_ms     INTEGER,
    failure           TEXT
);

CREATE TABLE trial (
    id                INTEGER PRIMARY KEY,
    phase             TEXT    NOT NULL CHECK (phase IN ('idle', 'calibration', 'level')),  -- 1
    phase             TEXT    NOT NULL CHECK (phase IN ('idle', 'calibration', 'level', 'search', 'confirmation',  -- 2, 3
                                                        'one_thread_per_core', 'two_threads_per_core')),  -- 2, 3
    load_pct          REAL,
    setting           TEXT    NOT NULL CHECK (setting IN ('idle', 'offer', 'copies')),  -- 1, 2
    setting           TEXT    NOT NULL CHECK (setting IN ('idle', 'offer', 'copies', 'beside')),  -- 3
    asked_rps         REAL,
    copies            INTEGER,
    arm               TEXT,  -- 3
    allowed_share     REAL,  -- 3
    headroom_share    REAL,  -- 3
    pass              INTEGER NOT NULL,
    attempt           INTEGER NOT NULL,
    seed              TEXT    NOT NULL,
    warm_up_min_ns    INTEGER NOT NULL,
    warm_up_max_ns    INTEGER NOT NULL,
    asked_window_ns   INTEGER NOT NULL,
    limit_ns          INTEGER,  -- 2, 3
    started_unix_ms   INTEGER NOT NULL,
    took_ns           INTEGER NOT NULL,
    warm_up_ns        INTEGER NOT NULL,
    steady            INTEGER NOT NULL CHECK (steady IN (0, 1)),
    window_ns         INTEGER NOT NULL,
    intended          INTEGER NOT NULL,
    sent              INTEGER NOT NULL,
    completed         INTEGER NOT NULL,
    errors_connect    INTEGER NOT NULL,
    errors_tls        INTEGER NOT NULL,
    errors_timeout    INTEGER NOT NULL,
    errors_status     INTEGER NOT NULL,
    errors_protocol   INTEGER NOT NULL,
    errors_reset      INTEGER NOT NULL,
    unfinished        INTEGER NOT NULL,
    copy_times_ns_json TEXT   NOT NULL,
    job_done          INTEGER,  -- 3
    job_over_ns       INTEGER,  -- 3
    job_cpu_ns        INTEGER,  -- 3
    job_allowed_share REAL,  -- 3
    job_frozen_share  REAL,  -- 3
    job_throttled_share REAL,  -- 3
    generator_cpu_ns  INTEGER,
    machine_json      TEXT    NOT NULL,
    service_json      TEXT,
    verdict           TEXT    NOT NULL CHECK (verdict IN ('valid', 'invalid')),
    reasons_json      TEXT    NOT NULL
);

CREATE TABLE histogram (
    trial   INTEGER NOT NULL REFERENCES trial (id),
    kind    TEXT    NOT NULL CHECK (kind IN ('latency', 'slip')),
    count   INTEGER NOT NULL,
    p50_ns  INTEGER,
    p90_ns  INTEGER,
    p99_ns  INTEGER,
    p999_ns INTEGER,
    max_ns  INTEGER,
    v2      BLOB    NOT NULL,
    PRIMARY KEY (trial, kind)
);

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

CREATE VIEW overview AS
SELECT trial.id, phase, load_pct, trial.copies, pass, attempt,
       asked_rps,
       completed * 1e9 / nullif(window_ns, 0) AS achieved_rps,
       latency.p50_ns / 1e3 AS latency_p50_us,
       latency.p99_ns / 1e3 AS latency_p99_us,
       slip.p99_ns / 1e3 AS slip_p99_us,
       errors_connect + errors_tls + errors_timeout + errors_status
           + errors_protocol + errors_reset AS errors,
       unfinished, verdict, reasons_json
FROM trial
LEFT JOIN histogram AS latency ON latency.trial = trial.id AND latency.kind = 'latency'
LEFT JOIN histogram AS slip ON slip.trial = trial.id AND slip.kind = 'slip'
ORDER BY trial.id;
CREATE TABLE slot (  -- 3
    trial    INTEGER NOT NULL REFERENCES trial (id),  -- 3
    step     INTEGER NOT NULL,  -- 3
    number   INTEGER NOT NULL,  -- 3
    requests INTEGER NOT NULL,  -- 3
    sum_ns   INTEGER NOT NULL,  -- 3
    p50_ns   INTEGER,  -- 3
    p99_ns   INTEGER,  -- 3
    buckets  BLOB    NOT NULL,  -- 3
    PRIMARY KEY (trial, step, number)  -- 3
) WITHOUT ROWID;  -- 3
