#!/usr/bin/env python3
"""Plimsoll's HTTP load generator side by side with wrk and oha.

Starts nginx with one worker on CPU 0 and runs the generators in turn on CPU 1,
several rounds, each in a new order. CPU time is the kernel's account of the
whole process (wait4). Prints every figure's median and range, and the ratios of
medians that docs/benchmarks.md quotes.

    bench/http_bench.py [--rounds 5] [--seconds 5]

Needs Debian's packages nginx-light and wrk and cargo's oha; installs what is
missing (apt-get needs root). Two CPUs, and nothing else running.
"""

import argparse
import json
import os
import random
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

CONNECTIONS = 64
FIXED_RATE = 20_000
REPO = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def install_what_is_missing():
    packages = [p for c, p in [("nginx", "nginx-light"), ("wrk", "wrk")] if not shutil.which(c)]
    if packages:
        subprocess.run(["apt-get", "update", "-qq"], check=True)
        subprocess.run(["apt-get", "install", "-y", "-qq", *packages], check=True)
    if not shutil.which("oha"):
        subprocess.run(["cargo", "install", "--locked", "--quiet", "oha"], check=True)
    subprocess.run(
        ["cargo", "build", "--release", "--quiet", "-p", "plimsoll-load", "--example", "drive"],
        cwd=REPO,
        check=True,
    )


class Nginx:
    """One worker on CPU 0 that answers three bytes; with `http2` without TLS."""

    def __init__(self, http2=False):
        self.listen = "backlog=4096 http2" if http2 else "backlog=4096"

    def __enter__(self):
        self.folder = tempfile.mkdtemp(prefix="plimsoll-bench-")
        conf = f"""
            daemon off; worker_processes 1; pid {self.folder}/pid; error_log {self.folder}/error.log;
            {"user root;" if os.geteuid() == 0 else ""}
            events {{ worker_connections 4096; }}
            http {{ access_log off; keepalive_requests 1000000000; keepalive_timeout 1h;
              client_body_temp_path {self.folder}/b; proxy_temp_path {self.folder}/p;
              fastcgi_temp_path {self.folder}/f; uwsgi_temp_path {self.folder}/u; scgi_temp_path {self.folder}/s;
              server {{ listen 127.0.0.1:18080 {self.listen}; location / {{ return 200 "ok\\n"; }} }} }}"""
        path = os.path.join(self.folder, "nginx.conf")
        with open(path, "w") as f:
            f.write(conf)
        self.process = subprocess.Popen(["taskset", "-c", "0", "nginx", "-p", self.folder, "-c", path])
        time.sleep(1)
        return "http://127.0.0.1:18080/"

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)


def stolen_ticks():
    """CPU time of the whole machine that the hypervisor took, and all of it."""
    with open("/proc/stat") as f:
        ticks = [int(n) for n in f.readline().split()[1:9]]
    return ticks[7], sum(ticks)


def with_steal(measure):
    """What was measured, and the share of CPU time stolen meanwhile, in percent."""
    stolen, total = stolen_ticks()
    result = measure()
    stolen_now, total_now = stolen_ticks()
    result["steal_pct"] = 100 * (stolen_now - stolen) / max(1, total_now - total)
    return result


def run(command):
    """Runs on CPU 1; gives the output and the CPU seconds of the whole process."""
    child = subprocess.Popen(["taskset", "-c", "1", *command], stdout=subprocess.PIPE, text=True)
    output = child.stdout.read()
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode != 0:
        sys.exit(f"{' '.join(command)} failed with {child.returncode}:\n{output}")
    return output, usage.ru_utime + usage.ru_stime


def wrk(url, seconds):
    output, cpu = run(["wrk", "-t1", f"-c{CONNECTIONS}", f"-d{seconds}s", url])
    requests = int(re.search(r"(\d+) requests in", output).group(1))
    rate = float(re.search(r"Requests/sec:\s+([\d.]+)", output).group(1))
    return {"rate": rate, "cpu_us": cpu * 1e6 / requests}


def oha(url, seconds, rate):
    output, cpu = run(
        ["oha", "--no-tui", "--output-format", "json", "-c", str(CONNECTIONS), "-z", f"{seconds}s",
         "-q", str(rate), "--latency-correction", url]
    )
    got = json.loads(output)["summary"]["requestsPerSec"]
    return {"rate": got, "cpu_us": cpu * 1e6 / (got * seconds)}


