# SPDX-License-Identifier: GPL-2.0-or-later
"""A pass asks a disk for no more than its budget, by the disk's own counters."""

import mmap
import os
import pathlib
import random
import threading
import time

import pytest

import content
import harness
from disk_samples import SAMPLE_SECONDS, DiskSamples
from filesystem import parse_size

RATE = "20M"
FILES = 60


def is_overloaded():
    """Whether sleepers are not woken in time, and what was asked of a loop device waits for its
    thread: then it does in one second what another was asked for."""
    return os.getloadavg()[0] > 2 * os.cpu_count()


@pytest.fixture
def dedupd_on_pairs(quick_disks, make_filesystem, make_dedupd, kind):
    """Pairs of equal files.  Small ones: what one round needs is cached for a moment only, so that
    others on this machine who empty the cache do not matter much."""
    filesystem = make_filesystem(kind, "1G")
    for number in range(FILES):
        data = content.noise(number, content.MIB)
        for name in "ab":
            content.write(pathlib.Path(filesystem.mount_point, f"{number}{name}"), data)
    harness.settle(filesystem)
    filesystem.drop_caches()
    return make_dedupd(filesystem)


def test_no_second_takes_more_than_the_budget_and_all_of_it_is_used(dedupd_on_pairs):
    with DiskSamples(dedupd_on_pairs.filesystem.device) as disk:
        run = dedupd_on_pairs.run(find="auto", limit_rate=RATE)

    rate = parse_size(RATE)
    assert run.status == 0, run.stderr
    assert run.freed_bytes == FILES * content.MIB
    assert run.seconds > 0.95 * FILES * 2 * content.MIB / rate
    assert max(disk.window_rates()) <= (1.35 if is_overloaded() else 1.15) * rate
    assert (0.7 if is_overloaded() else 0.95) * rate <= disk.mean_rate() <= 1.05 * rate


@pytest.mark.parametrize("kind", ["xfs"], indirect=True)
@pytest.mark.parametrize("rotating", ["yes", "no"])
def test_however_many_readers_share_one_budget(dedupd_on_pairs, rotating):
    with DiskSamples(dedupd_on_pairs.filesystem.device) as disk:
        run = dedupd_on_pairs.run(rotating=rotating, limit_rate=RATE, dry_run=True)

    rate = parse_size(RATE)
    assert run.status == 0, run.stderr
    assert run.read["finding_bytes"] == FILES * 2 * content.MIB
    assert run.seconds > 0.95 * FILES * 2 * content.MIB / rate
    assert max(disk.window_rates()) <= (1.35 if is_overloaded() else 1.15) * rate
    assert (0.7 if is_overloaded() else 0.95) * rate <= disk.mean_rate() <= 1.05 * rate


def forget_when_read(dedupd):
    """Have what the pass keeps in the page cache be gone by the time that it compares."""
    filesystem = dedupd.filesystem
    before = filesystem.read_bytes()
    deadline = time.monotonic() + 60
    while filesystem.read_bytes() - before < FILES * 2 * content.MIB:
        assert time.monotonic() < deadline
        time.sleep(SAMPLE_SECONDS)
    for path in pathlib.Path(filesystem.mount_point).iterdir():
        fd = os.open(path, os.O_RDONLY)
        os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(fd)


@pytest.mark.parametrize("kind", ["xfs"], indirect=True)
@pytest.mark.parametrize("rotating", ["yes", "no"])
def test_what_was_kept_and_is_gone_is_paid_for_once(dedupd_on_pairs, rotating):
    with DiskSamples(dedupd_on_pairs.filesystem.device) as disk:
        process = dedupd_on_pairs.start(rotating=rotating, limit_rate=RATE)
        forget_when_read(dedupd_on_pairs)
        run = dedupd_on_pairs.finish(process)

    rate = parse_size(RATE)
    assert run.status == 0, run.stderr
    assert run.freed_bytes == FILES * content.MIB
    assert disk.samples[-1][1] - disk.samples[0][1] > 1.5 * FILES * 2 * content.MIB
    assert max(disk.window_rates()) <= (1.35 if is_overloaded() else 1.15) * rate
    assert (0.7 if is_overloaded() else 0.95) * rate <= disk.mean_rate() <= 1.05 * rate


def test_requests_have_a_budget_of_their_own(dedupd_on_pairs):
    # About 960 requests for the data, which without a limit is read within a second or two.
    with DiskSamples(dedupd_on_pairs.filesystem.device) as disk:
        run = dedupd_on_pairs.run(find="auto", limit_iops=240)

    assert run.status == 0, run.stderr
    assert run.freed_bytes == FILES * content.MIB
    # They are estimated: the kernel joins some and splits others.
    assert (disk.requests[-1] - disk.requests[0]) / run.seconds <= 1.5 * 240


