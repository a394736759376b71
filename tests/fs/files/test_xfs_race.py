# SPDX-License-Identifier: GPL-2.0-or-later
"""Whoever writes to XFS while passes share and are killed finds what was written, and only that.

tests/fs/btrfs/test_btrfs_race.py sees that the writers notice what they did not do.
"""

import os

import pytest

import harness
from content import MIB
from race import Race

OPERATIONS = int(os.environ.get("DEDUPD_RACE_OPERATIONS", "10000"))


@pytest.fixture
def filesystem(make_filesystem):
    return make_filesystem("xfs", "3G")


@pytest.mark.parametrize("seed", harness.seeds(1))
def test_every_byte_is_what_its_writer_wrote(filesystem, dedupd, start_writers, seed):
    writers = start_writers(seed, OPERATIONS)
    race = Race(dedupd.command(), seed)

    race.run_against(writers)
    race.kill_at_rest()
    harness.check_pass(dedupd, has_clones=True)
    filesystem.unmount()
    filesystem.mount()
    writers.check()

    assert race.passes.complete > 0 and race.passes.killed > 0, race.passes
    assert race.passes.freed_bytes > 16 * MIB, race.passes
