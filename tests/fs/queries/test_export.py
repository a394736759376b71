# SPDX-License-Identifier: GPL-2.0-or-later
"""dedupctl export and import: fingerprints as lines of JSON, there and back."""

import fcntl
import json
import os
import pathlib
import stat

import pytest

import content
import harness
import ioctls

KIB = 1 << 10
MIB = 1 << 20

FAILED = 1
USAGE = 2
IN_USE = 5

HOSTILE = "two words\n\x1b[2J\\x41\udcff"


def write_files(tree, is_btrfs=False):
    """Twins, a run in common, zeros, a hole, names of all kinds, and what is left alone."""
    content.write_twins(tree, 2 * MIB, names=("one", HOSTILE))
    content.write(tree / "part", content.noise(7, 300 * KIB) + content.noise(1, 2 * MIB)[MIB:])
    content.write(tree / "zeros", bytes(MIB))
    content.write(tree / "zeros-within", content.noise(5, 64 * KIB) + bytes(256 * KIB) + content.noise(6, 5000))
    content.write_sparse(tree / "sparse", 4 * MIB, {MIB: content.noise(4, 8 * KIB)})
    (tree / "deep\nly" / "down").mkdir(parents=True)
    content.write_twins(tree / "deep\nly" / "down", 200_001, seed=9)
    if is_btrfs:
        content.write_no_cow(tree / "no-cow", content.noise(8, 512 * KIB))
    ioctls.sync(tree)
    harness.clock.wait(harness.RACY_SECONDS)


@pytest.fixture
def other(dedupd):
    """The same program with no stores yet."""
    directory = pathlib.Path(f"{dedupd.state_directory}-other")
    directory.mkdir()
    return harness.Dedupd(dedupd.program, directory, dedupd.filesystem)


@pytest.fixture
def two_stores(dedupd, tree, make_filesystem, kind):
    """Have dedupd know two filesystems, and nothing shared on them."""
    second = pathlib.Path(make_filesystem(kind).mount_point)
    for seed, top in enumerate([tree, second]):
        content.write_twins(top, MIB, seed=seed)
        ioctls.sync(top)
    for top in (tree, second):
        assert dedupd.run(top, dry_run=True).status == 0


def export(dedupd, *names, **options):
    """What it prints, as text."""
    return harness.dedupctl("export", *names, dedupd=dedupd, **options).stdout


def lines_of(text):
    return [json.loads(line) for line in text.splitlines()]


def put_in(dedupd, text, *words, status=0):
    """Import @text; what is said."""
    return harness.dedupctl("import", *words, dedupd=dedupd, status=status, input=text)


def known_by_key(text):
    """What the lines say, whatever ids the objects have: these are given anew by each store."""
    lines = lines_of(text)
    keys = {line["id"]: (line["type"], line.get("subvolume", 0), line.get("inode", 0), line.get("address", 0),
                         line.get("number", 0)) for line in lines if "id" in line}
    for line in lines:
        line.pop("id", None)
        if "at" in line:
            line["at"] = sorted((keys[id_], -1 if block is None else block) for id_, block in line["at"])
    return lines


def names_in(directory):
    return sorted(path.name for path in pathlib.Path(directory).iterdir())


def stores_in(dedupd):
    return [name for name in names_in(dedupd.state_directory) if name.endswith(".sqlite")]


def reported(done):
    return {"shared": done.shared["bytes"], "runs": done.shared["runs"], "freed": done.freed["bytes"]}


@pytest.mark.parametrize("options", [{"find": "read"}, {"find": "auto"}, {"read": "same-size"}],
                         ids=["read", "auto", "same-size"])
def test_a_store_that_was_imported_serves_as_the_one_that_was_exported(dedupd, other, tree, kind, options):
    write_files(tree, is_btrfs=kind == "btrfs")
    learned = dedupd.run(dry_run=True, **options)
    assert learned.status == 0
    text = export(dedupd)

    put_in(other, text)

    assert known_by_key(export(other)) == known_by_key(text)
    (store,) = harness.dedupctl_rows("store", "check", dedupd=other)
    assert store["state"] == "ok"
    (row,) = harness.dedupctl_rows("verify", "--sample=100%", dedupd=other)
    assert row["wrong"] == row["stale"] == row["unreadable"] == 0 < row["right"]
    again = other.run(dry_run=True, **options)
    assert again.status == 0
    assert again.files["read"] == 0
    assert again.read["finding_bytes"] == 0
    assert reported(again) == reported(learned)
    harness.check_pass(other, **options)


