# SPDX-License-Identifier: GPL-2.0-or-later
"""With --read=same-size identical files are found, and no more is read than that takes.

DEDUPD_SEEDS chooses the number of random trees of each kind (4), DEDUPD_SEED the first of them.
"""

import collections
import hashlib
import os
import random
import signal
import time

import pytest

import harness
import ioctls
import oracle
from content import BLOCK, KIB, MIB, clone, noise, write, write_sparse

SEEDS = harness.seeds(4)
HEAD = 4 * KIB
SMALL = 16 * KIB  # files up to here are read at once
LEAST = 4097      # below, btrfs may keep them in its metadata


def sets_of(tree):
    """Lists of identical files, each inode once, by SHA-256."""
    contents = collections.defaultdict(dict)
    for path in sorted(path for path in tree.rglob("*") if path.is_file() and not path.is_symlink()):
        status = path.stat()
        if status.st_size > 0:
            digest = hashlib.sha256(path.read_bytes()).digest()
            contents[status.st_size, digest].setdefault(status.st_ino, path)
    return [list(paths.values()) for paths in contents.values() if len(paths) > 1]


def are_one(one, other):
    """Whether two identical files share every block that neither has as a hole."""
    return all(a == b or a is None or b is None
               for a, b in zip(oracle.block_addresses(one), oracle.block_addresses(other)))


def missed(sets):
    """Pairs of identical files that do not share what they hold."""
    return [(paths[0].name, path.name) for paths in sets for path in paths[1:]
            if not are_one(paths[0], path)]


def check(dedupd, sets=None, **options):
    """check_pass() of a pass that reads what may be identical; @sets are those it is to find."""
    done = harness.check_pass(dedupd, read="same-size", **options)
    assert done.first.found["read"] == "same-size"
    assert done.first.shared["differed"] == 0
    assert not missed(sets_of(dedupd.tree))
    if sets is not None:
        assert done.first.found["sets"] == sets
    return done


def most_to_read(tree):
    """Bytes of the heads of files whose size others have, and of files whose head others have."""
    sizes, heads = collections.defaultdict(list), collections.defaultdict(list)
    for path in tree.rglob("*"):
        if path.is_file():
            sizes[path.stat().st_size].append(path)
    alike = [path for paths in sizes.values() for path in paths if len(paths) > 1]
    for path in alike:
        heads[path.stat().st_size, path.read_bytes()[:HEAD]].append(path)
    small = sum(path.stat().st_size for path in alike if path.stat().st_size <= SMALL)
    large = [paths for (size, _), paths in heads.items() if size > SMALL]
    return small + sum(len(paths) * HEAD + (sum(path.stat().st_size for path in paths)
                                            if len(paths) > 1 else 0) for paths in large)


@pytest.fixture(name="dedupd")
def dedupd_fixture(dedupd, tree):
    dedupd.tree = tree
    return dedupd


