# SPDX-License-Identifier: GPL-2.0-or-later
"""A disk that takes its time, under little memory.

    with slow_disk(filesystem), little_memory(32 << 20) as wrapper:
        subprocess.run([*wrapper, program, filesystem.mount_point])

Each request takes 10 ms, one after the other, so that there are 100 in a second however long they are:
nbdkit delays them, and nbdfuse shows what it serves as the file that the loop device is of.
"""

import contextlib
import os
import pathlib
import subprocess
import tempfile
import time

from filesystem import SYSTEM_PATH

REQUEST_MILLISECONDS = 10
START_SECONDS = 10
MEMORY_ROOTS = ((pathlib.Path("/sys/fs/cgroup/memory"), "memory.limit_in_bytes"),
                (pathlib.Path("/sys/fs/cgroup"), "memory.max"))


class SlowDiskUnavailable(Exception):
    """This machine cannot make such a disk; the message says why."""


def _wait_until(is_so, what):
    end = time.monotonic() + START_SECONDS
    while not is_so():
        if time.monotonic() > end:
            raise SlowDiskUnavailable(what)
        time.sleep(0.02)


@contextlib.contextmanager
def _slow_file(image, directory):
    """The path of a file that is @image, but slow."""
    shown = pathlib.Path(directory, "disk")
    delays = [f"{what}delay={REQUEST_MILLISECONDS}ms" for what in "rw"]
    command = ["nbdfuse", shown, "--socket-activation", "nbdkit", "--filter=delay", "--threads=1", "file",
               image, *delays]
    try:
        server = subprocess.Popen(command, env=os.environ | {"PATH": SYSTEM_PATH},
                                  stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    except FileNotFoundError as missing:
        raise SlowDiskUnavailable("nbdfuse is not installed") from missing
    try:
        _wait_until(lambda: shown.exists() or server.poll() is not None, "nbdfuse shows nothing")
        if server.poll() is not None:
            raise SlowDiskUnavailable("nbdfuse does not work here")
        yield str(shown)
    finally:
        if os.path.ismount(directory):
            subprocess.run(["umount", "--lazy", directory], check=True)
        try:
            server.wait(START_SECONDS)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait()


@contextlib.contextmanager
def slow_disk(filesystem):
    """Have the mounted @filesystem, a LoopFilesystem, lie on a slow disk."""
    with tempfile.TemporaryDirectory(prefix="dedupd-slow-") as directory, \
            _slow_file(filesystem.image, directory) as shown:
        image = filesystem.move_to(shown)
        try:
            yield
        finally:
            filesystem.move_to(image)


def _make_group(limit_bytes):
    """A directory of the kernel's that holds who is in it to so much memory."""
    for root, limit in MEMORY_ROOTS:
        group = root / f"dedupd-test-{os.getpid()}"
        if not (root / "cgroup.procs").exists():
            continue
        group.mkdir()
        try:
            (group / limit).write_text(str(limit_bytes))
            return group
        except OSError:
            group.rmdir()
    raise SlowDiskUnavailable("there is no memory controller")


@contextlib.contextmanager
def little_memory(limit_bytes):
    """Words that start a program with so much memory, of which what it has cached is a part."""
    group = _make_group(limit_bytes)
    try:
        yield ["sh", "-c", f'echo $$ > {group}/cgroup.procs; exec "$@"', "sh"]
    finally:
        for _ in range(100):
            try:
                group.rmdir()
                break
            except OSError:
                time.sleep(0.05)  # who was in it ends
