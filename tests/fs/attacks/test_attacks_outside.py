# SPDX-License-Identifier: GPL-2.0-or-later
"""What one ordinary user can do beside the filesystem does not keep root's passes from their work."""

import contextlib
import os
import stat
import subprocess
import time

import pytest

import attack_limits
import harness
import oracle
import private_peer
from content import MIB, write_twins
from harness import USER
from hostile_tree import as_user
from service import wait_until

CONNECTIONS = 24
LARGE_BYTES = 120 * MIB
FLOOD_SECONDS = 10


@pytest.fixture
def kind():
    return "xfs"


# What the user leaves where root is to lock, by the words of a shell.
SQUATTERS = {
    "directory": 'mkdir -m 777 "$1/dedupd"',
    "file": ': > "$1/dedupd"',
    "link": 'ln -s /nonexistent "$1/dedupd"',
    "link-to-own": 'mkdir "$1/own" && ln -s own "$1/dedupd"',
    "fifo": 'mkfifo "$1/dedupd"',
}


@pytest.mark.parametrize("squatter", SQUATTERS)
def test_names_taken_where_everybody_may_write_stop_no_pass(tree, filesystem, dedupd, squatter):
    write_twins(tree, MIB)
    harness.settle(filesystem)
    script = f"""
        mount -t tmpfs -o mode=755 none /run
        mkdir -m 1777 /run/lock /run/shm
        mount -t tmpfs -o mode=1777 none /var/tmp
        for directory in /run/lock /run/shm /var/tmp; do
            setpriv --reuid={USER} --regid={USER} --clear-groups sh -ec '{SQUATTERS[squatter]}' sh "$directory"
        done
        exec "$@"
    """

    run = dedupd.finish(subprocess.Popen(
        [*harness.own_mounts(), "sh", "-ec", script, "sh", *dedupd.command()],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        env=dedupd.environment()))

    assert run.status == 0, run.stderr
    assert run.freed_bytes == MIB
    assert oracle.is_shared(tree / "one", tree / "two")


@pytest.mark.parametrize("name", ["fifo", "link-to-fifo", "socket", "loop", "dangling"])
def test_a_name_in_the_place_of_a_path_is_refused_at_once(tree, dedupd, name):
    """The user may have put anything where the admin expects a file."""
    os.mkfifo(tree / "fifo")
    os.symlink("fifo", tree / "link-to-fifo")
    os.symlink("loop", tree / "loop")
    os.symlink("nothing", tree / "dangling")
    os.mknod(tree / "socket", stat.S_IFSOCK | 0o644)

    begun = time.monotonic()
    run = dedupd.run(tree / name)

    assert run.status == 2, (run.status, run.stderr)
    assert time.monotonic() - begun <= attack_limits.stop_seconds()


def begin_large_messages(socket_path):
    """Begin as many messages as there is room for, and end none; until nobody takes more of any."""
    head = private_peer.call(1, "ListFilesystems", signature="ay", body=bytes(8))
    # The length of the body follows the first four bytes.
    head = head[:4] + LARGE_BYTES.to_bytes(4, "little") + head[8:]
    peers = []
    end = time.monotonic() + FLOOD_SECONDS
    for _ in range(CONNECTIONS):
        with contextlib.suppress(OSError):
            peers.append(private_peer.PrivatePeer(socket_path))
            peers[-1].socket.sendall(head)
    while peers and time.monotonic() < end:
        for peer in list(peers):
            try:
                peer.socket.send(bytes(MIB))
            except BlockingIOError:
                time.sleep(0.001)
            except OSError:
                peers.remove(peer)


def test_large_messages_of_who_may_do_nothing_are_not_kept(tree, filesystem, service):
    write_twins(tree, MIB)
    harness.settle(filesystem)
    service.configure(tree)
    service.start()
    service.wait_for_passes(str(tree), 1)

    with attack_limits.MemoryWatch(service.pid) as memory:
        as_user(USER, begin_large_messages, service.socket_path)
        time.sleep(2 * attack_limits.POLL_SECONDS)

    assert memory.bytes <= attack_limits.SERVICE_RESIDENT_BYTES
    wait_until(lambda: service.ask("list").returncode == 0, service.log)
    assert service.end() <= attack_limits.stop_seconds()
