#!/usr/bin/env python3
"""Plimsoll over HTTP/2 side by side with h2load.

nginx with one worker on CPU 0 speaks HTTP/2 without TLS; the generators run in
turn on CPU 1, several rounds, each in a new order, at the same rate and with the
same connections and streams. CPU time is the kernel's account of the whole
process (wait4) over the requests that it sent; that of plimsoll is its own
account of its window.

    bench/http2.py [--rounds 5] [--seconds 5]

Needs nginx, and h2load (Debian's nghttp2-client).
"""

import argparse
import os
import random
import re
import statistics
import subprocess
import sys

from generators import shown
from http_bench import REPO, Nginx, microseconds, run

RATES = [5_000, 20_000, 40_000]
SHAPES = [(64, 1), (4, 16)]
DRIVE = os.path.join(REPO, "target/release/examples/drive")


def of_plimsoll(url, seconds, rate, connections, streams):
    output, _ = run([DRIVE, "http", url, str(rate), str(seconds), str(connections), "1", f"http2={streams}"])
    errors = re.search(r"errors +(.*)", output).group(1)
    if re.search(r": [1-9]", errors):
        sys.exit(f"plimsoll had errors: {errors}")
    return {
        "rate": int(re.search(r"sent (\d+)", output).group(1)) / seconds,
        "cpu_us": float(re.search(r"cpu +([\d.]+) us per request", output).group(1)),
        "slip_p99_us": microseconds(re.search(r"slip .*? 99% (\S+) ", output).group(1)),
    }


def of_h2load(url, seconds, rate, connections, streams):
    # It paces each connection by itself.
    each = rate / connections
    output, cpu = run(
        ["h2load", "-t1", f"-c{connections}", f"-m{streams}", f"--duration={seconds}", f"--rps={each}", url]
    )
    done = int(re.search(r"(\d+) succeeded", output).group(1))
    return {"rate": done / seconds, "cpu_us": cpu * 1e6 / done}


TOOLS = {"plimsoll": of_plimsoll, "h2load": of_h2load}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=int, default=5)
    args = parser.parse_args()
    subprocess.run(["cargo", "build", "--release", "--quiet", "-p", "plimsoll-load", "--examples"], cwd=REPO, check=True)
    tasks = [(name, rate, shape) for name in TOOLS for rate in RATES for shape in SHAPES]
    runs = {}
    with Nginx(http2=True) as url:
        for number in range(args.rounds):
            random.Random(number).shuffle(tasks)
            for name, rate, shape in tasks:
                runs.setdefault((name, rate, shape), []).append(TOOLS[name](url, args.seconds, rate, *shape))
            print(f"round {number + 1} of {args.rounds} done", file=sys.stderr)
    print(f"{args.rounds} rounds of {args.seconds} s, medians (ranges)\n")
    print("| | connections x streams | asked, /s | sent, /s | CPU per request, us | slip p99, us |")
    print("|---|---|---|---|---|---|")
    for shape in SHAPES:
        for rate in RATES:
            for name in TOOLS:
                of = runs[name, rate, shape]
                slips = [r["slip_p99_us"] for r in of if "slip_p99_us" in r]
                cells = [shown([r["rate"] for r in of], 0), shown([r["cpu_us"] for r in of])]
                cells.append(shown(slips, 0) if slips else "")
                print(f"| {name} | {shape[0]} x {shape[1]} | {rate:,} | " + " | ".join(cells) + " |")
    print("\nplimsoll / h2load, medians of CPU per request")
    for shape in SHAPES:
        for rate in RATES:
            of = {name: statistics.median(r["cpu_us"] for r in runs[name, rate, shape]) for name in TOOLS}
            print(f"  {shape[0]} x {shape[1]}, {rate:,}/s: {of['plimsoll'] / of['h2load']:.2f}")


if __name__ == "__main__":
    main()
