#!/usr/bin/env python3
"""Runs `plimsoll side` with guards and `plimsoll sweep` in a loop, and prints whether memory,
descriptors and leftovers grow: docs/reliability.md.

    bench/reliability/soak.py [--minutes 120] [--plimsoll target/release/plimsoll]

Every quarter of the time is a row. Exits with 1 if something is left behind, if a command failed,
or if `side` had more memory (by 2 MiB and 10 %) or descriptors in the last quarter than in the second.
"""

import argparse
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

BURN = "while :; do :; done"


class Answer(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"ok")

    def log_message(self, *_):
        pass


class Server(ThreadingHTTPServer):
    def handle_error(self, *_):
        """Clients that close their connections are no error."""


def memory_kib(pid):
    with open(f"/proc/{pid}/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmRSS"))


def left_behind():
    """Groups and processes that only Plimsoll makes."""
    groups = [path for path, _, _ in os.walk("/sys/fs/cgroup") if "plimsoll" in os.path.basename(path)]
    burners = subprocess.run(["pgrep", "-f", "^sh -c " + BURN], capture_output=True, text=True)
    return set(groups) | {f"process {pid}" for pid in burners.stdout.split()}


def sweep(plimsoll, url, folder):
    """One short sweep: its exit code and its highest memory in KiB."""
    args = ["sweep", "--quick", "--plain", "--rated", "200", "--trials", "1", "--duration", "300ms"]
    bounds = ["--max-slip", "1s", "--max-steal", "100%", "--max-other", "100%"]
    record = os.path.join(folder, "run.plimsoll")
    command = [plimsoll, *args, *bounds, "-o", record, url]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    for name in os.listdir(folder):
        os.remove(os.path.join(folder, name))
    return process.returncode, usage.ru_maxrss


def run(asked):
    server = Server(("127.0.0.1", 0), Answer)
    Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_port}/"
    before = left_behind()
    guards = ["--guard", f"http {url} p99<200ms", "--guard", "run-delay<50%"]
    side = subprocess.Popen(
        [asked.plimsoll, "side", "--quiet", *guards, "--", "sh", "-c", BURN],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    begun, rows, failed = time.monotonic(), [[] for _ in range(4)], 0
    with tempfile.TemporaryDirectory() as folder:
        while (passed := (time.monotonic() - begun) / (60 * asked.minutes)) < 1 and side.poll() is None:
            code, peak = sweep(asked.plimsoll, url, folder)
            failed += code != 0
            fds = len(os.listdir(f"/proc/{side.pid}/fd"))
            rows[int(4 * passed)].append((memory_kib(side.pid), fds, peak))
    ended = side.poll()
    if ended is None:
        side.send_signal(signal.SIGTERM)
        side.wait(60)
    return rows, failed, ended, left_behind() - before


def report(rows, failed, ended, left):
    print("| quarter | sweeps | `side`: memory, KiB | descriptors | sweep: highest memory, KiB |")
    print("|---|---|---|---|---|")
    medians = []
    for quarter, row in enumerate(rows, 1):
        medians.append([statistics.median(column) for column in zip(*row)] or [0, 0, 0])
        memory, fds, peak = (f"{value:,.0f}" for value in medians[-1])
        print(f"| {quarter} | {len(row)} | {memory} | {fds} | {peak} |")
    print(f"\nsweeps that failed: {failed}; left behind: {', '.join(sorted(left)) or 'nothing'}")
    if ended is not None:
        print(f"side ended by itself with exit code {ended}")
    (_, second, _, last) = medians
    grows = last[0] > second[0] + max(2048, second[0] / 10) or last[1] > second[1]
    return bool(failed or left or grows or ended is not None)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=120)
    parser.add_argument("--plimsoll", default="target/release/plimsoll")
    sys.exit(report(*run(parser.parse_args())))


if __name__ == "__main__":
    main()
