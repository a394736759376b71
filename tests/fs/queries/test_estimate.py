# SPDX-License-Identifier: GPL-2.0-or-later
"""dedupctl estimate: what it foretells, held against what a pass then does."""

import contextlib
import json
import os
import pathlib
import random
import signal
import subprocess
import time

import pytest

import content
import damage
import harness
import ioctls
import mixture
import oracle
import schemas
import subvolumes
from content import BLOCK, KIB, MIB, noise, write, write_extent

UNREADABLE = 4
WITHIN = 0.02
SNAPSHOTS_WITHIN = 0.05


def run(*words, config="none", environment=None, messages=None, **options):
    done = harness.dedupctl("estimate", f"--config={config}", *words, **options,
                            env={**os.environ, "LC_ALL": "C.UTF-8", **(environment or {})})
    if messages is not None:
        messages += done.stderr.splitlines()
    return done.stdout


def estimate(*words, **options):
    (row,) = json.loads(run("--json", *words, **options))["estimates"]
    return row


def by(row, curve, key):
    """{unit: bytes} of a curve."""
    return {point[key]: point["bytes"] for point in row[curve]}


def write_mixture(tree):
    """Equal, shifted, edited, cut off, sparse, cloned and unique files."""
    chance = random.Random(5)
    image = noise(1, 6 * MIB)
    write_extent(tree / "image", image)
    write_extent(tree / "copy", image)
    content.clone(tree / "copy", tree / "clone")
    write_extent(tree / "shifted", noise(2, 3 * BLOCK) + image)
    edited = bytearray(image)
    for block in chance.sample(range(len(image) // BLOCK), 12):
        edited[block * BLOCK:(block + 1) * BLOCK] = noise(100 + block, BLOCK)
    write_extent(tree / "edited", bytes(edited))
    for number in range(200):
        write(tree / f"small-{number}", noise(number % 120, 5000 + 300 * (number % 120)))
    content.write_sparse(tree / "sparse", 8 * MIB, {MIB: image[:MIB], 5 * MIB: noise(9, MIB)})
    write(tree / "zeros", noise(8, 64 * KIB) + bytes(MIB) + noise(7, 64 * KIB))
    write(tree / "unique", noise(6, 3 * MIB))
    subprocess.run(["sync", "-f", tree], check=True)


def states_of(tree):
    return {path: (status.st_mtime_ns, status.st_ctime_ns, status.st_blocks)
            for path in sorted(tree.rglob("*")) for status in [path.lstat()]}


def test_a_pass_frees_what_was_foretold(dedupd, tree, kind):
    write_mixture(tree)
    before = states_of(tree)
    foretold = estimate("--full", tree)
    assert states_of(tree) == before
    assert foretold["by"] == harness.FIND[kind]
    assert foretold["sample"] == "all"
    assert foretold["pass_low_bytes"] <= foretold["pass_bytes"] <= foretold["pass_high_bytes"]
    if kind == "xfs":
        assert foretold["pass_low_bytes"] == foretold["pass_high_bytes"]
    assert foretold["deferred_bytes"] == (0 if kind == "btrfs" else None)

    freed = harness.check_pass(dedupd, find=harness.FIND[kind]).first.freed_bytes
    assert freed > 12 * MIB
    assert abs(foretold["pass_bytes"] - freed) <= WITHIN * freed
    # Afterwards there is nothing left to free, and what there was is gone, or known for shared.
    again = estimate("--full", tree)
    assert again["pass_bytes"] <= WITHIN * freed
    assert abs(foretold["data_bytes"] - again["data_bytes"] - freed) <= WITHIN * freed
    assert again["shared_bytes"] >= foretold["shared_bytes"] + freed - again["zeros_bytes"] - 2 * MIB


def fill_with_snapshots(tree, count=40):
    """A subvolume with twins of all ages: what was written early is in @count snapshots, what came last in none."""
    live = tree / "live"
    subvolumes.make_subvolume(live)
    chance = random.Random(7)
    for number in range(24):
        size = chance.choice((16 * KIB, 64 * KIB, 256 * KIB, MIB, 3 * MIB))
        data = noise(number, size)
        write_extent(live / f"one-{number}", data)
        write_extent(live / f"two-{number}", data if number % 3 else data[:-KIB * 8] + noise(1000 + number, KIB * 8))
    write_extent(live / "gone", noise(500, 2 * MIB))
    for number in range(count):
        data = noise(2000 + number, 128 * KIB)
        write_extent(live / f"new-{number}", data)
        write_extent(live / f"new-twin-{number}", data)
        subvolumes.snapshot(live, tree / f"kept-{number}")
    (live / "gone").unlink()
    content.write_twins(live, 4 * MIB, seed=3000)
    subprocess.run(["sync", "-f", tree], check=True)


def deferred_by(dedupd, *paths, **options):
    """What a pass freed, and what it deferred."""
    run = harness.check_btrfs_pass(dedupd, *paths, **options).first
    deferred = run.filesystem["deferred"]
    return run.freed_bytes, deferred["bytes"], deferred["written_bytes"]


def check_foretold(row, freed, deferred, written):
    assert abs(row["pass_bytes"] - freed) <= SNAPSHOTS_WITHIN * freed
    assert abs(row["deferred_bytes"] - deferred) <= SNAPSHOTS_WITHIN * deferred
    assert abs(row["deferred_written_bytes"] - written) <= SNAPSHOTS_WITHIN * max(written, MIB)
    total = freed + deferred
    assert abs(row["pass_bytes"] + row["deferred_bytes"] - total) <= SNAPSHOTS_WITHIN * total


@pytest.mark.parametrize("kind", ["btrfs"])
@pytest.mark.parametrize("where, policy", [("", "auto"), ("live", "auto"), ("", "writable"), ("", "share")])
def test_what_snapshots_hold_is_foretold_as_deferred(dedupd, tree, tmp_path, where, policy):
    """As a pass over that directory defers it: what snapshots show beyond it is no target then."""
    fill_with_snapshots(tree)
    config = tmp_path / "dedupd.conf"
    config.write_text(f"[Dedupd]\nReadOnlySnapshots={policy}\n", encoding="utf-8")
    row = estimate(tree / where, config=config)
    text = run(tree / where, config=config)

    freed, deferred, written = deferred_by(dedupd, tree / where, read_only_snapshots=policy)

    assert (deferred > 0) == (policy != "share" and not where) == ("deleting read-only snapshots would free" in text)
    check_foretold(row, freed, deferred, written)


WAYS = {
    "xfs": ("xfs", [], mixture.write_mixture),
    "btrfs": ("btrfs", [], mixture.write_mixture),
    "zstd": ("btrfs", ["compress-force=zstd"], mixture.write_mixture),
    "snapshots": ("btrfs", [], mixture.write_with_snapshots),
}


# Of these seeds a pass took copies of the one before for its own; found by chance what another store misses; and
# found an extent too costly that had become a source.
SEEDS = (90014, 262971137, 207853225)


@pytest.mark.parametrize("way, seed", [*((way, None) for way in WAYS), *(("snapshots", seed) for seed in SEEDS)])
def test_bounds_hold_what_a_pass_frees_of_any_data(make_filesystem, make_dedupd, way, seed):
    """Of other data in each run; and once more, of what is shared by then, with a new store."""
    kind, mount_options, fill = WAYS[way]
    filesystem = make_filesystem(kind, mount_options=mount_options)
    tree = pathlib.Path(filesystem.mount_point)
    seed = mixture.fresh_seed() if seed is None else seed
    print("seed", seed)
    fill(tree, seed)
    for state in ("first", "again"):
        harness.settle(filesystem)
        row = estimate("--full", tree)
        sample = estimate("--sample=25%", tree)
        used = harness.used_data_bytes(filesystem) if kind == "btrfs" else oracle.physical_bytes(tree)
        done = make_dedupd(filesystem, state=state).run(find=harness.FIND[kind])
        used -= harness.used_data_bytes(filesystem) if kind == "btrfs" else oracle.physical_bytes(tree)
        freed = used + done.filesystem["deferred"]["written_bytes"]
        said = f"seed {seed}, {state}: {row['pass_bytes']} foretold, {freed} freed"
        is_foretold = (abs(row["pass_bytes"] - freed) <= WITHIN * freed + 256 * KIB
                       or row["pass_low_bytes"] <= freed <= row["pass_high_bytes"])
        assert is_foretold, said
        assert sample["pass_low_bytes"] <= freed <= sample["pass_high_bytes"] or kind == "btrfs", said


def test_an_estimate_keeps_no_pass_from_running(make_filesystem, make_dedupd):
    """Nor does a pass that runs keep it."""
    filesystem = make_filesystem("xfs")
    tree = pathlib.Path(filesystem.mount_point)
    write_extent(tree / "one", noise(1, 4 * MIB))
    write_extent(tree / "two", noise(1, 4 * MIB))
    harness.settle(filesystem)
    content.forget_pages(tree)
    dedupd = make_dedupd(filesystem)
    slow = dedupd.start(limit_rate="64K")
    try:
        await_open(slow, tree / "one")
        assert estimate("--full", tree)["pass_bytes"] == 4 * MIB
        assert slow.poll() is None
    finally:
        slow.terminate()
        slow.communicate(timeout=60)


def test_what_is_shared_already_counts_once(tree):
    write_extent(tree / "one", noise(1, MIB))
    for number in range(5):
        content.clone(tree / "one", tree / f"clone-{number}")
    row = estimate("--full", tree)
    assert row["data_bytes"] == MIB
    assert row["shared_bytes"] == 5 * MIB
    assert row["pass_bytes"] == row["identical_bytes"] == 0
    assert set(by(row, "blocks", "block_bytes").values()) == {0}


def test_each_way_to_look_finds_its_own(tree):
    data = noise(1, 2 * MIB)
    write_extent(tree / "one", data)
    write_extent(tree / "same", data)
    write_extent(tree / "shifted", noise(2, BLOCK) + data)
    row = estimate("--full", tree)
    blocks = by(row, "blocks", "block_bytes")
    assert row["identical_bytes"] == 2 * MIB
    assert blocks[4096] == 4 * MIB
    assert blocks[65536] == blocks[1048576] == 2 * MIB
    # One extent is given back as a whole: less the block that is the shifted one's alone.
    assert row["pass_bytes"] == 4 * MIB
    assert list(blocks) == [4 * KIB, 16 * KIB, 64 * KIB, 128 * KIB, MIB]


def test_zeros_are_counted_and_become_holes_where_they_may(tree, kind):
    zeros = MIB
    write(tree / "plain", noise(1, 64 * KIB) + bytes(zeros) + noise(2, 64 * KIB))
    write(tree / "disk.img", noise(3, 64 * KIB) + bytes(zeros) + noise(4, 64 * KIB))
    subprocess.run(["sync", "-f", tree], check=True)
    row = estimate("--full", tree)
    assert row["zeros_bytes"] == 2 * zeros
    if kind == "xfs":
        assert row["pass_bytes"] == zeros
    assert by(row, "blocks", "block_bytes")[4096] == 0


def test_a_sparse_file_of_any_size_is_gone_over(tree):
    """As walked through its hole it would take days."""
    for name in ("one", "two"):
        write(tree / name, noise(1, 64 * KIB))
        with open(tree / name, "r+b") as file:
            file.seek(2**60)
            file.write(noise(2, 64 * KIB))
            file.truncate(2**62)
    subprocess.run(["sync", "-f", tree], check=True)
    row = estimate("--full", tree)
    assert row["data_bytes"] == 256 * KIB
    assert row["identical_bytes"] == row["pass_bytes"] == 128 * KIB


def test_a_sample_is_bounded(make_filesystem):
    filesystem = make_filesystem("xfs")
    tree = pathlib.Path(filesystem.mount_point)
    for number in range(24):
        write(tree / f"file-{number}", noise(number % 8, 2 * MIB))
    write(tree / "zeros", noise(99, MIB) + bytes(4 * MIB))
    subprocess.run(["sync", "-f", tree], check=True)
    whole = estimate("--full", tree)
    assert whole["pass_bytes"] == 32 * MIB + 4 * MIB
    read = []
    for _ in range(6):
        row = estimate("--sample=50%", tree)
        read.append(row["read_bytes"])
        assert row["sample"] == "50%"
        assert row["data_bytes"] == whole["data_bytes"]
        assert row["pass_low_bytes"] <= whole["pass_bytes"] <= row["pass_high_bytes"]
        for curve in ("blocks", "zeros", "identical"):
            for point, truth in zip(row[curve], whole[curve]):
                assert point["low_bytes"] <= truth["bytes"] <= point["high_bytes"], (curve, point)
                assert point["low_bytes"] <= point["bytes"] <= point["high_bytes"]
    assert all(0 < one < whole["read_bytes"] for one in read)
    # By chance, another one each time.
    assert len(set(read)) > 1


def test_little_data_is_read_as_a_whole_by_itself(make_filesystem):
    tree = pathlib.Path(make_filesystem("xfs").mount_point)
    content.write_twins(tree, MIB)
    row = estimate(tree)
    assert row["sample"] == "all"
    assert row["pass_bytes"] == MIB


def test_by_checksums_no_data_is_read(make_filesystem):
    filesystem = make_filesystem("btrfs")
    tree = pathlib.Path(filesystem.mount_point)
    write_extent(tree / "one", noise(1, 16 * MIB))
    write_extent(tree / "two", noise(1, 16 * MIB))
    content.forget_pages(tree)
    before = filesystem.read_bytes()
    row = estimate(tree)
    assert row["pass_bytes"] == 16 * MIB
    assert row["read_bytes"] == 2 * 16 * MIB // 1024
    assert filesystem.read_bytes() - before < 4 * MIB


def test_compressed_extents_match_as_wholes(make_filesystem, make_dedupd):
    filesystem = make_filesystem("btrfs", mount_options=["compress-force=zstd"])
    tree = pathlib.Path(filesystem.mount_point)
    data = content.text(1, 4 * MIB)
    write(tree / "one", data)
    write(tree / "two", data)
    write(tree / "other", content.text(2, MIB))
    subprocess.run(["sync", "-f", tree], check=True)
    row = estimate(tree)
    assert row["data_bytes"] < 3 * MIB
    assert 0 < row["pass_bytes"] < MIB
    freed = harness.check_pass(make_dedupd(filesystem), find="checksums").first.freed_bytes
    assert abs(row["pass_bytes"] - freed) <= WITHIN * freed


def test_a_compressed_extent_is_shared_once_by_another_file(make_filesystem):
    """What is left of an extent around what was written into it is no second file's."""
    filesystem = make_filesystem("btrfs", mount_options=["compress-force=zstd"])
    tree = pathlib.Path(filesystem.mount_point)
    write(tree / "one", content.text(1, MIB), piece=128 * KIB)
    with open(tree / "one", "r+b") as file:
        for number in range(8):
            for block in (8, 16):
                os.pwrite(file.fileno(), content.text(10 + number + block, BLOCK),
                          number * 128 * KIB + block * BLOCK)
    subprocess.run(["sync", "-f", tree], check=True)
    alone = estimate(tree)
    assert alone["data_bytes"] >= 3 * 8 * BLOCK
    assert alone["shared_bytes"] == 0
    content.clone(tree / "one", tree / "clone")
    content.clone(tree / "one", tree / "other")
    row = estimate(tree)
    assert row["data_bytes"] == alone["data_bytes"]
    assert row["shared_bytes"] == 2 * alone["data_bytes"]


def test_compressed_extents_without_checksums_equal_nothing(make_filesystem):
    filesystem = make_filesystem("btrfs", mkfs_options=["-m", "single"],
                                 mount_options=["compress-force=zstd"])
    tree = pathlib.Path(filesystem.mount_point)
    for seed, name in enumerate(("one", "two")):
        write(tree / name, content.text(seed, MIB), piece=128 * KIB)
    before = estimate(tree)
    assert before["pass_bytes"] == 0
    damage.move_checksums(filesystem)
    row = estimate(tree)
    damage.move_checksums(filesystem)
    assert row["data_bytes"] == before["data_bytes"] > 0
    assert row["pass_bytes"] == row["identical_bytes"] == 0
    assert set(by(row, "blocks", "block_bytes").values()) == {0}


def test_snapshots_show_one_and_the_same(make_filesystem):
    filesystem = make_filesystem("btrfs")
    tree = pathlib.Path(filesystem.mount_point)
    subvolumes.make_subvolume(tree / "sub")
    write_extent(tree / "sub" / "one", noise(1, MIB))
    write_extent(tree / "sub" / "two", noise(1, MIB))
    subvolumes.snapshot(tree / "sub", tree / "snapshot")
    row = estimate(tree)
    assert (row["files"], row["data_bytes"], row["shared_bytes"]) == (2, 2 * MIB, 0)
    assert row["pass_bytes"] == MIB


def test_what_a_pass_leaves_out_is_left_out(tree, tmp_path):
    content.write_twins(tree, MIB)
    (tree / "cache").mkdir()
    content.write_twins(tree / "cache", 2 * MIB, seed=2)
    content.write_twins(tree, 8 * KIB, seed=3, names=("small", "smaller"))
    assert estimate(tree)["pass_bytes"] == 3 * MIB + 8 * KIB
    assert estimate(tree, "--exclude=cache")["pass_bytes"] == MIB + 8 * KIB
    assert estimate(tree, "--min-size=64K")["pass_bytes"] == 3 * MIB
    assert estimate(tree / "cache")["pass_bytes"] == 2 * MIB
    # Twice is once.
    assert estimate(tree, tree / "cache")["pass_bytes"] == 3 * MIB + 8 * KIB
    config = tmp_path / "dedupd.conf"
    config.write_text("[Dedupd]\nExclude=cache\nMinSize=64K\n", encoding="utf-8")
    row = estimate(tree, config=config)
    assert row["pass_bytes"] == MIB
    assert row["left_out"] >= 4


def test_hard_links_are_one_file(tree):
    write_extent(tree / "one", noise(1, MIB))
    for number in range(4):
        os.link(tree / "one", tree / f"link-{number}")
    row = estimate("--full", tree)
    assert row["files"] == 1
    assert row["data_bytes"] == MIB
    assert row["shared_bytes"] == row["pass_bytes"] == 0


def test_many_hard_links_are_one_place(dedupd, tree, kind):
    """A pass leaves an extent alone that is shown at more than 32 places: names are none."""
    for name in ("one", "two"):
        write_extent(tree / name, noise(1, MIB))
        for number in range(40):
            os.link(tree / name, tree / f"{name}-{number}")
    row = estimate("--full", tree)
    assert row["files"] == 2
    assert row["data_bytes"] == 2 * MIB
    assert row["shared_bytes"] == 0
    assert row["pass_bytes"] == MIB
    assert harness.check_pass(dedupd, find=harness.FIND[kind]).first.freed_bytes == MIB


def test_little_memory_tells_the_same(tree, tmp_path):
    write_mixture(tree)
    config = tmp_path / "dedupd.conf"
    config.write_text("[Dedupd]\nMemory=4M\n", encoding="utf-8")
    little, usual = estimate("--full", tree, config=config), estimate("--full", tree)
    assert little["pass_memory_bytes"] == 4 * MIB
    for key in ("data_bytes", "identical_bytes", "zeros_bytes", "blocks"):
        assert little[key] == usual[key]
    # Which positions are anchors is another matter of chance in each run.
    assert abs(little["pass_bytes"] - usual["pass_bytes"]) <= WITHIN * usual["pass_bytes"]


def test_hostile_names_are_read_and_never_printed_raw(tree):
    directory = os.path.join(os.fsencode(tree), b"esc\x1b[2J\nnew \xff\xfe line")
    os.mkdir(directory)
    for name in (b"one\x1b]0;x\x07", b"two\n\xc3\x28"):
        write(os.path.join(directory, name), noise(1, MIB))
    subprocess.run(["sync", "-f", tree], check=True)
    for words in (("--full",), ("--full", "--plot"), ("--full", "--raw"), ("--full", "--json")):
        text = run(*words, os.fsdecode(directory))
        assert "\x1b" not in text
    row = estimate("--full", os.fsdecode(directory))
    assert row["pass_bytes"] == MIB


def test_another_user_reads_what_he_may(tree):
    for directory in (tree, tree.parent):
        os.chmod(directory, 0o755)
    content.write_twins(tree, MIB)
    for name in ("one", "two"):
        os.chown(tree / name, harness.USER, harness.USER)
    secret = write(tree / "secret", noise(1, MIB))
    os.chmod(secret, 0o600)
    subprocess.run(["sync", "-f", tree], check=True)
    with_tmp = {"TMPDIR": "/var/tmp"}
    said = []
    row = estimate("--full", tree, user=harness.USER, status=UNREADABLE, environment=with_tmp,
                   messages=said)
    assert said == [f"dedupctl: cannot read {secret}: Permission denied: it counts as nothing"]
    assert row["by"] == "read"
    assert row["unreadable"] == 1
    assert row["files"] == 2
    assert row["pass_bytes"] == MIB


def test_nothing_is_left_in_the_page_cache(make_filesystem):
    tree = pathlib.Path(make_filesystem("xfs").mount_point)
    path = write(tree / "one", noise(1, 8 * MIB))
    subprocess.run(["sync", "-f", tree], check=True)
    with open(path, "rb") as file:
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    estimate("--full", tree)
    assert ioctls.resident_bytes(path) == 0


def test_drawings_are_for_people(tree):
    content.write_twins(tree, MIB)
    text = run("--full", "--plot", tree)
    for said in ("FIXED BLOCKS", "space that fixed blocks of each size would free", "A first pass would read"):
        assert said in text


def test_the_budget_tells_the_time(make_filesystem, tmp_path):
    tree = pathlib.Path(make_filesystem("btrfs").mount_point)
    content.write_twins(tree, 4 * MIB)
    row = estimate("--limit-rate=1M", tree)
    assert row["pass_rate_bytes"] == MIB
    assert row["pass_rate_from"] == "budget"
    assert 8 <= row["pass_seconds"] < 9
    assert row["metadata_bytes"] > 0


def test_where_none_is_mounted_it_says_so():
    """In a namespace of its own, from which all btrfs and XFS are taken away."""
    script = 'umount -a -l -t btrfs,xfs || :; exec "$@"'
    said = {}
    for words in ((), ("--json",)):
        done = subprocess.run([*harness.own_mounts(), "sh", "-c", script, "sh", harness.dedupctl_program(),
                               "estimate", "--config=none", *words], check=True, capture_output=True,
                              text=True, timeout=120)
        schemas.check_printed(["estimate", *words], done.stdout)
        said[words] = done.stdout, done.stderr
    assert json.loads(said[("--json",)][0])["estimates"] == []
    assert said[()][0] == ""
    assert "no btrfs or XFS filesystem is mounted" in said[()][1]


def await_open(process, path):
    for _ in range(1200):
        descriptors = pathlib.Path(f"/proc/{process.pid}/fd")
        with contextlib.suppress(FileNotFoundError):
            if any(os.readlink(fd) == str(path) for fd in descriptors.iterdir()):
                return
        time.sleep(0.05)
    raise AssertionError(f"{path} was never opened")


def test_it_can_be_interrupted(make_filesystem):
    tree = pathlib.Path(make_filesystem("xfs").mount_point)
    write(tree / "one", noise(1, 32 * MIB))
    subprocess.run(["sync", "-f", tree], check=True)
    with open(tree / "one", "rb") as file:
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    with subprocess.Popen([harness.dedupctl_program(), "estimate", "--config=none", "--full",
                           "--limit-rate=64K", tree], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        # It would take minutes; from when it has the file open it listens to signals.
        await_open(process, tree / "one")
        process.send_signal(signal.SIGINT)
        stdout, stderr = process.communicate(timeout=60)
    assert process.returncode == 128 + signal.SIGINT
    assert stdout == b""
    assert b"interrupted" in stderr


def test_what_repeats_itself_is_foretold(tree, dedupd, kind):
    for mib in (1, 2, 3, 5, 8):
        write_extent(tree / f"erased {mib}", b"\xff" * (mib * MIB))
    harness.settle(dedupd.filesystem)
    row = estimate(tree)
    freed = dedupd.run(find=harness.FIND[kind]).freed_bytes
    if kind == "xfs":
        assert row["pass_bytes"] == pytest.approx(freed, rel=WITHIN)
    else:
        assert row["pass_low_bytes"] <= freed <= row["pass_high_bytes"]


def test_paths_beyond_path_max_count(tree):
    write_extent(tree / "shallow", noise(1, MIB))
    content.write_deep(tree, "deep", noise(1, MIB))
    row = estimate(tree)
    assert (row["files"], row["data_bytes"], row["pass_bytes"]) == (2, 2 * MIB, MIB)


@pytest.mark.parametrize("limit, counted", [("1023K", 3), ("1M", 2), ("1048577", 1), ("1025K", 0)])
def test_the_minimal_size_is_counted_in(tree, limit, counted):
    for number, size in enumerate((MIB - 1, MIB, MIB + 1)):
        write_extent(tree / f"{size}", noise(number, size))
    row = estimate(tree, f"--min-size={limit}")
    assert (row["files"], row["left_out"]) == (counted, 3 - counted)


def test_an_exclude_that_matches_nothing_is_told(tree):
    write_extent(tree / "small.part", noise(1, 8 * KIB))
    write_extent(tree / "large", noise(2, MIB))
    said = []
    row = estimate(tree, "--exclude=*.part", "--exclude=*.prt\x1b", "--exclude=.*", "--min-size=64K",
                   messages=said)
    assert row["left_out"] == 1
    assert said == [f"dedupctl: --exclude {glob} matched nothing on {tree}"
                    for glob in ("*.prt\\e", ".*")]


def test_hidden_files_count_like_others(tree):
    (tree / ".hidden").mkdir()
    write_extent(tree / ".hidden" / ".one", noise(1, MIB))
    write_extent(tree / ".two", noise(1, MIB))
    row = estimate(tree)
    assert (row["files"], row["pass_bytes"]) == (2, MIB)


@pytest.mark.parametrize("seed", harness.seeds(3))
def test_fixed_blocks_of_each_size_are_what_they_are(tree, seed):
    """Held against the blocks themselves, of files in which pieces of several lengths come again."""
    chance = random.Random(seed)
    pieces = [noise(1000 * seed + number, chance.choice((1, 4, 16, 32, 256)) * BLOCK)
              for number in range(24)]
    files = []
    for number in range(6):
        data = b"".join(chance.choice(pieces) for _ in range(12))
        files.append(data + noise(number, -len(data) % MIB))
        write_extent(tree / f"file {number}", files[-1])
    row = estimate("--full", tree)
    for size, freed in by(row, "blocks", "block_bytes").items():
        blocks = [data[at:at + size] for data in files for at in range(0, len(data), size)]
        assert freed == (len(blocks) - len(set(blocks))) * size, size
