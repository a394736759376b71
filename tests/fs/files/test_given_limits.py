# SPDX-License-Identifier: GPL-2.0-or-later
"""What a pass forgets of what its limits leave out, by who gave it these."""

import contextlib
import sqlite3

import pytest

import harness
from content import MIB, noise, write_extent

LIMITS = [{"min_size": "1G"}, {"min_age": "30d"}, {"exclude": "out"}]
NAMES = ["in", "out"]


@pytest.fixture(name="known")
def known_fixture(filesystem, tree, dedupd):
    """Two equal files in each of two directories, all of them in the store; how many that are."""
    for seed, name in enumerate(NAMES):
        (tree / name).mkdir()
        for one in "ab":
            write_extent(tree / name / one, noise(seed, 2 * MIB))
    harness.settle(filesystem)
    assert run(dedupd).files["read"] >= 4
    return count_objects(dedupd)


def run(dedupd, **options):
    done = dedupd.run(**options)
    assert done.status == 0, done.stderr
    return done


def count_objects(dedupd):
    with contextlib.closing(sqlite3.connect(dedupd.store_path)) as database:
        return database.execute("SELECT count(*) FROM object").fetchone()[0]


def configuration(tmp_path, line):
    path = tmp_path / "dedupd.conf"
    path.write_text(f"[Dedupd]\n{line}\n")
    return path


@pytest.mark.parametrize("limits", LIMITS, ids=str)
def test_what_is_left_out_once_is_not_forgotten(dedupd, known, limits):
    assert run(dedupd, **limits).files["gone"] == 0
    assert count_objects(dedupd) == known
    again = run(dedupd)
    assert again.files["read"] == 0
    assert again.files["unchanged"] >= 4


@pytest.mark.parametrize("limits", LIMITS, ids=str)
def test_what_is_left_out_again_is_forgotten(dedupd, known, limits):
    run(dedupd, **limits)
    assert run(dedupd, **limits).files["gone"] > 0
    assert count_objects(dedupd) < known


@pytest.mark.parametrize("other", [{}, {"min_size": "2G"}], ids=str)
def test_other_limits_between_have_it_kept(dedupd, known, other):
    for limits in ({"min_size": "1G"}, other) * 2:
        assert run(dedupd, **limits).files["gone"] == 0
    assert count_objects(dedupd) == known


def test_a_dry_run_does_not_count(dedupd, known):
    for _ in range(3):
        assert run(dedupd, dry_run=True, min_size="1G").files["gone"] == 0
    assert run(dedupd, min_size="1G").files["gone"] == 0
    assert count_objects(dedupd) == known


@pytest.mark.parametrize("line", ["MinSize=1G", "MinAge=30d", "Exclude=out"])
def test_what_the_configuration_leaves_out_is_forgotten_at_once(dedupd, known, tmp_path, line):
    assert run(dedupd, config=configuration(tmp_path, line)).files["gone"] > 0
    assert count_objects(dedupd) < known


def test_what_the_command_line_repeats_is_the_configurations(dedupd, known, tmp_path):
    config = configuration(tmp_path, "MinSize=1G")
    assert run(dedupd, config=config, min_size="1G").files["gone"] > 0
    assert count_objects(dedupd) < known


def test_what_is_gone_is_forgotten_by_who_always_limits(tree, dedupd, known):
    run(dedupd, min_size="1M")
    (tree / "in" / "a").unlink()
    assert run(dedupd, min_size="1M").files["gone"] == 1
    assert count_objects(dedupd) == known - 1


def test_a_first_pass_with_limits_lists_inodes(make_filesystem, make_dedupd):
    dedupd = make_dedupd(make_filesystem("xfs"))
    inventory = run(dedupd, min_size="1M").filesystem["inventory"]
    assert inventory["by"] == "bulkstat", inventory
