# SPDX-License-Identifier: GPL-2.0-or-later
"""dedupctl why: why files were not deduplicated, with what tells so."""

import json
import os
import pathlib
import subprocess

import pytest

import content
import harness
import ioctls
from content import KIB, MIB, noise, write, write_extent

FAILED, USAGE = 1, 2


def why(dedupd, *files, status=0, words=("--json",)):
    said = harness.dedupctl("why", *words, *files, dedupd=dedupd, status=status).stdout
    return json.loads(said)["reasons"] if "--json" in words else said


def evidence(dedupd, path, config="none"):
    """{reason: evidence} of one file, with a configuration."""
    return {row["reason"]: row["evidence"]
            for row in why(dedupd, path, words=("--json", f"--config={config}"))}


def clone_range(source, offset, length, target, target_offset):
    subprocess.run(["xfs_io", "-c", f"reflink {source} {offset} {target_offset} {length}", target],
                   check=True, stdout=subprocess.DEVNULL)


@pytest.fixture(name="configure")
def configure_fixture(tmp_path):
    """A configuration of these lines; its path."""
    def configure(*lines):
        config = tmp_path / "dedupd.conf"
        config.write_text("\n".join(["[Dedupd]", *lines, ""]))
        return config
    return configure


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


def test_who_shares_the_data_is_named(tree, dedupd, learn):
    one = write_extent(tree / "one", noise(1, MIB))
    two = write_extent(tree / "two", noise(1, MIB))
    learn()
    assert evidence(dedupd, one) == {"shared": f"it shares this with {two}"}
    content.clone(one, tree / "three")
    said = evidence(dedupd, two)["shared"]
    if dedupd.filesystem.kind == "btrfs":
        assert said.startswith("it shares this with ") and said.endswith(" and 1 other file")
    else:
        assert said == f"it shares this with {one}", "the store does not know the clone"


def test_a_file_that_repeats_its_data_shares_with_itself_alone(tree, dedupd, learn, kind):
    one = write_extent(tree / "one", noise(1, MIB))
    clone_range(one, 0, MIB, one, MIB)
    learn()
    row, = why(dedupd, one)
    assert (row["reason"], row["bytes"]) == ("shared", 2 * MIB)
    assert row["evidence"].startswith("only with itself" if kind == "btrfs"
                                      else "the file itself has this data in several places")


def test_an_xfs_that_knows_who_owns_blocks_tells_who_shares_them(make_filesystem, make_dedupd):
    filesystem = make_filesystem("xfs", mkfs_options=["-m", "reflink=1,rmapbt=1"])
    tree = pathlib.Path(filesystem.mount_point)
    dedupd = make_dedupd(filesystem)
    one = write(tree / "one", noise(1, MIB))
    part = write(tree / "part", noise(1, 512 * KIB) + noise(2, 512 * KIB))
    own = write(tree / "own", noise(3, MIB))
    clone_range(own, 0, MIB, own, MIB)
    harness.settle(filesystem)
    assert dedupd.run().freed_bytes == 512 * KIB
    assert evidence(dedupd, part)["shared"] == f"it shares this with {one}"
    assert evidence(dedupd, own)["shared"].startswith("only with itself")
    clone_range(one, 0, MIB, own, 2 * MIB)
    assert evidence(dedupd, part)["shared"] == f"it shares this with {one} and 1 other file"
    assert [(row["reason"], row["bytes"]) for row in why(dedupd, own)] == [
        ("shared", MIB), ("shared", 2 * MIB)]
    content.clone(write(tree / "new", noise(4, MIB)), new := tree / "clone")
    assert evidence(dedupd, new)["shared"] == "it shares this with 1 other file, of which no name is known"


def test_on_btrfs_who_shares_is_told_to_root_alone(make_filesystem, users_dedupd, kind):
    if kind != "btrfs":
        pytest.skip("is of btrfs")
    tree = pathlib.Path(users_dedupd.filesystem.mount_point)
    os.chown(tree, harness.USER, harness.USER)
    one = write_extent(tree / "one", noise(1, MIB))
    content.clone(one, tree / "two")
    ioctls.sync(tree)
    for path in (one, tree / "two"):
        os.chown(path, harness.USER, harness.USER)
    said = harness.dedupctl("why", "--json", one, dedupd=users_dedupd, user=harness.USER).stdout
    row, = json.loads(said)["reasons"]
    assert (row["reason"], row["bytes"]) == ("shared", MIB)
    assert row["evidence"].endswith("only root can see which")


