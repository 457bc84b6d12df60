#!/bin/sh
# What `plimsoll burst` says of a server's CPU use, beside the server's own account for the same run:
# utime + stime of /proc/PID/stat of all its processes, over the whole run.
#
#     bench/burst.sh PLIMSOLL URL PID... [-- FLAGS]
#
# Prints the CPU time by /proc in ms, and the JSON of the run in burst.json. Ticks of 10 ms bound how
# well the two agree. A run of `--cycles 1` without --quick has one burst and one break.
set -eu
plimsoll=$1 url=$2
shift 2
pids=
while [ $# -gt 0 ] && [ "$1" != -- ]; do pids="$pids $1"; shift; done
[ $# -gt 0 ] && shift
ticks() {
    for pid in $pids; do
        sed 's/.*) //' "/proc/$pid/stat" | awk '{print $12 + $13}'
    done | awk '{sum += $1} END {print sum * 10}'
}
before=$(ticks)
"$plimsoll" burst "$url" "$@" --format json > burst.json
echo "by /proc: $(($(ticks) - before)) ms of CPU time"
