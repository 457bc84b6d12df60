#!/usr/bin/env python3
"""Offers a load to Redis with memtier_benchmark, for plimsoll sweep --load-command.

    plimsoll sweep tcp://127.0.0.1:6379 --goal 'p99<10ms' \\
      --load-command 'examples/redis.py {rate} {duration} 127.0.0.1 6379 {out}'

One thread with 8 connections, one write in ten requests, as many requests per second on each
connection. memtier_benchmark sends the next request of a connection when the last has its
answer, and does not count requests that were due meanwhile (coordinated omission): a stall
lowers its rate more than it raises its latencies.
"""

import json
import os
import subprocess
import sys
import time

CONNECTIONS = 8
PERCENTILES = ["50", "90", "95", "99", "99.9", "99.99", "100"]


def memtier(rate, seconds, host, port, out):
    """Runs it for so long, and returns the totals of its own summary.

    Not its duration: memtier_benchmark 2.x writes 1.0 or 3.0 s for some runs of 2 s.
    """
    per_connection = max(1, round(rate / CONNECTIONS))
    command = [
        os.environ.get("MEMTIER", "memtier_benchmark"),
        f"--server={host}", f"--port={port}", "--threads=1", f"--clients={CONNECTIONS}",
        "--ratio=1:9", f"--rate-limiting={per_connection}", f"--test-time={seconds}",
        "--hide-histogram", "--print-percentiles=" + ",".join(PERCENTILES),
        f"--json-out-file={out}",
    ]  # fmt: skip
    began = time.monotonic()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    took = time.monotonic() - began
    if not seconds <= took <= seconds + 2:
        sys.exit(f"memtier_benchmark ran for {took:.1f} s instead of {seconds} s")
    with open(out, encoding="utf-8") as summary:
        return json.load(summary)["ALL STATS"]["Totals"]


def line(totals, seconds):
    """The line of JSON that Plimsoll reads."""
    latency = {float(name[1:]): ms for name, ms in totals["Percentile Latencies"].items() if name[0] == "p"}
    return {
        "seconds": seconds,
        "completed": totals["Count"],
        "failed": totals["Connection Errors"],
        "latency_ms": {f"{percentile:g}": ms for percentile, ms in latency.items()},
    }


def main():
    if len(sys.argv) != 6:
        sys.exit(f"usage: {sys.argv[0]} RATE SECONDS HOST PORT FILE")
    host, port, out = sys.argv[3:]
    rate, seconds = float(sys.argv[1]), int(sys.argv[2])
    answer = json.dumps(line(memtier(rate, seconds, host, port, out), seconds))
    with open(out, "w", encoding="utf-8") as file:
        file.write(answer + "\n")


main()
