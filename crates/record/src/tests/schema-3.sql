-- One row: what was asked, of which machine, and how the run ended.
CREATE TABLE run (
    id                INTEGER PRIMARY KEY CHECK (id = 1),
    created_unix_ms   INTEGER NOT NULL,
    plimsoll_version  TEXT    NOT NULL,
    workload          TEXT    NOT NULL,
    seed              TEXT    NOT NULL,  -- 64 bits without a sign
    command_line_json TEXT    NOT NULL,
    plan_json         TEXT    NOT NULL,
    provenance_json   TEXT    NOT NULL,
    requirements_json TEXT    NOT NULL,
    ended             TEXT    CHECK (ended IN ('complete', 'interrupted', 'failed')),
    ended_unix_ms     INTEGER,
    failure           TEXT
);

-- One row per trial, in the order they were made.
CREATE TABLE trial (
    id                INTEGER PRIMARY KEY,
    phase             TEXT    NOT NULL CHECK (phase IN ('idle', 'calibration', 'level', 'search', 'confirmation',
                                                        'one_thread_per_core', 'two_threads_per_core')),
    load_pct          REAL,
    setting           TEXT    NOT NULL CHECK (setting IN ('idle', 'offer', 'copies', 'beside')),
    asked_rps         REAL,
    copies            INTEGER,
    arm               TEXT,     -- what runs beside the service, and how it is held
    allowed_share     REAL,     -- of the job's CPUs, that the arm lets it use
    headroom_share    REAL,     -- of the machine, that the arm was to leave unused
    pass              INTEGER NOT NULL,
    attempt           INTEGER NOT NULL,
    seed              TEXT    NOT NULL,
    warm_up_min_ns    INTEGER NOT NULL,
    warm_up_max_ns    INTEGER NOT NULL,
    asked_window_ns   INTEGER NOT NULL,
    limit_ns          INTEGER,  -- on latency, that the trial is to decide about
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
    job_done          INTEGER,  -- bytes hashed, or commands run to their end
    job_over_ns       INTEGER,  -- in which time
    job_cpu_ns        INTEGER,
    job_allowed_share REAL,     -- of its CPUs, that a law allowed it on average
    job_frozen_share  REAL,     -- of the window, in which a law had it stand still
    job_throttled_share REAL,   -- of its quota's periods, in which the quota stopped it
    generator_cpu_ns  INTEGER,
    machine_json      TEXT    NOT NULL,
    service_json      TEXT,
    verdict           TEXT    NOT NULL CHECK (verdict IN ('valid', 'invalid')),
    reasons_json      TEXT    NOT NULL
);

-- Two rows per trial. The quantiles are there for the shell; the blob is what
-- is read back, an HdrHistogram of nanoseconds in its V2 encoding.
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

-- What one wants to see first in the sqlite3 shell.
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
