#!/usr/bin/env python3
"""A gate with real runs: how often does it find that a server carries a tenth less, and
how often does it call an equal server worse?

A Python server on CPU 0 hashes some bytes per request; its changed version hashes
enough more to carry a tenth less. In each of --blocks blocks the server is swept
twice and the changed one once, in random order, from CPU 1. Then --gates gates are
drawn: of so many blocks, without repeats in one gate, the runs of the changed server
(and for the false alarms the second runs of the server) are compared with the first
ones by `plimsoll compare --against … --require 'no worse by 0%'`. Exit status 3 is a
loss found. A sweep that gives no capacity decides nothing and is made again, as a
gate has to: how often is printed. Gates share runs, as 20 disjoint ones would take
hours; the disjoint ones are counted by themselves.

With --versus the two servers run side by side, and `plimsoll versus` loads them in turn with its
usual settings, at half of what the server carries: --gates gates of the changed server and as
many of an equal one, in random order. Each is a run of its own, with
`--require 'change of cpu<3%'`.

    bench/gate.py [--blocks 16] [--runs 3,4,6] [--gates 20] [--records FOLDER]
    bench/gate.py --versus [--gates 20] [--records FOLDER]

FOLDER keeps the records: what is there is not measured again. PLIMSOLL names a program
that is built already.
"""

import argparse
import asyncio
import hashlib
import json
import os
import random
import socket
import subprocess
import sys
import tempfile
import time

REPO = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PROGRAM = os.environ.get("PLIMSOLL") or os.path.join(REPO, "target/release/plimsoll")
PORT = 18090
BYTES = 3_000_000
CHANGED_BYTES = BYTES * 10 // 9
SWEEP = "--goal p99<50ms --cpus 1 --quick --levels 70,85,100 --arrivals constant --plain --no-html".split()
FOUND = 3


def serve(size, port):
    """Hashes `size` bytes per request, one request at a time."""
    data = memoryview(bytes(size))

    class Connection(asyncio.Protocol):
        def connection_made(self, transport):
            self.transport = transport

        def data_received(self, _):
            body = hashlib.sha1(data).hexdigest().encode()
            self.transport.write(b"HTTP/1.1 200 OK\r\ncontent-length: 40\r\n\r\n" + body)

    async def listen():
        server = await asyncio.get_running_loop().create_server(Connection, "127.0.0.1", port)
        await server.serve_forever()

    os.sched_setaffinity(0, {0})
    asyncio.run(listen())


class Server:
    def __init__(self, size, port=PORT):
        self.size, self.port = size, port

    def __enter__(self):
        arguments = ["--serve", str(self.size), "--port", str(self.port)]
        self.process = subprocess.Popen([sys.executable, __file__, *arguments])
        for _ in range(200):
            if self.process.poll() is not None:
                sys.exit(f"the server ended; is port {self.port} in use?")
            try:
                socket.create_connection(("127.0.0.1", self.port)).close()
                return self
            except OSError:
                time.sleep(0.05)
        sys.exit("the server does not listen")

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()


def sweep(size, record, rated):
    with Server(size):
        command = [PROGRAM, "sweep", f"http://127.0.0.1:{PORT}/", *SWEEP, "-o", record]
        done = subprocess.run([*command, "--rated", str(rated)], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"sweep ended with {done.returncode}: {done.stderr}")


def has_capacity(record):
    command = [PROGRAM, "report", record, "--format", "json"]
    findings = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)["findings"]
    return findings["capacity"][0]["rate_rps"] is not None