def test_what_equals_others_and_was_left_as_it_is_is_said(tree, dedupd, ask, learn):
    one = write_extent(tree / "one", noise(1, MIB))
    two = write_extent(tree / "two", noise(1, MIB))
    learn(dry_run=True)
    reasons = ask(one)
    assert sum(reasons.values()) == MIB
    assert reasons.keys() <= {"equal", "unsettled"}
    said, = evidence(dedupd, one).values()
    assert said.startswith(f"it equals data of {two}")


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
    row, = why(dedupd, one, words=("--json", "--config=none"))
    assert (row["reason"], row["bytes"]) == ("nodatacow", MIB)
    assert row["evidence"].endswith("NoDataCow=share would take them (NoDataCow=skip by default)")


def test_what_was_shared_by_reading_is_shared(make_filesystem, make_dedupd, configure):
    filesystem = make_filesystem("btrfs")
    tree = pathlib.Path(filesystem.mount_point)
    dedupd = make_dedupd(filesystem)
    one, two = (content.write_no_cow(tree / name, noise(1, MIB)) for name in ("one", "two"))
    unique = content.write_no_cow(tree / "unique", noise(2, MIB))
    harness.settle(filesystem)
    run = dedupd.run(find="checksums", no_data_cow="share")
    assert (run.freed_bytes, run.skipped) == (MIB, {})
    share = configure("NoDataCow=share")
    assert evidence(dedupd, one, share) == {"shared": f"it shares this with {two}"}
    assert evidence(dedupd, one) == {"shared": f"it shares this with {two}"}
    assert evidence(dedupd, unique, share).keys() == {"unique"}
    assert evidence(dedupd, unique).keys() == {"nodatacow"}


def test_swap_files_are_told_by_what_they_begin_with(make_filesystem, make_dedupd):
    filesystem = make_filesystem("btrfs")
    tree = pathlib.Path(filesystem.mount_point)
    dedupd = make_dedupd(filesystem)
    swap = content.write_no_cow(tree / "swap", bytes(4086) + b"SWAPSPACE2" + noise(1, MIB - 4096))
    harness.settle(filesystem)
    for policy in ("skip", "share"):
        assert dedupd.run(find="checksums", no_data_cow=policy).status == 0
        assert evidence(dedupd, swap).keys() == {"swap-file"}


def test_of_a_file_that_was_left_alone_no_other_reason_is_made_up(make_filesystem, make_dedupd):
    filesystem = make_filesystem("xfs")
    tree = pathlib.Path(filesystem.mount_point)
    dedupd = make_dedupd(filesystem)
    swap = write(tree / "swap", bytes(4086) + b"SWAPSPACE2" + noise(1, MIB - 4096))
    write(tree / "other", noise(1, MIB))
    harness.settle(filesystem)
    assert dedupd.run().skipped == {"swap-file": 1}
    assert evidence(dedupd, swap) == {
        "swap-file": "a pass skipped it: swap files, which the kernel takes only if they share nothing; "
        "'wipefs -a' on one that is none any more would allow it"}


def test_a_setting_that_is_in_force_by_now_is_told_so(tree, dedupd, learn, configure):
    one, two = (write_extent(tree / name, noise(1, MIB)) for name in ("one", "two"))
    os.chown(two, harness.USER, harness.USER)
    assert learn(across_owners="no").freed_bytes == 0
    no, path = evidence(dedupd, one, config := configure("AcrossOwners=no")), config
    assert no["other-owner"] == (
        f"it equals data of {two}: equal data of another user; AcrossOwners=yes would share it "
        f"(AcrossOwners=no, {path}:2)")
    assert no.keys() == {"other-owner"}
    yes = evidence(dedupd, one, configure("AcrossOwners=yes"))
    assert yes["other-owner"].endswith("AcrossOwners=yes is in force now: the next pass takes it")
    assert learn(across_owners="yes").freed_bytes == MIB
    assert evidence(dedupd, one, config).keys() == {"shared"}


def test_what_equals_excluded_files_is_told_which(make_filesystem, make_dedupd, configure):
    filesystem = make_filesystem("btrfs")
    tree = pathlib.Path(filesystem.mount_point)
    dedupd = make_dedupd(filesystem)
    one, two = (write_extent(tree / name, noise(1, MIB)) for name in ("film.iso", "film"))
    config = configure("MinSize=4K", "Exclude=*.iso")
    harness.settle(filesystem)
    assert dedupd.run(find="checksums", config=config).status == 0
    pattern = f"Exclude=*.iso ({config}:3)"
    assert evidence(dedupd, two, config) == {"equal": f"it equals data of {one}, which {pattern} excludes"}
    assert evidence(dedupd, one, config) == {"excluded": f"{pattern} excludes it",
                                             "equal": f"it equals data of {two}"}
    assert "does not now: the next pass takes it" in evidence(dedupd, one)["excluded"]


