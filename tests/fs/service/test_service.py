# SPDX-License-Identifier: GPL-2.0-or-later
"""What the resident service does with real filesystems, and what it leaves alone."""

import os
import pathlib
import subprocess
import time

import pytest

import oracle
from content import forget_pages, noise, write, write_twins
from harness import assert_unchanged, clock, settle, used_data_bytes
from service import END_SECONDS, wait_until
from supervisor import supervisor

MIB = 1 << 20
USER = 65533


@pytest.fixture
def twins(filesystem, tree):
    """A filesystem with 8 MiB twice."""
    write_twins(tree, 8 * MIB)
    settle(filesystem)
    return filesystem


def freed_bytes(filesystem, before):
    settle(filesystem)
    return before - used_bytes(filesystem)


def used_bytes(filesystem):
    if filesystem.kind == "btrfs":
        return used_data_bytes(filesystem)
    return oracle.physical_bytes(filesystem.mount_point)


def test_what_the_configuration_names_is_shared_at_once(twins, tree, service):
    before, used = oracle.snapshot(tree), used_bytes(twins)
    service.configure(tree)
    service.start()

    shown = service.wait_for_passes(str(tree), 1)

    assert_unchanged(before, tree)
    assert shown["last_outcome"] == "complete"
    assert shown["last_freed_bytes"] == freed_bytes(twins, used) == 8 * MIB


def test_what_it_does_not_name_is_left_alone(twins, tree, service):
    read = twins.read_bytes()
    service.configure()
    service.start()

    assert service.shows(str(tree))["state"] == "disabled"
    told = service.ask("start", tree)
    assert told.returncode == 1
    assert "not enabled" in told.stderr
    time.sleep(0.5)
    assert service.shows(str(tree))["passes"] == 0
    assert not list(service.state_directory.glob("*.sqlite"))
    assert twins.read_bytes() - read < MIB


@pytest.mark.parametrize("kind", ["xfs"])
def test_a_pass_ends_if_its_window_closed_while_the_machine_slept(tree, filesystem, service):
    if not clock.can_feign:
        pytest.skip("FEIGNED_CLOCK does not name what is preloaded")
    write_twins(tree, 64 * MIB)
    settle(filesystem)
    filesystem.forget_data()
    begin, end = (time.strftime("%H:%M", time.localtime(time.time() + hours * 3600)) for hours in (-1, 1))
    service.configure(tree, Window=f"{begin}-{end}", LimitRate="1M")
    service.start()
    wait_until(lambda: service.shows(str(tree))["state"] == "running", service.log)

    clock.suspend(2 * 3600)

    shown = service.wait_for_passes(str(tree), 1)
    assert shown["last_outcome"] == "interrupted"
    assert shown["why"] == "outside its window"


@pytest.mark.alone
def test_nothing_is_done_again_until_something_changes(twins, tree, service):
    service.configure(tree, WakeBytes="4M", WakeInterval="1s")
    service.start()
    # What the first shared is looked at once more; then it is quiet.
    service.wait_for_passes(str(tree), 1)
    time.sleep(3)
    passes = service.shows(str(tree))["passes"]
    time.sleep(3)
    assert service.shows(str(tree))["passes"] == passes
    assert service.shows(str(tree))["why"] == "nothing changed"

    write(tree / "three", (tree / "one").read_bytes())
    settle(twins)
    wait_until(lambda: service.shows(str(tree))["freed_bytes"] >= 16 * MIB, service.log)


def test_who_waits_is_told_what_came_of_a_pass(twins, tree, service):
    service.configure(tree)
    service.start()
    service.wait_for_passes(str(tree), 1)
    write(tree / "three", (tree / "one").read_bytes())
    settle(twins)

    said = service.tell("start", "--wait", tree)

    assert said == f"{tree}: complete, freed 8 MiB\n"
    assert service.shows(str(tree))["state"] == "waiting"
    assert service.tell("start", "--wait", tree) == f"{tree}: complete, freed 0 B\n"


def test_who_waits_is_told_that_a_pass_was_stopped(slow, tree, service):
    slowly(service, tree)
    waiting = service.begin("start", "-w", tree)
    time.sleep(1)
    assert waiting.poll() is None
    service.tell("stop", tree)
    said, _ = waiting.communicate(timeout=30)
    assert waiting.returncode == 1
    assert said.startswith(f"{tree}: interrupted, freed ")