def test_lines_tell_other_tools_which_files_are_equal(dedupd, tree):
    write_files(tree)
    assert dedupd.run(dry_run=True).status == 0
    head, *lines, end = lines_of(export(dedupd))

    assert head["uuid"] == dedupd.store_path.stem
    assert head["block_bytes"] == 4 * KIB
    files = {line["path"]: line for line in lines if line["type"] == "file"}
    escaped = r"two words\n\e[2J\\x41\xff"
    one, two = files[f"{tree}/one"], files[f"{tree}/{escaped}"]
    assert one["digest"] == two["digest"] != files[f"{tree}/part"]["digest"]
    assert one["size_bytes"] == 2 * MIB
    assert int(one["modified_nsec"]) == (tree / "one").stat().st_mtime_ns
    assert one["inode"] == (tree / "one").stat().st_ino
    deep = [file for path, file in files.items() if path.startswith(f"{tree}/deep\\nly/down/")]
    assert len({file["digest"] for file in deep}) == 1 and len(deep) == 2

    places = [{tuple(place) for place in line["at"]} for line in lines if line["type"] == "anchors"]
    assert any({one["id"], two["id"], files[f"{tree}/part"]["id"]} <= {place[0] for place in at} for at in places)
    assert {(one["id"], None), (two["id"], None)} in places
    zeros = {tuple(place) for line in lines if line["type"] == "zeros" for place in line["at"]}
    assert (files[f"{tree}/zeros-within"]["id"], 16) in zeros
    assert end == {"type": "end", "directories": sum(line["type"] == "directory" for line in lines),
                   "objects": len(files), "anchors": sum(map(len, places)) + len(zeros)}


def test_what_is_gone_leaves_no_anchors_behind(dedupd, other, tree):
    """They stay in the store for a while."""
    content.write_twins(tree, 4 * MIB)
    content.write(tree / "twin", content.noise(1, 4 * MIB))
    ioctls.sync(tree)
    harness.clock.wait(harness.RACY_SECONDS)
    assert dedupd.run(dry_run=True).status == 0
    (tree / "two").unlink()
    content.write(tree / "twin", content.noise(3, 4 * MIB))
    ioctls.sync(tree)
    harness.clock.wait(harness.RACY_SECONDS)
    assert dedupd.run(dry_run=True).status == 0
    lines = lines_of(export(dedupd))
    known = {line["id"] for line in lines if line["type"] == "file"}
    assert {place[0] for line in lines if "at" in line for place in line["at"]} <= known
    put_in(other, export(dedupd))
    assert other.run(dry_run=True).files["read"] == 0


def test_a_store_that_is_there_is_replaced_only_when_that_is_asked_for(dedupd, tree):
    write_files(tree)
    assert dedupd.run(dry_run=True).status == 0
    text = export(dedupd)
    before = names_in(dedupd.state_directory)

    refused = put_in(dedupd, text, status=IN_USE)
    assert "--replace" in refused.stderr
    assert names_in(dedupd.state_directory) == before

    put_in(dedupd, text, "--replace")
    assert known_by_key(export(dedupd)) == known_by_key(text)
    (store,) = stores_in(dedupd)
    assert f"{store}.old-1" in names_in(dedupd.state_directory)
    assert not [name for name in names_in(dedupd.state_directory) if name.endswith(".import")]
    assert stat.S_IMODE((dedupd.state_directory / store).stat().st_mode) == 0o600
    harness.check_pass(dedupd)


def test_a_pass_that_runs_keeps_its_store(dedupd, tree, other):
    write_files(tree)
    assert dedupd.run(dry_run=True).status == 0
    text = export(dedupd)
    lock = dedupd.store_path.with_suffix(".lock")
    with open(lock, "r+b") as held:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        assert "another process" in put_in(dedupd, text, "--replace", status=IN_USE).stderr
        # Reading is in nobody's way.
        assert export(dedupd) == text


def damaged(lines, number, change):
    """The lines with the one of @number changed; None leaves it out."""
    line = change(json.loads(lines[number]))
    return "".join(each if i != number else "" if line is None else f"{json.dumps(line)}\n"
                   for i, each in enumerate(lines))


def without(name):
    return lambda line: {key: value for key, value in line.items() if key != name}


