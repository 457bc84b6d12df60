#!/usr/bin/env -S python3 -B
"""Plimsoll's plan on the real control loop of Kubernetes.

Starts etcd, the API server and the controller manager on loopback, plans fleets
with `plimsoll plan`, applies the manifest that it prints, and lets the
HorizontalPodAutoscaler scale simulated pods whose load line is known. There is
no kubelet: this program marks pods as ready and serves their CPU use as
metrics.k8s.io. All fleets run at once, each in a namespace of its own.

    bench/autoscaler/loop.py --binaries DIR --plimsoll PROGRAM [--speed 3]

Exits with 1 if a fleet does other than expected, and with 3 if the machine was
too busy to tell. .ci/kubernetes builds what it needs.
"""

import argparse
import contextlib
import dataclasses
import json
import os
import signal
import subprocess
import sys
import tempfile

import fleet
from cluster import PROGRAMS, Cluster, ClusterError, serve_metrics
from simulation import Fleet, Loop

REPO = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PUBLISHED = os.path.join(REPO, "crates/plimsoll/tests/data/intel-smt-netty.csv")
TOLERANCE = 0.1
PLIMSOLL, NO_DELAY, LINEAR = "plimsoll", "plimsoll, delay left out", "linear"


def services():
    with open(PUBLISHED) as f:
        intel = fleet.published("published, SMT", f.read())
    return [
        fleet.made("proportional", lambda r: r / 10, 1000),
        fleet.made("goal at 65 % CPU", lambda r: r / 10, 650),
        fleet.made("second thread +28 %", fleet.two_threads_a_core, 1000),
        intel,
    ]


@dataclasses.dataclass(frozen=True)
class Plan:
    manifest: str
    linear_pct: int


def plan(plimsoll, folder, service, ready_in_s):
    """What `plimsoll` says of the service's table: import, then plan."""
    table, record = (os.path.join(folder, f"service.{kind}") for kind in ("csv", "plimsoll"))
    with open(table, "w") as f:
        f.write("rate_rps,cpu_pct,latency_us\n")
        f.writelines(f"{r},{cpu:g},{us}\n" for r, cpu, us in service.rows)
    run = lambda *args: subprocess.run(
        [plimsoll, *args], check=True, capture_output=True, text=True
    ).stdout
    run("import", table, "-o", record, "--cpus", str(service.cpus), "--no-html")
    asked = ["plan", record, "--peak", str(service.peak_rps), "--floor", str(fleet.FLOOR)]
    # Some tables end where the goal is still met: a lower bound, which is the known capacity.
    asked += ["--lower-bound"]
    asked += ["--failures", str(fleet.FAILURES), "--growth", f"{fleet.GROWTH_PCT_PER_MIN}%/min"]
    asked += ["--ready-in", f"{ready_in_s}s", "--format"]
    sizing = json.loads(run(*asked, "json"))["sizing"]
    manifest = run(*asked, "hpa")
    os.remove(record)
    # The same headroom and the same allowance for the tolerance: what differs
    # is only that CPU use is taken for work.
    linear = int(sizing["linear_rule"]["target_cpu_pct"] / (1 + TOLERANCE))
    return Plan(manifest, linear)


def fleets_of(plimsoll, folder):
    """Every service with every traffic under every rule, and the manifest of each."""
    out = []
    for s, service in enumerate(services()):
        planned = plan(plimsoll, folder, service, fleet.READY_IN_S)
        hasty = plan(plimsoll, folder, service, fleet.POD_START_S)
        linear_is_right = service.name == "proportional"
        rules = [
            (PLIMSOLL, planned.manifest, None, True),
            (NO_DELAY, hasty.manifest, None, None),
            (LINEAR, planned.manifest, planned.linear_pct, True if linear_is_right else None),
            ("80 %", planned.manifest, 80, None),
        ]
        for t, traffic in enumerate(fleet.TRAFFICS):
            for r, (rule, manifest, target, expected) in enumerate(rules):
                name = f"s{s}-t{t}-r{r}"
                out.append((Fleet(name, service, traffic, rule, target, expected), manifest))
    return out


