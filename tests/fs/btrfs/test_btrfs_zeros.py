# SPDX-License-Identifier: GPL-2.0-or-later
"""Zeros of a btrfs become holes where that frees the extents they lie in."""

import os
import pathlib
import random
import subprocess
import threading

import pytest

import content
import harness
import ioctls
import oracle
from content import BLOCK, KIB, MIB, noise, write, write_extent
from forger import forge
from harness import check_btrfs_pass as check
from subvolumes import make_subvolume, snapshot


@pytest.fixture(params=["btrfs"])
def kind(request):
    return request.param


def write_cut(path, *pieces):
    """A file of which each piece is an extent of its own."""
    with open(path, "wb") as file:
        for piece in pieces:
            file.write(piece)
            file.flush()
            os.fdatasync(file.fileno())


def data_bytes(path):
    return sum(address is not None for address in oracle.block_addresses(path)) * BLOCK


@pytest.mark.parametrize("policy", ["auto", "hole"])
def test_extents_of_zeros_become_holes(tree, dedupd, policy):
    write_extent(tree / "zeros", bytes(8 * MIB))

    done = check(dedupd, zeros=policy)

    assert done.freed_bytes == 8 * MIB
    assert done.first.freed["hole_bytes"] == 8 * MIB
    assert done.first.skipped == {}
    assert oracle.file_extents(tree / "zeros") == []
    assert done.first.read["compare_bytes"] == 8 * MIB


@pytest.mark.parametrize("checksum", ["xxhash", "sha256", "blake2"])
def test_zeros_are_known_by_every_kind_of_checksum(make_filesystem, make_dedupd, kind, checksum):
    filesystem = make_filesystem(kind, mkfs_options=["--csum", checksum])
    tree = pathlib.Path(filesystem.mount_point)
    write_extent(tree / "zeros", bytes(2 * MIB))
    write_extent(tree / "twin", noise(1, MIB))
    write_extent(tree / "padded", noise(1, MIB) + bytes(MIB))

    done = check(make_dedupd(filesystem))

    assert done.first.freed["hole_bytes"] >= 2 * MIB
    assert oracle.file_extents(tree / "zeros") == []


