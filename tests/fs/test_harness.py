# SPDX-License-Identifier: GPL-2.0-or-later
"""The harness finds every broken promise that it is there to find."""

import pathlib

import pytest

import content
import harness
import oracle

FAKE = pathlib.Path(__file__).with_name("fake-dedupd")


@pytest.fixture
def program():
    return FAKE


@pytest.fixture
def twins(tree):
    return content.write_twins(tree, 8 * content.MIB)


def test_a_pass_that_keeps_its_promises_goes_through(dedupd, twins):
    done = harness.check_pass(dedupd)

    assert done.freed_bytes == 8 * content.MIB
    assert done.used_drop_bytes == 8 * content.MIB
    assert oracle.is_shared(*twins)


@pytest.mark.parametrize("fault, complaint", [
    ("harm", "content '"),
    ("touch", "ctime"),
    ("atime", "atime"),
    ("boast", "claimed"),
    ("repeat", "calls"),
    ("read", "read data"),
    ("write", "wrote to its store"),
    ("reason", "unknown reason"),
])
def test_a_broken_promise_is_found(dedupd, twins, monkeypatch, fault, complaint):
    monkeypatch.setenv("FAKE_FAULT", fault)

    with pytest.raises(AssertionError) as failure:
        harness.check_pass(dedupd)

    assert complaint in str(failure.value)


def test_the_ideal_counts_equal_blocks_and_zero_blocks_once(tree, filesystem):
    block = content.BLOCK
    shared = content.noise(1, 4 * block)
    content.write(tree / "one", shared + bytes(2 * block))
    content.write(tree / "two", content.noise(2, block) + shared[:2 * block])

    assert oracle.ideal_bytes(tree) == 4 * block


def test_holes_and_preallocated_space_do_not_count(tree, filesystem):
    content.write_sparse(tree / "sparse", content.MIB, {0: content.noise(1, content.BLOCK)})
    content.preallocate(tree / "reserved", 0, content.MIB)

    assert oracle.physical_bytes(tree) == content.BLOCK
    assert oracle.block_addresses(tree / "reserved") == [None] * 256


@pytest.mark.parametrize("kind", ["btrfs"])
def test_a_compressed_extent_counts_with_its_size_on_disk(make_filesystem, kind):
    filesystem = make_filesystem(kind, mount_options=["compress-force=zstd"])
    path = pathlib.Path(filesystem.mount_point) / "text"
    content.write(path, content.text(1, content.MIB))

    counted = oracle.physical_bytes(path.parent)

    assert 0 < counted < content.MIB // 2
    assert counted == harness.used_data_bytes(filesystem)