def table(fleets):
    """A line for each service and rule: target, what each traffic did, instance hours."""
    yield ["service", "rule", "target", *(t.name for t in fleet.TRAFFICS), "hours"]
    groups = {}
    for f in fleets:
        groups.setdefault((f.service.name, f.rule), []).append(f)
    for (service, rule), group in groups.items():
        hours = sum(f.score.instance_s for f in group) / 3600
        cells = (cell(f.score) for f in group)
        yield [service, rule, f"{group[0].target_pct:g} %", *cells, f"{hours:.1f}"]


def cell(score):
    """The highest load of an instance, and the share of requests above its capacity."""
    highest = f"{100 * score.highest:.0f} %"
    return highest if score.kept else f"{highest} ({100 * score.over / score.requests:.1f} %)"


def print_table(rows):
    rows = list(rows)
    rows.insert(1, ["---"] * len(rows[0]))
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    for row in rows:
        print("| " + " | ".join(text.ljust(w) for text, w in zip(row, widths)) + " |")


def surprises(fleets):
    """What is other than expected. The linear rule must break somewhere, else
    this traffic shows nothing."""
    for f in fleets:
        if f.expected_kept is not None and f.score.kept != f.expected_kept:
            yield f"{f.service.name}, {f.traffic.name}, {f.rule}: expected to be kept, was broken"
    linear = [f for f in fleets if f.rule == LINEAR and f.expected_kept is None]
    if all(f.score.kept for f in linear):
        yield "the linear rule was kept everywhere"


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--binaries", required=True, help="folder of etcd and Kubernetes' programs")
    parser.add_argument("--plimsoll", required=True, help="the program")
    parser.add_argument("--speed", type=speed, default=3, help="simulated seconds per second (3)")
    parser.add_argument("--trace", help="write every step to this CSV file")
    args = parser.parse_args()
    wanted = [os.path.join(args.binaries, program) for program in PROGRAMS]
    for file in (*wanted, args.plimsoll):
        if not os.access(file, os.X_OK):
            parser.error(f"{file} is no program: run .ci/kubernetes, which builds it")
    return args


def speed(text):
    value = float(text)
    if not 0.1 <= value <= 10:
        raise argparse.ArgumentTypeError(f"{text} is out of range: give 0.1 to 10")
    return value


def main():
    args = arguments()
    for name in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(name, lambda *_: sys.exit(130))
    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="plimsoll-kubernetes-"))
        trace = stack.enter_context(open(args.trace, "w")) if args.trace else None
        plans = fleets_of(os.path.abspath(args.plimsoll), folder)
        cluster = stack.enter_context(Cluster(os.path.abspath(args.binaries), folder, args.speed))
        fleets = [f for f, _ in plans]
        loop = Loop(cluster, fleets, args.speed, trace)
        serve_metrics(cluster, loop.pod_metrics)
        for made, manifest in plans:
            loop.create(made, manifest)
        longest = loop.run()
    print_table(table(fleets))
    pause = max(f.longest_pause for f in fleets)
    print(f"\nSpeed {args.speed:g}. Longest step of the simulation {longest:.1f} s, longest pause of")
    print(f"an autoscaler {pause:.1f} s (sync period {fleet.SYNC_S} s), in simulated time.")
    # A machine that adds more than the slack to the planned delay proves nothing.
    if max(longest, pause - fleet.SYNC_S) > fleet.SLACK_S:
        print(f"Nothing follows: more than {fleet.SLACK_S} s late. Use a lower --speed.")
        return 3
    found = list(surprises(fleets))
    for line in found:
        print(line)
    return 1 if found else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (ClusterError, subprocess.CalledProcessError) as e:
        sys.exit(f"{e}\n{getattr(e, 'stderr', '') or ''}")
