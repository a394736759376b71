# SPDX-License-Identifier: GPL-2.0-or-later
"""A disk that takes its time, under little memory.

    with slow_disk(filesystem), little_memory(32 << 20) as wrapper:
        subprocess.run([*wrapper, program, filesystem.mount_point])

Each request takes 10 ms, one after the other, so that there are 100 in a second however long they are:
nbdkit delays them, and nbdfuse shows what it serves as the file that the loop device is of.

    with slow_sectors(filesystem, begin, end, seconds):

Only reads of these bytes of the disk take longer, as those of sectors that a disk reads again and again.
"""

import contextlib
import os
import pathlib
import tempfile
import time

from nbd_file import DiskUnavailable, nbd_file

REQUEST_MILLISECONDS = 10
MEMORY_ROOTS = ((pathlib.Path("/sys/fs/cgroup/memory"), "memory.limit_in_bytes"),
                (pathlib.Path("/sys/fs/cgroup"), "memory.max"))


@contextlib.contextmanager
def slow_disk(filesystem):
    """Have the mounted @filesystem, a LoopFilesystem, lie on a slow disk."""
    delays = [f"{what}delay={REQUEST_MILLISECONDS}ms" for what in "rw"]
    with tempfile.TemporaryDirectory(prefix="dedupd-slow-") as directory, \
            nbd_file(directory, "--socket-activation", "nbdkit", "--filter=delay", "--threads=1", "file",
                     filesystem.image, *delays) as shown:
        image = filesystem.move_to(shown)
        try:
            yield
        finally:
            filesystem.move_to(image)


@contextlib.contextmanager
def slow_sectors(filesystem, begin, end, seconds):
    """Have the mounted @filesystem lie on a disk that takes @seconds for each read of bytes from @begin to @end."""
    read = f"if [ $(($4 + $3)) -gt {begin} ] && [ $4 -lt {end} ]; then sleep {seconds}; fi; " \
           "dd if=$image skip=$4 count=$3 bs=1M iflag=skip_bytes,count_bytes,fullblock status=none"
    write = "dd of=$image seek=$4 count=$3 bs=1M iflag=count_bytes,fullblock oflag=seek_bytes conv=notrunc status=none"
    script = {"thread_model": "echo parallel", "get_size": "stat -Lc %s $image", "pread": read, "pwrite": write,
              "can_write": "exit 0", "can_flush": "exit 0", "flush": "sync $image"}
    # The scripts inherit the environment.
    with tempfile.TemporaryDirectory(prefix="dedupd-slow-") as directory, \
            nbd_file(directory, "--socket-activation", "env", f"image={filesystem.image}", "nbdkit", "eval",
                     *(f"{call}={does}" for call, does in script.items())) as shown:
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
    raise DiskUnavailable("there is no memory controller")


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
