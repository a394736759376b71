# SPDX-License-Identifier: GPL-2.0-or-later
"""dedupctl store, on stores that real passes made."""

import functools
import subprocess

import pytest

import content
import harness
import ioctls

MIB = 1 << 20


@pytest.fixture
def store(dedupd):
    """Run `dedupctl store`, and give the rows of what it says."""
    return functools.partial(harness.dedupctl_rows, "store", dedupd=dedupd)


@pytest.mark.parametrize("find", ["read", "auto"])
def test_a_store_is_sound_after_passes_and_after_its_upkeep(dedupd, tree, store, find):
    content.write_twins(tree, 4 * MIB)
    harness.check_pass(dedupd, find=find)
    assert store("check")[0]["state"] == "ok"
    assert store("prune")[0]["files"] == 0
    assert store("vacuum")[0]["after_bytes"] > 0
    assert store("check")[0]["state"] == "ok"
    again = dedupd.run(find=find)
    assert again.shared["bytes"] == 0
    assert again.files["read"] == 0


def test_size_knows_the_data(dedupd, tree, store):
    content.write_twins(tree, 4 * MIB)
    dedupd.run()
    parts = {row["part"]: row for row in store("size")}
    assert 4 * MIB <= parts["data"]["bytes"] <= 9 * MIB
    assert parts["objects"]["number"] >= 1
    assert parts["history"]["number"] == 1
    assert sum(row["bytes"] or 0 for name, row in parts.items()
               if name not in ("all", "data")) <= parts["all"]["bytes"]


def test_prune_forgets_files_that_are_gone(dedupd, tree, store, kind):
    # Of a btrfs only files without checksums are known as files.
    write = content.write_no_cow if kind == "btrfs" else content.write
    for name in ("one", "two", "other"):
        write(tree / name, content.noise(name == "other", MIB))
    done = dedupd.run(**({"no_data_cow": "share"} if kind == "btrfs" else {}))
    assert done.status == 0
    before = {row["part"]: row["number"] for row in store("size")}["objects"]
    assert store("prune")[0]["files"] == 0
    (tree / "one").unlink()
    (tree / "other").unlink()
    ioctls.sync(tree)
    assert store("prune")[0]["files"] == 2
    assert store("prune")[0]["files"] == 0
    after = {row["part"]: row["number"] for row in store("size")}["objects"]
    assert before - after == 2
    assert store("check")[0]["state"] == "ok"
    assert dedupd.run().status == 0


def test_prune_forgets_nothing_of_what_is_not_mounted(dedupd, filesystem, tree, kind, store):
    """Nor of an empty directory in its place, nor of another filesystem there."""
    write = content.write_no_cow if kind == "btrfs" else content.write
    write(tree / "one", content.noise(1, MIB))
    assert dedupd.run(**({"no_data_cow": "share"} if kind == "btrfs" else {})).status == 0

    def known():
        (row,) = harness.dedupctl_rows("status", dedupd=dedupd)
        return row["objects"]

    before = known()
    assert before > 0
    filesystem.unmount()
    assert store("prune")[0]["files"] in (None, 0)
    assert known() == before
    subprocess.run(["mount", "-t", "tmpfs", "none", tree], check=True)
    try:
        assert store("prune")[0]["files"] in (None, 0)
    finally:
        subprocess.run(["umount", tree], check=True)
    assert known() == before
    filesystem.mount()
    assert store("prune")[0]["files"] == 0
    assert known() == before
