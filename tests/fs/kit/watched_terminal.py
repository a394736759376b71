# SPDX-License-Identifier: GPL-2.0-or-later
"""A terminal that a program draws pages on, and what is on it."""

import contextlib
import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import time

from service import PATIENCE_SECONDS

ENTER, LEAVE = "\x1b[?1049h", "\x1b[?1049l"
SHOW_CURSOR = "\x1b[?25h"


class WatchedTerminal:
    """The program runs on it from the beginning; @environment is all that it has."""

    def __init__(self, command, environment, columns=100, lines=30):
        self._master, self._slave = pty.openpty()
        self.resize(columns, lines)
        self.mode = termios.tcgetattr(self._slave)
        self.output = ""
        self.process = subprocess.Popen(command, stdin=self._slave, stdout=self._slave,
                                        stderr=subprocess.PIPE, text=True, env=environment)

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.process.stderr.close()
        os.close(self._master)
        os.close(self._slave)

    def resize(self, columns, lines):
        fcntl.ioctl(self._master, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))

    def type(self, text):
        os.write(self._master, text.encode())

    def send(self, number):
        self.process.send_signal(number)

    def read(self, seconds=0.0):
        """Take what comes within so long; all that came so far."""
        end = time.monotonic() + seconds
        while select.select([self._master], [], [], max(0, end - time.monotonic()))[0]:
            with contextlib.suppress(OSError):
                self.output += os.read(self._master, 65536).decode(errors="replace")
        return self.output

    @property
    def page(self):
        """The lines that were drawn last, as a reader sees them."""
        drawn = re.findall(r"\x1b\[H(.*?)\x1b\[J", self.read(), re.DOTALL)
        text = re.sub(r"\x1b\[[0-9;]*[mK]", "", drawn[-1]) if drawn else ""
        return re.split(r"\r+\n", text)

    def draws(self):
        return self.read().count("\x1b[H")

    def wait_for(self, pattern):
        """Until there is such a line; the match."""
        end = time.monotonic() + PATIENCE_SECONDS
        while time.monotonic() < end:
            found = [match for line in self.page if (match := re.search(pattern, line))]
            if found:
                return found[0]
            self.read(0.05)
        raise AssertionError(f"no {pattern!r} on {self.page}: {self.output[-500:]!r}")

    def wait(self):
        """Until the program has ended; its exit status."""
        end = time.monotonic() + PATIENCE_SECONDS
        while self.process.poll() is None:
            assert time.monotonic() < end, self.output
            self.read(0.02)
        self.read()
        return self.process.returncode

    def wait_until_stopped(self):
        pid, status = os.waitpid(self.process.pid, os.WUNTRACED)
        assert pid == self.process.pid and os.WIFSTOPPED(status)
        assert os.WSTOPSIG(status) == signal.SIGSTOP
        self.read()

    def is_as_it_was(self):
        return (termios.tcgetattr(self._slave) == self.mode
                and self.output.rfind(LEAVE) > self.output.rfind(ENTER)
                and self.output.rfind(SHOW_CURSOR) > self.output.rfind("\x1b[?25l"))
