-- What one wants to see first in the sqlite3 shell.
CREATE VIEW overview AS
SELECT trial.id, phase, load_pct, setting_json, pass, attempt,
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
