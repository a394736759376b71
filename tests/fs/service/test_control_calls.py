# SPDX-License-Identifier: GPL-2.0-or-later
"""Whatever is asked of the service in the middle of passes, in any order, comes to the same end."""

import os
import pathlib
import random
import time

import oracle
from content import MIB, forget_pages, noise, overwrite, write_extent
from harness import assert_unchanged, settle, used_data_bytes
from service import wait_until

# A thousand take a minute, and several under a sanitizer.
CALLS = int(os.environ.get("DEDUPD_CONTROL_CALLS", "250"))
SEED = int(os.environ.get("DEDUPD_SEED", "1"))
PAIRS = 16 + CALLS // 10
# Slow enough to be met in the middle, and quick enough to get somewhere; one of them begins anew.
SETTINGS = (
    {"LimitRate": "2M"},
    {"LimitRate": "4M"},
    {"LimitRate": "8M", "Zeros": "hole"},
    {"LimitRate": "8M", "Memory": "4M"},
)


def write_pair(tree, number):
    """Two files of 1 MiB that have all but a block in common."""
    data = noise(number, MIB)
    for name in "ab":
        write_extent(tree / f"{number}{name}", data)
    overwrite(tree / f"{number}b", MIB // 2, noise(-1 - number, 4096))


def used_bytes(filesystem):
    if filesystem.kind == "btrfs":
        return used_data_bytes(filesystem)
    return oracle.physical_bytes(filesystem.mount_point)


def make_pairs(make_filesystem, kind):
    filesystem = make_filesystem(kind, "1G")
    for number in range(PAIRS):
        write_pair(pathlib.Path(filesystem.mount_point), number)
    settle(filesystem)
    return filesystem


def undisturbed(make_filesystem, make_dedupd, kind):
    """What the same files take after passes that nobody disturbed."""
    filesystem = make_pairs(make_filesystem, kind)
    for _ in range(2):
        assert make_dedupd(filesystem, "undisturbed").run(find="auto").status == 0
    settle(filesystem)
    return used_bytes(filesystem)


def call(chosen, service, tree):
    """Ask for something at random; what is asked for at the wrong time may be refused."""
    what = chosen.choice(("start", "start", "start", "resume", "resume", "stop", "pause", "reload",
                          "SIGHUP", "list"))
    # At times the pass gets somewhere.
    if chosen.random() < 0.2:
        time.sleep(chosen.uniform(0, 0.2))
    if what in ("reload", "SIGHUP"):
        named = (tree,) if chosen.random() < 0.85 else ()
        service.configure(*named, WakeBytes="1", WakeInterval="1s", **chosen.choice(SETTINGS))
    if what == "SIGHUP":
        service.reload()
        return
    told = service.ask(what, *(() if what in ("reload", "list") else (tree,)))
    assert told.returncode in (0, 1), (what, told.returncode, told.stderr, service.log())
    # The only thing that may be wrong is the moment.
    assert told.returncode == 0 or any(why in told.stderr for why in (
        "is not enabled", "is paused: 'dedupctl resume'")), (what, told.stderr)


def test_random_calls_do_not_change_what_comes_of_passes(
        make_filesystem, make_dedupd, kind, service):
    expected = undisturbed(make_filesystem, make_dedupd, kind)
    filesystem = make_pairs(make_filesystem, kind)
    tree = pathlib.Path(filesystem.mount_point)
    before = oracle.snapshot(tree)
    # What is in memory costs the disk nothing, and the pass would be over at once.
    forget_pages(tree)
    chosen = random.Random(SEED)
    service.configure(tree, LimitRate="2M")
    service.start()

    for _ in range(CALLS):
        call(chosen, service, tree)

    assert service.log().count("interrupted") >= CALLS // 50, service.log()
    # The pass that runs keeps the settings that it began with.
    service.configure(tree)
    service.tell("reload")
    service.tell("resume", tree)
    service.tell("stop", tree)
    for _ in range(2):
        wait_until(lambda: service.shows(str(tree))["state"] == "waiting", service.log)
        passes = service.shows(str(tree))["passes"]
        service.tell("start", tree)
        shown = service.wait_for_passes(str(tree), passes + 1)
        assert shown["last_outcome"] == "complete", service.log()
    assert shown["last_freed_bytes"] == 0
    assert shown["freed_bytes"] > 0

    settle(filesystem)
    assert_unchanged(before, tree)
    assert used_bytes(filesystem) == expected
    service.end()