@pytest.mark.parametrize("kind_of_line, change, said", [
    ("store", lambda line: line | {"schema": "another"}, "line 1: "),
    ("store", lambda line: line | {"version": 2}, "its version is 2"),
    ("store", lambda line: line | {"uuid": "../../etc"}, '"uuid" is not'),
    ("store", lambda line: line | {"kind": "ext4"}, '"kind" is not'),
    ("store", lambda line: line | {"block_bytes": 5000}, "power of two"),
    ("store", lambda line: line | {"anchor_blocks": 17}, '"anchor_blocks" is not'),
    ("store", lambda line: line | {"window_anchors": 1}, '"window_anchors" is not'),
    ("store", lambda line: line | {"secret": line["secret"][:-1]}, '"secret" is not'),
    ("store", lambda line: None, "line 1: "),
    ("file", lambda line: [line], "no JSON object"),
    ("file", without("type"), '"type" is not there'),
    ("file", lambda line: line | {"type": "wardrobe\x1b[2J"}, r"wardrobe\e[2J"),
    ("file", lambda line: line | {"type": "store"}, "another store begins"),
    ("file", without("id"), '"id" is not'),
    ("file", lambda line: line | {"id": 1 << 32}, '"id" is not'),
    ("directory", lambda line: line | {"name": 5}, '"name" is not'),
    ("file", lambda line: line | {"inode": "12"}, '"inode" is not'),
    ("file", lambda line: line | {"inode": -1}, '"inode" is not'),
    ("file", lambda line: line | {"modified_nsec": 12}, '"modified_nsec" is not'),
    ("file", lambda line: line | {"modified_nsec": "noon"}, '"modified_nsec" is not'),
    ("file", lambda line: line | {"name": "../one"}, '"name" is not'),
    ("file", lambda line: line | {"name": ".."}, '"name" is not'),
    ("file", lambda line: line | {"name": r"a\x00b"}, '"name" is not'),
    ("file", lambda line: line | {"name": "\\q"}, '"name" is not'),
    ("file", lambda line: line | {"name": "n" * 256}, '"name" is not'),
    ("file", lambda line: line | {"state": "half"}, '"state" is not'),
    ("file", lambda line: line | {"state": "skipped", "reason": "tired"}, '"reason" is not'),
    ("file", lambda line: line | {"flags": ["blue"]}, '"flags" is not'),
    ("file", lambda line: line | {"digest": "12"}, '"digest" is not'),
    ("file", lambda line: line | {"head": 12}, '"head" is not'),
    ("file", lambda line: None, '"at" has a block that no object has'),
    ("anchors", lambda line: line | {"digest": "0" * 16}, '"digest" is not'),
    ("anchors", lambda line: line | {"at": 3}, '"at" is not'),
    ("anchors", lambda line: line | {"at": [[line["at"][0][0]]]}, '"at" is not'),
    ("anchors", lambda line: line | {"at": [[None, 0]]}, '"at" is not'),
    ("anchors", lambda line: line | {"at": [[line["at"][0][0], -1]]}, '"at" is not'),
    ("anchors", lambda line: line | {"at": [[line["at"][0][0], 1 << 32]]}, '"at" is not'),
    ("anchors", lambda line: line | {"at": [[line["at"][0][0], 1 << 20]]}, '"at" has a block'),
    ("anchors", lambda line: line | {"at": [[1 << 20, 0]]}, '"at" has a block'),
    ("anchors", lambda line: None, "it says that there are"),
    ("end", lambda line: line | {"objects": 0}, "it says that there are 0 objects"),
    ("end", lambda line: None, "cut short"),
])
def test_lines_that_are_not_right_are_refused_by_number_and_nothing_is_taken(
        dedupd, other, tree, kind_of_line, change, said):
    content.write_twins(tree, 256 * KIB)
    ioctls.sync(tree)
    assert dedupd.run(dry_run=True).status == 0
    lines = export(dedupd).splitlines(keepends=True)
    number = [line["type"] for line in map(json.loads, lines)].index(kind_of_line)

    refused = put_in(other, damaged(lines, number, change), status=FAILED)

    assert said in refused.stderr
    assert refused.stderr.count("standard input, line ") == 1
    assert "\x1b" not in refused.stderr
    assert not stores_in(other)
    assert not [name for name in names_in(other.state_directory) if name.endswith(".import")]


def test_objects_are_told_apart(dedupd, other, tree):
    content.write_twins(tree, 256 * KIB)
    ioctls.sync(tree)
    assert dedupd.run(dry_run=True).status == 0
    lines = lines_of(export(dedupd))
    one, two = (i for i, line in enumerate(lines) if line["type"] == "file")
    directory = next(i for i, line in enumerate(lines) if line["type"] == "directory")

    def refused(number, line):
        text = "".join(f"{json.dumps(line if i == number else each)}\n" for i, each in enumerate(lines))
        return put_in(other, text, status=FAILED).stderr

    assert "an earlier line has the same file" in refused(two, lines[one] | {"id": lines[two]["id"]})
    assert f"have the id {lines[one]['id']}" in refused(two, lines[two] | {"id": lines[one]["id"]})
    assert "an earlier line has the same directory" in refused(directory + 1, lines[directory])
    assert not stores_in(other)


