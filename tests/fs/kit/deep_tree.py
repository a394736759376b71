# SPDX-License-Identifier: GPL-2.0-or-later
"""Trees that any user can make within seconds, and that are costly to climb."""

import os

NAME_BYTES = 255


def make_deep(top, levels, name_bytes=NAME_BYTES):
    """Directories within each other; returns the innermost one, open."""
    name = "d" * name_bytes
    fd = os.open(top, os.O_RDONLY | os.O_DIRECTORY)
    for _ in range(levels):
        os.mkdir(name, dir_fd=fd)
        inner = os.open(name, os.O_RDONLY | os.O_DIRECTORY, dir_fd=fd)
        os.close(fd)
        fd = inner
    return fd


def link_often(path, directory_fd, count, prefix="link"):
    """Give a file @count more names in an open directory."""
    for number in range(count):
        os.link(path, f"{prefix}-{number}", dst_dir_fd=directory_fd)
