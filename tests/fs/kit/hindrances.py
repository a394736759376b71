# SPDX-License-Identifier: GPL-2.0-or-later
"""What keeps files from being shared for a while."""

import contextlib
import fcntl
import os
import pathlib
import signal
import subprocess
import time


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


@contextlib.contextmanager
def being_scrubbed(mount_point):
    """btrfs scrub, so slow that it does not end by itself; yields False where it cannot be slowed."""
    uuid = subprocess.run(["findmnt", "-no", "UUID", mount_point], check=True, capture_output=True,
                          text=True).stdout.strip()
    limit = pathlib.Path(f"/sys/fs/btrfs/{uuid}/devinfo/1/scrub_speed_max")
    if not limit.exists():
        yield False
        return
    limit.write_text("1048576", encoding="ascii")
    with subprocess.Popen(["btrfs", "scrub", "start", "-B", mount_point],
                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            while "running" not in subprocess.run(["btrfs", "scrub", "status", mount_point],
                                                  check=True, capture_output=True,
                                                  text=True).stdout:
                assert process.poll() is None, "the scrub ended at once"
                time.sleep(0.05)
            yield True
        finally:
            subprocess.run(["btrfs", "scrub", "cancel", mount_point], check=False,
                           capture_output=True)
            limit.write_text("0", encoding="ascii")
