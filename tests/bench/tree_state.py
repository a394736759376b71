# SPDX-License-Identifier: GPL-2.0-or-later
"""What must be the same before and after: contents, and all that stat() tells of a file."""

import hashlib
import os

READ_BYTES = 1 << 20


def tree_state(tree):
    """A dictionary from each path below @tree, as bytes, to its SHA-256 and what stat() says."""
    state = {}
    for directory, names, files in os.walk(os.fsencode(tree)):
        names.sort()
        for name in sorted(files):
            path = os.path.join(directory, name)
            status = os.lstat(path)
            state[os.path.relpath(path, os.fsencode(tree))] = (
                _sha256(path), status.st_size, status.st_mtime_ns, status.st_ctime_ns,
                status.st_mode, status.st_uid, status.st_gid)
    return state


def _sha256(path):
    digest = hashlib.sha256()
    fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NOATIME)
    try:
        while data := os.read(fd, READ_BYTES):
            digest.update(data)
    finally:
        os.close(fd)
    return digest.digest()


def difference(before, after):
    """How two states differ: "" or a few words and an example."""
    gone = before.keys() ^ after.keys()
    if gone:
        return f"{len(gone)} files came or went, such as {sorted(gone)[0]!r}"
    contents = [path for path in before if before[path][:2] != after[path][:2]]
    if contents:
        return f"{len(contents)} CONTENTS CHANGED, such as {sorted(contents)[0]!r}"
    others = [path for path in before if before[path] != after[path]]
    if others:
        return f"times or modes of {len(others)} files changed, such as {sorted(others)[0]!r}"
    return ""
