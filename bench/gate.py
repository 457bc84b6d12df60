#!/usr/bin/env python3
"""How often does a gate of several short sweeps find a service that is slower?

Two servers of one thread on CPU 0, of which the second hashes so many percent
more for each request, are swept in turn from CPU 1, each run with a server of its
own. Gates are then drawn from these runs: N of the slower against N of the
first (is the loss found?), and N of the first against N others of it (is there a
false alarm?). Each gate is `plimsoll compare NEW... --against OLD...
--require 'no worse by 0%'`, whose exit status 3 stops a change. Gates of one N
share runs, so their shares vary by more than 20 separate gates would.

    bench/gate.py [--runs 16] [--slower 10] [--gates 20] [--keep DIR]

Needs target/release/plimsoll. With --keep the records are kept, and those that
are there already are used.
"""

import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile

REPO = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PLIMSOLL = os.path.join(REPO, "target/release/plimsoll")
PORT = 18_377
BLOCK = 600_000
SERVER = """
import asyncio, hashlib, sys
block = bytes(int(sys.argv[2]))
class Server(asyncio.Protocol):
    def connection_made(self, transport):
        self.transport, self.seen = transport, b""
    def data_received(self, data):
        self.seen += data
        while b"\\r\\n\\r\\n" in self.seen:
            _, self.seen = self.seen.split(b"\\r\\n\\r\\n", 1)
            text = hashlib.sha1(block).hexdigest().encode()
            self.transport.write(b"HTTP/1.1 200 OK\\r\\nContent-Length: 40\\r\\n\\r\\n" + text)
async def main():
    loop = asyncio.get_running_loop()
    server = await loop.create_server(Server, "127.0.0.1", int(sys.argv[1]), backlog=1000)
    await server.serve_forever()
asyncio.run(main())
"""
SWEEP = ["--quick", "--plain", "--no-html", "--cpus", "1", "--goal", "p99<30ms"]


def sweep(record, size, more):
    server = subprocess.Popen(["taskset", "-c", "0", sys.executable, "-c", SERVER, str(PORT), str(size)])
    try:
        url = f"http://127.0.0.1:{PORT}/"
        done = subprocess.run(
            [PLIMSOLL, "sweep", url, "-o", record, *SWEEP, *more], capture_output=True, text=True, check=False
        )
    finally:
        server.kill()
        server.wait()
    print(done.stdout.splitlines()[-3:] if done.returncode else f"{record}: done", file=sys.stderr)


def capacity(record):
    report = [PLIMSOLL, "report", record, "--format", "json"]
    shown = subprocess.run(report, capture_output=True, text=True, check=False)
    found = json.loads(shown.stdout)["findings"]["capacity"][0]["rate_rps"]
    return found and found["value"]


def gate(new, old):
    asked = [PLIMSOLL, "compare", *new, "--against", *old, "--require", "no worse by 0%", "--no-html", "--plain"]
    return subprocess.run(asked, capture_output=True, check=False).returncode


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--runs", type=int, default=16)
    parser.add_argument("--slower", type=float, default=10)
    parser.add_argument("--gates", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep")
    parser.add_argument("more", nargs="*", help="further flags of sweep, after --")
    args = parser.parse_args()
    folder = args.keep or tempfile.mkdtemp(prefix="gate")
    os.makedirs(folder, exist_ok=True)
    sizes = {"as-is": BLOCK, "slower": round(BLOCK * (1 + args.slower / 100))}
    runs = {kind: [os.path.join(folder, f"{kind}-{i}.plimsoll") for i in range(args.runs)] for kind in sizes}
    for i in range(args.runs):
        for kind in sorted(sizes, reverse=i % 2 == 1):
            if not os.path.exists(runs[kind][i]):
                sweep(runs[kind][i], sizes[kind], args.more)
    for kind, records in runs.items():
        found = [value for value in map(capacity, records) if value]
        mean, spread = statistics.mean(found), statistics.stdev(found)
        print(f"{kind}: {len(found)} of {len(records)} runs with a capacity, mean {mean:.0f}/s, "
              f"standard deviation {100 * spread / mean:.1f} %")
    rng = random.Random(args.seed)
    print("\n| runs of each | loss found | kept | undecided | false alarms | kept | undecided |")
    print("|---|---|---|---|---|---|---|")
    for n in (3, 4, 6, 8):
        if 2 * n > args.runs:
            continue
        losses, alarms = [], []
        for _ in range(args.gates):
            losses.append(gate(rng.sample(runs["slower"], n), rng.sample(runs["as-is"], n)))
            both = rng.sample(runs["as-is"], 2 * n)
            alarms.append(gate(both[:n], both[n:]))
        counts = [codes.count(code) for codes in (losses, alarms) for code in (3, 0, 4)]
        others = [code for code in losses + alarms if code not in (0, 3, 4)]
        print("| " + " | ".join(str(value) for value in [n, *counts]) + " |", f"errors: {others}" if others else "")


if __name__ == "__main__":
    main()
