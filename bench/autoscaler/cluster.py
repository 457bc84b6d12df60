"""etcd, API server and controller manager of Kubernetes on loopback, and a client."""

import base64
import ctypes
import http.client
import http.server
import json
import os
import secrets
import signal
import socket
import ssl
import subprocess
import threading
import time

from fleet import SYNC_S

METRICS = "/apis/metrics.k8s.io/v1beta1"
JSON = "application/json"
PROGRAMS = ETCD, API_SERVER, CONTROLLERS = "etcd", "kube-apiserver", "kube-controller-manager"
PR_SET_PDEATHSIG = 1


class ClusterError(Exception):
    pass


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def die_with_parent():
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def openssl(*args):
    subprocess.run(["openssl", *args], check=True, capture_output=True)


class Api:
    """A connection to the API server; each thread needs one of its own."""

    def __init__(self, cluster):
        self.cluster = cluster
        self.connection = None

    def open(self, method, path, body=None, kind=JSON):
        headers = {"Authorization": f"Bearer {self.cluster.token}", "Content-Type": kind}
        if body is not None and not isinstance(body, str):
            body = json.dumps(body)
        for attempt in (1, 2):
            if self.connection is None:
                self.connection = http.client.HTTPSConnection(
                    "127.0.0.1", self.cluster.port, timeout=600, context=self.cluster.tls
                )
            try:
                self.connection.request(method, path, body, headers)
                return self.connection.getresponse()
            except (http.client.HTTPException, OSError):
                self.connection = None
                if attempt == 2:
                    raise

    def call(self, method, path, body=None, kind=JSON, absent_is_fine=False):
        answer = self.open(method, path, body, kind)
        text = answer.read().decode()
        if answer.status == 404 and absent_is_fine:
            return None
        if answer.status >= 300:
            raise ClusterError(f"{method} {path}: {answer.status} {text[:400]}")
        return json.loads(text) if text.startswith("{") else text


class Cluster:
    """Starts the programs in `binaries`, with what `speed` makes faster than real time."""

    def __init__(self, binaries, folder, speed):
        self.binaries, self.folder, self.speed = binaries, folder, speed
        self.children = []
        self.token = secrets.token_hex(16)
        self.port = free_port()
        self.tls = None

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, text):
        with open(self.path(name), "w") as f:
            f.write(text)
        return self.path(name)

    def start(self, name, *flags):
        with open(self.path(f"{name}.log"), "w") as log:
            program = os.path.join(self.binaries, name)
            child = subprocess.Popen(
                [program, *flags],
                stdout=log,
                stderr=log,
                cwd=self.folder,
                start_new_session=True,
                preexec_fn=die_with_parent,
            )
        self.children.append((name, child))

    def log_end(self, name):
        with open(self.path(f"{name}.log")) as log:
            return log.read()[-2000:]

    def wait_for(self, what, ready, seconds=120):
        """Asks again until `ready` answers something, or a program has ended."""
        deadline = time.monotonic() + seconds
        why = ""
        while time.monotonic() < deadline:
            for name, child in self.children:
                if child.poll() is not None:
                    raise ClusterError(f"{name} ended:\n{self.log_end(name)}")
            try:
                if ready():
                    return
            except (ClusterError, OSError, http.client.HTTPException) as e:
                why = str(e)
            time.sleep(0.2)
        raise ClusterError(f"{what} is not there after {seconds} s. {why}")

    def __enter__(self):
        try:
            self.start_all()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        # In the order of their dependence: who is left would log errors.
        for _, child in reversed(self.children):
            child.terminate()
            try:
                child.wait(10)
            except subprocess.TimeoutExpired:
                child.kill()
                child.wait()

    def start_all(self):
        etcd, peer = (f"http://127.0.0.1:{free_port()}" for _ in range(2))
        self.start(
            ETCD,
            f"--data-dir={self.path('etcd')}",
            "--unsafe-no-fsync",
            f"--listen-client-urls={etcd}",
            f"--advertise-client-urls={etcd}",
            f"--listen-peer-urls={peer}",
            f"--initial-advertise-peer-urls={peer}",
            f"--initial-cluster=default={peer}",
        )
        key = self.path("accounts.key")
        openssl("genrsa", "-out", key, "2048")
        tokens = self.write("tokens.csv", f"{self.token},admin,1,system:masters\n")
        self.start(
            API_SERVER,
            f"--etcd-servers={etcd}",
            "--bind-address=127.0.0.1",
            "--advertise-address=127.0.0.1",
            f"--secure-port={self.port}",
            f"--cert-dir={self.path('certs')}",
            "--service-account-issuer=https://plimsoll.test",
            f"--service-account-key-file={key}",
            f"--service-account-signing-key-file={key}",
            "--service-cluster-ip-range=10.96.0.0/24",
            f"--token-auth-file={tokens}",
            "--authorization-mode=RBAC",
            "--disable-admission-plugins=ServiceAccount,TaintNodesByCondition",
            "--endpoint-reconciler-type=none",
        )
        certificate = self.path("certs/apiserver.crt")
        self.wait_for("the API server's certificate", lambda: os.path.exists(certificate))
        self.wait_for("the API server", lambda: self.is_ready(certificate))
        self.start_controllers(certificate)

    def is_ready(self, certificate):
        self.tls = ssl.create_default_context(cafile=certificate)
        return Api(self).call("GET", "/readyz") == "ok"

    def start_controllers(self, certificate):
        server = f"https://127.0.0.1:{self.port}"
        config = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [
                {"name": "c", "cluster": {"server": server, "certificate-authority": certificate}}
            ],
            "users": [{"name": "u", "user": {"token": self.token}}],
            "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
            "current-context": "x",
        }
        # The defaults of Kubernetes, divided by the speed; the tolerance stays.
        faster = {
            "sync-period": SYNC_S,
            "downscale-stabilization": 300,
            "cpu-initialization-period": 300,
            "initial-readiness-delay": 30,
        }
        self.start(
            CONTROLLERS,
            f"--kubeconfig={self.write('kubeconfig', json.dumps(config))}",
            "--leader-elect=false",
            "--bind-address=127.0.0.1",
            f"--secure-port={free_port()}",
            "--authentication-skip-lookup=true",
            "--use-service-account-credentials=false",
            "--controllers=horizontalpodautoscaling,deployment,replicaset",
            "--kube-api-qps=200",
            "--kube-api-burst=300",
            *(
                f"--horizontal-pod-autoscaler-{flag}={seconds / self.speed:g}s"
                for flag, seconds in faster.items()
            ),
        )