def test_ids_are_given_anew(dedupd, other, tree):
    """Who says that there are thousands of millions of objects does not make passes look for them."""
    content.write_twins(tree, 256 * KIB)
    ioctls.sync(tree)
    harness.clock.wait(harness.RACY_SECONDS)
    assert dedupd.run(dry_run=True).status == 0
    text = export(dedupd)
    lines = lines_of(text)
    for line in lines:
        if "id" in line:
            line["id"] += 4_000_000_000
        line["at"] = [[id_ + 4_000_000_000, block] for id_, block in line.get("at", [])]
        if not line["at"]:
            del line["at"]
    put_in(other, "".join(f"{json.dumps(line)}\n" for line in lines))
    assert known_by_key(export(other)) == known_by_key(text)
    assert {line["id"] for line in lines_of(export(other)) if "id" in line} == {1, 2}
    harness.check_pass(other)


@pytest.mark.parametrize("text, said", [
    ("", "empty"),
    ("\n \r\n", "empty"),
    ("{}\n", "line 1: "),
    ("hello\n", "no JSON object"),
    ("\0\n", "no JSON object"),
    ("[" * 100_000, "no JSON object"),
    ("x" * (1 << 21), "longer than 1 MiB"),
], ids=["nothing", "blank", "object", "words", "nul", "deep", "long"])
def test_what_is_no_export_is_refused(dedupd, text, said):
    refused = put_in(dedupd, text, status=FAILED)
    assert said in refused.stderr
    assert not stores_in(dedupd)


def test_bad_arguments_are_refused_by_name(dedupd, tree):
    assert "absent" in harness.dedupctl("import", "/absent", dedupd=dedupd, status=FAILED).stderr
    assert "directory" in harness.dedupctl("import", str(tree), dedupd=dedupd, status=FAILED).stderr
    assert "one FILE" in harness.dedupctl("import", "a", "b", dedupd=dedupd, status=USAGE).stderr
    assert "no store" in harness.dedupctl("export", "/absent", dedupd=dedupd, status=FAILED).stderr
    assert not export(dedupd)


@pytest.mark.usefixtures("two_stores")
def test_several_stores_follow_each_other(dedupd, other):
    text = export(dedupd)
    assert sum(line["type"] == "store" for line in lines_of(text)) == 2
    put_in(other, text)
    assert stores_in(other) == stores_in(dedupd)
    for store in stores_in(other):
        uuid = store.removesuffix(".sqlite")
        assert [line["uuid"] for line in lines_of(export(other, uuid)) if line["type"] == "store"] == [uuid]


@pytest.mark.usefixtures("two_stores")
def test_one_store_that_is_not_right_keeps_no_other_from_being_imported(dedupd, other):
    first, then = (export(dedupd, name.removesuffix(".sqlite")) for name in stores_in(dedupd))
    cut = "".join(first.splitlines(keepends=True)[:-2]) + "\0 nothing\n" + first.splitlines(keepends=True)[-1]

    assert "no JSON object" in put_in(other, cut + then, status=FAILED).stderr
    assert stores_in(other) == stores_in(dedupd)[1:]
    assert "--replace" in put_in(other, then + "\n\r\n" + first, status=IN_USE).stderr
    assert stores_in(other) == stores_in(dedupd)


def test_names_that_are_too_long_for_a_line_are_no_reason_to_refuse_it(dedupd, other, tree):
    content.write_twins(tree, MIB)
    at = os.open(tree, os.O_RDONLY)
    name = b"\xff" * 250
    for _ in range(80):
        os.mkdir(name, dir_fd=at)
        above, at = at, os.open(name, os.O_RDONLY, dir_fd=at)
        os.close(above)
    fd = os.open(b"deep", os.O_WRONLY | os.O_CREAT, 0o600, dir_fd=at)
    os.write(fd, content.noise(3, MIB))
    os.close(fd)
    os.close(at)
    ioctls.sync(tree)
    run = dedupd.run(dry_run=True)
    assert run.status == 0
    if dedupd.filesystem.kind == "btrfs":
        # A walk goes no further than 16 KiB; the inodes of an XFS are listed.
        assert run.skip_of("too-deep")["count"] >= 1
        return
    text = export(dedupd)
    (deep,) = (line for line in lines_of(text) if line.get("name") == "deep")
    assert "path" not in deep
    put_in(other, text)


def test_a_full_disk_is_no_export(dedupd, tree):
    content.write_twins(tree, MIB)
    ioctls.sync(tree)
    assert dedupd.run(dry_run=True).status == 0
    with open("/dev/full", "w", encoding="utf-8") as full:
        done = harness.dedupctl("export", dedupd=dedupd, status=FAILED, stdout=full)
    assert "cannot write" in done.stderr
