# SPDX-License-Identifier: GPL-2.0-or-later
"""A file that nbdfuse shows of what an NBD server serves: a loop device over it has that server's manners."""

import contextlib
import os
import pathlib
import subprocess
import time

from filesystem import SYSTEM_PATH

PATIENCE_SECONDS = 10


class DiskUnavailable(Exception):
    """This machine cannot make such a disk; the message says why."""


def _wait_until(is_so, what):
    end = time.monotonic() + PATIENCE_SECONDS
    while not is_so():
        if time.monotonic() > end:
            raise DiskUnavailable(what)
        time.sleep(0.02)


@contextlib.contextmanager
def nbd_file(directory, *server):
    """The path of the file in @directory, which is empty; @server says to nbdfuse who serves it."""
    shown = pathlib.Path(directory, "disk")
    try:
        viewer = subprocess.Popen(["nbdfuse", shown, *server], env=os.environ | {"PATH": SYSTEM_PATH},
                                  stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    except FileNotFoundError as missing:
        raise DiskUnavailable("nbdfuse is not installed") from missing
    try:
        _wait_until(lambda: shown.exists() or viewer.poll() is not None, "nbdfuse shows nothing")
        if viewer.poll() is not None:
            raise DiskUnavailable("nbdfuse does not work here")
        yield str(shown)
    finally:
        # A mount whose program has ended, as its server did, is there but cannot be looked at.
        subprocess.run(["umount", "--lazy", directory], check=False, stderr=subprocess.DEVNULL)
        try:
            viewer.wait(PATIENCE_SECONDS)
        except subprocess.TimeoutExpired:
            viewer.kill()
            viewer.wait()
