-- One row per trial, in the order they were made.
CREATE TABLE trial (
    id                INTEGER PRIMARY KEY,
    phase             TEXT    NOT NULL,  -- idle, warm_up, calibration, level, search, confirmation, ...
    load_pct          REAL,              -- of a level: its share of the rated rate
    asked_rps         REAL,              -- the offered rate
    setting_json      TEXT    NOT NULL,  -- what the trial was made at, as its experiment has it
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
    outcome_json      TEXT    NOT NULL,  -- what else was measured, as its experiment has it
    generator_cpu_ns  INTEGER,
    machine_json      TEXT    NOT NULL,
    service_json      TEXT,
    verdict           TEXT    NOT NULL CHECK (verdict IN ('valid', 'invalid')),
    reasons_json      TEXT    NOT NULL
);
