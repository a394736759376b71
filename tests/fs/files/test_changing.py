# SPDX-License-Identifier: GPL-2.0-or-later
"""Files that each pass finds changed are read ever more rarely, and are not forgotten."""

import contextlib
import pathlib
import time

import pytest

import content
import harness
from content import MIB, noise, write
from ioctls import clone_range

# The first changes are read at once.
FREE_CHANGES = 3
WEEK_HOURS = 7 * 24


@pytest.fixture(params=["btrfs", "btrfs-nodatasum", "xfs", "xfs-walked"])
def ways(request, make_filesystem, make_dedupd):
    """dedupd over a filesystem in each way in which files are met, and the options for it."""
    kind = request.param.split("-")[0]
    mount_options = ["nodatasum"] if request.param.endswith("nodatasum") else []
    dedupd = make_dedupd(make_filesystem(kind, mount_options=mount_options))
    # What is excluded by name has an XFS walked.
    options = {"exclude": "nothing-is-called-so"} if request.param.endswith("walked") else {}
    options["find"] = "auto" if mount_options else "read"
    return dedupd, options


class Changing:
    """A file of which nothing stays as it was, and passes at hours that are feigned."""

    def __init__(self, ways, path):
        self._dedupd, self._options = ways
        self.path = path
        self._changes = 0

    @property
    def tree(self):
        return pathlib.Path(self._dedupd.filesystem.mount_point)

    def change(self):
        self._changes += 1
        write(self.path, noise(1000 + self._changes, MIB))
        harness.settle(self._dedupd.filesystem)

    def look(self, hours=0, **options):
        """Run a pass so many hours from now."""
        if hours and not harness.clock.can_feign:
            pytest.skip("FEIGNED_CLOCK does not name what is preloaded")
        with harness.clock.ahead(hours) if hours else contextlib.nullcontext():
            run = self._dedupd.run(**(self._options | options))
        assert run.status == 0, run.stderr
        return run

    def grow_restless(self):
        """Change it until it is no longer read at once."""
        self.change()
        assert self.look().read["finding_bytes"] == MIB
        for _ in range(FREE_CHANGES):
            self.change()
            run = self.look()
            assert run.read["finding_bytes"] == MIB, run.filesystem
            assert "changes-often" not in run.skipped
        self.change()
        return self


@pytest.fixture
def restless(ways):
    path = pathlib.Path(ways[0].filesystem.mount_point, "restless")
    return Changing(ways, path).grow_restless()


def test_what_always_changes_is_left_alone_for_a_time(restless):
    run = restless.look()
    assert run.read["finding_bytes"] == 0
    assert run.skipped["changes-often"] == 1
    (example,) = run.skip_of("changes-often")["examples"]
    assert example == str(restless.path)

    # That is said by each pass, and written down by the first.
    store = restless._dedupd.store_contents()
    assert restless.look().skipped["changes-often"] == 1
    assert restless._dedupd.store_contents() == store


def test_a_file_that_is_left_alone_has_nothing_else_read_again(ways):
    """Each pass finds it changed, and it once stood for the blocks of its clone."""
    changing = Changing(ways, pathlib.Path(ways[0].filesystem.mount_point, "restless"))
    for _ in range(FREE_CHANGES):
        changing.change()
        changing.look()
    changing.change()
    content.clone(changing.path, changing.tree / "clone")
    harness.settle(ways[0].filesystem)
    changing.look()
    for number in range(2):
        write(changing.tree / f"stand-{number}", noise(number, MIB))
    relying = write(changing.tree / "relying", noise(2, MIB))
    for number in range(2):
        with open(changing.tree / f"stand-{number}", "rb") as source, open(relying, "r+b") as target:
            clone_range(source.fileno(), 0, MIB, target.fileno(), (number + 1) * MIB)
    changing.change()

    assert changing.look().skipped["changes-often"] == 1
    store = ways[0].store_contents()
    assert changing.look().read["finding_bytes"] == 0
    assert ways[0].store_contents() == store


def test_it_is_read_at_once_when_that_is_asked_for(restless):
    restless.look()
    run = restless.look(changing="read")
    assert run.read["finding_bytes"] == MIB
    assert "changes-often" not in run.skipped


def test_others_are_found_equal_to_others_meanwhile(restless):
    content.write_twins(restless.tree, MIB, seed=5)
    harness.settle(restless._dedupd.filesystem)
    run = restless.look()
    assert run.skipped["changes-often"] == 1
    assert run.freed_bytes == MIB


def test_the_time_doubles(restless):
    assert restless.look(hours=1).read["finding_bytes"] == MIB
    restless.change()
    # An hour from now it was read just now: it was changed once more, which is two hours.
    assert restless.look(hours=2).skipped["changes-often"] == 1
    assert restless.look(hours=4).read["finding_bytes"] == MIB


def test_what_settles_down_is_found_a_week_later_at_the_latest(ways, restless):
    restless.look()
    write(restless.tree / "twin", restless.path.read_bytes())
    harness.settle(restless._dedupd.filesystem)
    assert restless.look().freed_bytes == 0

    assert restless.look(hours=WEEK_HOURS).freed_bytes == MIB
    if ways[1]["find"] == "auto":
        # Files without checksums are only met when they changed.
        return
    # Found unchanged for long: the next change is the first of its kind.
    restless.look(hours=2 * WEEK_HOURS)
    restless.change()
    run = restless.look(hours=2 * WEEK_HOURS)
    assert "changes-often" not in run.skipped


def test_a_new_file_in_its_place_is_read_at_once(restless):
    restless.path.unlink()
    time.sleep(0.1)
    restless.change()
    assert restless.look().read["finding_bytes"] == MIB
