#!/usr/bin/env python3
"""Plimsoll's plan on the real control loop of Kubernetes.

Starts etcd, the API server and the controller manager on loopback, plans fleets
with `plimsoll plan`, applies the manifest that it prints, and lets the
HorizontalPodAutoscaler scale simulated pods whose load line is known. There is
no kubelet: this program marks pods as ready and serves their CPU use as
metrics.k8s.io. All fleets run at once, each in a namespace of its own.

    bench/autoscaler/loop.py --binaries DIR --plimsoll PROGRAM [--speed 5]

Exits with 1 if a fleet does other than expected. .ci/kubernetes builds what it
needs.
"""

import argparse
import contextlib
import dataclasses
import datetime
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time

import fleet
from cluster import Api, Cluster, ClusterError, serve_metrics

REPO = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PUBLISHED = os.path.join(REPO, "crates/plimsoll/tests/data/intel-smt-netty.csv")
SCRAPE_S = 15
TICK_S = 0.1
# More than this between two steps of the simulation, and it is none of this loop.
LONGEST_GAP_S = 15
TOLERANCE = 0.1
PLIMSOLL, NO_DELAY, LINEAR = "plimsoll", "plimsoll, delay left out", "linear"
PATCH = "application/merge-patch+json"


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
    target_pct: int
    linear_pct: int


def plan(plimsoll, folder, service, ready_in_s):
    """What `plimsoll` says of the service's table: import, then plan."""
    table, record = (os.path.join(folder, f"{service.cpus}.{ext}") for ext in ("csv", "plimsoll"))
    with open(table, "w") as f:
        f.write("rate_rps,cpu_pct,latency_us\n")
        f.writelines(f"{r},{cpu:g},{us}\n" for r, cpu, us in service.rows)
    run = lambda *args: subprocess.run(
        [plimsoll, *args], check=True, capture_output=True, text=True
    ).stdout
    run("import", table, "-o", record, "--cpus", str(service.cpus), "--no-html")
    asked = ["plan", record, "--peak", str(service.peak_rps), "--floor", str(fleet.FLOOR)]
    asked += ["--failures", str(fleet.FAILURES), "--growth", f"{fleet.GROWTH_PCT_PER_MIN}%/min"]
    asked += ["--ready-in", f"{ready_in_s}s", "--format"]
    sizing = json.loads(run(*asked, "json"))["sizing"]
    manifest = run(*asked, "hpa")
    os.remove(record)
    # The same headroom and the same allowance for the tolerance: what differs
    # is only that CPU use is taken for work.
    linear = int(sizing["linear_rule"]["target_cpu_pct"] / (1 + TOLERANCE))
    target = sizing["autoscaler"]["hpa_target_pct"]
    return Plan(manifest, target, linear)


@dataclasses.dataclass
class Pod:
    created: float
    is_ready: bool = False
    cpu_s: float = 0.0
    # Wall clock, simulated time and CPU seconds at the last samples, oldest first.
    samples: list = dataclasses.field(default_factory=list)


@dataclasses.dataclass
class Fleet:
    """A Deployment in its namespace, and what happened to it."""

    namespace: str
    service: fleet.Service
    traffic: fleet.Traffic
    rule: str
    target_pct: int
    # `None`: whatever is found.
    expected_kept: bool | None
    pods: dict = dataclasses.field(default_factory=dict)
    # Simulated seconds after the settling.
    last_loss: float | None = None
    score: fleet.Score = dataclasses.field(default_factory=fleet.Score)

    def ready(self):
        return [name for name, pod in self.pods.items() if pod.is_ready]


def scaled(hpa, speed):
    """Windows of the manifest are real seconds; the loop is faster."""
    for direction in hpa["spec"].get("behavior", {}).values():
        if direction.get("stabilizationWindowSeconds"):
            direction["stabilizationWindowSeconds"] = round(
                direction["stabilizationWindowSeconds"] / speed
            )
        for policy in direction.get("policies", []):
            policy["periodSeconds"] = max(1, round(policy["periodSeconds"] / speed))
    return hpa


def with_target(hpa, pct):
    """The same autoscaler with another target."""
    resource = hpa["spec"]["metrics"][0]
    resource = resource.get("resource") or resource["containerResource"]
    resource["target"] = {"type": "Utilization", "averageUtilization": pct}
    return hpa


def deployment(service):
    cpu = {"requests": {"cpu": str(service.cpus)}}
    labels = {"app": "my-service"}
    return {
        "metadata": {"name": "my-service"},
        "spec": {
            "replicas": fleet.FLOOR,
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": {
                    "terminationGracePeriodSeconds": 0,
                    "containers": [{"name": "my-service", "image": "none", "resources": cpu}],
                },
            },
        },
    }


def now_text():
    return datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


