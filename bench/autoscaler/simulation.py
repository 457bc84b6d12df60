"""Simulated fleets on a real control plane: pods, their load and their metrics."""

import dataclasses
import datetime
import json
import threading
import time

import fleet
from cluster import Api, ClusterError

TICK_S = 0.1
LABELS = {"app": "my-service"}
PATCH = "application/merge-patch+json"


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
    # `None`: that of the manifest.
    target_pct: float | None
    # `None`: whatever is found.
    expected_kept: bool | None
    pods: dict = dataclasses.field(default_factory=dict)
    # Simulated seconds after the settling.
    last_loss: float | None = None
    # When the autoscaler last asked for metrics, and its longest pause while scored.
    last_look: float = 0.0
    longest_pause: float = 0.0
    score: fleet.Score = dataclasses.field(default_factory=fleet.Score)

    def looked(self, now):
        if now > fleet.SETTLE_S:
            self.longest_pause = max(self.longest_pause, now - self.last_look)
        self.last_look = now

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


def resource(hpa):
    metric = hpa["spec"]["metrics"][0]
    return metric.get("resource") or metric["containerResource"]


def target_pct(target, cpus):
    """A share of the pod's request, whichever way it is stated."""
    if target["type"] == "Utilization":
        return target["averageUtilization"]
    value = target["averageValue"]
    return (float(value[:-1]) / 10 if value.endswith("m") else 100 * float(value)) / cpus


def deployment(service):
    """What the manifest scales. The image is never started: there is no kubelet."""
    container = {"name": "my-service", "image": "none"}
    container["resources"] = {"requests": {"cpu": str(service.cpus)}}
    pod = {"terminationGracePeriodSeconds": 0, "containers": [container]}
    spec = {
        "replicas": fleet.FLOOR,
        "selector": {"matchLabels": LABELS},
        "template": {"metadata": {"labels": LABELS}, "spec": pod},
    }
    return {"metadata": {"name": "my-service"}, "spec": spec}


def now_text():
    return datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


class Loop:
    """The pods of all fleets, their load and their metrics, by the clock."""

    def __init__(self, cluster, fleets, speed, trace):
        self.cluster, self.speed, self.trace = cluster, speed, trace
        self.fleets = {f.namespace: f for f in fleets}
        # Guards the pods: the watch and the metrics have threads of their own.
        self.lock = threading.Lock()
        self.created = []
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
        cpu = resource(hpa)
        if fleet_.target_pct is None:
            fleet_.target_pct = target_pct(cpu["target"], fleet_.service.cpus)
        else:
            cpu["target"] = {"type": "Utilization", "averageUtilization": fleet_.target_pct}
        self.api.call("POST", path, hpa)

    def watch(self):
        """Follows the pods of all namespaces."""
        try:
            answer = Api(self.cluster).open("GET", "/api/v1/pods?watch=true&timeoutSeconds=86400")
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
                self.created.append((of, meta["name"]))

    def status(self, of, name, is_ready, extra):
        condition = {"type": "Ready", "status": str(is_ready), "lastTransitionTime": now_text()}
        body = {"status": {"phase": "Running", "conditions": [condition], **extra}}
        path = f"/api/v1/namespaces/{of.namespace}/pods/{name}/status"
        return self.api.call("PATCH", path, body, PATCH, absent_is_fine=True)

    def start_pods(self, now):
        """A new pod runs at once and is ready after its start; in the settling at once."""
        with self.lock:
            new, self.created = self.created, []
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
        of = self.fleets[namespace]
        with self.lock:
            of.looked(self.now())
            for name, pod in of.pods.items():
                if len(pod.samples) < 2:
                    continue
                (_, t0, cpu0), (text, t1, cpu1) = pod.samples
                nanocores = round((cpu1 - cpu0) / (t1 - t0) * 1e9)
                usage = {"cpu": f"{nanocores}n", "memory": "0"}
                meta = {"name": name, "namespace": namespace, "labels": LABELS}
                window = f"{(t1 - t0) / self.speed:.1f}s"
                containers = [{"name": "my-service", "usage": usage}]
                item = {"metadata": meta, "timestamp": text, "window": window}
                out.append(item | {"containers": containers})
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
        """To the end of the longest traffic; gives the longest step that is scored."""
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
            if now >= fleet.SCRAPE_S * (scraped + 1):
                scraped = int(now // fleet.SCRAPE_S)
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