class RandomTree:
    """Files of few sizes, of which some are identical and others nearly so."""

    def __init__(self, tree, seed):
        self.tree = tree
        self.random = random.Random(seed)
        self.files = []
        self.n_made = 0
        self.sizes = [self.random.choice([LEAST, 5000, 8191, 8192, SMALL - 1, SMALL, SMALL + 1,
                                          20000, 65536, 70001, 300 * KIB, MIB, 2 * MIB + 1])
                      for _ in range(4)]

    def _data(self):
        size = self.random.choice(self.sizes)
        data = bytearray(noise(self.random.randrange(3), size))
        for _ in range(self.random.randrange(3)):
            # Other heads, other tails, other middles; the same change is made now and then.
            place = self.random.choice([0, size - 1, size // 2, min(HEAD, size - 1), HEAD - 1])
            data[place] ^= self.random.choice([1, 2])
        if self.random.random() < 0.15:
            start = self.random.randrange(size)
            data[start:] = bytes(size - start)
        if self.random.random() < 0.1:
            data = bytearray(size)
        return bytes(data)

    def _write(self, path):
        data = self._data()
        if self.random.random() < 0.8:
            write(path, data)
        else:
            write_sparse(path, len(data), {at: data[at:at + BLOCK]
                                           for at in range(0, len(data), BLOCK)
                                           if any(data[at:at + BLOCK])})

    def add(self, count):
        for _ in range(count):
            directory = self.tree / f"directory-{self.random.randrange(4)}"
            directory.mkdir(exist_ok=True)
            path = directory / f"file-{self.n_made}"
            self.n_made += 1
            choice = self.random.random()
            if choice < 0.1 and self.files:
                os.link(self.random.choice(self.files), path)
            elif choice < 0.2 and self.files:
                clone(self.random.choice(self.files), path)
            else:
                self._write(path)
            self.files.append(path)

    def remove(self, count):
        for path in self.random.sample(self.files, count):
            path.unlink()
            self.files.remove(path)

    def overwrite(self, count):
        for path in self.random.sample(self.files, count):
            path.unlink()
            self._write(path)


@pytest.mark.parametrize("seed", SEEDS)
def test_all_sets_of_a_random_tree_are_found_and_shared(tree, dedupd, seed):
    RandomTree(tree, seed).add(60)
    sets = sets_of(tree)

    done = check(dedupd, sets=len(sets), has_clones=True)

    assert done.first.read["finding_bytes"] <= most_to_read(tree)
    assert not done.first.skipped


@pytest.mark.parametrize("seed", SEEDS[:max(1, len(SEEDS) // 2)])
def test_passes_between_changes_find_what_one_pass_would(tree, dedupd, seed):
    made = RandomTree(tree, 1000 + seed)
    for _ in range(4):
        made.add(15)
        made.overwrite(3)
        check(dedupd, has_clones=True)
        made.remove(4)


def test_a_size_that_only_one_file_has_is_not_read(tree, dedupd):
    for number in range(1, 20):
        write(tree / f"{number}", noise(1, 10 * KIB * number + 1))

    done = check(dedupd, sets=0)

    assert done.first.files["seen"] == 19
    assert done.first.files["read"] == 0
    assert done.first.read["finding_bytes"] == 0


def test_a_head_that_only_one_file_has_is_all_that_is_read(tree, dedupd):
    for number in range(8):
        write(tree / f"{number}", noise(number, MIB))

    done = check(dedupd, sets=0)

    assert done.first.files["read"] == 0
    assert done.first.read["finding_bytes"] == 8 * HEAD


def test_one_byte_makes_another_file(tree, dedupd):
    data = noise(1, 100001)
    for place in (0, HEAD - 1, HEAD, 50000, 100000):
        other = bytearray(data)
        other[place] ^= 1
        write(tree / f"{place}", other)
    write(tree / "a", data)
    write(tree / "b", data)

    done = check(dedupd, sets=1)

    assert done.first.read["finding_bytes"] == 7 * HEAD + 5 * 100001
    assert done.freed_bytes == 25 * BLOCK


def test_an_equal_of_a_file_that_was_alone_has_both_read(tree, dedupd):
    for size, name in ((SMALL, "small"), (MIB, "large")):
        write(tree / name, noise(1, size))
    assert check(dedupd, sets=0).first.read["finding_bytes"] == 0

    for size, name in ((SMALL, "small-2"), (MIB, "large-2")):
        write(tree / name, noise(1, size))
    done = check(dedupd, sets=2)

    assert done.first.files["read"] == 4
    assert done.freed_bytes == SMALL + MIB


def test_a_head_is_remembered_until_another_file_has_it(tree, dedupd):
    write(tree / "a", noise(1, MIB))
    write(tree / "b", noise(2, MIB))
    assert check(dedupd, sets=0).first.read["finding_bytes"] == 2 * HEAD

    write(tree / "c", noise(3, MIB))
    assert check(dedupd, sets=0).first.read["finding_bytes"] == HEAD

    write(tree / "d", noise(1, MIB))
    done = check(dedupd, sets=1)

    assert done.first.read["finding_bytes"] == HEAD + 2 * MIB
    assert done.freed_bytes == MIB


def test_what_is_read_already_is_compared_by_what_is_known(tree, dedupd):
    write(tree / "a", noise(1, MIB))
    write(tree / "b", noise(1, MIB))
    check(dedupd, sets=1)

    write(tree / "c", noise(1, MIB))
    write(tree / "d", noise(2, MIB))
    done = check(dedupd, sets=1)

    assert done.first.read["finding_bytes"] == 2 * HEAD + MIB
    assert done.freed_bytes == MIB


def test_equals_in_two_parts_are_found_by_a_pass_over_both(tree, dedupd):
    for name in ("one", "other"):
        (tree / name).mkdir()
        write(tree / name / "file", noise(1, MIB))
    harness.settle(dedupd.filesystem)
    for name in ("one", "other"):
        run = dedupd.run(tree / name, read="same-size")
        assert run.read["finding_bytes"] == 0 and run.found["sets"] == 0, run.filesystem

    assert check(dedupd, sets=1).freed_bytes == MIB


def test_a_file_outside_that_was_read_serves_as_a_source(tree, dedupd):
    for name in ("one", "other"):
        (tree / name).mkdir()
    write(tree / "one" / "a", noise(1, MIB))
    write(tree / "one" / "b", noise(1, MIB))
    check(dedupd, sets=1)
    write(tree / "other" / "c", noise(1, MIB))

    done = check(dedupd, sets=1, paths=[tree / "other"])

    assert done.freed_bytes == MIB


def test_names_of_one_file_are_one_file(tree, dedupd):
    write(tree / "a", noise(1, MIB))
    os.link(tree / "a", tree / "b")

    assert check(dedupd, sets=0).first.read["finding_bytes"] == 0


def test_what_files_share_is_read_once(tree, dedupd):
    for size in (SMALL, 4 * MIB):
        write(tree / f"{size}", noise(1, size))
        ioctls.sync(tree)
        for number in range(3):
            clone(tree / f"{size}", tree / f"{size}-{number}")

    done = check(dedupd, sets=2)

    # On btrfs the extents may not be told to be shared by the length of a head.
    assert done.first.read["finding_bytes"] <= SMALL + 4 * HEAD + 4 * MIB + SMALL * 3
    assert done.first.shared["calls"] == 0
    assert done.first.shared["already_bytes"] == 3 * (SMALL + 4 * MIB)


def test_small_and_empty_files_are_left_alone(tree, dedupd):
    for number in range(3):
        (tree / f"empty-{number}").touch()
        write(tree / f"small-{number}", noise(1, 9 * KIB))
        write(tree / f"large-{number}", noise(1, 11 * KIB))

    done = harness.check_pass(dedupd, read="same-size", min_size="10K")

    assert done.first.found["sets"] == 1
    assert done.first.skipped == {"small": 6}
    assert done.freed_bytes == 2 * 3 * BLOCK


def test_empty_files_are_no_set(tree, dedupd):
    for number in range(3):
        (tree / f"{number}").touch()

    assert check(dedupd, sets=0, min_size=0).first.files["read"] == 0


@pytest.mark.parametrize("zeros, freed", [("auto", MIB // 2), ("hole", MIB // 2), ("keep", 0)])
def test_zeros_in_identical_files_are_shared_unless_they_are_to_stay(tree, dedupd, zeros, freed):
    for name in "ab":
        write(tree / name, noise(1, MIB // 2) + bytes(MIB // 2))

    done = harness.check_pass(dedupd, read="same-size", zeros=zeros)

    assert done.first.found["sets"] == 1
    assert done.freed_bytes == MIB // 2 + freed
    assert done.first.freed["hole_bytes"] == 0


def test_a_hole_of_the_twin_takes_the_place_of_zeros(tree, dedupd):
    data = noise(1, BLOCK)
    for size, end in ((MIB, data), (64 * KIB, b"")):
        content = data + bytes(size - BLOCK - len(end)) + end
        for name in "ab":
            write(tree / f"{size}-{name}", content)
        write_sparse(tree / f"{size}-sparse", size,
                     {0: data, **({size - BLOCK: end} if end else {})})

    done = check(dedupd, sets=2)

    # Whichever of the three stays.
    assert done.first.freed["hole_bytes"] <= done.freed_bytes
    assert done.freed_bytes >= (MIB + BLOCK) + (64 * KIB + BLOCK) - BLOCK


def test_zeros_alone_are_a_set(tree, dedupd):
    for name in "ab":
        write(tree / name, bytes(MIB))
    write_sparse(tree / "hole", MIB, {})

    assert check(dedupd, sets=1).freed_bytes >= MIB


def test_zeros_of_one_file_stay(tree, dedupd):
    write(tree / "a", bytes(MIB))
    write(tree / "b", noise(1, MIB))

    done = harness.check_pass(dedupd, read="same-size", zeros="hole")

    assert done.freed_bytes == 0


def test_reading_all_later_finds_what_is_equal_in_part(tree, dedupd):
    write(tree / "a", noise(1, MIB))
    write(tree / "b", noise(1, MIB))
    write(tree / "c", noise(1, MIB) + noise(2, MIB))
    check(dedupd, sets=1)

    done = harness.check_pass(dedupd, read="all", has_clones=True)

    assert done.first.found["read"] == "all"
    assert done.freed_bytes == MIB
    # What a and b share is read once.
    assert done.first.read["finding_bytes"] == 3 * MIB


def test_what_was_read_in_all_is_not_read_again(tree, dedupd):
    write(tree / "a", noise(1, MIB))
    write(tree / "b", noise(1, MIB) + noise(2, MIB))
    harness.check_pass(dedupd, read="all")

    done = check(dedupd)
    assert done.first.read["finding_bytes"] == 0

    write(tree / "c", noise(1, MIB))
    done = check(dedupd, sets=1, has_clones=True)
    assert done.first.read["finding_bytes"] == HEAD + MIB
    assert done.freed_bytes == MIB


def test_another_mode_of_a_file_has_nothing_read(tree, dedupd):
    write(tree / "alone", noise(1, MIB + 1))
    for number in range(3):
        write(tree / f"{number}", noise(number, MIB))
    check(dedupd, sets=0)
    for path in tree.iterdir():
        path.chmod(0o600)

    done = check(dedupd)

    assert done.first.files["doubted"] == 4
    assert done.first.read["finding_bytes"] == 0


def test_another_name_of_a_file_is_the_one_that_is_known(tree, dedupd):
    write(tree / "alone", noise(1, MIB))
    check(dedupd, sets=0)
    (tree / "directory").mkdir()
    (tree / "alone").rename(tree / "directory" / "renamed")
    write(tree / "other", noise(1, MIB))

    assert check(dedupd, sets=1).freed_bytes == MIB


def test_a_swap_file_is_not_shared(tree, dedupd):
    data = bytearray(noise(1, 64 * KIB))
    data[4086:4096] = b"SWAPSPACE2"
    for name in "ab":
        write(tree / name, data)

    done = check_nothing_is_shared(dedupd)

    assert done.first.skipped == {"swap-file": 2}


def check_nothing_is_shared(dedupd):
    done = harness.check_pass(dedupd, read="same-size")
    assert done.freed_bytes == 0 and done.first.shared["calls"] == 0
    return done


def test_between_owners_nothing_is_shared_and_each_shares_with_itself(tree, dedupd):
    for number in range(4):
        write(tree / f"{number}", noise(1, MIB))
        os.chown(tree / f"{number}", number % 2, 0)

    done = harness.check_pass(dedupd, read="same-size", across_owners="no")

    assert done.freed_bytes == 2 * MIB


def test_many_equal_files_are_one_set(tree, dedupd, kind):
    for number in range(300):
        write(tree / f"{number}", noise(1, 10 * KIB))

    done = check(dedupd, sets=1)

    assert done.freed_bytes == 299 * 3 * BLOCK
    # On XFS the first block has a call of its own.
    assert done.first.shared["calls"] == 299 * (2 if kind == "xfs" else 1)


def test_an_ended_pass_is_gone_on_with(tree, filesystem, dedupd):
    for number in range(12):
        write(tree / f"{number}-1", noise(number, MIB))
        write(tree / f"{number}-2", noise(number, MIB))
    harness.settle(filesystem)
    filesystem.forget_data()
    process = dedupd.start(read="same-size", limit_rate="8M")
    time.sleep(1.5)
    process.send_signal(signal.SIGTERM)
    interrupted = dedupd.finish(process)
    assert interrupted.status == 143, interrupted.stderr

    done = check(dedupd)

    assert interrupted.freed_bytes + done.freed_bytes == 12 * MIB


@pytest.mark.alone
def test_nothing_stays_in_the_page_cache(tree, filesystem, dedupd):
    for number in range(20):
        write(tree / f"small-{number}", noise(number // 2, 12 * KIB))
        write(tree / f"large-{number}", noise(number // 2, 200 * KIB))
        write(tree / f"alone-{number}", noise(number, MIB))
    if ioctls.resident_bytes(tree / "small-0") is None:
        pytest.skip("this kernel has no cachestat(2)")
    harness.settle(filesystem)
    for dry_run in (True, False):
        filesystem.forget_data()
        drops = harness.cache_drops()

        run = dedupd.run(read="same-size", dry_run=dry_run)

        assert run.status == 0, run.stderr
        if harness.cache_drops() != drops:
            pytest.skip("somebody else emptied the page cache meanwhile")
        assert sum(ioctls.resident_bytes(path) for path in tree.iterdir()) == 0


@pytest.mark.alone
def test_a_dry_run_reads_no_head_twice(tree, filesystem, dedupd):
    for number in range(1000):
        write(tree / f"{number}", noise(number // 2, 20 * KIB))
    harness.settle(filesystem)
    allowed = 1000 * 20 * KIB + harness.metadata_bytes(filesystem, tree) + MIB
    filesystem.forget_data()
    drops = harness.cache_drops()

    run = dedupd.run(read="same-size", dry_run=True)

    assert run.found["sets"] == 500
    if harness.cache_drops() != drops:
        pytest.skip("somebody else emptied the page cache meanwhile")
    assert run.device_bytes <= allowed


def test_a_dry_run_finds_the_same_sets(tree, filesystem, dedupd):
    RandomTree(tree, 77).add(40)
    harness.settle(filesystem)
    layout = oracle.layout(tree)

    run = dedupd.run(read="same-size", dry_run=True)

    assert run.found["sets"] == len(sets_of(tree))
    assert oracle.layout(tree) == layout


@pytest.mark.parametrize("policy", ("same-size", "all"))
def test_a_dry_run_says_what_a_pass_frees(tree, filesystem, dedupd, policy):
    for number in range(200):
        write(tree / f"small-{number}", noise(number // 3, 10_000))
        write(tree / f"large-{number}", noise(number // 3, 100_000))
    write(tree / "shared", noise(1000, 3 * MIB))
    clone(tree / "shared", tree / "shared-too")
    write(tree / "unshared", noise(1000, 3 * MIB))
    for name in ("sparse", "sparse-too"):
        write_sparse(tree / name, 2 * MIB, {256 * KIB: noise(1001, 256 * KIB)})
    for name in ("zeros", "zeros-too"):
        write(tree / name, noise(1002, 128 * KIB) + bytes(256 * KIB) + noise(1003, 100_000))
    write(tree / "cut", noise(1000, MIB))
    harness.settle(filesystem)

    estimated = dedupd.run(read=policy, dry_run=True)
    run = dedupd.run(read=policy)

    assert estimated.status == run.status == 0, run.stderr
    # Where runs begin and end inside files is found when they are compared.
    most_off = 0 if policy == "same-size" else run.freed["bytes"] // 100
    assert abs(estimated.freed["bytes"] - run.freed["bytes"]) <= most_off
    assert run.freed["bytes"] > 10 * MIB


def test_found_by_checksums_it_changes_nothing(make_filesystem, make_dedupd):
    filesystem = make_filesystem("btrfs")
    tree = filesystem.mount_point
    write(os.path.join(tree, "a"), noise(1, MIB))
    write(os.path.join(tree, "b"), noise(1, MIB) + noise(2, MIB))

    done = harness.check_btrfs_pass(make_dedupd(filesystem), read="same-size")

    assert done.first.found["read"] is None
    assert done.freed_bytes == MIB
