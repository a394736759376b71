# SPDX-License-Identifier: GPL-2.0-or-later
"""Clones: what they cost a pass and the store, whatever their arrangement."""

import os
import random
import signal
import subprocess
import time

import pytest
import xxhash

import content
import harness
import ioctls
import oracle
from content import BLOCK, KIB, MIB, cache_pages, noise, write

# A pass may read the data once, this much per byte freed, and the slack.
READ_FACTOR = 16  # MaxCompare= on disks that do not rotate
READ_SLACK_BYTES = 160 * MIB
STORE_SHARE = 500
STORE_CONSTANT_BYTES = MIB
ROW_BYTES = 300


@pytest.fixture(name="filesystem", params=["rmapbt=0", "rmapbt=1"])
def filesystem_fixture(make_filesystem, request):
    return make_filesystem("xfs", 1024 * MIB, mkfs_options=["-m", request.param])


def clone_file(source, path):
    with open(source, "rb") as whole, open(path, "wb") as copy:
        ioctls.clone_range(whole.fileno(), 0, 0, copy.fileno(), 0)
    return path


def make_clones(tree, name, number):
    """Files of the same MIB, all in the same place."""
    write(tree / f"{name}-0", noise(1, MIB))
    for one in range(1, number):
        clone_file(tree / f"{name}-0", tree / f"{name}-{one}")


def repeat(path, times, size):
    """Make the file of its first @size bytes, @times over, all in the same place."""
    with open(path, "r+b") as file:
        fd = file.fileno()
        have = 1
        while have < times:
            more = min(have, times - have)
            ioctls.clone_range(fd, 0, more * size, fd, have * size)
            have += more


def used_bytes(tree):
    """What the filesystem has given out, everything being on the disk."""
    subprocess.run(["sync", "-f", tree], check=True)
    about = os.statvfs(tree)
    return (about.f_blocks - about.f_bfree) * about.f_frsize


def stamps(tree):
    found = {}
    for path in tree.iterdir():
        stat = path.stat()
        with open(path, "rb") as file:
            found[path.name] = (stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns, stat.st_uid,
                                ioctls.flags(path), xxhash.xxh3_64_intdigest(file.read(4 * MIB)))
    return found


def check_huge_pass(dedupd, tree, **options):
    """As harness.check_pass(), of files too long to read: by times, first bytes and the room that is free."""
    harness.settle(dedupd.filesystem)
    before = stamps(tree)
    used = used_bytes(tree)
    dedupd.filesystem.forget_data()
    first = dedupd.run(**options)
    assert first.status == 0, first.stderr
    assert stamps(tree) == before
    freed = used - used_bytes(tree)
    # The filesystem's own trees take room, too.
    assert abs(freed - first.freed_bytes) <= MIB, f"claimed {first.freed_bytes}, freed {freed}"
    second = dedupd.run(**options)
    assert second.shared["calls"] == 0 and second.read["finding_bytes"] == 0
    assert second.read["compare_bytes"] == 0
    return first


def check_limits(dedupd, tree, physical=None, **options):
    """A pass and one more keep all promises, and the limits that clones must not break; the first Run.

    Where the files are too long to be read, their @physical bytes are given.
    """
    if physical:
        run = check_huge_pass(dedupd, tree, **options)
    else:
        physical = oracle.physical_bytes(tree)
        dedupd.filesystem.forget_data()
        run = harness.check_pass(dedupd, tree, **options).first
    names = sum(len(files) for _, _, files in os.walk(tree))
    store = dedupd.store_path.stat().st_size
    print(f"physical {physical} device {run.device_bytes} compared {run.read['compare_bytes']} "
          f"freed {run.freed_bytes} store {store} anchors {run.store['anchors']} "
          f"seconds {run.seconds:.1f} skipped {run.skipped}")
    allowed = physical + READ_FACTOR * run.freed_bytes + READ_SLACK_BYTES
    assert run.device_bytes <= allowed, f"read {run.device_bytes}, allowed {allowed}"
    most = physical // STORE_SHARE + STORE_CONSTANT_BYTES + ROW_BYTES * names
    assert store <= most, f"the store has {store}, allowed {most}"
    return run


