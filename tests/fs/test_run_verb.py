# SPDX-License-Identifier: GPL-2.0-or-later
"""dedupctl run: part of a filesystem now, by the service or without one."""

import json
import os
import pathlib
import shutil
import signal

import pytest

import content
import harness
import oracle
from content import MIB, forget_pages, noise, write_extent
from service import wait_until

FAILED, USAGE, NEEDS_DAEMON, IN_USE, NOT_AT_ALL = 1, 2, 3, 5, 11
HOSTILE = os.fsdecode(b"c\nd\x1b[2J\xff")


@pytest.fixture(name="quiet_service")
def quiet_service_fixture(service, tree):
    """The service after a pass over what is there, which makes no other by itself."""
    service.configure(tree, WakeBytes="1T", WakeInterval="30d")
    service.start()
    service.wait_for_passes(str(tree), 1)
    return service


@pytest.fixture(name="installed")
def installed_fixture(program, tmp_path):
    """dedupctl and dedupd as they are installed beside each other."""
    for directory, name in (("bin", harness.dedupctl_program()), ("sbin", program)):
        (tmp_path / directory).mkdir()
        shutil.copy(name, tmp_path / directory / pathlib.Path(name).name)
    for directory in (tmp_path, *tmp_path.parents):
        directory.chmod(directory.stat().st_mode | 0o111)
    return tmp_path / "bin/dedupctl"


@pytest.fixture(name="run")
def run_fixture(installed, dedupd, tmp_path):
    """Without a service; the finished process."""
    def run(*words, state=True, environment=None, **options):
        return harness.dedupctl("run", *words, dedupd=dedupd if state else None, program=installed, cwd="/",
                                env=os.environ | {"DEDUPD_SOCKET": str(tmp_path / "none"),
                                                  "DBUS_SYSTEM_BUS_ADDRESS": "unix:path=/nonexistent",
                                                  **(environment or {})}, **options)
    return run


def write_pairs(filesystem, inside="in", outside="out", size=2 * MIB):
    """Two equal files in each of two directories; the paths of all."""
    tree = pathlib.Path(filesystem.mount_point)
    files = []
    for seed, directory in enumerate((inside, outside)):
        (tree / directory).mkdir()
        files += [write_extent(tree / directory / name, noise(seed, size)) for name in ("a", "b")]
    harness.settle(filesystem)
    return files


def are_shared(one, other):
    return harness.dedupctl("shared", one, other, status=None).returncode == 0


def used_bytes(filesystem):
    harness.settle(filesystem)
    if filesystem.kind == "btrfs":
        return harness.used_data_bytes(filesystem)
    return oracle.physical_bytes(filesystem.mount_point)


def test_without_the_service_only_what_is_named_is_shared(filesystem, tree, run):
    files = write_pairs(filesystem)
    before, used = oracle.snapshot(tree), used_bytes(filesystem)
    said = run(tree / "in").stdout
    harness.assert_unchanged(before, tree)
    assert used - used_bytes(filesystem) == 2 * MIB
    assert "freed" in said and "2 MiB" in said
    assert are_shared(*files[:2]) and not are_shared(*files[2:])
    assert "0 B" in run(tree / "in").stdout
    assert used - used_bytes(filesystem) == 2 * MIB


def test_the_service_shares_only_what_is_named(filesystem, tree, quiet_service):
    files = write_pairs(filesystem)
    before, used = oracle.snapshot(tree), used_bytes(filesystem)
    assert quiet_service.tell("run", tree / "in") == f"{tree}: complete, freed 2 MiB\n"
    harness.assert_unchanged(before, tree)
    assert used - used_bytes(filesystem) == 2 * MIB
    assert are_shared(*files[:2]) and not are_shared(*files[2:])
    assert quiet_service.tell("run", tree / "in") == f"{tree}: complete, freed 0 B\n"
    # For passes over all the rest is still new.
    assert quiet_service.shows(str(tree))["why"] != "nothing changed"
    assert quiet_service.tell("start", "--wait", tree) == f"{tree}: complete, freed 2 MiB\n"
    assert are_shared(*files[2:])
    harness.assert_unchanged(before, tree)


def test_a_file_that_is_named_shares_with_others_of_the_directory(filesystem, tree, quiet_service):
    one, other, *_ = write_pairs(filesystem)
    quiet_service.tell("run", one, other)
    assert are_shared(one, other)


