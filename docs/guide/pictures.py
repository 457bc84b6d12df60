#!/usr/bin/env python3
"""Makes the pictures of the guide and the README from the records in examples/.

    docs/guide/pictures.py

Needs cargo (or PLIMSOLL=path of a built program), and Debian's packages
chromium, chromium-driver and pngquant. Writes docs/guide/pictures/*.png; a
picture changes only with a record or a page.
"""

import base64
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
OUT = os.path.join(ROOT, "docs/guide/pictures")

# What is written as a page, and what is cut out of it: a figure by its id, or
# the top of the page.
PAGES = {
    "nginx": ["report", "examples/nginx.plimsoll"],
    "goals": ["report", "examples/nginx.plimsoll", "--goal", "p99<5ms", "--goal", "p90<1ms"],
    "yield": ["report", "examples/yield.plimsoll"],
    "compare": ["compare", "examples/graviton3.plimsoll", "examples/intel-smt.plimsoll"],
}
PICTURES = [
    ("nginx", None, "page"),
    ("nginx", "latency", "nginx-latency"),
    ("nginx", "cpu", "nginx-cpu"),
    ("nginx", "thresholds", "nginx-thresholds"),
    ("goals", "latency", "nginx-goals"),
    ("yield", "paid", "yield-paid"),
    ("compare", "cpu", "compare-cpu"),
]
WIDTH, HEIGHT = 1000, 720
# The README's picture of a page.
WIDER = {"page": (1200, 1010)}
# Room for a whole figure.
TALL = 6000
# The sticky bar would cover figures.
UNSTICK = "document.querySelectorAll('.picker').forEach((bar) => (bar.style.position = 'static'))"


class Browser:
    """Headless Chromium, over WebDriver."""

    def __init__(self):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        self.base = f"http://127.0.0.1:{port}"
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        self.driver = subprocess.Popen(["chromedriver", f"--port={port}"], **quiet)
        for _ in range(100):
            try:
                self.call("GET", "/status")
                break
            except OSError:
                time.sleep(0.1)
        options = {"args": ["--headless", "--no-sandbox", "--hide-scrollbars"]}
        wanted = {"capabilities": {"alwaysMatch": {"goog:chromeOptions": options}}}
        self.session = "/session/" + self.call("POST", "/session", wanted)["sessionId"]

    def call(self, method, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.base + path, data, method=method)
        with urllib.request.urlopen(request, timeout=60) as answer:
            return json.load(answer)["value"]

    def ask(self, method, path, body=None):
        return self.call(method, self.session + path, body)

    def picture(self, page, figure, width, height):
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        command = {"cmd": "Emulation.setDeviceMetricsOverride", "params": size}
        self.ask("POST", "/goog/cdp/execute", command)
        self.ask("POST", "/url", {"url": "file://" + page})
        self.ask("POST", "/execute/sync", {"script": UNSTICK, "args": []})
        if figure is None:
            return base64.b64decode(self.ask("GET", "/screenshot"))
        where = {"using": "css selector", "value": f"figure#{figure}, section#{figure}, #{figure}"}
        element = next(iter(self.ask("POST", "/element", where).values()))
        return base64.b64decode(self.ask("GET", f"/element/{element}/screenshot"))

    def close(self):
        self.ask("DELETE", "")
        self.driver.terminate()


def main():
    built = os.environ.get("PLIMSOLL")
    plimsoll = [built] if built else ["cargo", "run", "--quiet", "--release", "--"]
    for program in [plimsoll[0], "chromium", "chromedriver", "pngquant"]:
        if not shutil.which(program):
            sys.exit(f"{program} is not in PATH; see the top of this file for what is needed")
    os.makedirs(OUT, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        for name, command in PAGES.items():
            page = os.path.join(folder, name + ".html")
            subprocess.run([*plimsoll, *command, "-o", page], cwd=ROOT, check=True)
        browser = Browser()
        try:
            for name, figure, picture in PICTURES:
                width, height = WIDER.get(picture, (WIDTH, TALL if figure else HEIGHT))
                data = browser.picture(os.path.join(folder, name + ".html"), figure, width, height)
                smaller = ["pngquant", "--speed", "1", "--strip", "256", "-"]
                with open(os.path.join(OUT, picture + ".png"), "wb") as file:
                    subprocess.run(smaller, input=data, stdout=file, check=True)
        finally:
            browser.close()


if __name__ == "__main__":
    main()
