#!/usr/bin/env bash
# What the lab's service is asked to show, in one run: load held over 10 s at 20, 60 and 90 % of
# the rating; when a change of load takes effect; the rate that --until holds, beside the capacity
# of a sweep under the same goal.
#
#   bench/lab.sh [FOLDER]      default: target/bench-lab; keeps lines and records
#
# Needs: cargo, python3. Installs nothing. Takes about 9 minutes and the build. Run nothing else.
set -euo pipefail
cd "$(dirname "$0")/.."

for program in cargo python3; do
    if ! command -v "$program" >/dev/null; then
        echo "bench/lab.sh needs $program, which is not in PATH; install it and run again" >&2
        exit 2
    fi
done

folder=${1:-${CARGO_TARGET_DIR:-target}/bench-lab}
mkdir -p "$folder"
cargo build --quiet --release --locked -p plimsoll
plimsoll=$(realpath "${CARGO_TARGET_DIR:-target}/release/plimsoll")
goal='p95<75ms'

"$plimsoll" service --recalibrate --load 20% -z 1s >/dev/null
for pass in 1 2 3; do
    for load in 20 60 90; do
        for law in poisson constant; do
            "$plimsoll" service --load "$load%" --arrivals "$law" --json -z 11s \
                >"$folder/load-$load-$law-$pass.jsonl" 2>/dev/null
        done
    done
    "$plimsoll" service --until "$goal" --json -z 60s >"$folder/until-$pass.jsonl" 2>/dev/null
done
"$plimsoll" sweep --quick --goal "$goal" --format json --plain --no-html \
    -o "$folder/$(date -u +%H%M%S).plimsoll" >"$folder/sweep.json" 2>"$folder/sweep.log"

python3 - "$folder" "$plimsoll" "$goal" <<'PYTHON'
import json, os, socket, subprocess, sys, time

folder, plimsoll, goal = sys.argv[1:]

def lines(name):
    with open(f"{folder}/{name}.jsonl") as file:
        return [json.loads(line) for line in file]

# The first second has the start of the threads in it.
for load in (20, 60, 90):
    for law in ("poisson", "constant"):
        off = []
        for number in (1, 2, 3):
            ten = lines(f"load-{load}-{law}-{number}")[1:11]
            asked = sum(line["asked_rps"] for line in ten)
            served = sum(line["served_rps"] for line in ten)
            off.append(100 * (served / asked - 1))
        shown = ", ".join(f"{one:+.2f}" for one in off)
        print(f"load {load} %, {law}: served against asked over 10 s: {shown} %")

for number in (1, 2, 3):
    all_lines = lines(f"until-{number}")
    settled = [line["at_s"] for line in all_lines if line.get("phase") == "settled"]
    held = [line["served_rps"] for line in all_lines if line["at_s"] > 30]
    first = f"{settled[0]:.0f} s" if settled else "never"
    print(f"--until {goal}: settled after {first}; mean from 30 to 60 s: {sum(held) / len(held):,.0f}/s")
with open(f"{folder}/sweep.json") as file:
    run = json.load(file)
for found in run["findings"]["capacity"]:
    one = lambda name: "{value:,.0f} ({low:,.0f} to {high:,.0f})".format(**found[name])
    print(f"sweep --quick: capacity {one('rate_rps')}/s, at other times {one('other_times_rps')}/s")

# Changes of load, by the clock of this script: from the message to the first served request that
# is above what the old load allows, seen by the counters of /metrics would be slower, so by the
# answer and the status of the second after.
path = f"{folder}/control"
child = subprocess.Popen([plimsoll, "service", "--load", "10", "--json", "--arrivals", "constant", "--control", path],
                         stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
while not os.path.exists(path):
    time.sleep(0.05)
time.sleep(3)
def ask(message):
    with socket.socket(socket.AF_UNIX) as s:
        s.connect(path)
        began = time.monotonic()
        s.sendall((json.dumps(message) + "\n").encode())
        answer = json.loads(s.makefile().readline())
        return answer, 1e3 * (time.monotonic() - began)
worst = 0.0
for step in range(20):
    answer, took = ask({"load": 80 if step % 2 == 0 else 10})
    worst = max(worst, answer["effective_in_ms"] + took)
    time.sleep(0.6)
child.terminate()
child.wait()
print(f"a change of load takes effect after at most {worst:.0f} ms of 20 (answer and notice)")
PYTHON