def serve_metrics(cluster, pod_metrics):
    """Serves metrics.k8s.io from `pod_metrics(namespace)` and registers it."""
    key, certificate = cluster.path("metrics.key"), cluster.path("metrics.crt")
    openssl(
        *("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", "/CN=metrics"),
        *("-addext", "subjectAltName=DNS:metrics.default.svc", "-keyout", key, "-out", certificate),
    )

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_):
            pass

        def do_GET(self):
            parts = self.path.split("?")[0].removeprefix(METRICS).strip("/").split("/")
            body = {"apiVersion": "metrics.k8s.io/v1beta1", "metadata": {}}
            if parts == [""]:
                pods = {"name": "pods", "singularName": "", "namespaced": True}
                pods |= {"kind": "PodMetrics", "verbs": ["get", "list"]}
                body = {"apiVersion": "v1", "kind": "APIResourceList", "resources": [pods]}
                body["groupVersion"] = "metrics.k8s.io/v1beta1"
            elif parts[0] == "namespaces" and parts[2:] == ["pods"]:
                body |= {"kind": "PodMetricsList", "items": pod_metrics(parts[1])}
            else:
                body = None
            text = json.dumps(body).encode()
            self.send_response(200 if body else 404)
            self.send_header("Content-Type", JSON)
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(certificate, key)
    server.socket = tls.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    threading.Thread(target=server.serve_forever, daemon=True).start()

    api = Api(cluster)
    # A name outside of the cluster: no endpoints, which may not be on loopback.
    service = {
        "metadata": {"name": "metrics"},
        "spec": {"type": "ExternalName", "externalName": "localhost"},
    }
    cluster.wait_for(
        "the default namespace",
        lambda: api.call("GET", "/api/v1/namespaces/default"),
    )
    api.call("POST", "/api/v1/namespaces/default/services", service)
    with open(certificate, "rb") as f:
        bundle = base64.b64encode(f.read()).decode()
    api.call(
        "POST",
        "/apis/apiregistration.k8s.io/v1/apiservices",
        {
            "metadata": {"name": "v1beta1.metrics.k8s.io"},
            "spec": {
                "group": "metrics.k8s.io",
                "version": "v1beta1",
                "groupPriorityMinimum": 100,
                "versionPriority": 100,
                "caBundle": bundle,
                "service": {
                    "name": "metrics",
                    "namespace": "default",
                    "port": server.server_address[1],
                },
            },
        },
    )
    cluster.wait_for("metrics.k8s.io", lambda: api.call("GET", METRICS))
