# SPDX-License-Identifier: GPL-2.0-or-later
"""What keeps files from being shared for a while."""

import contextlib
import fcntl
import os
import signal
import subprocess


@contextlib.contextmanager
def leased(*paths):
    """Nobody else may open these files."""
    previous = signal.signal(signal.SIGIO, signal.SIG_IGN)
    with contextlib.ExitStack() as stack:
        stack.callback(signal.signal, signal.SIGIO, previous)
        for path in paths:
            fd = os.open(path, os.O_RDWR | os.O_NOATIME)
            stack.callback(os.close, fd)
            fcntl.fcntl(fd, fcntl.F_SETLEASE, fcntl.F_WRLCK)
        yield


@contextlib.contextmanager
def being_sent(snapshot):
    """btrfs send, stuck in the middle as nobody reads what it sends."""
    with subprocess.Popen(["btrfs", "send", "-q", snapshot], stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL) as process:
        try:
            process.stdout.read(1)
            yield
        finally:
            process.kill()
