#!/usr/bin/env python3
"""Load generators with a rate, side by side: plimsoll, oha, wrk2 and k6.

For each rate: CPU time per request against nginx with one worker on CPU 0, the
generators in turn on CPU 1, several rounds, each in a new order. At 20,000/s
also the error of the median against a server that answers after 200 us and polls
on CPU 0, and what plimsoll was late by. CPU time is the kernel's account of the
whole process (wait4) over the requests that it sent; that of plimsoll is its
own account of its window.

Beside it a lower bound: the CPU time per request of a generator that knows all
times in advance, sends none later than plimsoll's slip p99, needs as little to send
and read as the cheapest one here (its CPU time at the highest rate), and sleeps at
the price that a sleep and wake-up has here if its timer is set while an earlier one runs,
and wakes a server once after each sleep at the price of that.

    bench/generators.py [--rounds 5] [--seconds 5] [--wrk2 PATH] [--k6 PATH] [--before PATH]

Needs nginx, and cargo's oha, as bench/http_bench.py does. wrk2 is built from its
source and k6 by `go install go.k6.io/k6@latest`; without a path each is left out. PATH of --before is
the example drive of plimsoll-load, built from an older commit.
"""

import argparse
import ctypes
import json
import math
import os
import random
import re
import statistics
import subprocess
import sys
import tempfile
import time

from http_bench import CONNECTIONS, DRIVE, REPO, Nginx, install_what_is_missing, microseconds, plimsoll, run

RATES = [5_000, 20_000, 60_000]
ERROR_AT = 20_000
DELAY_US = 200
SCRIPT = """
import http from 'k6/http';
export const options = { discardResponseBodies: true, summaryTrendStats: ['med', 'p(99)', 'max'],
  scenarios: { s: { executor: 'constant-arrival-rate', rate: RATE, timeUnit: '1s', duration: 'SECONDSs',
                    preAllocatedVUs: 64, maxVUs: 64 } } };
export default function () { http.get('URL'); }
"""


def of_plimsoll(url, seconds, rate, program=DRIVE):
    result = plimsoll(url, seconds, rate, program)
    output, _ = run([program, "http", url, str(rate), str(seconds), str(CONNECTIONS), "1"])
    result["p50_us"] = microseconds(re.search(r"latency +50% (\S+)", output).group(1))
    return result


def of_oha(url, seconds, rate):
    output, cpu = run(
        ["oha", "--no-tui", "--output-format", "json", "-c", str(CONNECTIONS), "-z", f"{seconds}s",
         "-q", str(rate), "--latency-correction", url]
    )
    got = json.loads(output)
    rate = got["summary"]["requestsPerSec"]
    return {"rate": rate, "cpu_us": cpu * 1e6 / (rate * seconds), "p50_us": got["latencyPercentiles"]["p50"] * 1e6}


def of_wrk2(program, url, seconds, rate):
    # It measures latency from its tenth second on.
    seconds += 10
    output, cpu = run([program, "-t1", f"-c{CONNECTIONS}", f"-d{seconds}s", f"-R{rate}", "--latency", url])
    requests = int(re.search(r"(\d+) requests in", output).group(1))
    p50 = microseconds(re.search(r"50\.000%\s+(\S+)", output).group(1))
    return {"rate": requests / seconds, "cpu_us": cpu * 1e6 / requests, "p50_us": p50}


def of_k6(program, url, seconds, rate):
    with tempfile.TemporaryDirectory() as folder:
        script, summary = os.path.join(folder, "load.js"), os.path.join(folder, "summary.json")
        text = SCRIPT.replace("RATE", str(rate)).replace("SECONDS", str(seconds)).replace("URL", url)
        with open(script, "w") as f:
            f.write(text)
        _, cpu = run([program, "run", "-q", "--no-usage-report", "--summary-export", summary, script])
        with open(summary) as f:
            metrics = json.load(f)["metrics"]
    requests = metrics["http_reqs"]["count"]
    p50 = metrics["http_req_duration"]["med"] * 1e3
    return {"rate": requests / seconds, "cpu_us": cpu * 1e6 / requests, "p50_us": p50}


