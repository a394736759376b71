# SPDX-License-Identifier: GPL-2.0-or-later
"""dedupctl run: part of a filesystem now, by the service or without one."""

import contextlib
import functools
import json
import os
import pathlib
import shutil
import signal
import subprocess
import time

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


def uuid_of(tree):
    return subprocess.run(["findmnt", "-no", "UUID", tree], check=True, capture_output=True, text=True).stdout.strip()


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


@pytest.mark.parametrize("kind", ["xfs"])
def test_many_may_wait_for_one_without_the_service(filesystem, tree, dedupd, installed):
    """All see that the lock is free at once, and one of them has it then, for longer than a moment."""
    write_pairs(filesystem)
    content.write(tree / "in" / "more", noise(8, 96 * MIB))
    content.write(tree / "other", noise(9, 12 * MIB))
    harness.settle(filesystem)
    forget_pages(tree)
    process = dedupd.start(tree / "other", limit_rate="8M")
    lock = pathlib.Path("/run/dedupd-lock") / uuid_of(tree)
    wait_until(lambda: lock.exists() and lock.read_text() == f"{process.pid}\n")
    command = [installed, f"--state-dir={dedupd.state_directory}", "run", "--queue", str(tree / "in")]
    with contextlib.ExitStack() as stack:
        waiting = [stack.enter_context(subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                                        text=True)) for _ in range(6)]
        said = [one.communicate(timeout=120) for one in waiting]
    dedupd.finish(process)
    assert [one.returncode for one in waiting] == [0] * len(waiting), said


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


@pytest.mark.parametrize("kind", ["xfs"])
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


@pytest.mark.parametrize("kind", ["xfs"])
def test_a_second_pass_is_refused_while_one_runs(slow_service, tree):
    running = begin(slow_service, tree)
    done = slow_service.ask("run", tree)
    assert done.returncode == IN_USE
    assert "runs already" in done.stderr
    slow_service.tell("stop", tree)
    said, _ = running.communicate(timeout=30)
    assert running.returncode == FAILED
    assert said.startswith(f"{tree}: interrupted")


@pytest.mark.parametrize("kind", ["xfs"])
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
    (["/proc"], "is not on a btrfs or XFS filesystem"), (["/dev/null"], "neither a directory nor"),
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


NEEDLESS_SECONDS = 1
# What the service takes in one message, and so a pass.
PATHS_MOST = 1024


@pytest.fixture(name="busy_service")
def busy_service_fixture(filesystem, tree, service):
    """In the middle of a pass over all, which takes long; and pairs in two directories."""
    write_pairs(filesystem)
    for number in range(4):
        content.write(tree / f"other-{number}", noise(30 + number, 8 * MIB))
    harness.settle(filesystem)
    forget_pages(tree)
    service.configure(tree, Find="read", LimitRate="4M", WakeBytes="1T", WakeInterval="30d")
    service.start()
    wait_until(lambda: (service.shows(str(tree))["stage_bytes"] or 0) > 0, service.log)
    return service


@pytest.mark.parametrize("kind", ["xfs"])
def test_a_pass_that_runs_is_waited_for_if_that_is_wanted(tree, busy_service):
    assert busy_service.ask("run", tree / "in").returncode == IN_USE
    queued = busy_service.begin("run", "--queue", "--dry-run", tree / "in")
    time.sleep(NEEDLESS_SECONDS)
    assert queued.poll() is None
    assert busy_service.shows(str(tree))["passes"] == 0
    busy_service.configure(tree, Find="read", WakeBytes="1T", WakeInterval="30d")
    busy_service.tell("reload")
    said, _ = queued.communicate(timeout=60)
    assert queued.returncode == 0
    # All was shared by the pass before.
    assert said == f"{tree}: complete, would free about 0 B\n"
    assert busy_service.shows(str(tree))["passes"] == 2


@pytest.mark.parametrize("kind", ["xfs"])
def test_who_waits_for_a_pass_can_be_interrupted_and_ends_nothing(tree, busy_service):
    queued = busy_service.begin("run", "--queue", tree / "in")
    time.sleep(NEEDLESS_SECONDS)
    queued.send_signal(signal.SIGINT)
    queued.communicate(timeout=10)
    assert queued.returncode != 0
    shown = busy_service.shows(str(tree))
    assert (shown["state"], shown["passes"]) == ("running", 0)


@pytest.mark.parametrize("kind", ["xfs"])
def test_without_the_service_another_process_is_waited_for_if_that_is_wanted(filesystem, tree, dedupd, run):
    files = write_pairs(filesystem)
    content.write(tree / "other", noise(9, 24 * MIB))
    harness.settle(filesystem)
    forget_pages(tree)
    process = dedupd.start(tree / "other", limit_rate="8M")
    lock = pathlib.Path("/run/dedupd-lock") / uuid_of(tree)
    wait_until(lambda: lock.exists() and lock.read_text() == f"{process.pid}\n")
    assert run(tree / "in", status=None).returncode == IN_USE
    run("--queue", tree / "in")
    assert process.poll() is not None
    dedupd.finish(process)
    assert are_shared(*files[:2]) and not are_shared(*files[2:])