def test_a_file_of_which_equals_changed_is_told_that(make_filesystem, make_dedupd):
    filesystem = make_filesystem("xfs")
    tree = pathlib.Path(filesystem.mount_point)
    dedupd = make_dedupd(filesystem)
    one, two = (write(tree / name, noise(1, MIB)) for name in ("one", "two"))
    os.chown(two, harness.USER, harness.USER)
    alone = write(tree / "alone", noise(2, MIB))
    harness.settle(filesystem)
    assert dedupd.run(across_owners="no").status == 0
    content.overwrite(two, 0, noise(3, 4 * KIB))
    assert evidence(dedupd, one)["unique"] == (
        "no file that the store knows equals it as a whole, but 1 file that did changed since, or "
        "is gone: make a pass")
    assert evidence(dedupd, alone) == {"unique": "no file that the store knows equals it as a whole; "
                                                 "dedupctl does not look for equal parts here"}


def test_what_is_compressed_may_equal_what_is_not(compressing, make_dedupd, configure):
    tree = pathlib.Path(compressing.mount_point)
    dedupd = make_dedupd(compressing)
    one = write(tree / "one", content.text(1, 128 * KIB))
    harness.settle(compressing)
    assert dedupd.run(find="checksums").status == 0
    assert evidence(dedupd, one)["unique"].endswith("Compressed=read would look for it")
    assert "Compressed" not in evidence(dedupd, one, configure("Compressed=read"))["unique"]


@pytest.mark.true_clock
def test_a_file_that_was_young_is_told_so(make_filesystem, make_dedupd):
    filesystem = make_filesystem("xfs")
    tree = pathlib.Path(filesystem.mount_point)
    dedupd = make_dedupd(filesystem)
    one, two = (write(tree / name, noise(1, MIB)) for name in ("one", "two"))
    three = write(tree / "three", noise(2, MIB))
    ioctls.sync(tree)
    assert dedupd.run().freed_bytes == MIB
    assert evidence(dedupd, one) == {"shared": f"it shares this with {two}"}
    row, = why(dedupd, three)
    assert (row["reason"], row["bytes"]) == ("changed-since", MIB)
    assert "written shortly before the last pass" in row["evidence"]


def test_directories_are_no_files(tree, dedupd):
    said = harness.dedupctl("why", tree, dedupd=dedupd, status=FAILED).stderr
    assert "is no regular file: name files, or use 'dedupctl unique'" in said


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
    assert row["evidence"].startswith(
        "1 MiB of it equal other data, but btrfs frees only whole extents, and 1 MiB of its "
        "2 MiB exist nowhere else; Rewrite=auto")
    assert "Rewrite=" in row["evidence"] and "shown by" not in row["evidence"]


def test_another_file_that_pins_is_named(make_filesystem, make_dedupd):
    filesystem = make_filesystem("btrfs")
    tree = pathlib.Path(filesystem.mount_point)
    dedupd = make_dedupd(filesystem)
    one = write_extent(tree / "one", noise(1, MIB))
    long = write_extent(tree / "long", noise(2, MIB) + noise(1, MIB))
    part = write(tree / "part", b"")
    clone_range(long, MIB, MIB, part, 0)
    for number in range(4):
        content.clone(one, tree / f"clone{number}")
    harness.settle(filesystem)
    assert dedupd.run(find="checksums", rewrite="never").pinned == {"uncovered": 1}
    said = evidence(dedupd, part)["pinned"]
    assert said.startswith(f"1 MiB of this extent exist nowhere else, shown by {long}; freed when")


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


def test_an_immutable_file_is_told_so(tree, dedupd, ask, learn):
    one = write_extent(tree / "one", noise(1, MIB))
    subprocess.run(["chattr", "+i", one], check=True)
    try:
        learn()
        assert ask(one)["immutable"] == MIB
        said = evidence(dedupd, one)["immutable"]
        assert said.startswith("others may share its data, but it cannot share theirs")
        content.clone(one, tree / "two")
        assert ask(one) == {"shared": MIB}, "all that could be is shared"
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
