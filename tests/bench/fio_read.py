# SPDX-License-Identifier: GPL-2.0-or-later
"""What fio reads directly and in order, as a measure of a disk."""

import json
import subprocess
import typing


class FioRead(typing.NamedTuple):
    """One run of fio; its times are in seconds."""

    read_bytes: int
    wall: float
    user: float
    system: float


def fio_read(engine, path):
    """Have it read a file, 1 MiB at a time, 8 at a time.  None: it cannot, with this engine."""
    done = subprocess.run(["fio", "--name=read", f"--filename={path}", "--rw=read", "--bs=1M", "--direct=1",
                           "--iodepth=8", f"--ioengine={engine}", "--readonly", "--output-format=json"],
                          capture_output=True, text=True, check=False)
    if done.returncode != 0:
        return None
    job = json.loads(done.stdout[done.stdout.index("{"):])["jobs"][0]
    wall = job["read"]["runtime"] / 1000
    return FioRead(job["read"]["io_bytes"], wall, job["usr_cpu"] / 100 * wall, job["sys_cpu"] / 100 * wall)