def make_names(filesystem, directories):
    """Several megabytes of metadata, and next to no data.  Returns the last directory."""
    for number in range(directories):
        directory = pathlib.Path(filesystem.mount_point, f"{number:0>200}")
        directory.mkdir()
        for name in range(12000 // directories):
            (directory / f"{name:0>200}").touch()
    harness.settle(filesystem)
    filesystem.drop_caches()
    return directory


def assert_names_are_paid_for(disk, rate):
    # What one call reads is only known afterwards, and btrfs reads up to half a megabyte ahead.
    assert max(disk.window_rates()) <= (1.5 if is_overloaded() else 1.25) * rate + content.MIB // 2


@pytest.mark.parametrize("directories", [200, 1])
def test_names_and_inodes_are_paid_for_too(quick_disks, make_filesystem, make_dedupd, kind, directories):
    filesystem = make_filesystem(kind, "1G")
    directory = make_names(filesystem, directories)
    # XFS lists all of its inodes by itself, but not those of a directory.
    where = [] if directories > 1 else [directory]
    dedupd = make_dedupd(filesystem)
    with DiskSamples(filesystem.device) as disk:
        run = dedupd.run(*where, limit_rate="2M")

    assert run.status == 0, run.stderr
    assert run.read["disk_bytes"] > 2 * content.MIB
    assert_names_are_paid_for(disk, 2 * content.MIB)


def test_an_estimate_pays_for_names_and_inodes(quick_disks, make_filesystem, kind):
    # The kernel itself would read and write for times of access.
    filesystem = make_filesystem(kind, "1G", mount_options="noatime")
    # All names of a directory are read in one call.
    make_names(filesystem, 200)
    before = filesystem.read_bytes()
    with DiskSamples(filesystem.device) as disk:
        harness.dedupctl("estimate", "--config=none", "--limit-rate=4M", filesystem.mount_point)

    assert filesystem.read_bytes() - before > 2 * content.MIB
    assert_names_are_paid_for(disk, 4 * content.MIB)


class RandomReader:
    """Reads blocks of a file from the disk, one after another, while the context lasts."""

    def __init__(self, path):
        self._fd = os.open(path, os.O_RDONLY | os.O_DIRECT)
        self._blocks = os.fstat(self._fd).st_size // content.BLOCK
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self.read_bytes = 0

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *exception):
        self._ended.set()
        self._thread.join()
        os.close(self._fd)

    def _run(self):
        chosen = random.Random(1)
        with mmap.mmap(-1, content.BLOCK) as buffer:
            while not self._ended.is_set():
                at = chosen.randrange(self._blocks) * content.BLOCK
                self.read_bytes += os.preadv(self._fd, [buffer], at)


@pytest.mark.parametrize("kind", ["xfs"], indirect=True)
def test_a_pass_makes_way_for_others_and_is_quick_when_they_are_gone(dedupd_on_pairs):
    filesystem = dedupd_on_pairs.filesystem
    busy = content.write(pathlib.Path(filesystem.mount_point, "busy"), content.noise(0, content.MIB))
    harness.settle(filesystem)
    filesystem.drop_caches()

    with RandomReader(busy) as others:
        time.sleep(0.5)
        before = filesystem.read_bytes() - others.read_bytes
        process = dedupd_on_pairs.start(pressure="on", exclude="busy")
        time.sleep(4)
        beside = filesystem.read_bytes() - others.read_bytes - before
        assert process.poll() is None
    begun = time.monotonic()
    run = dedupd_on_pairs.finish(process)

    assert run.status == 0, run.stderr
    assert run.freed_bytes == FILES * content.MIB
    assert 0 < beside < FILES * 2 * content.MIB / 4
    assert time.monotonic() - begun < 20


def disk_section(filesystem, *lines):
    return [f"[Disk {os.path.basename(filesystem.device)}]", *lines]


@pytest.mark.parametrize("kind", ["btrfs"], indirect=True)
def test_a_disk_keeps_to_what_is_configured_of_it(dedupd_on_pairs, tmp_path):
    config = tmp_path / "dedupd.conf"
    config.write_text("\n".join(["[Dedupd]", "ReadRate=1M",
                                 *disk_section(dedupd_on_pairs.filesystem, f"ReadRate={RATE}"), ""]))

    with DiskSamples(dedupd_on_pairs.filesystem.device) as disk:
        run = dedupd_on_pairs.run(find="auto", config=config)

    rate = parse_size(RATE)
    assert run.status == 0, run.stderr
    assert "warning" not in run.stderr
    assert run.freed_bytes == FILES * content.MIB
    assert run.seconds > 0.95 * FILES * 2 * content.MIB / rate
    assert max(disk.window_rates()) <= (1.35 if is_overloaded() else 1.15) * rate
