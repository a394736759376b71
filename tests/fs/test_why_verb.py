# SPDX-License-Identifier: GPL-2.0-or-later
"""dedupctl why: why files were not deduplicated, with what tells so."""

import json
import pathlib
import subprocess

import pytest

import content
import harness
from content import KIB, MIB, noise, write, write_extent

FAILED, USAGE = 1, 2


def why(dedupd, *files, status=0, words=("--json",)):
    said = harness.dedupctl("why", *words, *files, dedupd=dedupd, status=status).stdout
    return json.loads(said)["reasons"] if "--json" in words else said


@pytest.fixture(name="ask")
def ask_fixture(dedupd):
    """{reason: bytes} of one file."""
    def ask(path):
        return {row["reason"]: row["bytes"] for row in why(dedupd, path)}
    return ask


def test_what_was_shared_or_is_unique_is_said(tree, ask, learn):
    one = write_extent(tree / "one", noise(1, MIB))
    write_extent(tree / "two", noise(1, MIB))
    unique = write_extent(tree / "unique", noise(2, 512 * KIB))
    learn()
    assert ask(one) == {"shared": MIB}
    assert ask(unique) == {"unique": 512 * KIB}


def test_what_equals_others_and_was_left_as_it_is_is_said(tree, ask, learn):
    one = write_extent(tree / "one", noise(1, MIB))
    write_extent(tree / "two", noise(1, MIB))
    learn(dry_run=True)
    reasons = ask(one)
    assert sum(reasons.values()) == MIB
    assert reasons.keys() <= {"equal", "unsettled"}


def test_without_a_pass_nothing_was_ever_seen(tree, dedupd):
    row, = why(dedupd, write_extent(tree / "one", noise(1, MIB)))
    assert (row["reason"], row["bytes"]) == ("never-seen", MIB)
    assert "no pass over its filesystem is remembered" in row["evidence"]


@pytest.mark.true_clock
def test_what_was_written_since_is_told_by_the_last_pass(tree, dedupd, ask, learn):
    one = write_extent(tree / "one", noise(1, MIB))
    learn()
    new = write_extent(tree / "new", noise(2, MIB))
    write_extent(one, noise(3, MIB))
    assert ask(new) == ask(one) == {"changed-since": MIB}
    assert "since the last pass began" in why(dedupd, new)[0]["evidence"]


def test_a_file_beyond_the_pass_was_never_seen(tree, ask, learn, kind):
    (tree / "in").mkdir()
    write_extent(tree / "in/one", noise(1, MIB))
    out = write_extent(tree / "out", noise(1, MIB))
    learn(tree / "in")
    # Of a btrfs all checksums are looked at, and only what is shared is limited.
    assert ask(out).keys() <= {"never-seen"} if kind == "xfs" else {"equal", "unique", "unsettled"}


def test_files_without_data_are_told_so(tree, ask, learn):
    empty = write(tree / "empty", b"")
    sparse = content.write_sparse(tree / "sparse", MIB, {})
    learn()
    for path in (empty, sparse):
        assert {"empty"} <= ask(path).keys() <= {"empty", "small"}


def test_small_files_of_a_btrfs_lie_inside_metadata(make_filesystem, make_dedupd):
    filesystem = make_filesystem("btrfs")
    tree = pathlib.Path(filesystem.mount_point)
    dedupd = make_dedupd(filesystem)
    one, _ = content.write_twins(tree, 100)
    harness.settle(filesystem)
    assert dedupd.run(find="checksums").status == 0
    row, = why(dedupd, one)
    assert (row["reason"], row["bytes"]) == ("inline", 100)


def test_a_reason_of_the_last_pass_is_given_with_its_word(make_filesystem, make_dedupd):
    filesystem = make_filesystem("btrfs")
    tree = pathlib.Path(filesystem.mount_point)
    dedupd = make_dedupd(filesystem)
    one = content.write_no_cow(tree / "one", noise(1, MIB))
    harness.settle(filesystem)
    assert dedupd.run(find="checksums").skipped == {"nodatacow": 1}
    assert "nodatacow" in {row["reason"] for row in why(dedupd, one)}