@pytest.mark.parametrize("by", ["service", "itself"])
@pytest.mark.parametrize("end", ["\n", "\0"])
def test_only_the_files_of_a_list_are_shared(filesystem, tree, tmp_path, by, end, request):
    name = os.fsdecode(b"in\xff\nside") if end == "\0" else "in side"
    service = request.getfixturevalue("quiet_service") if by == "service" else None
    files = write_pairs(filesystem, inside=name)
    gone = tree / "gone"
    listed = tmp_path / "list"
    listed.write_bytes(b"".join(os.fsencode(path) + end.encode() for path in [files[0], gone, files[1]]))
    words = [f"--files-from={listed}", *(["-0"] if end == "\0" else [])]
    if service:
        done = service.ask("run", *words)
    else:
        done = request.getfixturevalue("run")(*words, status=None)
    # As with a file that cannot be read.
    assert done.returncode == 4, done.stderr
    assert "skipping 1 names; the first is" in done.stderr and "gone" in done.stderr
    assert are_shared(*files[:2]) and not are_shared(*files[2:])


def test_a_list_is_read_from_standard_input(filesystem, run):
    files = write_pairs(filesystem)
    run("--files-from=-", input="".join(f"{path}\n" for path in files[:2]))
    assert are_shared(*files[:2]) and not are_shared(*files[2:])


def test_an_empty_list_makes_no_pass(run, quiet_service, tree, tmp_path):
    (tmp_path / "list").touch()
    assert quiet_service.tell("run", f"--files-from={tmp_path / 'list'}") == ""
    assert run("--files-from=-", input="").stdout == ""
    assert quiet_service.shows(str(tree))["passes"] == 1
    assert run("--files-from=/absent", status=USAGE).stderr.startswith("dedupctl: --files-from: ")
    assert "goes with" in run("-0", "/", status=USAGE).stderr


@pytest.mark.parametrize("by", ["service", "itself"])
def test_a_list_may_be_longer_than_a_pass_takes(filesystem, tree, tmp_path, by, request):
    service = request.getfixturevalue("quiet_service") if by == "service" else None
    (tree / "many").mkdir()
    files = []
    for number in range(PATHS_MOST + 200):
        files.append(tree / f"many/{number}")
        # The first and the last pass have equals of each other.
        files[-1].write_bytes(noise(100 + number % 200, 8 << 10))
    beyond = [tree / "beyond-1", tree / "beyond-2"]
    for path in beyond:
        path.write_bytes(noise(7, MIB))
    harness.settle(filesystem)
    listed = tmp_path / "list"
    listed.write_text("".join(f"{path}\n" for path in files))
    used = used_bytes(filesystem)
    if filesystem.kind == "btrfs":
        # What is in one pass would not be shared with what is in the next.
        done = harness.dedupctl("run", f"--files-from={listed}", status=USAGE)
        assert "name directories" in done.stderr
        listed.write_text("".join(f"{path}\n" for path in files[:PATHS_MOST]))
        files = files[:PATHS_MOST]
    n_passes = 1 if filesystem.kind == "btrfs" else 2
    if service:
        said = service.tell("run", f"--files-from={listed}")
        assert said.count(f"{tree}: complete, freed ") == n_passes
    else:
        said = request.getfixturevalue("run")("--json", f"--files-from={listed}").stdout
        assert said.count('"schema": "dedupd-report"') == n_passes
    assert used - used_bytes(filesystem) == (len(files) - 200) * (8 << 10)
    assert not are_shared(*beyond)


@pytest.mark.parametrize("kind", ["xfs"])
@pytest.mark.parametrize("by", ["service", "itself"])
def test_a_pass_ends_with_the_time_it_was_given_which_is_no_failure(filesystem, tree, by, request):
    service = request.getfixturevalue("quiet_service") if by == "service" else None
    for number in range(4):
        content.write(tree / f"other-{number}", noise(30 + number // 2, 8 * MIB))
    harness.settle(filesystem)
    forget_pages(tree)
    if service:
        service.configure(tree, Find="read", LimitRate="1M", RunFor="1h", WakeBytes="1T", WakeInterval="30d")
        service.tell("reload")
        assert service.tell("run", "--run-for=3s", tree).startswith(f"{tree}: interrupted")
        service.configure(tree, Find="read", WakeBytes="1T", WakeInterval="30d")
        service.tell("reload")
        assert service.tell("run", "--run-for=1h", tree) == f"{tree}: complete, freed 16 MiB\n"
    else:
        dedupd = request.getfixturevalue("dedupd")
        run = dedupd.run(limit_rate="1M", run_for="3s")
        assert (run.status, run.report["outcome"]) == (0, "interrupted")
        assert "its time was up" in run.stderr
        assert dedupd.run(run_for="1h").freed_bytes == 16 * MIB


def test_a_time_that_is_none_is_refused(run, tree):
    assert "--run-for" in run("--run-for=soon", tree, status=USAGE).stderr


@pytest.mark.parametrize("by", ["service", "itself"])
def test_what_changed_is_shared_where_a_pass_was_made_before(filesystem, tree, by, request, service, dedupd):
    if by == "service":
        service.configure(tree, WakeBytes="1T", WakeInterval="30d", Mode="timer")
        service.start()
    ask = service.ask if by == "service" else functools.partial(request.getfixturevalue("run"), status=None)
    words = ["run"] if by == "service" else []
    files = write_pairs(filesystem)
    refused = ask(*words, "--changed", tree)
    assert refused.returncode == FAILED
    assert not are_shared(*files[:2])
    assert ask(*words, tree).returncode == 0
    twins = [write_extent(tree / name, noise(50, 4 * MIB)) for name in ("new-1", "new-2")]
    harness.settle(filesystem)
    done = ask(*words, "--changed", "--run-for=1h", tree)
    assert done.returncode == 0, done.stderr
    assert are_shared(*twins)
