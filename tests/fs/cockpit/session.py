# SPDX-License-Identifier: GPL-2.0-or-later
"""A session of Cockpit with the page of dedupd in it, in a headless browser."""

import contextlib
import json
import os
import pathlib
import shutil
import socket
import subprocess
import time

import pytest

TOP = pathlib.Path(__file__).resolve().parents[3]
HERE = pathlib.Path(__file__).resolve().parent
WS = pathlib.Path("/usr/lib/cockpit/cockpit-ws")
BUNDLE_SECONDS = 240
PATIENCE_SECONDS = 30
EXIT_SKIP = 77


def bundle():
    """The directory with the page in dist/ and the packages of npm; skips the tests where it cannot be made."""
    for program in ("node", "chromium", "cockpit-bridge"):
        if not shutil.which(program):
            pytest.skip(f"there is no {program}")
    if not WS.exists():
        pytest.skip(f"there is no {WS}")
    directory = pathlib.Path(os.environ.get("COCKPIT_BUNDLE", "/tmp/cockpit-dedupd"))
    done = subprocess.run([TOP / "cockpit/bundle", directory], capture_output=True, text=True, check=False,
                          timeout=BUNDLE_SECONDS)
    if done.returncode == EXIT_SKIP:
        pytest.skip(done.stderr.strip().splitlines()[-1])
    assert done.returncode == 0, done.stdout + done.stderr
    return directory


def _free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Session:
    """cockpit-ws with a bridge of @user (a number; None: root), who needs no password."""

    def __init__(self, directory, packages, dedupctl, environment, user=None):
        self.directory = pathlib.Path(directory)
        self._dedupctl = pathlib.Path(dedupctl)
        self._environment = environment
        self._user = user
        self._port = _free_port()
        self._stack = contextlib.ExitStack()
        data = self.directory / "data"
        shutil.copytree(packages / "dist", data / "cockpit/dedupd")
        # The tested dedupctl is not where the package has it.
        manifest = data / "cockpit/dedupd/manifest.json"
        manifest.write_text(manifest.read_text().replace("/usr/bin/dedupctl", str(dedupctl)))
        self._data = data

    def start(self):
        bridge = self.directory / "bridge"
        run = "" if self._user is None else f"setpriv --reuid={self._user} --regid={self._user} --clear-groups "
        bridge.write_text(f"#!/bin/bash\nexec {run}cockpit-bridge\n")
        for path in (self.directory, *self.directory.parents, bridge):
            path.chmod(path.stat().st_mode | 0o555)
        environment = self._environment | {
            "HOME": "/nonexistent" if self._user else str(self.directory), "XDG_DATA_HOME": str(self._data),
            "XDG_DATA_DIRS": f"{self._data}:/usr/share", "XDG_RUNTIME_DIR": str(self.directory),
            "PATH": f"{self._dedupctl.parent}:{os.environ['PATH']}"}
        with (self.directory / "cockpit.log").open("wb") as log:
            process = subprocess.Popen([WS, f"--local-session={bridge}", "--address=127.0.0.1", f"--port={self._port}"],
                                       stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environment,
                                       start_new_session=True)
        self._stack.callback(_end_group, process)
        for _ in range(100):
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self._port)):
                return self
            time.sleep(0.05)
        raise AssertionError((self.directory / "cockpit.log").read_text())

    def url(self, screen=""):
        return f"http://127.0.0.1:{self._port}/cockpit/@localhost/dedupd/index.html#/{screen}"

    def shell_url(self):
        return f"http://127.0.0.1:{self._port}/dedupd"

    def close(self):
        self._stack.close()


def _end_group(process):
    """cockpit-ws, its bridge, and what that started."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, 15)
    try:
        process.wait(5)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, 9)
        process.wait()


class BrowserError(Exception):
    """What the browser was told to do failed."""


class Browser:
    """One page of headless Chromium; run() takes the body of an async function of playwright's @page."""

    def __init__(self, packages, directory):
        self._process = subprocess.Popen(["node", HERE / "browser.mjs", packages], stdin=subprocess.PIPE,
                                         stdout=subprocess.PIPE, text=True, env=os.environ | {"HOME": str(directory)})

    def run(self, code):
        self._process.stdin.write(json.dumps(code) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            raise BrowserError("the browser ended")
        answer = json.loads(line)
        if "error" in answer:
            raise BrowserError(f"{answer['error']}\n{code}")
        return answer["value"]

    def open(self, url):
        """Load the page anew, also if it is loaded already."""
        self.run(f"problems.length = 0; await page.goto('about:blank'); await page.goto({json.dumps(url)});")

    def see(self, text):
        """Wait until this text is on the page."""
        self.run(f"await page.getByText({json.dumps(text)}).filter({{ visible: true }}).first().waitFor();")

    def click(self, role, name):
        self.run(f"await page.getByRole({json.dumps(role)}, {{ name: {json.dumps(name)}, exact: true }}).first().click();")

    def fill(self, label, text):
        self.run(f"await page.getByLabel({json.dumps(label)}, {{ exact: true }}).first().fill({json.dumps(text)});")

    def row(self, text):
        """The cells of the first row of a table that has this text."""
        return self.run(f"return await page.locator('tbody tr', {{ hasText: {json.dumps(text)} }}).first()"
                        ".locator('th, td').allInnerTexts();")

    def text(self):
        return self.run("return await page.locator('body').innerText();")

    def close(self):
        self._process.stdin.close()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