@pytest.mark.parametrize("by", ["service", "itself"])
def test_a_dry_run_changes_nothing(filesystem, tree, by, request):
    if by == "service":
        service = request.getfixturevalue("quiet_service")
        files = write_pairs(filesystem)
        said = service.tell("run", "--dry-run", tree / "in")
        assert said == f"{tree}: complete, would free about 2 MiB\n"
    else:
        files = write_pairs(filesystem)
        said = request.getfixturevalue("run")("--dry-run", tree / "in").stdout
        assert "about 2 MiB (dry run" in said
    assert not are_shared(*files[:2]) and not are_shared(*files[2:])


@pytest.mark.parametrize("by", ["service", "itself"])
def test_what_is_not_wanted_is_left_alone(filesystem, tree, by, request):
    service = request.getfixturevalue("quiet_service") if by == "service" else None
    files = write_pairs(filesystem)
    large = [write_extent(tree / "in" / name, noise(5, 3 * MIB)) for name in ("large", "more")]
    kept = [write_extent(tree / "in" / name, noise(6, 4 * MIB)) for name in ("1.iso", "2.iso")]
    harness.settle(filesystem)
    words = ["--min-size=3M", "--exclude=*.iso", "--exclude=*.img", tree / "in"]
    if service:
        service.tell("run", *words)
    else:
        request.getfixturevalue("run")(*words)
    assert are_shared(*large)
    assert not are_shared(*files[:2]) and not are_shared(*kept)


def test_the_report_is_printed_as_json(filesystem, tree, quiet_service, run):
    write_pairs(filesystem)
    for said in (quiet_service.tell("run", "--json", "--dry-run", tree / "in"),
                 run("--json", "--dry-run", tree / "in").stdout):
        report = json.loads(said)
        assert report["dry_run"] is True
        assert [one["outcome"] for one in report["filesystems"]] == ["complete"]
    assert json.loads(quiet_service.tell("run", "--json", tree / "in"))["dry_run"] is False


def test_wishes_are_forgotten_with_their_pass(filesystem, tree, quiet_service):
    files = write_pairs(filesystem)
    quiet_service.tell("run", "--dry-run", "--exclude=*", tree)
    assert quiet_service.tell("start", "--wait", tree) == f"{tree}: complete, freed 4 MiB\n"
    assert are_shared(*files[:2]) and are_shared(*files[2:])


@pytest.mark.parametrize("wish", ["--min-size=1G", "--min-age=30d", "--exclude=out"])
def test_what_a_wish_leaves_out_is_not_forgotten(filesystem, tree, quiet_service, wish):
    def count_objects():
        (row,) = json.loads(quiet_service.tell("status", "--json", tree))["filesystems"]
        return row["objects"]

    write_pairs(filesystem)
    quiet_service.tell("start", "--wait", tree)
    known = count_objects()
    assert known >= 2
    for options in (["--dry-run"], []):
        quiet_service.tell("run", *options, wish, tree)
        assert count_objects() == known


def test_what_would_be_freed_does_not_count_as_freed(filesystem, tree, quiet_service):
    write_pairs(filesystem)
    quiet_service.tell("run", "--dry-run", tree)
    assert quiet_service.shows(str(tree))["freed_bytes"] == 0
    assert "would free 4 MiB" in quiet_service.log()
    quiet_service.tell("run", tree)
    assert quiet_service.shows(str(tree))["freed_bytes"] == 4 * MIB


def test_names_may_be_anything(filesystem, tree, quiet_service, run):
    files = write_pairs(filesystem, HOSTILE, "-out")
    quiet_service.tell("run", tree / HOSTILE)
    assert are_shared(*files[:2]) and not are_shared(*files[2:])
    said = run(tree / "-out").stdout
    assert are_shared(*files[2:])
    assert "\x1b" not in said
    done = quiet_service.ask("run", tree, "--exclude=\udcff")
    assert done.returncode == USAGE and "UTF-8" in done.stderr
    done = run(tree / HOSTILE / "absent", status=USAGE)
    assert "\x1b" not in done.stderr and "No such file" in done.stderr