class Delayed:
    """A server that answers after DELAY_US, polling on CPU 0."""

    def __enter__(self):
        program = os.path.join(REPO, "target/release/examples/serve")
        self.process = subprocess.Popen(["taskset", "-c", "0", program, "18081", "poll", str(DELAY_US)])
        time.sleep(1)
        return "http://127.0.0.1:18081/"

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()


class Timers:
    """Timers of the kernel in turn, `ahead` of which are set beyond the one that is waited for."""

    class Spec(ctypes.Structure):
        _fields_ = [(name, ctypes.c_long) for name in ("every_s", "every_ns", "at_s", "at_ns")]

    def __init__(self, ahead):
        self.libc = ctypes.CDLL(None)
        self.timers = [self.libc.timerfd_create(time.CLOCK_MONOTONIC, 0) for _ in range(ahead + 1)]

    def set(self, number, at_ns):
        spec = self.Spec(0, 0, at_ns // 10**9, at_ns % 10**9)
        absolute = 1
        if self.libc.timerfd_settime(self.timers[number % len(self.timers)], absolute, ctypes.byref(spec), None):
            sys.exit("a timer cannot be set")

    def wait(self, number):
        os.read(self.timers[number % len(self.timers)], 8)


def wake_up_us(ahead):
    """CPU time to set a timer and to sleep for some 200 us until another one ends, on CPU 1, in this process."""
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {1})
    timers, sleeps, gap_ns = Timers(ahead), 5_000, 200_000
    begin = time.monotonic_ns() + gap_ns
    for number in range(ahead):
        timers.set(number, begin + number * gap_ns)
    before = time.thread_time()
    for number in range(sleeps):
        timers.set(number + ahead, begin + (number + ahead) * gap_ns)
        timers.wait(number)
    used = time.thread_time() - before
    # What Python itself takes: timers that end much later, and a read that does not wait.
    with open("/dev/zero", "rb", buffering=0) as zeros:
        before = time.thread_time()
        for number in range(sleeps):
            timers.set(number, begin + 10**13)
            os.read(zeros.fileno(), 8)
        used -= time.thread_time() - before
    os.sched_setaffinity(0, allowed)
    return used / sleeps * 1e6


def wake_other_us():
    """CPU time to wake a process that sleeps on CPU 0, from CPU 1: writes to a pipe with a reader that waits, less those without."""
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {0})
    outlet, inlet = os.pipe()
    reader = os.fork()
    if reader == 0:
        os.close(inlet)
        while os.read(outlet, 1):
            pass
        os._exit(0)
    os.sched_setaffinity(0, {1})
    unread = os.pipe()[1]
    used, writes = {inlet: 0, unread: 0}, 5_000
    for _ in range(writes):
        for pipe in used:
            time.sleep(100e-6)
            before = time.thread_time_ns()
            os.write(pipe, b".")
            used[pipe] += time.thread_time_ns() - before
    os.close(inlet)
    os.close(outlet)
    os.waitpid(reader, 0)
    os.sched_setaffinity(0, allowed)
    return (used[inlet] - used[unread]) / writes / 1e3


def least_us(rate, late_us, wake_us, server_us, request_us, requests=4000):
    """The least CPU time per request at Poisson times, each sent up to `late_us` after its time.

    Awake times are chosen by dynamic programming. One lasts at least from the latest start of its first
    request to the time of its last, and as long as its requests take; a sleep before it costs `wake_us`,
    which the time between them has to have room for. Queues within an awake time are left out, which
    only lowers the bound.
    """
    draw, due = random.Random(1), [0.0]
    for _ in range(requests - 1):
        due.append(due[-1] + draw.expovariate(rate / 1e6))
    best = [0.0]
    for end in range(1, requests + 1):
        costs = []
        for first in range(end - 1, max(-1, end - 200), -1):
            may_sleep = first == 0 or due[first] + late_us - due[first - 1] >= wake_us
            awake = max((end - first) * request_us, due[end - 1] - due[first] - late_us)
            costs.append(best[first] + wake_us + server_us + awake if may_sleep else math.inf)
        best.append(min(costs))
    return best[-1] / requests


