#!/usr/bin/env bash
# What it costs to look at the lab: CPU time of the threads that draw and send, in percent of one
# core, in a terminal of two sizes and with no, one and three browsers at the event stream.
#
#   bench/lab-cost.sh [SECONDS]      default: 20 for each row
#
# Needs: cargo, python3. Installs nothing. CPU time, so other load changes it little.
set -euo pipefail
cd "$(dirname "$0")/.."

for program in cargo python3; do
    if ! command -v "$program" >/dev/null; then
        echo "bench/lab-cost.sh needs $program, which is not in PATH; install it and run again" >&2
        exit 2
    fi
done

cargo build --quiet --release --locked --workspace --bin plimsoll
plimsoll=$(realpath "${CARGO_TARGET_DIR:-target}/release/plimsoll")

python3 - "$plimsoll" "${1:-20}" <<'PYTHON'
import fcntl, os, pty, socket, struct, subprocess, sys, termios, threading, time

plimsoll, seconds = sys.argv[1], float(sys.argv[2])
LAB = [plimsoll, "demo", "--rated", "400", "--cpus", "0", "--page", "b"]
TICKS = os.sysconf("SC_CLK_TCK")

def cpu(pid):
    """CPU seconds of the main thread, and of each kind of other threads."""
    used = {}
    for tid in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{tid}/schedstat") as file:
            ns = int(file.read().split()[0])
        with open(f"/proc/{pid}/task/{tid}/comm") as file:
            name = "main" if int(tid) == pid else file.read().strip()
        used[name] = used.get(name, 0) + ns / 1e9
    return used

def row(name, pid):
    time.sleep(5)
    before, began = cpu(pid), time.monotonic()
    time.sleep(seconds)
    after, took = cpu(pid), time.monotonic() - began
    pct = lambda thread: 100 * (after.get(thread, 0) - before.get(thread, 0)) / took
    print(f"{name:34} main thread {pct('main'):5.2f} %, http {pct('http'):5.2f} % of a core")

def drain(read):
    try:
        while read():
            pass
    except OSError:
        pass

def terminal(columns, rows):
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
    child = subprocess.Popen(LAB, stdin=theirs, stdout=subprocess.DEVNULL, stderr=theirs,
                             env={**os.environ, "TERM": "xterm-256color"})
    threading.Thread(target=drain, args=(lambda: os.read(ours, 65536),), daemon=True).start()
    row(f"terminal, {columns} by {rows}", child.pid)
    child.terminate()
    child.wait()

def browser(port, path):
    stream = socket.create_connection(("127.0.0.1", port))
    stream.sendall(f"GET {path}events HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n".encode())
    first = stream.recv(65536)
    assert b"text/event-stream" in first, first
    threading.Thread(target=drain, args=(lambda: stream.recv(65536),), daemon=True).start()
    return stream

terminal(80, 24)
terminal(200, 60)
for clients in (0, 1, 3):
    child = subprocess.Popen(LAB + ["--web"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    for line in child.stdout:
        if "http://" in line:
            _, _, rest = line.partition("http://127.0.0.1:")
            port, _, path = rest.split()[0].partition("/")
            break
    threading.Thread(target=drain, args=(child.stdout.readline,), daemon=True).start()
    streams = [browser(int(port), "/" + path) for _ in range(clients)]
    row(f"--web, {clients} browsers", child.pid)
    child.terminate()
    child.wait()
PYTHON