def test_zeros_of_all_lengths_at_the_end_of_a_file_go(tree, dedupd):
    sizes = [BLOCK, 3 * BLOCK + 5, 64 * KIB, 64 * KIB + 1, MIB + 4095, 20 * MIB + 17]
    for size in sizes:
        write_extent(tree / str(size), bytes(size))

    done = check(dedupd)

    assert done.freed_bytes == sum(-(-size // BLOCK) * BLOCK for size in sizes)
    assert done.first.freed["hole_bytes"] == done.freed_bytes
    assert oracle.physical_bytes(tree) == 0


def test_zeros_beside_what_comes_again_go_with_their_extent(tree, dedupd):
    first, second = noise(1, 2 * MIB), noise(2, MIB)
    write_extent(tree / "first", first + noise(3, MIB))
    write_extent(tree / "second", noise(4, 2 * MIB) + second)
    write_extent(tree / "target", first[:MIB] + bytes(MIB // 2) + second + bytes(MIB // 4 + 100))

    done = check(dedupd)

    assert done.freed_bytes == 2 * MIB + MIB // 2 + MIB // 4 + BLOCK
    assert done.first.freed["hole_bytes"] == MIB // 2 + MIB // 4 + BLOCK
    assert data_bytes(tree / "target") == 2 * MIB


@pytest.mark.parametrize("blocks", [1, 2, 15])
def test_few_zeros_do_not_keep_an_extent(tree, dedupd, blocks):
    first, second = noise(1, MIB), noise(2, MIB)
    write_extent(tree / "large", first + noise(3, MIB) + second)
    write_extent(tree / "target", first + bytes(blocks * BLOCK) + second)

    done = check(dedupd)

    assert done.freed_bytes == 2 * MIB + blocks * BLOCK
    assert done.first.freed["hole_bytes"] == blocks * BLOCK


@pytest.mark.parametrize("data, rewrite", [(4 * MIB, "auto"), (MIB, "never")])
def test_zeros_beside_data_without_equal_stay(tree, dedupd, data, rewrite):
    write_extent(tree / "file", noise(1, data) + bytes(8 * MIB) + noise(2, BLOCK))

    done = check(dedupd, rewrite=rewrite)

    assert done.freed_bytes == 0
    assert done.first.shared["calls"] == 0
    assert done.first.read["compare_bytes"] == 0
    assert done.first.skipped == {"pinned": 1}
    assert done.first.skip_of("pinned")["examples"] == [str(tree / "file")]


def test_zeros_beside_little_data_without_equal_go_once_that_is_copied(tree, dedupd):
    write_extent(tree / "file", noise(1, MIB) + bytes(8 * MIB) + noise(2, BLOCK + 100))

    done = check(dedupd)

    assert done.freed_bytes == 8 * MIB
    assert done.first.freed["hole_bytes"] == 8 * MIB
    assert done.first.filesystem["rewritten"]["bytes"] == MIB + 2 * BLOCK
    assert data_bytes(tree / "file") == MIB + 2 * BLOCK


def test_zeros_that_are_kept_are_copied_where_they_are_few(tree, dedupd):
    data = noise(1, 4 * MIB)
    write_extent(tree / "large", noise(2, MIB) + data)
    write_extent(tree / "disk.img", data + bytes(256 * KIB))

    done = check(dedupd)

    assert done.freed_bytes == 4 * MIB
    assert done.first.freed["hole_bytes"] == 0
    assert data_bytes(tree / "disk.img") == 4 * MIB + 256 * KIB


def test_zeros_of_their_own_are_no_source_of_others(tree, dedupd):
    first, second = noise(1, MIB), noise(2, 16 * KIB)
    write_cut(tree / "cut", first, bytes(MIB), second)
    write_extent(tree / "whole", first + bytes(MIB) + second)

    done = check(dedupd)

    assert oracle.physical_bytes(tree) == MIB + 16 * KIB
    assert done.freed_bytes == 3 * MIB + 16 * KIB


def test_zeros_of_disk_images_are_shared_with_each_other(tree, dedupd):
    first, second = noise(1, MIB), noise(2, 16 * KIB)
    write_cut(tree / "cut.img", first, bytes(MIB), second)
    write_extent(tree / "whole.img", first + bytes(MIB) + second)

    done = check(dedupd, rewrite="never")

    assert done.freed_bytes == 2 * MIB + 16 * KIB
    assert done.first.freed["hole_bytes"] == 0


@pytest.mark.parametrize("policy", ["auto", "hole", "keep"])
def test_zeros_of_two_equal_extents_are_shared_with_them(tree, dedupd, policy):
    data = noise(1, MIB) + bytes(MIB) + noise(2, MIB)
    for name in ("one", "two"):
        write_extent(tree / name, data)

    done = check(dedupd, zeros=policy)

    assert done.freed_bytes == 3 * MIB
    assert done.first.freed["hole_bytes"] == 0
    assert oracle.is_shared(tree / "one", tree / "two")


def test_zeros_that_a_file_shows_alone_go_with_what_nothing_shows(tree, dedupd):
    write_extent(tree / "cut", bytes(MIB) + noise(1, 3 * MIB))
    os.truncate(tree / "cut", MIB - 100)

    done = check(dedupd)

    assert done.freed_bytes == 4 * MIB
    assert done.first.freed["hole_bytes"] == MIB


def clone(path, source, offset, length):
    """A file of one part of another, which both show from now on."""
    with open(source, "rb") as shown, open(path, "wb") as file:
        ioctls.clone_range(shown.fileno(), offset, length, file.fileno(), 0)
    return path


def test_all_places_count_also_those_that_show_zeros_only(tree, dedupd):
    write_extent(tree / "whole", noise(1, MIB) + bytes(MIB))
    clone(tree / "zeros", tree / "whole", MIB, MIB)

    done = check(dedupd)

    assert done.freed_bytes == 0
    assert done.first.skipped == {"pinned": 1}
    assert data_bytes(tree / "zeros") == MIB

    write_extent(tree / "equal", noise(1, MIB) + noise(2, 2 * MIB))
    done = check(dedupd)

    # It is planned for once more, now that something equals the rest.
    assert done.freed_bytes == 2 * MIB
    assert data_bytes(tree / "zeros") == 0


def test_places_that_show_zeros_only_are_moved_with_the_others(tree, dedupd):
    write_extent(tree / "whole", noise(1, MIB) + bytes(MIB))
    clone(tree / "zeros", tree / "whole", MIB, MIB)
    clone(tree / "part", tree / "whole", MIB // 2, MIB)
    write_extent(tree / "equal", noise(1, MIB) + noise(2, 2 * MIB))

    done = check(dedupd, has_clones=True)

    assert done.freed_bytes == 2 * MIB
    assert done.first.freed["hole_bytes"] == MIB
    assert oracle.file_extents(tree / "zeros") == []
    assert data_bytes(tree / "part") == MIB // 2


def test_zeros_become_holes_in_all_snapshots(tree, dedupd):
    make_subvolume(tree / "data")
    write_extent(tree / "data" / "zeros", bytes(4 * MIB))
    write_extent(tree / "data" / "mixed", noise(1, MIB) + bytes(MIB))
    kept = [snapshot(tree / "data", tree / f"kept-{number}") for number in range(3)]
    write_extent(tree / "twin", noise(1, MIB) + noise(2, 2 * MIB))

    done = check(dedupd, has_clones=True)

    assert done.freed_bytes == 6 * MIB
    assert done.first.freed["hole_bytes"] == 5 * MIB
    for subvolume in (tree / "data", *kept):
        assert oracle.file_extents(subvolume / "zeros") == []
        assert data_bytes(subvolume / "mixed") == MIB


@pytest.mark.parametrize("policy", ["source", "skip"])
def test_zeros_of_snapshots_that_are_left_alone_stay_in_all(tree, dedupd, policy):
    make_subvolume(tree / "data")
    write_extent(tree / "data" / "zeros", bytes(4 * MIB))
    snapshot(tree / "data", tree / "kept")

    done = check(dedupd, read_only_snapshots=policy)

    assert done.freed_bytes == 0
    assert done.first.skipped == {"read-only-snapshot": 1}
    assert data_bytes(tree / "data" / "zeros") == 4 * MIB


def test_zeros_are_kept_on_request(tree, dedupd):
    write_extent(tree / "large", noise(1, MIB) + noise(3, 2 * MIB))
    write_extent(tree / "zeros", bytes(MIB))
    write_extent(tree / "padded", noise(1, MIB) + bytes(MIB))
    write_extent(tree / "unique", noise(2, MIB) + bytes(MIB))

    done = check(dedupd, zeros="keep")

    assert done.freed_bytes == 0
    assert done.first.shared["calls"] == 0
    assert done.first.skipped == {"keep-zeros": 2, "pinned": 1}


def test_thick_disk_images_keep_their_zeros(tree, dedupd):
    names = ["disk.img", "DISK.RAW", "a.qcow2", "b.vmdk", "c.vdi", "d.vhd", "e.vhdx"]
    for number, name in enumerate(names):
        write_extent(tree / name, noise(number, MIB))
        with open(tree / name, "ab") as image:
            image.write(bytes(4 * MIB))
    os.link(tree / "disk.img", tree / "another name")

    done = check(dedupd)

    assert done.freed_bytes == 0
    assert done.first.shared["calls"] == 0
    # The zeros may lie in several extents, as they were written out.
    assert done.first.skipped.keys() == {"keep-zeros"}
    assert done.first.skipped["keep-zeros"] >= len(names)


def test_a_disk_image_of_one_place_keeps_the_zeros_of_all(tree, dedupd):
    write_extent(tree / "plain", bytes(4 * MIB))
    clone(tree / "disk.img", tree / "plain", 0, 4 * MIB)

    done = check(dedupd)

    assert done.freed_bytes == 0
    assert done.first.skip_of("keep-zeros")["examples"] == [str(tree / "disk.img")]


def test_a_hard_link_named_as_a_disk_image_is_one(tree, dedupd):
    write_extent(tree / "plain", bytes(4 * MIB))
    os.link(tree / "plain", tree / "disk.img")

    assert check(dedupd).first.skipped == {"keep-zeros": 1}


def test_a_disk_image_loses_its_zeros_on_request(tree, dedupd):
    write_extent(tree / "disk.img", noise(1, MIB))
    with open(tree / "disk.img", "ab") as image:
        image.write(bytes(4 * MIB))

    assert check(dedupd, zeros="hole").freed_bytes == 4 * MIB


def test_a_disk_image_with_holes_is_thin_and_gets_more_of_them(tree, dedupd):
    content.write_sparse(tree / "disk.img", 8 * MIB, {0: noise(1, MIB)})
    ioctls.sync(tree)
    content.overwrite(tree / "disk.img", 2 * MIB, bytes(4 * MIB))

    assert check(dedupd).freed_bytes == 4 * MIB


def test_a_large_file_without_holes_keeps_its_zeros(make_filesystem, make_dedupd, kind):
    filesystem = make_filesystem(kind, size=4 << 30)
    tree = pathlib.Path(filesystem.mount_point)
    subprocess.run(["fallocate", "--length", "1G", tree / "large"], check=True)
    with open(tree / "large", "r+b") as large:
        for _ in range(64):
            large.write(bytes(16 * MIB))
            os.fdatasync(large.fileno())
    write_extent(tree / "small", bytes(MIB))

    done = check(make_dedupd(filesystem))

    assert done.freed_bytes == MIB
    assert list(done.first.skipped) == ["keep-zeros"]


def test_a_file_with_reserved_space_keeps_its_zeros(tree, dedupd):
    write_extent(tree / "file", bytes(4 * MIB))
    content.preallocate(tree / "file", 4 * MIB, MIB)

    done = check(dedupd)

    assert done.freed_bytes == 0
    assert done.first.skipped["keep-zeros"] == 1
    assert [e.length for e in oracle.file_extents(tree / "file")
            if e.flags & ioctls.EXTENT_UNWRITTEN] == [MIB]


@pytest.mark.parametrize("policy", ["auto", "hole", "keep"])
def test_holes_and_reservations_are_never_filled(tree, dedupd, policy):
    content.preallocate(tree / "reserved", 0, 4 * MIB)
    content.write_sparse(tree / "hole", 4 * MIB, {})
    content.write_sparse(tree / "sparse", 8 * MIB, {0: noise(1, MIB), 7 * MIB: noise(2, MIB)})
    write(tree / "full", noise(1, MIB) + bytes(6 * MIB) + noise(2, MIB))
    write_extent(tree / "zeros", bytes(4 * MIB))

    check(dedupd, zeros=policy)

    assert [e.length for e in oracle.file_extents(tree / "reserved")
            if e.flags & ioctls.EXTENT_UNWRITTEN] == [4 * MIB]
    assert oracle.file_extents(tree / "hole") == []
    assert data_bytes(tree / "sparse") == 2 * MIB


def test_zeros_written_into_reserved_space_are_found(tree, dedupd):
    content.preallocate(tree / "file", 0, 4 * MIB)
    content.overwrite(tree / "file", 0, bytes(4 * MIB))

    done = check(dedupd)

    assert done.freed_bytes == 4 * MIB
    assert oracle.file_extents(tree / "file") == []


def test_long_zeros_take_few_calls(tree, dedupd):
    write_cut(tree / "zeros", *[bytes(MIB)] * 64)

    done = check(dedupd)

    assert done.first.files["new"] >= 64
    assert done.freed_bytes == 64 * MIB
    # Rounds of 16 MiB; each time planning stops, two of them may be shorter, and a probe goes ahead.
    assert done.first.shared["calls"] <= 16


def test_zeros_in_small_extents_are_found(tree, dedupd):
    write(tree / "zeros", bytes(MIB), piece=16 * KIB)
    write(tree / "mixed", noise(1, 256 * KIB) + bytes(256 * KIB) + noise(2, 256 * KIB),
          piece=32 * KIB)

    done = check(dedupd)

    assert done.freed_bytes == MIB + 256 * KIB
    assert done.first.freed["hole_bytes"] == MIB + 256 * KIB
    assert data_bytes(tree / "mixed") == 512 * KIB


def test_a_dry_run_tells_what_would_become_holes(tree, dedupd):
    write_extent(tree / "zeros", bytes(4 * MIB))
    write_extent(tree / "disk.img", bytes(4 * MIB))
    harness.settle(dedupd.filesystem)
    before = oracle.layout(tree)

    done = dedupd.run(find="checksums", dry_run=True)

    assert done.freed["bytes"] == done.freed["hole_bytes"] == 4 * MIB
    assert oracle.layout(tree) == before
    assert check(dedupd).freed_bytes == 4 * MIB


def test_compressed_zeros_are_shared_and_become_no_holes(make_filesystem, make_dedupd, kind):
    filesystem = make_filesystem(kind, mount_options=["compress-force=zstd"])
    tree = pathlib.Path(filesystem.mount_point)
    for name in ("one", "two"):
        write_compressed(tree / name, bytes(MIB))

    done = check(make_dedupd(filesystem))

    # All pieces of 128 KiB take one block each, and have the same one in the end.
    assert done.freed_bytes == 15 * BLOCK
    assert done.first.freed["hole_bytes"] == 0


def write_compressed(path, data):
    write(path, data, piece=len(data))
    assert all(e.flags & ioctls.EXTENT_ENCODED for e in oracle.file_extents(path))


def test_zeros_outside_the_pass_stay_until_they_are_part_of_one(tree, dedupd):
    for name in ("inside", "outside"):
        (tree / name).mkdir()
        write_extent(tree / name / "zeros", bytes(4 * MIB))

    done = check(dedupd, tree / "inside")

    assert done.freed_bytes == 4 * MIB
    assert done.first.skipped == {"outside": 1}
    assert oracle.file_extents(tree / "inside" / "zeros") == []
    assert data_bytes(tree / "outside" / "zeros") == 4 * MIB

    done = check(dedupd)

    assert done.freed_bytes == 4 * MIB
    assert oracle.file_extents(tree / "outside" / "zeros") == []


def test_zeros_of_excluded_files_stay(tree, dedupd):
    write_extent(tree / "kept", bytes(4 * MIB))
    write_extent(tree / "zeros", bytes(4 * MIB))

    done = check(dedupd, exclude="kept")

    assert done.freed_bytes == 4 * MIB
    assert done.first.skipped == {"excluded": 1}
    assert data_bytes(tree / "kept") == 4 * MIB


def test_zeros_of_files_that_are_overwritten_in_place_stay(tree, dedupd):
    (tree / "file").touch()
    ioctls.add_flags(tree / "file", ioctls.FS_NO_COW)
    content.overwrite(tree / "file", 0, bytes(4 * MIB))

    for policy in ("skip", "share"):
        done = check(dedupd, zeros="hole", no_data_cow=policy)
        assert done.freed_bytes == 0
        assert done.first.shared["calls"] == 0


def test_zeros_go_where_new_files_would_be_overwritten_in_place(tree, dedupd):
    write_extent(tree / "zeros", bytes(4 * MIB))
    ioctls.add_flags(tree, ioctls.FS_NO_COW)

    assert check(dedupd).freed_bytes == 4 * MIB


def test_zeros_go_where_new_files_have_no_checksums(tree, filesystem, dedupd):
    write_extent(tree / "zeros", bytes(4 * MIB))
    subprocess.run(["mount", "-o", "remount,nodatasum", tree], check=True)

    assert check(dedupd).freed_bytes == 4 * MIB


def test_an_immutable_file_keeps_its_zeros(tree, dedupd):
    write_extent(tree / "zeros", bytes(4 * MIB))
    ioctls.add_flags(tree / "zeros", ioctls.FS_IMMUTABLE)
    try:
        done = check(dedupd)
    finally:
        ioctls.remove_flags(tree / "zeros", ioctls.FS_IMMUTABLE)

    assert done.freed_bytes == 0
    assert done.first.skipped == {"immutable": 1}


def test_blocks_with_the_checksum_of_zeros_stay_what_they_are(tree, dedupd):
    for number in range(60):
        blocks = None if number % 2 else [number % 16]
        write_extent(tree / f"forged-{number}", forge(bytes(64 * KIB), number, blocks))
        write_extent(tree / f"zeros-{number}", bytes(64 * KIB))

    done = check(dedupd)

    assert done.freed_bytes == done.first.freed["hole_bytes"] == 60 * 64 * KIB
    assert done.first.skipped == {"differs": 60}
    assert done.first.shared["differed"] == 60
    assert done.first.read["wasted_bytes"] <= 60 * 64 * KIB


def test_a_target_with_forged_zeros_is_shared_where_it_equals_another(tree, dedupd):
    data = noise(1, MIB) + forge(bytes(MIB), 1) + noise(2, MIB)
    write_extent(tree / "first", data[:MIB] + noise(3, 3 * MIB))
    write_extent(tree / "second", noise(4, 3 * MIB) + data[2 * MIB:])
    write_extent(tree / "forged", data)

    # The forged part would be copied else, and the extent go.
    done = check(dedupd, rewrite="never")

    assert done.freed_bytes == 0
    assert done.first.skipped == {"differs": 1}


def test_what_is_written_into_zeros_meanwhile_stays(tree, filesystem, dedupd):
    """Whoever writes to a file while its zeros become holes finds what was written."""
    size, path = 64 * MIB, tree / "file"
    write(path, bytes(size), piece=MIB)
    shadow = bytearray(size)
    stop = threading.Event()

    def keep_writing():
        generator = random.Random(1)
        with open(path, "r+b", buffering=0) as file:
            while not stop.is_set():
                at = generator.randrange(size - BLOCK)
                data = generator.randbytes(generator.randrange(1, BLOCK))
                if generator.random() < 0.5:
                    data = bytes(len(data))
                os.pwrite(file.fileno(), data, at)
                shadow[at:at + len(data)] = data

    writer = threading.Thread(target=keep_writing)
    writer.start()
    try:
        runs = [dedupd.run(find="checksums") for _ in range(6)]
    finally:
        stop.set()
        writer.join()

    assert all(run.status == 0 for run in runs)
    assert path.read_bytes() == shadow
    assert sum(run.freed_bytes for run in runs) > 0
    filesystem.unmount()
    filesystem.mount()
    assert path.read_bytes() == shadow


def mixed_files(tree):
    """Files in extents of which some are all zeros, some have equals, and some have neither."""
    pieces = [noise(number, MIB) for number in range(4)] + [bytes(MIB)] * 3
    for number in range(24):
        parts = [pieces[(number * 5 + step * 3) % len(pieces)] for step in range(4)]
        if number % 3 == 0:
            parts[number % 4] = noise(1000 + number, MIB)
        write(tree / f"file-{number}", b"".join(parts), piece=MIB)
    for number in range(4):
        write_extent(tree / f"wide-{number}", pieces[number] + bytes(MIB))


def test_as_much_is_freed_as_by_reading(make_filesystem, make_dedupd, kind):
    freed = {}
    for find in ("checksums", "read"):
        filesystem = make_filesystem(kind)
        tree = pathlib.Path(filesystem.mount_point)
        mixed_files(tree)
        harness.settle(filesystem)
        used = harness.used_data_bytes(filesystem)
        assert make_dedupd(filesystem, state=find).run(find=find).status == 0
        freed[find] = used - harness.used_data_bytes(filesystem)

    assert freed["checksums"] >= freed["read"] > 60 * MIB
