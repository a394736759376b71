# SPDX-License-Identifier: GPL-2.0-or-later
"""The running service, with a configuration, a socket and a state directory of its own."""

import contextlib
import json
import os
import pathlib
import signal
import subprocess
import time

from harness import clock, dedupctl

PATIENCE_SECONDS = 30
# What the manual promises of ending, with room for a machine that does other things, too.
END_SECONDS = 5


class Service:
    """dedupd without --once, and dedupctl to ask it."""

    def __init__(self, program, dedupctl, directory, bus_address="unix:path=/nonexistent"):
        self._bus_address = bus_address
        self.program = program
        self._dedupctl = dedupctl
        self.directory = pathlib.Path(directory)
        self.config_path = self.directory / "dedupd.conf"
        self.log_path = self.directory / "log"
        self.metrics_path = self.directory / "metrics.prom"
        self.state_directory = self.directory / "state"
        self._process = None
        # What others on this machine do is not to be waited for.
        self.options = ["--pressure=off", "--rotating=no"]
        self.says_all = True
        self.can_be_asked = True  # a build without systemd cannot
        self.wrapper = []  # words of a command that starts it
        # Paths of sockets are short.
        self.socket_path = pathlib.Path(f"/run/dedupd-test-{os.getpid()}-{id(self)}")

    def environment(self):
        return os.environ | clock.environment() | {"DEDUPD_SOCKET": str(self.socket_path),
                       "HOME": str(self.directory),
                       "DBUS_SYSTEM_BUS_ADDRESS": self._bus_address}

    def configure(self, *filesystems, **settings):
        """Name filesystems, each a mount point or UUID, with settings for all."""
        lines = ["[Dedupd]", f"StateDirectory={self.state_directory}"]
        lines += [] if self.can_be_asked else [f"MetricsFile={self.metrics_path}"]
        lines += [f"{key}={value}" for key, value in settings.items()]
        lines += [f"[Filesystem {name}]" for name in filesystems]
        self.config_path.write_text("\n".join(lines) + "\n")

    def start(self):
        with self.log_path.open("ab") as log:
            self._process = subprocess.Popen(
                [*self.wrapper, self.program, f"--config={self.config_path}",
                 *(["--verbose"] if self.says_all else []), *self.options],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=self.environment())
        wait_until(lambda: self._process.poll() is not None
                   or (self.ask("list").returncode == 0 if self.can_be_asked else self.metrics_path.exists()))
        assert self._process.poll() is None, self.log()
        return self

    def end(self):
        """End it as systemd does; how many seconds that took."""
        self.begin_to_end()
        return self.wait_for_end()

    def begin_to_end(self):
        self._process.send_signal(signal.SIGTERM)

    def wait_for_end(self):
        """How many seconds that took."""
        begun = time.monotonic()
        status = self._process.wait(PATIENCE_SECONDS)
        assert status == 0, f"ended with {status}: {self.log()}"
        self._process = None
        return time.monotonic() - begun

    def is_running(self):
        return self._process is not None and self._process.poll() is None

    def reload(self):
        self._process.send_signal(signal.SIGHUP)

    def close(self):
        if self._process and self._process.poll() is None:
            self._process.kill()
            self._process.wait()
        with contextlib.suppress(FileNotFoundError):
            self.socket_path.unlink()

    @property
    def pid(self):
        return self._process.pid

    def resident_bytes(self):
        """Memory that it has of its own."""
        status = pathlib.Path(f"/proc/{self.pid}/status").read_text(encoding="ascii")
        (line,) = [line for line in status.splitlines() if line.startswith("VmRSS:")]
        return int(line.split()[1]) * 1024

    def log(self):
        return self.log_path.read_text()

    def ask(self, *words, user=None):
        """Run dedupctl; the finished process."""
        return dedupctl(*words, status=None, user=user, program=self._dedupctl,
                        timeout=PATIENCE_SECONDS, env=self.environment())

    def begin(self, *words):
        """Run dedupctl, and do not wait for it."""
        return subprocess.Popen([self._dedupctl, *map(str, words)], stdout=subprocess.PIPE,
                                text=True, env=self.environment())

    def tell(self, *words):
        """Run dedupctl, which has to succeed."""
        done = self.ask(*words)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def shows(self, name):
        """What `dedupctl list` says of a filesystem; None: nothing."""
        rows = json.loads(self.tell("list", "--json"))["filesystems"]
        rows = [row for row in rows if name in (row["mount_point"], row["uuid"])]
        return rows[0] if rows else None

    def wait_for_passes(self, name, count):
        """Until so many passes over it have ended; what is shown of it then."""
        def is_done():
            shown = self.shows(name)
            return shown and (shown["passes"] or 0) >= count and shown["state"] == "waiting"
        wait_until(is_done, self.log)
        return self.shows(name)


def wait_until(is_so, describe=lambda: ""):
    end = time.monotonic() + PATIENCE_SECONDS
    while not is_so():
        assert time.monotonic() < end, f"waited for {PATIENCE_SECONDS} s: {describe()}"
        time.sleep(0.05)
