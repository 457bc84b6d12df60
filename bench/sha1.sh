#!/usr/bin/env bash
# Does the hash service get out of a core what the core has?
#
# Runs `openssl speed` for SHA-1 and Plimsoll's hash service at full load in
# turns on the same CPU, so that whatever else the machine does hits both, and
# prints each turn and the ratio of the medians. The service should reach 90 %
# of openssl or more; the script fails if it does not.
#
#   bench/sha1.sh [CPU] [TURNS] [SECONDS]      default: the last CPU allowed, 5, 1
#
# Both are timed by the wall clock: openssl hashes 16 KiB blocks, which stay in
# L1; the service hashes blocks of some MiB with all that belongs to a request
# (arrival, queue, histograms).
#
# Needs: cargo, openssl (the program), taskset (util-linux), awk. Installs nothing.
set -euo pipefail
cd "$(dirname "$0")/.."

for program in cargo openssl taskset awk; do
    if ! command -v "$program" >/dev/null; then
        echo "bench/sha1.sh needs $program, which is not in PATH; install it and run again" >&2
        exit 2
    fi
done

allowed=$(awk '/^Cpus_allowed_list/ { print $2 }' /proc/self/status)
cpu=${1:-${allowed##*[,-]}}
turns=${2:-5}
seconds=${3:-1}

cargo build --quiet --release -p plimsoll-load --example drive
drive=${CARGO_TARGET_DIR:-target}/release/examples/drive

# MB/s of openssl: the last line of its table reads `sha1   1234567.89k`.
openssl_mb() {
    taskset -c "$cpu" openssl speed -elapsed -evp sha1 -bytes 16384 -seconds "$seconds" 2>/dev/null |
        awk 'tolower($1) == "sha1" { sub("k$", "", $2); printf "%.1f\n", $2 / 1000; found = 1 }
             END { exit !found }'
}

# MB/s of the hash service.
service_mb() {
    taskset -c "$cpu" "$drive" hash full "$seconds" "$cpu" |
        awk '$1 == "MB/s" { print $2; found = 1 } END { exit !found }'
}

median() {
    printf '%s\n' "$@" | sort -n |
        awk '{ v[NR] = $1 } END { print (v[int((NR + 1) / 2)] + v[int((NR + 2) / 2)]) / 2 }'
}

openssl_all=()
service_all=()
printf 'SHA-1 on CPU %s, MB/s (%s)\n' "$cpu" "$(openssl version)"
printf '%6s %10s %10s\n' turn openssl service
for turn in $(seq "$turns"); do
    openssl_all+=("$(openssl_mb)")
    service_all+=("$(service_mb)")
    printf '%6s %10s %10s\n' "$turn" "${openssl_all[-1]}" "${service_all[-1]}"
done

openssl_median=$(median "${openssl_all[@]}")
service_median=$(median "${service_all[@]}")
printf '%6s %10s %10s\n' median "$openssl_median" "$service_median"
awk -v service="$service_median" -v openssl="$openssl_median" 'BEGIN {
    ratio = service / openssl
    printf "service / openssl = %.3f (at least 0.900 wanted)\n", ratio
    exit ratio < 0.9
}'
