# SPDX-License-Identifier: GPL-2.0-or-later
"""FleetKey=, dedupctl export --anchors, and what contrib/fleet says of several machines."""

import hashlib
import itertools
import json
import os
import pathlib
import random
import shutil
import stat
import subprocess
import sys

import pytest

import content
import harness
import ioctls

BLOCK = 4096
MIB = 1 << 20
FAILED = 1
# Of the source, or where the package has it.
FLEET = next(path for path in (pathlib.Path(__file__).resolve().parents[3] / "contrib" / "fleet" / "dedupd-fleet",
                               pathlib.Path("/usr/share/dedupd/fleet/dedupd-fleet"))
             if path.exists() or path.is_relative_to("/usr"))
HOSTILE = "<b>two, \"words\"\n\x1b[2J'\\x41\udcff"
KEY_BYTES = 385
NOTHING = {"bytes": 0, "low_bytes": 0, "high_bytes": 0}
# Each chooses other anchors.
KEYS = 4


@pytest.fixture
def key(tmp_path):
    path = tmp_path / "fleet.key"
    harness.dedupctl("fleet-key", path)
    return path


@pytest.fixture
def configure(tmp_path):
    """A configuration with the key."""
    def configure(key):
        path = tmp_path / "dedupd.conf"
        path.write_text(f"[Dedupd]\nFleetKey={key}\n")
        return path
    return configure


def learn(dedupd, config, status=0, **options):
    harness.settle(dedupd.filesystem)
    run = dedupd.run(config=config, find="auto", **options)
    assert run.status == status, run.stderr
    return run


def export(dedupd, directory, host=None, status=0):
    """Export the anchors as @host would; what is said."""
    command = [harness.dedupctl_program(), f"--state-dir={dedupd.state_directory}", "export", f"--anchors={directory}",
               dedupd.store_path.stem]
    if host:
        command = ["unshare", "--uts", "sh", "-c", 'echo "$0" >/proc/sys/kernel/hostname; exec "$@"', host, *command]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == status, done.stderr
    return done.stdout if status == 0 else done.stderr


def exported(directory):
    (store,) = pathlib.Path(directory).glob("store=*")
    return store


def python_with(module):
    """An interpreter that has @module; skips the test if there is none."""
    for python in (os.environ.get("FLEET_PYTHON"), sys.executable):
        if python and shutil.which(python) and subprocess.run([python, "-c", f"import {module}"], check=False,
                                                              capture_output=True).returncode == 0:
            return python
    return pytest.skip(f"no Python here has {module}: contrib/fleet/requirements.txt")


