# SPDX-License-Identifier: GPL-2.0-or-later
"""Subvolumes and snapshots of a btrfs, and what else is asked of its own program."""

import subprocess


def btrfs(*arguments):
    subprocess.run(["btrfs", *map(str, arguments)], check=True, stdout=subprocess.DEVNULL)


def make_subvolume(path):
    btrfs("subvolume", "create", path)
    return path


def snapshot(subvolume, name, read_only=True):
    btrfs("subvolume", "snapshot", *(["-r"] if read_only else []), subvolume, name)
    return name


def delete_subvolumes(tree, *names):
    """Delete them; while they go they still show what they had, so that is waited for."""
    for name in names:
        btrfs("subvolume", "delete", "--commit-after", tree / name)
    wait_for_deleted(tree)


def wait_for_deleted(tree):
    """Wait until subvolumes that were deleted have given back what only they showed."""
    btrfs("filesystem", "sync", tree)
    btrfs("subvolume", "sync", "-s", "1", tree)


def is_read_only(subvolume):
    shown = subprocess.run(["btrfs", "property", "get", str(subvolume), "ro"], check=True,
                           capture_output=True, text=True).stdout
    return shown.strip() == "ro=true"