def test_two_files_that_repeat_one_block_group_are_not_compared_over_and_over(tree, dedupd):
    for name in ("one", "two"):
        write(tree / name, noise(1, 128 * KIB))
        repeat(tree / name, 60000, 128 * KIB)

    run = check_limits(dedupd, tree, physical=256 * KIB)

    assert run.freed_bytes == 0
    assert run.skip_of("clones")["bytes"] == 128 * KIB
    assert run.read["costly_bytes"] > 32 * 128 * KIB


@pytest.mark.parametrize("mine", [1, 2, 5, 10])
@pytest.mark.parametrize("theirs", [1, 2, 5, 10])
def test_few_clones_of_either_side_are_no_hindrance(tree, dedupd, mine, theirs):
    make_clones(tree, "mine", mine)
    make_clones(tree, "theirs", theirs)

    run = check_limits(dedupd, tree)

    assert run.freed_bytes == MIB
    assert "clones" not in run.skipped


def test_a_file_that_others_cloned_since_it_was_read_is_redirected_too(tree, dedupd):
    write(tree / "mine-0", noise(1, MIB))
    check_limits(dedupd, tree)
    for number in range(1, 4):
        clone_file(tree / "mine-0", tree / f"mine-{number}")
    make_clones(tree, "theirs", 8)

    run = check_limits(dedupd, tree)

    assert run.freed_bytes == MIB


def test_what_a_failed_pass_shared_is_redirected_too(tree, dedupd, failing_calls):
    for number in range(4):
        write(tree / f"mine-{number}", noise(1, MIB))
    harness.settle(dedupd.filesystem)
    # It flushes what it shared before it settles.
    dedupd.feigned = {"LD_PRELOAD": failing_calls, "FAIL_SET": "syncfs", "FAIL_AT": "2"}
    failed = dedupd.run()
    dedupd.feigned = {}
    assert failed.status == 1 and failed.freed_bytes == 3 * MIB, failed.stderr
    check_limits(dedupd, tree)
    # The store knows that these are clones.
    for number in range(4, 6):
        write(tree / f"mine-{number}", noise(1, MIB))
    check_limits(dedupd, tree)
    make_clones(tree, "theirs", 8)

    run = check_limits(dedupd, tree)

    assert run.freed_bytes == MIB


def test_copies_that_were_overwritten_in_places_are_freed(tree, dedupd):
    """All share with the same blocks: the references that these have by then cost nothing."""
    chance = random.Random(1)
    data = noise(1, 16 * MIB)
    write(tree / "image", data)
    equal_blocks = 0
    for number in range(8):
        copy = bytearray(data)
        block = 0
        # What is left is long enough for anchors.
        while (block := block + chance.randrange(10, 20)) < len(data) // BLOCK:
            copy[block * BLOCK:(block + 1) * BLOCK] = chance.randbytes(BLOCK)
            equal_blocks -= 1
        equal_blocks += len(data) // BLOCK
        write(tree / f"copy-{number}", copy)

    run = harness.check_pass(dedupd, tree).first
    assert run.freed_bytes >= 0.97 * equal_blocks * BLOCK
    assert "clones" not in run.skipped


def test_the_side_with_fewer_references_is_freed(tree, dedupd):
    write(tree / "few", noise(1, 64 * MIB))
    write(tree / "many", noise(1, 64 * MIB))
    for number in range(299):
        clone_file(tree / "many", tree / f"many-{number}")

    run = check_limits(dedupd, tree, physical=128 * MIB)

    assert run.freed_bytes == 64 * MIB
    assert run.read["compare_bytes"] <= 2 * 64 * MIB + MIB


def test_many_clones_of_both_sides_are_left_alone_with_a_reason(tree, dedupd):
    for name in ("one", "two"):
        write(tree / name, noise(1, 4 * MIB))
        for number in range(299):
            clone_file(tree / name, tree / f"{name}-{number}")

    run = check_limits(dedupd, tree, physical=8 * MIB)

    assert run.freed_bytes == 0
    assert run.skip_of("clones")["bytes"] == 4 * MIB


def make_clones_of_two(tree, size, clones):
    for name in ("one", "two"):
        write(tree / name, noise(1, size))
        for number in range(clones - 1):
            clone_file(tree / name, tree / f"{name}-{number}")


def test_clones_of_both_sides_are_freed_if_max_compare_pays(tree, dedupd):
    make_clones_of_two(tree, 32 * MIB, 12)

    run = check_limits(dedupd, tree, physical=64 * MIB)

    assert run.freed_bytes == 32 * MIB
    assert "clones" not in run.skipped