def compare(directory, *words, engine="duckdb"):
    python = python_with({"duckdb": "duckdb", "spark": "pyspark"}[engine])
    done = subprocess.run([python, FLEET, "--engine", engine, *words, directory], capture_output=True, text=True,
                          check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout


def blocks_of(tree):
    """The oracle: digests of all blocks, without zeros."""
    found = set()
    for path in tree.rglob("*"):
        if not path.is_file():
            continue
        data = path.read_bytes()
        found |= {hashlib.blake2b(data[at:at + BLOCK].ljust(BLOCK, b"\0")).digest()
                  for at in range(0, len(data), BLOCK)}
    return found - {hashlib.blake2b(bytes(BLOCK)).digest()}


def write_host(tree, number):
    """Data of its own; runs of 1 to 3 MiB that other hosts have, as whole files and in files; and files of one block."""
    common = [*range(0, 12), *[range(12, 18), [*range(12, 15), *range(18, 21)], range(15, 21)][number]]
    for at in range(3):
        content.write(tree / f"own-{at}", content.noise(1000 * number + at + 100, 2 * MIB))
    for at, piece in enumerate(common):
        data = content.noise(5000 + piece, (256 + 97 * piece % 512) * BLOCK)
        (tree / f"shelf-{piece % 3}").mkdir(exist_ok=True)
        if (at + number) % 3:
            data = content.noise(9000 + 100 * number + at, (at + 1) * BLOCK) + data + content.noise(at, 7000)
        content.write(tree / f"shelf-{piece % 3}" / str(piece), data)
    (tree / "zeros").write_bytes(bytes(MIB))
    for at in range(40):
        content.write(tree / f"small-{at}", content.noise(7000 + at + (at % 2) * 100 * number, BLOCK))


def write_short_runs(tree, number):
    """Runs of 20 to 60 blocks, each up to three times on a host, with other short data before and behind them."""
    choice = random.Random(number)
    own = itertools.count(100_000 * (number + 1))

    def between():
        return content.noise(next(own), choice.randrange(19) * BLOCK)

    def run():
        data = content.noise(1 + choice.randrange(60), 60 * BLOCK)
        first = choice.choice((0, 0, 20, 40))
        return data[first * BLOCK:choice.choice([end for end in (20, 40, 60, 60) if end > first]) * BLOCK]

    for at in range(60):
        data = b"".join(part for _ in range(choice.choice((1, 1, 2, 4))) for part in (between(), run())) + between()
        (tree / f"set-{at}").mkdir()
        content.write(tree / f"set-{at}" / "file", data[:len(data) - choice.choice((0, 0, 1000))])


@pytest.fixture
def make_hosts(make_filesystem, make_dedupd):
    """Make three hosts, whose filesystems are of both kinds."""
    def make_hosts(write):
        hosts = {}
        for number, kind in enumerate(["btrfs", "xfs", "btrfs"]):
            filesystem = make_filesystem(kind)
            write(pathlib.Path(filesystem.mount_point), number)
            hosts["abc"[number]] = make_dedupd(filesystem, state=f"state-{number}")
        return hosts
    return make_hosts


def export_hosts(hosts, directory, config, **options):
    for host, dedupd in hosts.items():
        learn(dedupd, config, **options)
        export(dedupd, directory, host)


def trees_of(hosts):
    return {host: pathlib.Path(dedupd.filesystem.mount_point) for host, dedupd in hosts.items()}


@pytest.fixture
def three_hosts(make_hosts, key, configure, tmp_path):
    """Exports of three hosts, and their trees."""
    hosts = make_hosts(write_host)
    export_hosts(hosts, tmp_path / "out", configure(key))
    return tmp_path / "out", trees_of(hosts)


def assert_near(bytes_, truth, tolerance):
    assert tolerance is None or abs(bytes_ - truth) <= tolerance * truth, (bytes_, truth)


def assert_estimated(estimate, blocks, tolerance):
    truth = blocks * BLOCK
    assert estimate["low_bytes"] <= truth <= estimate["high_bytes"], (estimate, truth)
    assert estimate["low_bytes"] <= estimate["bytes"] <= estimate["high_bytes"]
    assert_near(estimate["bytes"], truth, tolerance)


def assert_pairs_right(pairs, blocks, tolerance):
    found = {(pair["first"], pair["second"]): pair for pair in pairs}
    for first, second in itertools.combinations(sorted(blocks), 2):
        assert_estimated(found.get((first, second), NOTHING), len(blocks[first] & blocks[second]), tolerance)


def assert_totals_right(totals, blocks, tolerance):
    assert {total["name"] for total in totals} == set(blocks)
    for total in totals:
        own, others = blocks[total["name"]], [blocks[name] for name in blocks if name != total["name"]]
        assert_near(total["data_bytes"], len(own) * BLOCK, tolerance)
        assert total["elsewhere"]["high_bytes"] <= total["stored_bytes"]
        assert_estimated(total["elsewhere"], len(own & set().union(*others)), tolerance)


def assert_right(answer, trees, tolerance):
    blocks = {host: blocks_of(tree) for host, tree in trees.items()}
    assert all(host["unread_bytes"] == 0 for host in answer["hosts"])
    assert_totals_right(answer["hosts"], blocks, tolerance)
    assert_pairs_right(answer["host_pairs"], blocks, tolerance)
    assert_estimated(answer["one_filer"]["saved"],
                     sum(map(len, blocks.values())) - len(set().union(*blocks.values())), tolerance)


def test_what_three_hosts_share_is_known_within_two_percent(three_hosts, tmp_path):
    directory, trees = three_hosts
    depth = len(trees["a"].parts)
    answer = json.loads(compare(directory, "--json", f"--depth={depth}"))

    assert answer["notes"] == []
    assert_right(answer, trees, 0.02)
    names = {dataset["name"] for dataset in answer["datasets"]}
    assert f"b:{trees['b']}/shelf-1" in names
    # Most of this is what all hosts have of one shelf.
    assert {answer["dataset_pairs"][0][side].rpartition("/")[2][:6] for side in ("first", "second")} == {"shelf-"}

    printed = compare(directory, f"--svg={tmp_path / 'plot.svg'}")
    assert "One filer for all" in printed and "█" in printed
    assert (tmp_path / "plot.svg").read_text().startswith("<svg")


def test_no_key_leads_out_of_the_bounds(make_hosts, configure, tmp_path):
    hosts = make_hosts(write_short_runs)
    trees = trees_of(hosts)
    depth = len(trees["a"].parts)
    # Each file is one, so few ends hide among others.
    datasets = {f"{host}:{file.parent}": blocks_of(file.parent) for host, tree in trees.items()
                for file in tree.glob("*/file")}
    for at in range(KEYS):
        directory = tmp_path / str(at)
        harness.dedupctl("fleet-key", tmp_path / f"{at}.key")
        # Nothing is shared: data that files share has anchors in one of them only.
        export_hosts(hosts, directory, configure(tmp_path / f"{at}.key"), rebuild=True, dry_run=True)
        answer = json.loads(compare(directory, "--json", f"--depth={depth}", "--limit=100000"))
        assert_right(answer, trees, 0.5)
        assert_totals_right(answer["datasets"], datasets, None)
        assert_pairs_right(answer["dataset_pairs"], datasets, None)


def test_spark_gives_the_answer_of_duckdb(three_hosts):
    if not shutil.which("java"):
        pytest.skip("Spark needs java")
    python_with("pyspark")
    directory, trees = three_hosts
    answers = [json.loads(compare(directory, "--json", engine=engine)) for engine in ("spark", "duckdb")]

    assert_right(answers[0], trees, 0.02)
    assert {answer.pop("engine") for answer in answers} == {"spark", "duckdb"}
    assert answers[0] == answers[1]


def test_an_export_adds_what_is_new_and_goes_on_after_an_interruption(dedupd, tree, key, configure, tmp_path):
    content.write(tree / "old", content.noise(1, 4 * MIB))
    content.write(tree / "gone", content.noise(2, 4 * MIB))
    learn(dedupd, configure(key))
    out = tmp_path / "out"
    assert " 0 new anchors " not in export(dedupd, out)
    first = {path.name: path.stat().st_mtime_ns for path in exported(out).glob("anchors-*")}
    assert " 0 new anchors " in export(dedupd, out)

    (tree / "gone").unlink()
    content.write(tree / "new", content.noise(3, 4 * MIB))
    learn(dedupd, configure(key))
    export(dedupd, out)
    second = {path.name: path.stat().st_mtime_ns for path in exported(out).glob("anchors-*")}
    assert len(second) == 2 and first.items() <= second.items()

    # Killed before its end: only the last files are written again.
    whole = tmp_path / "whole"
    export(dedupd, whole)
    assert stat.S_IMODE(exported(whole).stat().st_mode) == 0o700
    (exported(whole) / "store.json").unlink()
    (exported(whole) / "objects.parquet").unlink()
    (exported(whole) / "part.parquet.new").write_bytes(b"half")
    assert " 0 new anchors " in export(dedupd, whole)
    hosts = [json.loads(compare(directory, "--json"))["hosts"] for directory in (out, whole)]
    assert hosts[0] == hosts[1]
    assert abs(hosts[0][0]["data_bytes"] - 8 * MIB) < 0.02 * 8 * MIB


def test_no_name_can_harm_who_reads_the_answer(dedupd, tree, key, configure, tmp_path):
    (tree / HOSTILE).mkdir()
    content.write(tree / HOSTILE / HOSTILE, content.noise(1, MIB))
    learn(dedupd, configure(key))
    export(dedupd, tmp_path / "out", host="<i>host'\t")
    depth = len(tree.parts)
    text = compare(tmp_path / "out", f"--depth={depth}", f"--svg={tmp_path / 'plot.svg'}")

    assert all(one.isprintable() or one == "\n" for one in text)
    assert r"<b>two, " in text
    assert "<i>" not in (tmp_path / "plot.svg").read_text()
    answer = json.loads(compare(tmp_path / "out", "--json", f"--depth={depth}"))
    assert len(answer["datasets"]) == 1


def test_a_key_is_made_once(tmp_path):
    path = tmp_path / "fleet.key"
    said = harness.dedupctl("fleet-key", path).stdout
    made = path.read_text()

    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert len(made) == KEY_BYTES
    refused = harness.dedupctl("fleet-key", path, status=FAILED)
    assert path.read_text() == made
    assert str(path) in refused.stderr and said.split()[3] in refused.stderr
    harness.dedupctl("fleet-key", "--replace", path)
    assert path.read_text() != made
    assert [entry.name for entry in tmp_path.iterdir() if "fleet" in entry.name] == ["fleet.key"]


def test_a_bad_key_is_refused_by_name(dedupd, tree, key, configure, tmp_path):
    content.write(tree / "file", content.noise(1, MIB))
    link = tmp_path / "link"
    link.symlink_to(key)
    os.lchown(link, harness.USER, harness.USER)
    for path, spoil, said in [
            (tmp_path / "missing", lambda: None, "No such file"),
            (link, lambda: None, "another user"),
            (key, lambda: key.chmod(0o640), "chmod 600"),
            (key, lambda: (key.chmod(0o600), key.write_text("short\n")), "384 hexadecimal digits"),
            (key, lambda: key.write_text("x" * (KEY_BYTES - 1) + "\n"), "384 hexadecimal digits"),
            (key, lambda: (key.unlink(), os.mkfifo(key, 0o600)), "not a regular file")]:
        spoil()
        run = dedupd.run(config=configure(path))
        assert run.status == FAILED
        assert str(path) in run.stderr and said in run.stderr, run.stderr
        assert not list(dedupd.state_directory.glob("*.sqlite"))


def test_another_key_is_refused_until_the_store_is_rebuilt(dedupd, tree, key, configure, tmp_path):
    content.write_twins(tree, MIB)
    learn(dedupd, "none", dry_run=True)
    out = tmp_path / "out"
    assert "without a fleet's key" in export(dedupd, out, status=FAILED)

    refused = learn(dedupd, configure(key), status=FAILED)
    assert "FleetKey=" in refused.stderr and "--rebuild" in refused.stderr
    learn(dedupd, configure(key), rebuild=True, dry_run=True)
    export(dedupd, out)
    identity = json.loads((exported(out) / "store.json").read_text())["fleet_key"]
    assert identity in harness.dedupctl("fleet-key", key, status=FAILED).stderr

    refused = learn(dedupd, "none", status=FAILED)
    assert f"the fleet key {identity}" in refused.stderr
    ioctls.sync(tree)
    assert learn(dedupd, configure(key)).freed_bytes == MIB


def test_a_store_of_a_fleet_survives_export_and_import(dedupd, tree, key, configure):
    content.write_twins(tree, MIB)
    learn(dedupd, configure(key), dry_run=True)
    lines = harness.dedupctl("export", dedupd=dedupd).stdout
    harness.dedupctl("import", "--replace", dedupd=dedupd, input=lines)

    assert json.loads(lines.partition("\n")[0])["fleet_key"]
    assert learn(dedupd, configure(key)).files["read"] == 0
