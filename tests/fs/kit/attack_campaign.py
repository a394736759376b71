# SPDX-License-Identifier: GPL-2.0-or-later
"""A random arrangement on a filesystem made in a random way: what one seed stands for."""

import contextlib
import fcntl
import os
import random
import struct

from attack import Attack
from content import MIB
from filesystem import CommandFailed, FilesystemUnavailable

BYTES = 3072 * MIB
# Most is found by a few acts, and the more of these arrangements there are.
SECONDS = [0.3, 1, 2, 5]
BTRFS_IOC_QUOTA_CTL = 0xC0109428
QUOTA_ENABLE = 1  # those that count what is shared
QUOTA_ENABLE_SIMPLE = 4  # those that charge who wrote
QUOTA_COMMANDS = [None, None, QUOTA_ENABLE, QUOTA_ENABLE_SIMPLE]
# Ways to make and mount them, of which the first is the most frequent.
FILESYSTEMS = {
    "btrfs": [{}, {}, {"mount_options": ["compress-force=zstd"]}, {"mkfs_options": ["--csum", "xxhash"]}],
    "xfs": [{}, {}, {"mkfs_options": ["-m", "reflink=1,rmapbt=1"]},
            {"knows_names": True}, {"mkfs_options": ["-m", "reflink=1", "-i", "sparse=1"]}],
}
OPTIONS = [{}, {}, {}, {"zeros": "share"}, {"zeros": "hole"}, {"min_run": "4K"}, {"memory": "4M"},
           {"across_owners": "no"}, {"find": "read"}, {"find": "read", "read": "same-size"},
           {"compressed": "read"}, {"no_data_cow": "share"}, {"rewrite": "never"}, {"rewrite": "more"},
           {"read_only_snapshots": "source"}, {"min_size": "64K"}, {"exclude": "*.none"}]


def mount_with_quota(filesystem):
    """Have an XFS account for users and projects, if this kernel can."""
    filesystem.unmount()
    filesystem.mount_options += ["uquota", "pquota"]
    try:
        filesystem.mount()
    except (CommandFailed, FilesystemUnavailable):
        filesystem.mount_options = filesystem.mount_options[:-2]
        filesystem.mount()


def enable_quota(mount_point, command):
    """Enable quotas of a btrfs; an old kernel knows no simple ones, and goes without."""
    fd = os.open(mount_point, os.O_RDONLY | os.O_DIRECTORY)
    try:
        with contextlib.suppress(OSError):
            fcntl.ioctl(fd, BTRFS_IOC_QUOTA_CTL, bytearray(struct.pack("=QQ", command, 0)))
    finally:
        os.close(fd)


def attack_at_random(make_filesystem, make_dedupd, kind, seed, costs=None):
    """Raise attack.LimitMissed if anything that must hold does not; what it cost is added to @costs."""
    chance = random.Random(seed)
    filesystem = make_filesystem(kind, BYTES, **chance.choice(FILESYSTEMS[kind]))
    if kind == "xfs" and chance.random() < 0.2:
        mount_with_quota(filesystem)
    quota = chance.choice(QUOTA_COMMANDS)
    if kind == "btrfs" and quota:
        enable_quota(filesystem.mount_point, quota)
        if quota == QUOTA_ENABLE_SIMPLE:
            # Programs of btrfs before 6.7 refuse it.
            filesystem.leave_out_programs()
    attack = Attack(filesystem, make_dedupd(filesystem), seed, **chance.choice(OPTIONS))
    attack.costs = attack.costs if costs is None else costs
    attack.fill_at_random(chance.choice(SECONDS))
    if chance.random() < 0.3:
        attack.disturbed_pass()
    attack.check(is_stopped=chance.random() < 0.5)