def test_max_compare_says_how_many_clones_are_worth_it(tree, dedupd):
    make_clones_of_two(tree, 16 * MIB, 40)
    harness.settle(dedupd.filesystem)

    left = dedupd.run(tree)
    assert left.freed_bytes == 0
    assert left.skip_of("clones")["bytes"] == 16 * MIB
    paid = harness.check_pass(dedupd, tree, max_compare=41).first
    assert paid.freed_bytes == 16 * MIB


@pytest.mark.alone
def test_of_two_sides_with_many_clones_one_is_skipped(tree, dedupd):
    """A cached file is the source of what comes before it; its own clones have other sources."""
    make_clones_of_two(tree, 16 * MIB, 40)
    harness.settle(dedupd.filesystem)
    dedupd.filesystem.forget_data()
    cache_pages(tree / "two")

    run = dedupd.run(tree)

    assert run.freed_bytes == 0
    assert sorted(run.skip_of("clones")["examples"]) == [str(tree / "one")]
    assert run.skip_of("clones")["bytes"] == 16 * MIB


def shuffled_clone(source, path, order):
    """A clone of the blocks of @source in another order: each of them is an extent of its own."""
    with open(source, "rb") as whole, open(path, "wb") as copy:
        for at, block in enumerate(order):
            ioctls.clone_range(whole.fileno(), block * BLOCK, BLOCK, copy.fileno(), at * BLOCK)


