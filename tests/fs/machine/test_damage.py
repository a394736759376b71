# SPDX-License-Identifier: GPL-2.0-or-later
"""A disk that cannot be read in places: told, remembered, and no obstacle to the rest."""

import os

import pytest

import content
import damage
import harness
import oracle
from content import MIB, noise, write


@pytest.fixture
def unreadable(tree, filesystem):
    """Two good twins, and a file of which the end cannot be read; with the path of the latter."""
    content.write_twins(tree, MIB)
    for number in range(12):
        (tree / f"directory-{number}").mkdir()
        write(tree / f"directory-{number}" / "file", noise(100 + number, MIB))
    harness.settle(filesystem)
    path = max(tree.glob("directory-*/file"),
               key=lambda path: oracle.file_extents(path)[-1].physical)
    filesystem.expect_bad_data()
    damage.make_unreadable(filesystem, path)
    try:
        with pytest.raises(OSError):
            path.read_bytes()
        filesystem.forget_data()
        yield path
    finally:
        damage.repair(filesystem)


def test_an_unreadable_file_is_told_and_the_rest_is_done(tree, dedupd, unreadable):
    done = harness.check_pass(dedupd, status=4)

    entry = done.first.skip_of("unreadable")
    assert (entry["count"], entry["examples"]) == (1, [str(unreadable)])
    assert done.freed_bytes == MIB
    assert done.second.skip_of("unreadable")["examples"] == [str(unreadable)]


@pytest.mark.parametrize("kind", ["btrfs"])
def test_an_unreadable_twin_is_never_shared(tree, dedupd, filesystem, unreadable):
    number = int(unreadable.parent.name.split("-")[1])
    twin = write(tree / "twin", noise(100 + number, MIB))

    done = harness.check_pass(dedupd, status=4)

    assert not oracle.is_shared(twin, unreadable)
    assert done.freed_bytes == MIB


@pytest.mark.parametrize("kind", ["btrfs"])
def test_a_file_that_was_written_anew_is_readable_again(tree, dedupd, unreadable):
    harness.check_pass(dedupd, status=4)
    write(unreadable.with_name("new"), noise(1, MIB))
    os.rename(unreadable.with_name("new"), unreadable)

    done = harness.check_pass(dedupd)

    assert "unreadable" not in done.first.skipped
    assert done.freed_bytes == MIB