def test_who_pins_is_named(make_filesystem, make_dedupd):
    filesystem = make_filesystem("btrfs")
    tree = pathlib.Path(filesystem.mount_point)
    dedupd = make_dedupd(filesystem)
    write_extent(tree / "one", noise(1, MIB))
    two = write_extent(tree / "two", noise(2, MIB) + noise(1, MIB))
    harness.settle(filesystem)
    assert dedupd.run(find="checksums", rewrite="never").status == 0
    row, = why(dedupd, two)
    assert (row["reason"], row["bytes"]) == ("pinned", 2 * MIB)
    assert row["evidence"] == f"1 MiB of this extent exist nowhere else, shown by {two}"


def test_what_the_configuration_excludes_is_said(tree, dedupd, learn, tmp_path):
    (tree / "cache").mkdir()
    inside = write_extent(tree / "cache/one", noise(1, MIB))
    small = write_extent(tree / "small", noise(2, 64 * KIB))
    other = write_extent(tree / "other", noise(3, MIB))
    learn()
    config = tmp_path / "dedupd.conf"
    config.write_text("[Dedupd]\nExclude=cache/\nMinSize=128K\n")
    reasons = {path: {row["reason"]
                      for row in why(dedupd, path, words=("--json", f"--config={config}"))}
               for path in (inside, small, other)}
    assert reasons == {inside: {"excluded", "unique"}, small: {"small", "unique"},
                       other: {"unique"}}
    assert {row["reason"] for row in why(dedupd, inside, words=("--json", "--config=none"))} == {
        "unique"}
    config.write_text("[Dedupd]\nFrob=1\nExclud=*.iso\n")
    why(dedupd, inside, status=FAILED, words=("--json", f"--config={config}"))


@pytest.mark.parametrize("kind", ["xfs"])
@pytest.mark.parametrize("verb", ["why", "estimate", "config", "list"])
def test_each_fault_of_the_configuration_is_a_line(tree, tmp_path, verb):
    path = tree / "file"
    path.write_bytes(b"x")
    config = tmp_path / "dedupd.conf"
    config.write_text("[Dedupd]\nFrob=1\nExclud=*.iso\n")
    words = {"why": [path], "estimate": [tree]}.get(verb, [])
    told = harness.dedupctl(verb, f"--config={config}", *words, status=None)
    assert told.returncode in (FAILED, 3)
    assert f"dedupctl: {config}:2: [Dedupd] Frob=: unknown key" in told.stderr
    assert f"dedupctl: {config}:3: [Dedupd] Exclud=: unknown key, did you mean Exclude=?\n" \
        in told.stderr
    assert "\\n" not in told.stderr


def test_an_immutable_file_is_told_so(tree, ask, learn):
    one = write_extent(tree / "one", noise(1, MIB))
    subprocess.run(["chattr", "+i", one], check=True)
    try:
        learn()
        assert "immutable" in ask(one)
    finally:
        subprocess.run(["chattr", "-i", one], check=True)


def test_a_file_that_nothing_could_equal_was_not_read(make_filesystem, make_dedupd):
    filesystem = make_filesystem("xfs")
    tree = pathlib.Path(filesystem.mount_point)
    dedupd = make_dedupd(filesystem)
    one = write(tree / "one", noise(1, MIB))
    write(tree / "two", noise(2, 512 * KIB))
    harness.settle(filesystem)
    assert dedupd.run(read="same-size").status == 0
    row, = why(dedupd, one)
    assert row["reason"] == "unique" and "was not read" in row["evidence"]


def test_answers_are_fit_for_terminals_and_bad_names_are_refused(tree, dedupd, learn):
    one = write_extent(tree / "a\n\x1b[2J", noise(1, MIB))
    learn()
    said = why(dedupd, one, words=())
    assert "\x1b" not in said and "a\\n\\e[2J" in said
    assert len(said.splitlines()) == 2
    assert [row["file"] for row in why(dedupd, tree / "absent", tree / "one", status=FAILED)] == []
    why(dedupd, status=USAGE, words=())
