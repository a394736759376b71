# SPDX-License-Identifier: GPL-2.0-or-later
"""Whoever writes while passes share, rewrite and are killed finds what was written, and only that."""

import os
import pathlib

import pytest

import harness
import subvolumes
from race import Race, RaceLost, RacingWriters, racing_writers_program

OPERATIONS = int(os.environ.get("DEDUPD_RACE_OPERATIONS", "50000"))
KILLS_AT_REST = 3


@pytest.fixture
def kind():
    return "btrfs"


@pytest.fixture
def filesystem(make_filesystem):
    return make_filesystem("btrfs", "3G")


@pytest.fixture
def start_writers(tree):
    """Start writers, with a seed and a number of operations; they end with the test."""
    program = racing_writers_program()
    if program is None:
        pytest.skip("RACING_WRITERS does not name the program that writes")
    started = []

    def start(seed, operations, **options):
        started.append(RacingWriters(program, tree, seed, operations, **options))
        return started[-1]
    yield start
    for writers in started:
        writers.__exit__()


def delete_everything(tree):
    for path in tree.iterdir():
        subvolumes.btrfs("subvolume", "delete", "--commit-after", path)
    subvolumes.btrfs("subvolume", "sync", "-s", "1", tree)


@pytest.mark.parametrize("seed", harness.seeds(1))
def test_every_byte_is_what_its_writer_wrote(tree, filesystem, dedupd, start_writers, seed):
    used_bytes = harness.used_data_bytes(filesystem)
    writers = start_writers(seed, OPERATIONS)
    race = Race(dedupd, seed)

    race.run_against(writers)
    assert race.passes.complete > 0 and race.passes.killed > 0, race.passes
    for _ in range(KILLS_AT_REST):
        race.run_pass(is_killed=True)
    harness.check_btrfs_pass(dedupd)
    filesystem.unmount()
    filesystem.mount()
    writers.check()

    assert race.passes.freed_bytes > 0, race.passes
    assert race.passes.rewritten_extents > 0, race.passes
    delete_everything(tree)
    assert harness.used_data_bytes(filesystem) == used_bytes
