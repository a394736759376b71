# SPDX-License-Identifier: GPL-2.0-or-later
"""Disk images that were copied in full and then overwritten in place, block by block.

What is overwritten cuts an extent into pieces, each of which refers to it, and stays on the disk
below them.
"""

import os
import random
import sys
import tempfile

from bench_page import MIB, mib, print_table
from dedupers import report_of
from image import BenchFilesystem
from measured_run import measure
from tree_state import difference, tree_state

BLOCK_BYTES = 4096
IMAGE_BYTES = 200 * MIB
COPIES = 2
WRITE_BYTES = 4 * MIB
# Blocks overwritten in each copy -> MiB that have to be freed.
LEAST_MIB = {10: 400, 100: 390, 1000: 380, 5000: 350}


def make_images(filesystem, image_bytes, writes):
    """A template and full copies of it, each overwritten in other places."""
    chance = random.Random(f"images {writes}")
    template = chance.randbytes(image_bytes)
    for name in ["template", *(f"copy-{number}" for number in range(COPIES))]:
        with open(os.path.join(filesystem.mount_point, name), "wb", buffering=0) as image:
            for start in range(0, image_bytes, WRITE_BYTES):
                image.write(template[start:start + WRITE_BYTES])
            os.fsync(image.fileno())
    for number in range(COPIES):
        fd = os.open(os.path.join(filesystem.mount_point, f"copy-{number}"), os.O_WRONLY)
        try:
            for _ in range(writes):
                offset = chance.randrange(image_bytes // BLOCK_BYTES) * BLOCK_BYTES
                os.pwrite(fd, chance.randbytes(BLOCK_BYTES), offset)
            os.fsync(fd)
        finally:
            os.close(fd)
    filesystem.settle()


def _row(tool, image_bytes, writes, directory, verdicts):
    with BenchFilesystem("btrfs", 4 * image_bytes) as filesystem, \
            tempfile.TemporaryDirectory(dir=directory) as state:
        make_images(filesystem, image_bytes, writes)
        before = tree_state(filesystem.mount_point)
        used, metadata = filesystem.used_bytes(), filesystem.metadata_bytes()
        cost = measure(tool.command(state, filesystem.mount_point), filesystem,
                       os.path.join(directory, "images.log"))
        filesystem.settle()
        freed = used - filesystem.used_bytes()
        metadata = filesystem.metadata_bytes() - metadata
        harm = difference(before, tree_state(filesystem.mount_point))
    report = report_of(cost)
    said = f"{writes} blocks overwritten"
    least = LEAST_MIB[writes] * image_bytes // IMAGE_BYTES * MIB
    # What is overwritten is needed: it is written anew where it lies in the way.
    verdicts.add(f"{said}: freed", f">= {mib(least)} MiB", mib(freed, 1), freed >= least)
    verdicts.add(f"{said}: said to be freed, and freed", "the same bytes",
                 f"{report['freed']['bytes']}, {freed}", report["freed"]["bytes"] == freed)
    verdicts.add(f"{said}: unharmed", "yes", harm or "yes", not harm)
    pinned = ", ".join(f"{pin['cause']} {pin['count']}" for pin in report["pinned"])
    return (writes, f"{cost.wall:.1f}", f"{cost.cpu:.2f}", mib(cost.read_bytes),
            mib(report["read"]["compare_bytes"]), mib(freed, 1), mib(metadata, 1),
            mib(report["rewritten"]["bytes"], 1), pinned or "-")


def compare(tool, options, directory, verdicts):
    """All numbers of blocks."""
    image_bytes = 50 * MIB if options.quick else IMAGE_BYTES
    rows = []
    for writes in LEAST_MIB:
        print(f"{writes} blocks", file=sys.stderr, flush=True)
        rows.append(_row(tool, image_bytes, writes, directory, verdicts))
    print_table(f"an image of {mib(image_bytes)} MiB, and {COPIES} copies overwritten in place (MiB)",
                ("blocks in each", "wall s", "CPU s", "read", "compared", "freed", "metadata +",
                 "written anew", "pinned"), rows)
