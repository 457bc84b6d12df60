#!/bin/sh
# What `plimsoll burst` says of a server's CPU time, beside the kernel's own account for the same run:
# utime + stime of /proc/PID/stat of its processes, over the whole run.
#
#     bench/burst.sh PLIMSOLL URL PID... [-- FLAGS]
#
# Prints both in ms: the sum of the time lines of all trials in the record, and that by /proc, which
# also has what the server does between trials. Ticks of 10 ms for each process bound how well they
# agree. Leaves burst.json and burst.plimsoll in this folder; needs python3.
set -eu
plimsoll=$1 url=$2
shift 2
pids=
while [ $# -gt 0 ] && [ "$1" != -- ]; do pids="$pids $1"; shift; done
[ $# -gt 0 ] && shift
ticks() {
    for pid in $pids; do
        sed 's/.*) //' "/proc/$pid/stat" | awk '{print $12 + $13}'
    done | awk -v hz="$(getconf CLK_TCK)" '{sum += $1} END {print sum * 1000 / hz}'
}
rm -f burst.plimsoll burst.html
before=$(ticks)
"$plimsoll" burst "$url" --plain --format json -o burst.plimsoll "$@" > burst.json
after=$(ticks)
python3 - "$((after - before))" <<'END'
import json, sqlite3, sys

trials = sqlite3.connect("burst.plimsoll").execute("SELECT outcome_json FROM trial")
lines = [json.loads(text)["lines"][0] for (text,) in trials]
used = sum(line["cpu_ns"][-1] - line["cpu_ns"][0] for line in lines if line) / 1e6
found = json.load(open("burst.json"))["findings"]
for phase in found["phases"]:
    print(f"{phase['phase']} of {phase['seconds']:g} s: {phase['cpu_pct']['value']:.2f} % of a CPU")
print(f"CPU time by Plimsoll: {used:.1f} ms, by /proc: {float(sys.argv[1]):.0f} ms")
END