class Loop:
    def __init__(self, cluster, fleets, speed, trace):
        self.cluster, self.speed, self.trace = cluster, speed, trace
        self.fleets = {f.namespace: f for f in fleets}
        self.lock = threading.Lock()
        self.api = Api(cluster)
        self.begin = time.monotonic()
        self.watch_failed = None

    def now(self):
        """Simulated seconds since the begin."""
        return (time.monotonic() - self.begin) * self.speed

    def create(self, fleet_, manifest):
        """The manifest goes to the API server as it was printed."""
        name = fleet_.namespace
        self.api.call("POST", "/api/v1/namespaces", {"metadata": {"name": name}})
        self.api.call(
            "POST", f"/apis/apps/v1/namespaces/{name}/deployments", deployment(fleet_.service)
        )
        path = f"/apis/autoscaling/v2/namespaces/{name}/horizontalpodautoscalers"
        hpa = self.api.call("POST", f"{path}?dryRun=All", manifest, "application/yaml")
        hpa["metadata"] = {"name": hpa["metadata"]["name"]}
        hpa.pop("status", None)
        hpa = scaled(hpa, self.speed)
        if fleet_.rule not in (PLIMSOLL, NO_DELAY):
            hpa = with_target(hpa, fleet_.target_pct)
        self.api.call("POST", path, hpa)

    def watch(self):
        """Follows the pods of all namespaces."""
        try:
            answer = Api(self.cluster).open("GET", "/api/v1/pods?watch=true")
            for line in answer:
                event = json.loads(line)
                self.seen(event["type"], event["object"])
            self.watch_failed = "the watch of pods ended"
        except Exception as e:
            self.watch_failed = f"the watch of pods failed: {e}"

    def seen(self, kind, pod):
        meta = pod["metadata"]
        of = self.fleets.get(meta["namespace"])
        if of is None:
            return
        with self.lock:
            if kind == "DELETED":
                of.pods.pop(meta["name"], None)
            elif kind == "ADDED":
                of.pods.setdefault(meta["name"], Pod(self.now()))
                self.started.append((of, meta["name"]))

    def status(self, of, name, is_ready, extra):
        condition = {"type": "Ready", "status": str(is_ready), "lastTransitionTime": now_text()}
        body = {"status": {"phase": "Running", "conditions": [condition], **extra}}
        path = f"/api/v1/namespaces/{of.namespace}/pods/{name}/status"
        return self.api.call("PATCH", path, body, PATCH, absent_is_fine=True)

    def start_pods(self, now):
        """A new pod runs at once and is ready after its start; in the settling at once."""
        with self.lock:
            new, self.started = self.started, []
        for of, name in new:
            self.status(of, name, False, {"startTime": now_text()})
        for of in self.fleets.values():
            wait = fleet.POD_START_S if now > fleet.SETTLE_S else 0.0
            with self.lock:
                due = [
                    n for n, p in of.pods.items() if not p.is_ready and now >= p.created + wait
                ]
            for name in due:
                if self.status(of, name, True, {}):
                    with self.lock:
                        if name in of.pods:
                            of.pods[name].is_ready = True

    def lose(self, now):
        """The instance that has been there for longest is gone at once."""
        for of in self.fleets.values():
            t = now - fleet.SETTLE_S
            with self.lock:
                ready = of.ready()
                if not of.traffic.losses.due(t, of.last_loss, len(ready), len(of.pods)):
                    continue
                of.last_loss = t
                del of.pods[ready[0]]
            path = f"/api/v1/namespaces/{of.namespace}/pods/{ready[0]}"
            self.api.call("DELETE", path, {"gracePeriodSeconds": 0}, absent_is_fine=True)

    def serve(self, now, seconds):
        """The load of `seconds` on the pods that are ready."""
        with self.lock:
            for of in self.fleets.values():
                traffic, service = of.traffic, of.service
                if now > fleet.SETTLE_S + traffic.seconds:
                    continue
                rate = fleet.rate_at(service, traffic, now)
                ready = len(of.ready())
                busy = service.cpu_pct(rate / ready) if ready else 0.0
                for pod in of.pods.values():
                    share = busy if pod.is_ready else service.cpu_pct(0.0)
                    pod.cpu_s += share / 100 * service.cpus * seconds
                if now > fleet.SETTLE_S:
                    of.score.add(rate, ready, service.capacity_rps, seconds)
                if self.trace:
                    self.trace.write(
                        f"{of.namespace},{now:.1f},{rate:.1f},{ready},{len(of.pods)},{busy:.2f},"
                        f"{rate / max(ready, 1) / service.capacity_rps:.4f}\n"
                    )

    def scrape(self, now):
        text = now_text()
        with self.lock:
            for of in self.fleets.values():
                for pod in of.pods.values():
                    pod.samples = [*pod.samples[-1:], (text, now, pod.cpu_s)]

    def pod_metrics(self, namespace):
        """Mean CPU use between the last two samples, as metrics-server has it."""
        out = []
        with self.lock:
            for name, pod in self.fleets[namespace].pods.items():
                if len(pod.samples) < 2:
                    continue
                (_, t0, cpu0), (text, t1, cpu1) = pod.samples
                nanocores = round((cpu1 - cpu0) / (t1 - t0) * 1e9)
                out.append(
                    {
                        "metadata": {
                            "name": name,
                            "namespace": namespace,
                            "labels": {"app": "my-service"},
                        },
                        "timestamp": text,
                        "window": f"{(t1 - t0) / self.speed:.1f}s",
                        "containers": [
                            {"name": "my-service", "usage": {"cpu": f"{nanocores}n", "memory": "0"}}
                        ],
                    }
                )
        return out

    def check_active(self):
        """A loop without metrics would prove nothing."""
        for name in self.fleets:
            path = f"/apis/autoscaling/v2/namespaces/{name}/horizontalpodautoscalers/my-service"
            status = self.api.call("GET", path)["status"]
            active = {c["type"]: c for c in status.get("conditions", [])}.get("ScalingActive", {})
            if active.get("status") != "True":
                raise ClusterError(f"the autoscaler of {name} does not scale: {active}")

    def run(self):
        """To the end of the longest traffic; gives the longest gap between two steps."""
        self.started = []
        self.begin = time.monotonic()
        threading.Thread(target=self.watch, daemon=True).start()
        end = fleet.SETTLE_S + max(f.traffic.seconds for f in self.fleets.values())
        before, scraped, longest, checked = 0.0, 0, 0.0, False
        while before < end:
            now = self.now()
            self.serve(now, now - before)
            if before > fleet.SETTLE_S:
                longest = max(longest, now - before)
            before = now
            if now >= SCRAPE_S * (scraped + 1):
                scraped = int(now // SCRAPE_S)
                self.scrape(now)
            self.start_pods(now)
            self.lose(now)
            if now > fleet.SETTLE_S and not checked:
                self.check_active()
                checked = True
            if self.watch_failed:
                raise ClusterError(self.watch_failed)
            time.sleep(TICK_S)
        return longest


def fleets_of(plimsoll, folder):
    """Every service with every traffic under every rule, and the manifest of each."""
    out = []
    for s, service in enumerate(services()):
        planned = plan(plimsoll, folder, service, fleet.READY_IN_S)
        hasty = plan(plimsoll, folder, service, fleet.POD_START_S)
        linear_is_right = service.name == "proportional"
        rules = [
            (PLIMSOLL, planned.manifest, planned.target_pct, True),
            (NO_DELAY, hasty.manifest, hasty.target_pct, None),
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
        yield [service, rule, f"{group[0].target_pct} %", *cells, f"{hours:.1f}"]


def cell(score):
    """The highest load of an instance, and the share of requests above its capacity."""
    highest = f"{100 * score.highest:.0f} %"
    return highest if score.kept else f"{highest} ({100 * score.over / score.requests:.1f} %)"


def print_table(rows):
    rows = list(rows)
    rows.insert(1, ["---"] * len(rows[0]))
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    for row in rows:
        print("| " + " | ".join(cell.ljust(w) for cell, w in zip(row, widths)) + " |")


def surprises(fleets):
    """What is other than expected. The linear rule must break somewhere, else
    this traffic shows nothing."""
    for f in fleets:
        if f.expected_kept is not None and f.score.kept != f.expected_kept:
            yield f"{f.service.name}, {f.traffic.name}, {f.rule}: expected to be kept, was broken"
    linear = [f for f in fleets if f.rule == LINEAR and f.expected_kept is None]
    if all(f.score.kept for f in linear):
        yield "the linear rule was kept everywhere"


def main():
    args = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    args.add_argument("--binaries", required=True, help="folder of etcd, kube-apiserver and kube-controller-manager")
    args.add_argument("--plimsoll", required=True, help="the program")
    args.add_argument("--speed", type=float, default=5, help="simulated seconds per second (5)")
    args.add_argument("--trace", help="write every step to this CSV file")
    args = args.parse_args()
    for name in (signal.SIGTERM, signal.SIGHUP):
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
    print(f"\n{args.speed:g} simulated seconds per second; longest step {longest:.1f} simulated seconds.")
    found = list(surprises(fleets))
    if longest > LONGEST_GAP_S:
        found.append(f"a step of {longest:.0f} s is too long: use a lower --speed")
    for line in found:
        print(line, file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (ClusterError, subprocess.CalledProcessError) as e:
        sys.exit(f"{e}\n{getattr(e, 'stderr', '') or ''}")
