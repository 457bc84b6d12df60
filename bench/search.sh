#!/usr/bin/env bash
# How near does a search for the capacity come, and in what time?
#
# Plimsoll's sweep, bisection as FeedSim's search_qps.sh does it, and AIPerf's
# smooth isotonic search, on the same simulated services of known capacity with
# the same noise. Time is virtual, so that hours of measuring take minutes and
# the figures are the same on every machine. Prints markdown; docs/accuracy.md
# quotes it and says what is unfair in it.
#
#   bench/search.sh [SEEDS]      default: 40
#
# Needs: cargo. Installs nothing.
set -euo pipefail
cd "$(dirname "$0")/.."

if ! command -v cargo >/dev/null; then
    echo "bench/search.sh needs cargo, which is not in PATH; install it and run again" >&2
    exit 2
fi

exec cargo run --quiet --release -p plimsoll-experiments --example search_methods -- "$@"