def rate_of(size):
    """Above what the server carries, from the time that a request takes on CPU 0."""
    code = f"import hashlib,time; d=bytes({size}); t=time.time(); [hashlib.sha1(d) for _ in range(300)]; print(time.time()-t)"
    seconds = subprocess.run(["taskset", "-c", "0", sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return round(1.2 * 300 / float(seconds.stdout))


def ended_with(new, old):
    command = [PROGRAM, "compare", *new, "--against", *old, "--require", "no worse by 0%"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode not in (0, 3, 4):
        sys.exit(f"compare ended with {done.returncode}: {done.stderr}")
    return done.returncode


def found(records, blocks, kind):
    new, old = ([records[block, of] for block in blocks] for of in (kind, "first"))
    return ended_with(new, old) == FOUND


def measure(blocks, folder):
    kinds = {"first": BYTES, "second": BYTES, "changed": CHANGED_BYTES}
    rated, records, again = rate_of(BYTES), {}, 0
    for block in range(blocks):
        order = list(kinds)
        random.Random(block).shuffle(order)
        for kind in order:
            record = records[block, kind] = os.path.join(folder, f"{block}-{kind}.plimsoll")
            while not (os.path.exists(record) and has_capacity(record)):
                if os.path.exists(record):
                    os.remove(record)
                    again += 1
                if again > len(records):
                    sys.exit("sweeps give no capacity")
                sweep(kinds[kind], record, rated)
        print(f"block {block + 1} of {blocks} done", file=sys.stderr)
    print(f"{again} of {len(records)} sweeps gave no capacity, and were made again\n")
    return records


def in_turn(gates, folder):
    # rate_of is 1.2 times what the server carries.
    rate = round(rate_of(BYTES) / 2.4)
    runs = [(kind, nth) for nth in range(gates) for kind in ("changed", "equal")]
    random.Random(gates).shuffle(runs)
    ended = {"changed": [], "equal": []}
    for kind, nth in runs:
        record = os.path.join(folder, f"{kind}-{nth}.plimsoll")
        if not os.path.exists(record):
            size = BYTES if kind == "equal" else CHANGED_BYTES
            with Server(BYTES), Server(size, PORT + 1):
                command = [PROGRAM, "versus", f"http://127.0.0.1:{PORT + 1}/", "--against", f"http://127.0.0.1:{PORT}/"]
                command += ["--rate", str(rate), "--plain", "--no-html", "-o", record]
                done = subprocess.run(command, capture_output=True, text=True)
            if done.returncode != 0:
                sys.exit(f"versus ended with {done.returncode}: {done.stderr}")
        command = [PROGRAM, "report", record, "--require", "change of cpu<3%"]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode not in (0, 3, 4):
            sys.exit(f"report ended with {done.returncode}: {done.stderr}")
        ended[kind].append(done.returncode)
        print(f"{kind}: {done.stderr.strip().splitlines()[-1]}", file=sys.stderr)
    print("exit statuses of 'change of cpu<3%'\n")
    print("| server | broken (3) | undecided (4) | kept (0) |\n|---|---|---|---|")
    for kind, statuses in ended.items():
        print(f"| {kind} | " + " | ".join(f"{statuses.count(status)} of {gates}" for status in (3, 4, 0)) + " |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--serve", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--port", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--versus", action="store_true")
    parser.add_argument("--blocks", type=int, default=16)
    parser.add_argument("--runs", default="3,4,6")
    parser.add_argument("--gates", type=int, default=20)
    parser.add_argument("--records")
    args = parser.parse_args()
    if args.serve:
        serve(args.serve, args.port)
    if "PLIMSOLL" not in os.environ:
        subprocess.run(["cargo", "build", "--release", "--quiet", "--bin", "plimsoll"], cwd=REPO, check=True)
    with tempfile.TemporaryDirectory() as temporary:
        if args.versus:
            return in_turn(args.gates, args.records or temporary)
        records = measure(args.blocks, args.records or temporary)
        print("| runs of each | loss found | false alarms | disjoint gates: found, false alarms |")
        print("|---|---|---|---|")
        for runs in map(int, args.runs.split(",")):
            draw = random.Random(runs)
            drawn = [draw.sample(range(args.blocks), runs) for _ in range(args.gates)]
            disjoint = [range(at, at + runs) for at in range(0, args.blocks - runs + 1, runs)]
            counts = [
                sum(found(records, blocks, kind) for blocks in gates)
                for gates in (drawn, disjoint)
                for kind in ("changed", "second")
            ]
            loss, false, alone, alone_false = counts
            print(f"| {runs} | {loss} of {args.gates} | {false} of {args.gates} | {alone}, {alone_false} of {len(disjoint)} |")


if __name__ == "__main__":
    main()
