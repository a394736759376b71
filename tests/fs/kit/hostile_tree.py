# SPDX-License-Identifier: GPL-2.0-or-later
"""A directory that one ordinary user fills, from a seed, with what is hard to deduplicate.

Each operation is charged its typical time, so that a seed makes the same tree on any machine, and
a tree holds no more than a user could create within SECONDS.
"""

import os
import pathlib
import random
import sys
import traceback

import content
from content import BLOCK, MIB

SECONDS = 5
# Typical time of one call, in microseconds.
CALL_USEC = 20
WRITE_USEC_PER_MIB = 6000
# Forging is done by Python, byte by byte, and is no work for who has the blocks ready.
FORGE_USEC = 100


class Spent(Exception):
    """The user's time is over."""


class ActFailed(Exception):
    """What a child process of the test should have done as another user failed; the message is its traceback."""


class HostileUser:
    """What the acts work with: a directory, a source of chance and the time that is left.

    Only a process of the user may use it; see as_user().
    """

    def __init__(self, directory, kind, seed, seconds=SECONDS):
        self.directory = pathlib.Path(directory)
        self.kind = kind
        self.random = random.Random(seed)
        self._usec_left = seconds * 1e6
        self._fresh = seed + 1 << 32
        self._directories = 0

    def spend(self, calls=1, data_bytes=0, usec=0):
        """Pay for what comes next; raises Spent if there is no time for it."""
        cost = calls * CALL_USEC + data_bytes * WRITE_USEC_PER_MIB / MIB + usec
        if cost > self._usec_left:
            raise Spent
        self._usec_left -= cost

    def noise(self, size):
        """Data that nobody else has."""
        self._fresh += 1
        return content.noise(self._fresh, size)

    def blocks(self, count):
        return self.noise(count * BLOCK)

    def make_directory(self, name):
        """A new directory for one act; it keeps names of different acts apart."""
        self._directories += 1
        self.spend()
        path = self.directory / f"{self._directories}-{name}"
        path.mkdir()
        return path

    def write(self, path, data, offset=0):
        """Write all of @data at @offset; the other bytes of the file stay."""
        self.spend(3, len(data))
        fd = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
        try:
            os.pwrite(fd, data, offset)
        finally:
            os.close(fd)
        return path

    def write_copies(self, directory, data, count):
        return [self.write(directory / f"copy-{number}", data) for number in range(count)]


def as_user(user, function, *arguments):
    """Call @function as @user, a number, in a process of its own; ActFailed if it raises."""
    process = begin_as_user(user, function, *arguments)
    return end_of(process)


def begin_as_user(user, function, *arguments):
    """Begin to call it; (process id, read end of its messages) for end_of()."""
    read_fd, write_fd = os.pipe()
    pid = os.fork()
    if pid:
        os.close(write_fd)
        return pid, read_fd
    status = 1
    try:
        os.close(read_fd)
        sys.stdout.flush()
        os.setgroups([])
        os.setresgid(user, user, user)
        os.setresuid(user, user, user)
        os.umask(0o022)
        function(*arguments)
        status = 0
    except BaseException:  # The process ends here in any case: the test reports it.
        os.write(write_fd, traceback.format_exc().encode("utf-8", "replace")[-4096:])
    finally:
        os._exit(status)


def end_of(process):
    """Wait for the process to end by itself."""
    pid, read_fd = process
    with os.fdopen(read_fd, "rb") as messages:
        text = messages.read().decode("utf-8", "replace")
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    if status:
        raise ActFailed(f"status {status}: {text}")


def fill(directory, kind, seed, acts, seconds=SECONDS):
    """Perform random acts, out of the table @acts of weights, until the time is over."""
    user = HostileUser(directory, kind, seed, seconds)
    functions = [act for act in acts if kind in getattr(act, "kinds", ("btrfs", "xfs"))]
    weights = [acts[act] for act in functions]
    try:
        while True:
            act = user.random.choices(functions, weights)[0]
            user.spend(50)
            act(user)
    except Spent:
        pass
