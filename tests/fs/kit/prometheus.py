# SPDX-License-Identifier: GPL-2.0-or-later
"""Debian's Prometheus on the loopback device, which scrapes what a function returns."""

import contextlib
import http.server
import json
import shutil
import subprocess
import threading
import time
import urllib.error
import urllib.parse
import urllib.request

import pytest

PATIENCE_SECONDS = 60
CONFIGURATION = """
global: {{scrape_interval: 1s, evaluation_interval: 1s}}
rule_files: [{rules}]
scrape_configs:
  - job_name: dedupd
    static_configs: [{{targets: ["127.0.0.1:{port}"]}}]
"""


def tool(name):
    path = shutil.which(name)
    if not path:
        pytest.skip(f"there is no {name} (package prometheus)")
    return path


def check_metrics(text):
    """By promtool, which also knows the conventions for names."""
    checked = subprocess.run([tool("promtool"), "check", "metrics"], input=text, text=True, capture_output=True,
                             check=False)
    assert (checked.returncode, checked.stdout + checked.stderr) == (0, "")


class Prometheus:
    def __init__(self, port):
        self._address = f"http://127.0.0.1:{port}"

    def get(self, path, **arguments):
        """What the API answers; an error has its reason."""
        with contextlib.ExitStack() as stack:
            try:
                answer = stack.enter_context(urllib.request.urlopen(
                    f"{self._address}/api/v1/{path}?{urllib.parse.urlencode(arguments)}", timeout=10))
            except urllib.error.HTTPError as error:
                # It is starting.
                if error.code == http.HTTPStatus.SERVICE_UNAVAILABLE:
                    raise
                answer = stack.enter_context(error)
            document = json.load(answer)
        assert document["status"] == "success", (arguments, document)
        return document["data"]

    def query(self, expression):
        """A list of (labels, value)."""
        return [(sample["metric"], float(sample["value"][1]))
                for sample in self.get("query", query=expression)["result"]]

    def wait_for(self, expression):
        end = time.monotonic() + PATIENCE_SECONDS
        while True:
            found = []
            with contextlib.suppress(OSError):
                found = self.query(expression)
            if found:
                return found
            assert time.monotonic() < end, f"no result of {expression}"
            time.sleep(0.2)


@contextlib.contextmanager
def scraping(page):
    """An HTTP server that answers each request with the text of @page."""
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            body = page().encode()
            self.send_response(200)
            self.send_header("Content-Type", "text/plain; version=0.0.4")
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *words):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server.server_address[1]
    server.shutdown()
    server.server_close()


def free_port():
    server = http.server.HTTPServer(("127.0.0.1", 0), None)
    server.server_close()
    return server.server_address[1]


@contextlib.contextmanager
def running(directory, page, rules):
    """A Prometheus with its data in @directory, and the file of @rules."""
    program = tool("prometheus")
    port = free_port()
    with scraping(page) as scraped, (directory / "prometheus.log").open("wb") as log:
        configuration = directory / "prometheus.yml"
        configuration.write_text(CONFIGURATION.format(rules=rules, port=scraped))
        process = subprocess.Popen([program, f"--config.file={configuration}",
                                    f"--storage.tsdb.path={directory / 'tsdb'}",
                                    f"--web.listen-address=127.0.0.1:{port}"],
                                   stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        try:
            yield Prometheus(port)
        finally:
            process.terminate()
            process.wait(PATIENCE_SECONDS)