def test_nobody_waits_for_a_pass_that_does_not_begin(twins, tree, service):
    service.configure()
    service.start()
    told = service.ask("start", "--wait", tree)
    assert told.returncode == 1
    assert "not enabled" in told.stderr
    assert service.ask("start", "--wait", "/absent").returncode == 1
    assert service.ask("start", "--wait").returncode == 2


def test_nothing_is_held_open_between_passes(twins, tree, service):
    service.configure(tree)
    service.start()
    uuid = service.wait_for_passes(str(tree), 1)["uuid"]

    twins.unmount()

    wait_until(lambda: service.shows(uuid)["state"] == "unmounted")
    assert "is not mounted" in service.ask("start", uuid).stderr
    twins.mount()
    service.wait_for_passes(uuid, 2)


def test_the_buffers_of_readers_go_with_the_pass(twins, tree, service, monkeypatch):
    # A heap with much room, as it is after passes with more to do.
    monkeypatch.setenv("MALLOC_TOP_PAD_", str(32 * MIB))
    service.configure(tree, Find="read")
    service.start()
    service.wait_for_passes(str(tree), 1)

    # The pages of the heap are small, or a few bytes would keep 2 MiB.
    flags = [line.split() for line in pathlib.Path(f"/proc/{service.pid}/smaps").read_text().splitlines()
             if line.startswith("VmFlags:")]
    assert flags and not any("hg" in words for words in flags)