def microseconds(text):
    number, unit = re.fullmatch(r"([\d.]+)(ns|us|ms|s)", text).groups()
    return float(number) * {"ns": 1e-3, "us": 1, "ms": 1e3, "s": 1e6}[unit]


DRIVE = os.path.join(REPO, "target/release/examples/drive")


def plimsoll(url, seconds, rate, program=DRIVE):
    output, _ = run([program, "http", url, str(rate), str(seconds), str(CONNECTIONS), "1"])
    sent = int(re.search(r"sent (\d+)", output).group(1))
    slip = re.search(r"slip +50% (\S+) .*? 99% (\S+) ", output)
    # The program's own account of the kernel's: of its window only, without
    # what it does before and after.
    cpu_us = float(re.search(r"cpu +([\d.]+) us per request", output).group(1))
    return {
        "rate": sent / seconds,
        "cpu_us": cpu_us,
        "slip_p50_us": microseconds(slip.group(1)),
        "slip_p99_us": microseconds(slip.group(2)),
    }


def show(name, runs, key, unit):
    values = sorted(r[key] for r in runs[name])
    median = statistics.median(values)
    label = name + {"slip_p50_us": ", p50", "slip_p99_us": ", p99"}.get(key, "")
    print(f"  {label:34} {median:12,.1f} {unit:4} ({values[0]:,.1f} to {values[-1]:,.1f})")
    return median


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=int, default=5)
    args = parser.parse_args()
    install_what_is_missing()
    runs = {}
    with Nginx() as url:
        tasks = {
            "wrk, closed loop": lambda: wrk(url, args.seconds),
            "oha at 20,000/s": lambda: oha(url, args.seconds, FIXED_RATE),
            "plimsoll at 20,000/s": lambda: plimsoll(url, args.seconds, FIXED_RATE),
        }
        for number in range(args.rounds):
            order = list(tasks)
            random.Random(number).shuffle(order)
            for name in order:
                runs.setdefault(name, []).append(with_steal(tasks[name]))
            # Next to each other, because one is asked for what the other reached.
            closed = with_steal(lambda: wrk(url, args.seconds))
            runs["wrk, closed loop"].append(closed)
            asked = round(closed["rate"] * 1.2)
            over = with_steal(lambda: plimsoll(url, args.seconds, asked))
            runs.setdefault("plimsoll at 1.2 x wrk's rate", []).append(over)
            print(f"round {number + 1} of {args.rounds} done", file=sys.stderr)

    print(f"{args.rounds} rounds of {args.seconds} s, {CONNECTIONS} connections, medians (ranges)")
    print("\nrate")
    wrk_rate = show("wrk, closed loop", runs, "rate", "/s")
    our_rate = show("plimsoll at 1.2 x wrk's rate", runs, "rate", "/s")
    show("oha at 20,000/s", runs, "rate", "/s")
    show("plimsoll at 20,000/s", runs, "rate", "/s")
    print("\nCPU time per request")
    wrk_cpu = show("wrk, closed loop", runs, "cpu_us", "us")
    our_cpu = show("plimsoll at 1.2 x wrk's rate", runs, "cpu_us", "us")
    oha_cpu = show("oha at 20,000/s", runs, "cpu_us", "us")
    our_fixed_cpu = show("plimsoll at 20,000/s", runs, "cpu_us", "us")
    print("\nslip (what the generator itself was late by)")
    show("plimsoll at 20,000/s", runs, "slip_p50_us", "us")
    slip = show("plimsoll at 20,000/s", runs, "slip_p99_us", "us")
    show("plimsoll at 1.2 x wrk's rate", runs, "slip_p99_us", "us")
    print("\nCPU time that the hypervisor took meanwhile")
    for name in sorted(runs):
        show(name, runs, "steal_pct", "%")
    print("\nratios of medians                                              asked")
    print(f"  rate at saturation, plimsoll / wrk             {our_rate / wrk_rate:6.2f}   at least 0.90")
    print(f"  CPU per request at saturation, plimsoll / wrk  {our_cpu / wrk_cpu:6.2f}   at most 1.50")
    print(f"  CPU per request at 20,000/s, plimsoll / oha    {our_fixed_cpu / oha_cpu:6.2f}   at most 1.00")
    print(f"  slip p99 at 20,000/s                           {slip:6.0f}   at most 100 us")


if __name__ == "__main__":
    main()
