#!/usr/bin/env bash
# What the scheduler of Plimsoll is asked to show, beside others, in one run.
#
# Runs `plimsoll rig` with all schedulers side by side, then `rig steady` for the idle
# ones, `rig --quick` for its length, and prints each requirement with what was measured.
# Nothing is judged on a machine that does other work: look at the invalid trials first.
#
#   bench/rig.sh [FOLDER]      default: target/bench-rig; keeps the records and pages
#
# Needs: cargo, python3. Installs nothing. Takes about 8 minutes and the build.
set -euo pipefail
cd "$(dirname "$0")/.."

for program in cargo python3; do
    if ! command -v "$program" >/dev/null; then
        echo "bench/rig.sh needs $program, which is not in PATH; install it and run again" >&2
        exit 2
    fi
done

folder=${1:-${CARGO_TARGET_DIR:-target}/bench-rig}
mkdir -p "$folder"
cargo build --quiet --release --locked -p plimsoll
plimsoll=${CARGO_TARGET_DIR:-target}/release/plimsoll
stamp=$(date -u +%H%M%S)

# Runs the rig and prints how many seconds it took.
rig() {
    local name=$1 began
    shift
    began=$(date +%s)
    "$plimsoll" rig "$@" --plain --format json -o "$folder/$stamp-$name.plimsoll" \
        >"$folder/$name.json" 2>"$folder/$name.log"
    echo $(($(date +%s) - began))
}

all_s=$(rig all --scheduler all)
idle_s=$(rig idle steady --scheduler plimsoll --passes 3)
quick_s=$(rig quick --quick)

python3 - "$folder" "$all_s" "$quick_s" "$idle_s" <<'PYTHON'
import json
import sys

folder, all_s, quick_s, idle_s = sys.argv[1], *map(int, sys.argv[2:])


def load(name):
    with open(f"{folder}/{name}.json") as file:
        return json.load(file)


everything, idle = load("all"), load("idle")
found = everything["findings"]


def written(estimate, digits=3):
    if not estimate:
        return "-"
    low, high = estimate["low"], estimate["high"]
    ends = "" if low is None or high is None else f" ({low:.{digits}f} to {high:.{digits}f})"
    return f"{estimate['value']:.{digits}f}{ends}"


def metg(row, which):
    status = row[f"metg{which}_status"]
    return written(row[f"metg{which}_us"], 2) if status == "found" else status


def table(title, head, rows):
    rows = [head] + [[str(cell) for cell in row] for row in rows]
    widths = [max(len(row[at]) for row in rows) for at in range(len(head))]
    print(f"\n{title}")
    for row in rows:
        print("  " + "  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip())


record = everything["record"]
print(f"{record['trials']} trials, {record['invalid_trials']} invalid; "
      f"{found['proof']['nodes_checked']} jobs checked, {found['proof']['violations']} violations")
print(f"all schedulers: {all_s} s (asked: 900 s); --quick: {quick_s} s (asked: 90 s)")
for failed in found["failed"]:
    print(f"failed: {failed['scheduler']} in {failed['part']}: {failed['why']}")

table(
    "METG(50 %) asked: independent no more than rayon's and a third of tokio's; 3 dependencies at most 1.5 us",
    ["scheduler", "dependencies", "METG(50 %) us", "METG(95 %) us", "floor ns a job"],
    [[r["scheduler"], r["dependencies"], metg(r, 50), metg(r, 95), written(r["floor_ns_per_job"], 0)]
     for r in found["grain"]],
)
table(
    "Peaks asked on 2 workers: concurrency 1.95 at 20 and 200 us; gradient within 2 %; efficiency 0.97 from 200 us; start-up 200 us",
    ["scheduler", "grain us", "concurrency", "gradient", "start-up us", "efficiency", "inflation", "two kinds"],
    [[r["scheduler"], f"{r['grain_us']:g}", written(r["average_concurrency"]), written(r["gradient_ratio"]),
      written(r["startup_us"], 0), written(r["efficiency_ratio"]), written(r["job_inflation_ratio"]),
      r["two_populations"]] for r in found["peak"]],
)
table(
    "Breaking point asked: 0.90 of the feasible bound, interval at most 5 % wide, in at most 60 s",
    ["scheduler", "from", "stress", "of the bound", "status", "runs", "took s"],
    [[r["scheduler"], r["direction"], written(r["stress"]), written(r["share_of_feasible_bound"]),
      r["status"], r["runs"], f"{r['took_s']:.1f}"] for r in found["break"]],
)
table(
    "Accounts asked: unexplained below 0.03",
    ["scheduler", "part", "work", "dispatch", "steal", "spin", "parked", "unexplained"],
    [[r["scheduler"], r["part"]] + [f"{r[name + '_share']:.4f}" for name in
      ["work", "dispatch", "steal", "spin", "parked", "unexplained"]] for r in found["accounting"]],
)
table(
    "Idle for 10 s asked: below 0.001 of a CPU",
    ["scheduler", "CPUs"],
    [[r["scheduler"], written(r["cpu_ratio"], 6)] for r in idle["findings"]["idle"]],
)
PYTHON
