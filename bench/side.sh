#!/usr/bin/env bash
# What does `plimsoll side` itself cost?
#
# First its wall time: `side -- true` and `true` in turns, so that whatever else
# the machine does hits both, and the median of the differences. It should stay
# below 20 ms; the script fails if it does not. A pause before each turn keeps
# one run from sparing the next a wait in the kernel (moving a process into a
# cgroup of version 2 waits for all CPUs, but not again soon after another wait).
#
# Then its CPU time: that of the process that holds a command by the default
# guard, without the command's, while the command sleeps and while it burns.
#
#   bench/side.sh [TURNS] [SECONDS]      default: 100, 30
#
# It says something of a quiet machine only: the command has the least weight, so
# it waits for whatever else wants the CPUs, and each process adds to what the
# guard reads.
#
# Needs: cargo, awk, getconf, a shell with EPOCHREALTIME (bash 5). Installs nothing.
set -euo pipefail
cd "$(dirname "$0")/.."

for program in cargo awk getconf; do
    if ! command -v "$program" >/dev/null; then
        echo "bench/side.sh needs $program, which is not in PATH; install it and run again" >&2
        exit 2
    fi
done
if [[ -z ${EPOCHREALTIME:-} ]]; then
    echo "bench/side.sh needs bash 5 or newer for its clock; run it with one" >&2
    exit 2
fi

turns=${1:-100}
seconds=${2:-30}

cargo build --quiet --release -p plimsoll
plimsoll=${CARGO_TARGET_DIR:-target}/release/plimsoll

# The program, for the shell has one of its own.
true=$(type -P true)

# Microseconds of wall time.
took() {
    local from=${EPOCHREALTIME/[.,]/}
    "$@" </dev/null
    echo $((${EPOCHREALTIME/[.,]/} - from))
}

# The nth part of 100 of the numbers given, which is 50 for the median.
percentile() {
    local wanted=$1
    shift
    printf '%s\n' "$@" | sort -n |
        awk -v wanted="$wanted" '{ v[NR] = $1 }
            END { n = int(NR * wanted / 100 + 0.5); print v[n < 1 ? 1 : n] / 1000 }'
}

with_all=()
without_all=()
more_all=()
for _ in $(seq "$turns"); do
    sleep 0.1
    with=$(took "$plimsoll" side -q -- true)
    sleep 0.1
    without=$(took "$true")
    with_all+=("$with")
    without_all+=("$without")
    more_all+=($((with - without)))
done
more=$(percentile 50 "${more_all[@]}")
printf 'wall time in ms, %s turns %10s %10s %10s\n' "$turns" median p10 p90
for row in with without more; do
    declare -n all=${row}_all
    case $row in
    with) name='side -- true' ;;
    without) name='true' ;;
    more) name='the difference' ;;
    esac
    printf '%-26s %10s %10s %10s\n' "$name" \
        "$(percentile 50 "${all[@]}")" "$(percentile 10 "${all[@]}")" "$(percentile 90 "${all[@]}")"
done

# Clock ticks of CPU time of a process and its threads, without its children:
# fields 14 and 15 of its line, which are 12 and 13 behind the name (proc(5)).
ticks() {
    sed 's/.*) //' "/proc/$1/stat" | awk '{ print $12 + $13 }'
}

# Percent of one CPU that holding a command takes.
holding() {
    local side from to
    "$plimsoll" side -q -- "$@" </dev/null &
    side=$!
    sleep 2
    from=$(ticks "$side")
    sleep "$seconds"
    to=$(ticks "$side")
    kill -TERM "$side"
    wait "$side" || true
    awk -v ticks=$((to - from)) -v hz="$(getconf CLK_TCK)" -v seconds="$seconds" \
        'BEGIN { printf "%.2f", ticks / hz / seconds * 100 }'
}

printf '\nCPU time of plimsoll side, in percent of one CPU, over %s s (%s processes here)\n' \
    "$seconds" "$(find /proc -maxdepth 1 -name '[0-9]*' | wc -l)"
printf '%-26s %10s\n' 'a command that sleeps' "$(holding sleep 1000)"
printf '%-26s %10s\n' 'a command that burns' "$(holding sh -c 'while :; do :; done')"

awk -v more="$more" 'BEGIN {
    printf "\nside -- true costs %.1f ms more than true (less than 20 wanted)\n", more
    exit more >= 20
}'
