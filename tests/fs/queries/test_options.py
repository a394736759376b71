# SPDX-License-Identifier: GPL-2.0-or-later
"""What the options do, and how bad ones are refused."""

import os
import pathlib

import pytest

import content
import harness
import oracle
from content import KIB, MIB, noise, write


def test_a_dry_run_changes_nothing_and_foretells_what_a_pass_frees(tree, filesystem, dedupd):
    content.write_twins(tree, 4 * MIB)
    write(tree / "zeros", bytes(MIB))
    harness.settle(filesystem)
    before = oracle.snapshot(tree)
    layout = oracle.layout(tree)

    run = dedupd.run(dry_run=True)

    assert run.status == 0, run.stderr
    assert run.report["dry_run"] is True
    harness.assert_unchanged(before, tree)
    assert oracle.layout(tree) == layout
    assert run.shared["calls"] == 0
    assert run.freed_bytes == 5 * MIB
    assert harness.check_pass(dedupd).freed_bytes == run.freed_bytes


def test_excluded_files_and_directories_are_left_alone(tree, dedupd):
    for name in ("cache", "kept"):
        (tree / name).mkdir()
        for suffix in ("tmp", "dat"):
            write(tree / name / f"file.{suffix}", noise(1, MIB))

    done = harness.check_pass(dedupd, exclude=["*.tmp", "cache"])

    assert done.freed_bytes == 0
    assert done.first.skipped["excluded"] == 2
    assert done.first.files["read"] == 1


def test_an_exclude_with_a_slash_is_matched_with_the_path(tree, dedupd):
    for name in ("a", "b", "c"):
        (tree / name).mkdir()
        write(tree / name / "file", noise(1, MIB))

    done = harness.check_pass(dedupd, exclude=["a/file", f"{tree}/b/*"])

    assert done.first.skipped["excluded"] == 2
    assert done.freed_bytes == 0


def test_an_exclude_that_matches_nothing_is_told(tree, dedupd):
    content.write_twins(tree, MIB)

    done = harness.check_pass(dedupd, exclude=["*.nothing"])

    assert "*.nothing" in done.first.stderr
    assert done.freed_bytes == MIB


@pytest.mark.parametrize("limit, expected", [("1M", 2), (str(MIB + 1), 1), ("512K", 3), ("2M", 0)])
def test_the_minimal_size_is_counted_in(tree, dedupd, limit, expected):
    for number, size in enumerate((MIB - 1, MIB, MIB + 1)):
        content.write_twins(tree, size, seed=number, names=(f"{size}-1", f"{size}-2"))

    done = harness.check_pass(dedupd, min_size=limit)

    assert done.first.skipped.get("small", 0) == 2 * (3 - expected)
    assert done.freed_bytes >= expected * (MIB - 4 * KIB)
    assert bool(done.freed_bytes) == bool(expected)


@pytest.mark.parametrize("options", [
    {"min_size": "lots"}, {"min_size": "-1"}, {"min_size": "1Q"}, {"memory": "0"},
    {"memory": "all"}, {"limit_rate": "fast"}, {"zeros": "maybe"}, {"anchor_blocks": "0"},
    {"anchor_blocks": "x"}, {"window": "0"}, {"window": "99999999999999999999"}, {"wrong": True},
], ids=lambda options: "-".join(f"{k}={v}" for k, v in options.items()))
@pytest.mark.parametrize("kind", ["xfs"])
def test_a_bad_option_is_refused_by_name(dedupd, options):
    run = dedupd.run(**options)

    assert run.status == 2
    assert "--" + next(iter(options)).replace("_", "-") in run.stderr
    assert list(dedupd.state_directory.iterdir()) == []


@pytest.mark.parametrize("kind", ["xfs"])
def test_a_missing_path_is_refused_by_name_and_nothing_is_done(tree, dedupd):
    one, two = content.write_twins(tree, MIB)

    run = dedupd.run(tree, tree / "missing")

    assert run.status == 2
    assert str(tree / "missing") in run.stderr
    assert not oracle.is_shared(one, two)


@pytest.mark.parametrize("kind", ["xfs"])
@pytest.mark.parametrize("name", ["fifo", "dangling"])
def test_a_path_that_is_no_file_or_directory_is_bad_use(tree, dedupd, name):
    os.mkfifo(tree / "fifo")
    os.symlink("missing", tree / "dangling")

    run = dedupd.run(tree / name)

    assert run.status == 2
    assert name in run.stderr


@pytest.mark.parametrize("kind", ["xfs"])
def test_standard_output_has_the_report_alone(tree, dedupd):
    content.write_twins(tree, 8 * MIB)

    run = dedupd.run(verbose=True)

    assert run.report["version"] == 1
    assert run.stdout.count("\n") >= 1


@pytest.mark.parametrize("kind", ["xfs"])
def test_quiet_is_silent(tree, dedupd):
    content.write_twins(tree, 8 * MIB)

    run = dedupd.run(quiet=True, json=False)

    assert (run.status, run.stdout, run.stderr) == (0, "", "")


@pytest.mark.parametrize("kind", ["xfs"])
def test_progress_into_a_pipe_is_plain_lines(tree, filesystem, dedupd):
    content.write_twins(tree, 8 * MIB)
    filesystem.forget_data()

    run = dedupd.run(limit_rate="8M")

    assert run.stderr.endswith("\n")
    assert not set("\r\x1b\x08") & set(run.stderr)


@pytest.mark.alone
def test_the_disk_is_read_no_faster_than_allowed(make_filesystem, make_dedupd, kind):
    rate = 4 * MIB
    for attempt in range(4):
        filesystem = make_filesystem(kind)
        tree = pathlib.Path(filesystem.mount_point)
        content.write_twins(tree, 5 * MIB)
        write(tree / "alone", noise(2, 4 * MIB))
        harness.settle(filesystem)
        filesystem.forget_data()
        drops = harness.cache_drops()
        run = make_dedupd(filesystem, state=f"state-{attempt}").run(limit_rate=rate)
        if harness.cache_drops() == drops:
            break
    else:
        pytest.skip("someone else keeps emptying the page cache, so that all is read twice")

    assert run.status == 0, run.stderr
    assert 0.85 * rate <= run.device_bytes / run.seconds <= 1.15 * rate


@pytest.mark.parametrize("memory", ["4M", "16M"])
def test_the_yield_does_not_depend_on_memory(tree, dedupd, memory):
    for number in range(6):
        content.write_twins(tree, 2 * MIB, seed=number, names=(f"{number}-1", f"{number}-2"))

    done = harness.check_pass(dedupd, memory=memory)

    assert done.freed_bytes == 12 * MIB


@pytest.mark.parametrize("kind", ["xfs"])
def test_a_small_window_finds_short_runs(tree, dedupd):
    data = noise(1, 2 * MIB)
    write(tree / "one", data)
    write(tree / "two", b"".join(data[at:at + 32 * KIB] + noise(at, 4 * KIB)
                                 for at in range(0, len(data), 32 * KIB)))

    done = harness.check_pass(dedupd, anchor_blocks=2, window=4)

    assert done.freed_bytes == 2 * MIB