@pytest.fixture(name="slow_service")
def slow_service_fixture(filesystem, tree, service):
    """With budgets that make a pass over what is then there take long."""
    service.configure(tree, Find="read", LimitRate="2M", WakeBytes="1T", WakeInterval="30d")
    service.start()
    service.wait_for_passes(str(tree), 1)
    for number in range(8):
        # Be it in one extent or in several: what is read is the same.
        content.write(tree / f"file-{number}", noise(number // 2, 8 * MIB))
    harness.settle(filesystem)
    forget_pages(tree)
    return service


def begin(service, tree, name=""):
    """dedupctl run, when its pass is in the middle."""
    running = service.begin("run", tree / name)
    wait_until(lambda: service.shows(str(tree))["state"] == "running", service.log)
    wait_until(lambda: (service.shows(str(tree))["stage_bytes"] or 0) > 0, service.log)
    return running


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_pass_of_the_service(slow_service, tree, number):
    before = oracle.snapshot(tree)
    forget_pages(tree)
    running = begin(slow_service, tree)
    running.send_signal(number)
    said, _ = running.communicate(timeout=30)
    assert running.returncode == 128 + number
    assert said.startswith(f"{tree}: interrupted, freed ")
    wait_until(lambda: slow_service.shows(str(tree))["state"] == "waiting", slow_service.log)
    harness.assert_unchanged(before, tree)


def test_a_second_pass_is_refused_while_one_runs(slow_service, tree):
    running = begin(slow_service, tree)
    done = slow_service.ask("run", tree)
    assert done.returncode == IN_USE
    assert "runs already" in done.stderr
    slow_service.tell("stop", tree)
    said, _ = running.communicate(timeout=30)
    assert running.returncode == FAILED
    assert said.startswith(f"{tree}: interrupted")


def test_who_wants_all_meanwhile_has_that_afterwards(slow_service, tree):
    passes = slow_service.shows(str(tree))["passes"]
    running = begin(slow_service, tree, "file-0")
    slow_service.tell("start", tree)
    assert running.wait(30) == 0

    def works_on_all():
        shown = slow_service.shows(str(tree))
        return shown["passes"] == passes + 1 and (shown["stage_total_bytes"] or 0) > 16 * MIB
    wait_until(works_on_all, slow_service.log)
    slow_service.tell("stop", tree)


def test_what_the_service_does_not_work_on_is_done_without_it(filesystem, tree, service, run):
    service.configure()
    service.start()
    files = write_pairs(filesystem)
    try:
        run(tree / "in", state=False, environment=service.environment())
    finally:
        # Root's stores lie there, and no directory may be named where the service is to be asked.
        for left in pathlib.Path("/var/lib/dedupd").glob(service.shows(str(tree))["uuid"] + "*"):
            left.unlink()
    assert are_shared(*files[:2]) and not are_shared(*files[2:])
    assert service.shows(str(tree))["passes"] == 0


def test_others_than_root_share_their_own_files_without_the_service(filesystem, tree, run,
                                                                    tmp_path):
    os.chmod(filesystem.directory, 0o755)
    os.chmod(tree, 0o755)
    files = write_pairs(filesystem)
    for path in files[:2]:
        os.chown(path, harness.USER, harness.USER)
    home = tmp_path / "home"
    home.mkdir()
    os.chown(home, harness.USER, harness.USER)
    harness.settle(filesystem)
    run(tree / "in", user=harness.USER, state=False, environment={"HOME": str(home)})
    assert are_shared(*files[:2])


def test_others_than_root_may_not_have_the_service_do_it(filesystem, tree, quiet_service):
    files = write_pairs(filesystem)
    done = quiet_service.ask("run", tree / "in", user=harness.USER)
    assert done.returncode in (FAILED, USAGE)
    assert "denied" in done.stderr
    assert not are_shared(*files[:2])


@pytest.mark.parametrize("words, said", [
    ([], "it takes directories or files"), (["/absent"], "/absent: No such file"),
    (["/proc"], "lies on no btrfs or XFS"), (["/dev/null"], "neither a directory nor"),
    (["--min-size=64KB", "/"], "--min-size"), (["--min-age=soon", "/"], "--min-age"),
])
def test_bad_use_is_refused_by_name(run, words, said):
    done = run(*words, status=USAGE)
    assert said in done.stderr
    assert done.stdout == ""


def test_without_service_and_program_it_says_where_that_would_be(tree, run, installed):
    (installed.parent.parent / "sbin/dedupd").unlink()
    if os.access("/usr/sbin/dedupd", os.X_OK) or os.access("/usr/local/sbin/dedupd", os.X_OK):
        pytest.skip("dedupd is installed")
    assert "is not where it would be installed" in run(tree, status=NEEDS_DAEMON).stderr
