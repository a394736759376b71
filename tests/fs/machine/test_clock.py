# SPDX-License-Identifier: GPL-2.0-or-later
"""A clock that was wrong for a while does not keep work from being done once it is right again."""

import pytest

import content
import harness
from content import MIB
from subvolumes import delete_subvolumes, make_subvolume, snapshot

HOURS_PER_YEAR = 24 * 365


@pytest.fixture
def kind():
    return "btrfs"


@pytest.fixture(autouse=True)
def feigned():
    if not harness.clock.can_feign:
        pytest.skip("FEIGNED_CLOCK does not name what is preloaded")


def look(dedupd, hours):
    """A pass so many hours from now: whether it looked at all extents."""
    with harness.clock.ahead(hours):
        run = dedupd.run(find="checksums")
    assert run.status == 0, run.stderr
    return run.found["full_look_seconds"] is not None


def test_a_clock_that_was_ahead_does_not_put_off_the_weekly_look(tree, filesystem, dedupd):
    content.write_twins(tree, MIB)
    harness.settle(filesystem)

    assert look(dedupd, 10 * HOURS_PER_YEAR)
    assert not look(dedupd, 10 * HOURS_PER_YEAR + 24)
    # The clock is set right.
    assert look(dedupd, 0)
    assert not look(dedupd, 24)
    assert look(dedupd, 24 * 7)


def test_a_clock_that_is_set_back_does_not_put_it_off_either(tree, filesystem, dedupd):
    content.write_twins(tree, MIB)
    harness.settle(filesystem)

    assert look(dedupd, 48)
    assert look(dedupd, 0)
    assert not look(dedupd, 0)


@pytest.mark.parametrize("hours", [0, 10 * HOURS_PER_YEAR], ids=["right", "ahead"])
def test_a_snapshot_deleted_by_a_clock_that_was_ahead_does_not_count_for_years(tree, filesystem, dedupd, hours):
    """Where snapshots come and go less is compared for what they show."""
    live = make_subvolume(tree / "live")
    snapshot(live, tree / "short-lived")
    harness.settle(filesystem)
    with harness.clock.ahead(hours):
        assert dedupd.run(find="checksums").status == 0
        delete_subvolumes(tree, "short-lived")
        content.write_twins(tree, MIB)
        harness.settle(filesystem)
        assert dedupd.run(find="checksums").freed_bytes == MIB
    for name in ("one", "two"):
        content.write_extent(live / name, content.noise(2, MIB))
    for number in range(4):
        snapshot(live, tree / f"kept-{number}")
    harness.settle(filesystem)

    run = dedupd.run(find="checksums")

    assert run.status == 0, run.stderr
    assert run.freed_bytes == (MIB if hours else 0)
