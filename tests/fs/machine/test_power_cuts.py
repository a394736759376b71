# SPDX-License-Identifier: GPL-2.0-or-later
"""The power is cut in the midst of passes, on a disk that loses what it was not told to flush."""

import os
import pathlib

import pytest

from forgetful_disk import forgetful_disk
from harness import FIND
from nbd_file import DiskUnavailable
from power_cuts import CutHarmed, PowerCuts

# tests/bench/power-cuts goes on for as long as one likes.
CUTS = int(os.environ.get("DEDUPD_POWER_CUTS", "5"))


@pytest.fixture
def cut_power(filesystem, dedupd, kind):
    """Cut the power so many times, of a disk that @flushes; the Cuts."""
    def cut_power(times, flushes=True):
        try:
            with forgetful_disk(filesystem, seed=1, flushes=flushes) as disk:
                cuts = PowerCuts(disk, dedupd, FIND[kind], seed=1)
                for _ in range(times):
                    cuts.cut()
                return cuts.cuts
        except DiskUnavailable as reason:
            pytest.skip(str(reason))
    return cut_power


@pytest.mark.parametrize("is_apart", [True, False], ids=["store-elsewhere", "store-on-the-disk"])
def test_a_power_cut_loses_nothing_that_was_flushed(cut_power, filesystem, dedupd, is_apart):
    if not is_apart:
        dedupd.state_directory = pathlib.Path(filesystem.mount_point, "state")

    cuts = cut_power(CUTS)

    assert cuts.made == CUTS
    assert cuts.during_passes > 0
    assert cuts.flushed_writes > 0 and cuts.freed_bytes > 0


@pytest.mark.parametrize("kind", ["xfs"])
def test_a_disk_that_does_not_flush_is_noticed(cut_power, filesystem):
    # Its filesystem may be beyond repair.
    filesystem.leave_out_programs()

    with pytest.raises((CutHarmed, AssertionError, OSError)):
        cut_power(1, flushes=False)