def test_more_references_than_memory_holds_are_redirected_in_rounds(tree, dedupd):
    size = 4 * MIB
    order = random.Random(3).sample(range(size // BLOCK), size // BLOCK)
    for name in ("one", "two"):
        write(tree / name, noise(1, size))
        shuffled_clone(tree / name, tree / f"{name}-0", order)
        for number in range(1, 6):
            clone_file(tree / f"{name}-0", tree / f"{name}-{number}")

    run = check_limits(dedupd, tree, physical=2 * size, memory="4M")

    assert run.freed_bytes == size
    assert "clones" not in run.skipped


def test_the_store_follows_the_data_and_not_its_clones(tree, dedupd):
    write(tree / "data", noise(1, 64 * MIB))
    for number in range(10):
        clone_file(tree / "data", tree / f"file-{number}")
        repeat(tree / f"file-{number}", 300, 64 * MIB)

    run = check_limits(dedupd, tree, physical=64 * MIB)

    assert run.store["anchors"] <= 64 * MIB // 4096 // 3


def test_a_copy_that_came_later_is_freed_in_place_of_clones(tree, dedupd):
    """The clones were settled by an earlier pass, or the copy was."""
    write(tree / "copy", noise(1, 8 * MIB))
    check_limits(dedupd, tree)
    write(tree / "tree", noise(1, 8 * MIB))
    for number in range(4):
        clone_file(tree / "tree", tree / f"tree-{number}")

    run = check_limits(dedupd, tree)

    assert run.freed_bytes == 8 * MIB
    assert run.read["compare_bytes"] <= 2 * 8 * MIB + MIB


def test_a_clone_is_found_after_the_file_that_stood_for_it_is_gone(tree, dedupd):
    write(tree / "first", noise(1, 4 * MIB))
    clone_file(tree / "first", tree / "second")
    clone_file(tree / "first", tree / "third")
    check_limits(dedupd, tree)

    left = ["first", "second", "third"]
    random.Random(1).shuffle(left)
    for number, name in enumerate(left[:2]):
        (tree / name).unlink()
        check_limits(dedupd, tree)
        # Anchors alone find it, as it is no copy of the whole.
        write(tree / f"copy-{number}", noise(10 + number, 4 * KIB) + noise(1, 4 * MIB))
        assert check_limits(dedupd, tree).freed_bytes == 4 * MIB
        (tree / f"copy-{number}").unlink()


def stop_after(seconds, dedupd, **options):
    """A pass that was told to end so many seconds after it began."""
    harness.settle(dedupd.filesystem)
    dedupd.filesystem.forget_data()
    process = dedupd.start(**options)
    time.sleep(seconds)
    process.send_signal(signal.SIGTERM)
    stopped = dedupd.finish(process)
    assert stopped.report["outcome"] == "interrupted"
    return stopped


def test_a_pass_that_was_stopped_leaves_the_clones_of_lost_files_to_the_next_one(tree, dedupd):
    names = ("one", "two")
    for seed, name in enumerate(names):
        write(tree / name, noise(seed, 4 * MIB))
        clone_file(tree / name, tree / f"{name}-clone")
    check_limits(dedupd, tree)
    # The pass drops these at once, and then takes seconds to read the clones again.
    for name in names:
        (tree / name).unlink()
    stopped = stop_after(1.5, dedupd, limit_rate="1M")
    assert stopped.filesystem["files"]["gone"] == 2
    assert stopped.read["finding_bytes"] < 4 * MIB

    for seed, name in enumerate(names):
        # Anchors alone find it, as it is no copy of the whole.
        write(tree / f"{name}-copy", noise(10 + seed, 4 * KIB) + noise(seed, 4 * MIB))
    assert check_limits(dedupd, tree).freed_bytes == 8 * MIB


def prune(dedupd):
    (row,) = harness.dedupctl_rows("store", "prune", dedupd=dedupd)
    assert row["files"] == 1


def move_to_another_machine(dedupd):
    lines = harness.dedupctl("export", dedupd=dedupd).stdout
    harness.dedupctl("import", "--replace", dedupd=dedupd, input=lines)


@pytest.mark.parametrize("lost", ["first", "second"])
@pytest.mark.parametrize("before, after", [(None, prune), (move_to_another_machine, None)], ids=["prune", "import"])
def test_a_changed_store_knows_which_clones_to_read_again(tree, dedupd, lost, before, after):
    """One of the two stood for the other."""
    write(tree / "first", noise(1, 4 * MIB))
    clone_file(tree / "first", tree / "second")
    check_limits(dedupd, tree)
    if before:
        before(dedupd)
    (tree / lost).unlink()
    ioctls.sync(tree)
    if after:
        after(dedupd)

    # Anchors alone find it, as it is no copy of the whole.
    write(tree / "copy", noise(10, 4 * KIB) + noise(1, 4 * MIB))
    assert check_limits(dedupd, tree).freed_bytes == 4 * MIB


def test_a_file_that_was_read_in_part_is_found_after_the_one_that_stood_for_that_part_is_gone(tree, dedupd):
    write(tree / "first", noise(1, 32 * MIB))
    with open(tree / "first", "rb") as source, open(tree / "large", "wb") as target:
        # A stopped pass keeps what it knows of files of more than a GiB.
        target.truncate(2 << 30)
        ioctls.clone_range(source.fileno(), 0, 32 * MIB, target.fileno(), 0)
    content.overwrite(tree / "large", 1 << 30, noise(2, 64 * MIB))
    stopped = stop_after(4, dedupd, limit_rate="16M")
    assert 33 * MIB <= stopped.read["finding_bytes"] <= 95 * MIB

    (tree / "first").unlink()
    # Anchors alone find it, as it is no copy of the whole.
    write(tree / "copy", noise(10, 4 * KIB) + noise(1, 32 * MIB))
    harness.settle(dedupd.filesystem)
    assert dedupd.run().freed_bytes == 32 * MIB


def test_clones_that_come_pass_after_pass_leave_the_store_as_it_is(tree, dedupd):
    write(tree / "data", noise(1, 64 * MIB))
    sizes = []
    for number in range(6):
        # All of it would be 3,600 anchors each time.
        clone_file(tree / "data", tree / f"file-{number}")
        # Not the same file again: a block of its own, which is new data.
        with open(tree / f"file-{number}", "r+b") as file:
            file.write(noise(100 + number, 4 * KIB))
        sizes.append(check_limits(dedupd, tree, physical=64 * MIB).store["anchors"])

    # A few blocks get anchors again before it is worth to look at what is known.
    assert sizes[-1] <= sizes[1] + 4 * 400, sizes


@pytest.mark.parametrize("after", [0.1, 0.6])
def test_a_pass_over_clones_without_end_stops_when_it_is_asked_to(tree, dedupd, after):
    for name in ("one", "two"):
        write(tree / name, noise(1, 128 * KIB))
        repeat(tree / name, 40000, 128 * KIB)
    harness.settle(dedupd.filesystem)

    process = dedupd.start()
    time.sleep(after)
    process.send_signal(signal.SIGTERM)
    asked = time.monotonic()
    dedupd.finish(process)

    assert time.monotonic() - asked < 2


def test_a_pass_after_one_that_was_stopped_frees_what_it_can(tree, dedupd):
    for name in ("mine", "theirs"):
        write(tree / f"{name}-0", noise(1, 16 * MIB))
        clone_file(tree / f"{name}-0", tree / f"{name}-1")
    harness.settle(dedupd.filesystem)
    process = dedupd.start()
    time.sleep(0.1)
    process.send_signal(signal.SIGTERM)
    dedupd.finish(process)
    freed = 32 * MIB - oracle.physical_bytes(tree)

    run = check_limits(dedupd, tree)

    assert freed + run.freed_bytes == 16 * MIB


def test_zeros_that_clones_show_become_a_hole(tree, dedupd):
    write(tree / "one", noise(1, 256 * KIB) + bytes(4 * MIB) + noise(2, 256 * KIB))
    clone_file(tree / "one", tree / "two")
    clone_file(tree / "one", tree / "three")

    assert check_limits(dedupd, tree).freed_bytes == 4 * MIB


def test_parts_of_clones_are_freed_for_all_of_them(tree, dedupd):
    """Clones at other places of other files, and a second copy that is cut elsewhere."""
    data = noise(1, 2 * MIB)
    write(tree / "one", data)
    write(tree / "two", noise(2, 256 * KIB) + data[MIB // 2:] + noise(3, 64 * KIB))
    for number, (source, start, length, place) in enumerate([
            ("one", 0, MIB, 0), ("one", MIB // 2, MIB, 3 * MIB), ("one", MIB, MIB, 64 * KIB),
            ("two", 256 * KIB, MIB, 0), ("two", 512 * KIB, 512 * KIB, 128 * KIB)]):
        path = tree / f"part-{number}"
        write(path, noise(10 + number, 32 * KIB))
        with open(tree / source, "rb") as of, open(path, "r+b") as to:
            ioctls.clone_range(of.fileno(), start, length, to.fileno(), max(place, 32 * KIB))

    assert check_limits(dedupd, tree).freed_bytes >= MIB


def arrange(tree, seed):
    """Clones in an arrangement that nobody thought of."""
    chance = random.Random(seed)
    size = chance.choice([64 * KIB, 256 * KIB, MIB, 4 * MIB])
    names = []
    for number in range(chance.randint(2, 5)):
        data = noise(chance.randint(1, 2), size)
        if chance.random() < 0.3:
            data += bytes(128 * KIB) + noise(chance.randint(1, 3), 64 * KIB)
        write(tree / f"file-{number}", data)
        names.append(f"file-{number}")
    for number in range(chance.choice([5, 40, 300])):
        source = tree / chance.choice(names)
        target = tree / (chance.choice(names) if chance.random() < 0.5 else f"clone-{number}")
        block = 4 * KIB
        start = chance.randrange(source.stat().st_size // block) * block
        length = chance.randint(1, max(1, (source.stat().st_size - start) // block)) * block
        length = min(length, source.stat().st_size // block * block - start)
        have = target.stat().st_size if target.exists() else 0
        place = chance.choice([have // block, chance.randrange(have // block + 64)]) * block
        if length <= 0 or (source == target and place < start + length and start < place + length):
            continue
        with open(source, "rb") as of, open(target, "ab") as _, open(target, "r+b") as to:
            ioctls.clone_range(of.fileno(), start, length, to.fileno(), place)
        if target.name not in names:
            names.append(target.name)


@pytest.mark.parametrize("seed", harness.seeds(6))
def test_any_arrangement_of_clones_keeps_the_limits(tree, dedupd, seed):
    arrange(tree, seed)
    check_limits(dedupd, tree)
    arrange(tree, seed + 1000)
    check_limits(dedupd, tree)


def test_what_becomes_a_source_in_the_pass_is_not_moved_away_from_who_shares_it(tree, dedupd):
    data = noise(1, MIB)
    write(tree / "settled", data)
    harness.check_pass(dedupd)
    write(tree / "one", data)
    clone_file(tree / "one", tree / "clone")
    write(tree / "other", data)

    harness.check_pass(dedupd, has_clones=True)

    for name in ("one", "clone", "other"):
        assert oracle.is_shared(tree / "settled", tree / name), name