@pytest.fixture
def slow(filesystem, tree):
    """A filesystem over which a pass takes long, as it is throttled."""
    for number in range(8):
        write(tree / f"file-{number}", noise(number // 2, 8 * MIB))
    settle(filesystem)
    return filesystem


def slowly(service, tree, **settings):
    """Begin a pass that reads 2 MiB a second, and wait until it is in the middle."""
    # What is in memory costs the disk nothing, and a test may have read it to compare it later.
    forget_pages(tree)
    service.configure(tree, Find="read", LimitRate="2M", **settings)
    service.start()
    wait_until(lambda: service.shows(str(tree))["state"] == "running", service.log)
    wait_until(lambda: (service.shows(str(tree))["stage_bytes"] or 0) > 0, service.log)


def test_a_pass_that_is_stopped_lets_go_of_the_filesystem(slow, tree, service):
    slowly(service, tree)
    begun = time.monotonic()
    service.tell("stop", tree)
    uuid = service.shows(str(tree))["uuid"]
    wait_until(lambda: service.shows(uuid)["state"] == "waiting", service.log)
    slow.unmount()

    assert time.monotonic() - begun < END_SECONDS
    wait_until(lambda: service.shows(uuid)["state"] == "unmounted")
    assert service.shows(uuid)["last_outcome"] == "interrupted"
    slow.mount()


def test_a_paused_filesystem_goes_on_when_it_is_resumed(slow, tree, service):
    before = oracle.snapshot(tree)
    slowly(service, tree)
    service.tell("pause", tree)
    wait_until(lambda: service.shows(str(tree))["state"] == "waiting", service.log)
    time.sleep(0.5)
    assert service.shows(str(tree))["why"] == "paused"
    passes = service.shows(str(tree))["passes"]

    service.configure(tree, Find="read")
    service.tell("reload")
    service.tell("resume", tree)

    service.wait_for_passes(str(tree), passes + 1)
    assert service.shows(str(tree))["last_outcome"] == "complete"
    assert_unchanged(before, tree)


def test_it_ends_soon_in_the_middle_of_a_pass(slow, tree, service):
    slowly(service, tree)
    assert service.end() < END_SECONDS
    assert not service.socket_path.exists()


def test_a_pass_ends_with_its_time(slow, tree, service):
    slowly(service, tree, RunFor="2s")
    wait_until(lambda: service.shows(str(tree))["state"] == "waiting", service.log)
    shown = service.shows(str(tree))
    assert shown["last_outcome"] == "interrupted"
    assert shown["why"] == "little changed"


def test_a_faulty_configuration_leaves_the_old_one_in_force(twins, tree, service):
    service.configure(tree)
    service.start()
    service.wait_for_passes(str(tree), 1)
    service.config_path.write_text("[Dedupd]\nZeroes=keep\nFrob=1\n")

    told = service.ask("reload")

    assert told.returncode == 1
    assert f"\ndedupctl: {service.config_path}:3" in told.stderr
    assert f"{service.config_path}:2" in told.stderr
    assert "Zeroes" in told.stderr
    assert service.shows(str(tree))["state"] == "waiting"
    service.reload()
    wait_until(lambda: "stays as it was" in service.log())
    assert service.shows(str(tree))["state"] == "waiting"


def test_what_the_configuration_no_longer_names_is_let_go_in_the_middle(slow, tree, service):
    slowly(service, tree)
    service.configure()
    service.tell("reload")
    wait_until(lambda: service.shows(str(tree))["state"] == "disabled", service.log)
    assert service.shows(str(tree))["last_outcome"] == "interrupted"


def test_what_is_mounted_later_is_worked_on(filesystem, tree, service):
    write_twins(tree, 8 * MIB)
    uuid = subprocess.run(["findmnt", "-no", "UUID", filesystem.mount_point], check=True,
                          capture_output=True, text=True).stdout.strip()
    filesystem.unmount()
    service.configure(uuid)
    service.start()
    assert service.shows(filesystem.mount_point) is None

    filesystem.mount()

    wait_until(lambda: service.shows(filesystem.mount_point) is not None, service.log)
    assert service.wait_for_passes(uuid, 1)["last_freed_bytes"] == 8 * MIB


def test_what_is_mounted_read_only_is_refused_until_it_is_not(twins, tree, service):
    twins.remount("ro")
    service.configure(tree)
    service.start()
    shown = service.shows(str(tree))
    assert shown["state"] == "refused"
    assert "read-only" in shown["why"]
    assert "read-only" in service.ask("start", tree).stderr

    twins.remount("rw")
    service.wait_for_passes(str(tree), 1)


def test_what_is_forgotten_is_found_anew(twins, tree, service):
    service.configure(tree)
    service.start()
    service.wait_for_passes(str(tree), 1)
    assert list(service.state_directory.glob("*.sqlite"))

    service.tell("forget", tree)

    service.wait_for_passes(str(tree), 2)
    assert service.shows(str(tree))["last_freed_bytes"] == 0


def test_others_see_totals_and_can_do_nothing(twins, tree, service):
    service.configure(tree)
    service.start()
    service.wait_for_passes(str(tree), 1)

    assert service.ask("list", user=USER).returncode == 0
    for verb in ("start", "stop", "pause", "resume", "forget"):
        told = service.ask(verb, tree, user=USER)
        assert told.returncode == 1
        assert "only root" in told.stderr, verb
    assert service.ask("reload", user=USER).returncode == 1
    assert service.shows(str(tree))["passes"] == 1


def test_a_second_service_is_refused_the_socket(twins, tree, service, tmp_path):
    service.configure(tree)
    service.start()
    second = subprocess.run([service.program, f"--config={service.config_path}"], check=False,
                            capture_output=True, text=True, env=service.environment(), timeout=30)
    assert second.returncode == 1
    assert str(service.socket_path) in second.stderr
    assert service.ask("list").returncode == 0


def test_without_a_service_dedupctl_says_so(service):
    for verb in ("list", "reload"):
        told = service.ask(verb)
        assert told.returncode == 3
        assert "does not run" in told.stderr


def test_the_supervisor_is_told_of_beginning_and_end(twins, tree, service, tmp_path):
    with supervisor(tmp_path) as told:
        service.configure(tree)
        service.start()
        service.wait_for_passes(str(tree), 1)
        service.end()
    assert told.count("READY=1") == told.count("STOPPING=1") == 1
    assert told.index("READY=1") < told.index("STOPPING=1")
    assert f"STATUS=a pass over {tree}" in told
    assert told[-1] == "STATUS=ending"


@pytest.mark.alone
def test_an_idle_service_costs_nothing(twins, tree, service):
    service.configure(tree)
    service.start()
    service.wait_for_passes(str(tree), 1)
    settle(twins)
    wait_until(lambda: is_at_rest(service.pid), service.log)
    counters = twins.read_bytes()
    before = processor_seconds(service.pid)
    time.sleep(5)
    assert processor_seconds(service.pid) - before <= 0.02
    assert twins.read_bytes() == counters
    resident = service.resident_bytes()
    assert resident <= 20 * MIB, resident


def is_at_rest(pid):
    """Whether it has done all that follows a pass."""
    before = processor_seconds(pid)
    time.sleep(0.5)
    return processor_seconds(pid) == before


def processor_seconds(pid):
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