def print_least(cost, wake_us, server_us):
    """The lower bound, beside plimsoll's own figure."""
    request_us = min(r["cpu_us"] for (_, rate), runs in cost.items() for r in runs if rate == max(RATES))
    print(f"\nlower bound, with {request_us:.1f} us to send and read, and no request later than plimsoll's slip p99")
    for rate in RATES:
        runs = cost["plimsoll", rate]
        late_us = statistics.median(r["slip_p99_us"] for r in runs)
        ours = statistics.median(r["cpu_us"] for r in runs)
        print(f"  {rate:,}/s: {least_us(rate, late_us, wake_us, server_us, request_us):.1f} us; plimsoll {ours:.1f} us")


def rounds(tools, url, rates, args):
    runs = {}
    tasks = [(name, rate) for name in tools for rate in rates]
    for number in range(args.rounds):
        random.Random(number).shuffle(tasks)
        for name, rate in tasks:
            runs.setdefault((name, rate), []).append(tools[name](url, args.seconds, rate))
        print(f"round {number + 1} of {args.rounds} done", file=sys.stderr)
    return runs


def shown(values, digits=1):
    low, high = min(values), max(values)
    return f"{statistics.median(values):,.{digits}f} ({low:,.{digits}f} to {high:,.{digits}f})"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=int, default=5)
    parser.add_argument("--wrk2")
    parser.add_argument("--k6")
    parser.add_argument("--before")
    args = parser.parse_args()
    install_what_is_missing()
    subprocess.run(
        ["cargo", "build", "--release", "--quiet", "-p", "plimsoll-load", "--examples"], cwd=REPO, check=True
    )
    tools = {"plimsoll": of_plimsoll, "oha": of_oha}
    if args.wrk2:
        tools["wrk2"] = lambda *load: of_wrk2(args.wrk2, *load)
    if args.k6:
        tools["k6"] = lambda *load: of_k6(args.k6, *load)
    if args.before:
        tools["before"] = lambda *load: of_plimsoll(*load, args.before)
    alone, wakes = ([wake_up_us(ahead) for _ in range(args.rounds)] for ahead in (0, 3))
    servers = [wake_other_us() for _ in range(args.rounds)]
    with Nginx() as url:
        cost = rounds(tools, url, RATES, args)
    with Delayed() as url:
        error = rounds(tools, url, [ERROR_AT], args)
    print(f"{args.rounds} rounds of {args.seconds} s, {CONNECTIONS} connections, medians (ranges)\n")
    print(f"CPU time of a sleep and a wake-up: {shown(alone)} us; with the timer set ahead: {shown(wakes)} us")
    print(f"CPU time to wake a process on another CPU: {shown(servers)} us\n")
    print("| | asked, /s | sent, /s | CPU per request, us | median error at 20,000/s, us | slip p99, us |")
    print("|---|---|---|---|---|---|")
    for name in tools:
        for rate in RATES:
            runs = cost[name, rate]
            cells = [shown([r["rate"] for r in runs], 0), shown([r["cpu_us"] for r in runs])]
            late = [r["p50_us"] - DELAY_US for r in error[name, ERROR_AT]]
            cells.append(shown(late, 0) if rate == ERROR_AT else "")
            slips = [r["slip_p99_us"] for r in runs if "slip_p99_us" in r]
            cells.append(shown(slips, 0) if slips else "")
            print(f"| {name} | {rate:,} | " + " | ".join(cells) + " |")
    print("\nratios of medians of CPU per request")
    for rate in RATES:
        of = {name: statistics.median(r["cpu_us"] for r in cost[name, rate]) for name in tools}
        others = [f"plimsoll / {name} {of['plimsoll'] / of[name]:.2f}" for name in tools if name != "plimsoll"]
        print(f"  {rate:,}/s: " + ", ".join(others))
    if args.wrk2:  # The others send too dearly for a bound.
        print_least(cost, statistics.median(wakes), statistics.median(servers))


if __name__ == "__main__":
    main()
