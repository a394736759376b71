# SPDX-License-Identifier: GPL-2.0-or-later
"""No pass touches a filesystem that somebody holds, with the service and without it."""

import contextlib
import fcntl
import json
import os
import pathlib
import signal
import subprocess
import time

import pytest

import content
import harness
from content import MIB, forget_pages, noise
from harness import dedupctl
from private_peer import PeerError, PrivatePeer, string
from service import END_SECONDS, wait_until

pytestmark = pytest.mark.true_clock

INTERFACE = "org.dedupd1.Filesystem"
PREFIX = "/org/dedupd1/filesystem/"
USER = 65534
NOT_HELD, CANNOT_RUN, NO_COMMAND, IN_USE = 125, 126, 127, 5
# A pass looks once a second, and ends within two.
ENDS_SECONDS = 3 + 2
# What a pass would take to begin, if it could.
A_WHILE_SECONDS = 2


@pytest.fixture
def kind():
    """A hold comes before all that differs between the filesystems; two tests end passes over both."""
    return "xfs"


def uuid_of(tree):
    return subprocess.run(["findmnt", "-no", "UUID", tree], check=True, capture_output=True,
                          text=True).stdout.strip()


class Hold:
    """dedupctl hold with a command that runs until it is told to end."""

    def __init__(self, environment, tree, *words, user=None):
        script = "echo held; read line; exit 0"
        command = [harness.dedupctl_program(), "hold", *words, str(tree), "--", "sh", "-c", script]
        self.process = subprocess.Popen(harness.as_user(user, command), stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                        env=environment)

    def begun(self):
        """Whether its command runs, when that is known."""
        return self.process.stdout.readline() == "held\n"

    def end(self):
        self.process.stdin.write("\n")
        self.process.stdin.close()
        return self.process.wait(END_SECONDS)

    def close(self):
        if self.process.poll() is None:
            self.process.stdin.close()
            self.process.wait(END_SECONDS)
        self.process.stdout.close()
        self.process.stderr.close()


@contextlib.contextmanager
def holding(environment, tree, *words, **options):
    """While it lasts, the command of dedupctl hold runs."""
    with contextlib.closing(Hold(environment, tree, *words, **options)) as hold:
        assert hold.begun(), hold.process.stderr.read()
        yield hold


def status_of(service, tree):
    (row,) = json.loads(service.tell("status", "--json", tree))["filesystems"]
    return row


def write_much(filesystem, tree):
    for number in range(8):
        content.write(tree / f"file-{number}", noise(10 + number // 2, 8 * MIB))
    harness.settle(filesystem)
    forget_pages(tree)


@pytest.fixture(name="slow")
def slow_fixture(filesystem, tree, service):
    """In the middle of a pass that takes long."""
    write_much(filesystem, tree)
    service.configure(tree, LimitRate="4M", Find="read", WakeBytes="1T", WakeInterval="30d")
    service.start()
    wait_until(lambda: (service.shows(str(tree))["stage_bytes"] or 0) > 0, service.log)
    return service


@pytest.fixture(name="quiet")
def quiet_fixture(filesystem, tree, service):
    """After a pass, with twins that came since."""
    service.configure(tree, WakeBytes="1T", WakeInterval="30d")
    service.start()
    service.wait_for_passes(str(tree), 1)
    content.write_twins(tree, 8 * MIB)
    harness.settle(filesystem)
    return service


def speed_up(service, tree):
    service.configure(tree, Find="read", WakeBytes="1T", WakeInterval="30d")
    service.tell("reload")


@pytest.mark.parametrize("kind", ["btrfs", "xfs"])
def test_a_pass_that_runs_is_over_when_the_command_begins_and_goes_on_after_it(slow, filesystem, tree):
    begun = time.monotonic()
    with holding(slow.environment(), tree, "--why=backup of the evening") as hold:
        assert time.monotonic() - begun < ENDS_SECONDS
        shown = slow.shows(str(tree))
        assert (shown["state"], shown["last_outcome"]) == ("waiting", "interrupted")
        assert shown["why"] == f"on hold by process {hold.process.pid} (backup of the evening)"
        # Nothing of it is open: so it could be unmounted.
        opened = [os.readlink(link) for link in pathlib.Path(f"/proc/{slow.pid}/fd").iterdir()
                  if link.is_symlink()]
        assert not [name for name in opened if name.startswith(str(tree))]
        speed_up(slow, tree)
        passes, read_bytes = shown["passes"], filesystem.read_bytes()
        time.sleep(A_WHILE_SECONDS)
        assert slow.shows(str(tree))["passes"] == passes
        assert filesystem.read_bytes() == read_bytes
        assert hold.end() == 0
    shown = slow.wait_for_passes(str(tree), passes + 1)
    assert (shown["last_outcome"], shown["last_freed_bytes"]) == ("complete", 32 * MIB)


def test_who_holds_it_since_when_and_why_is_shown(quiet, tree):
    begun = time.time()
    with holding(quiet.environment(), tree, "--why=borg\nbackup") as hold:
        row = status_of(quiet, tree)
        assert row["wait_reason"] == "on-hold"
        (shown,) = row["holds"]
        assert (shown["uid"], shown["pid"], shown["why"]) == (0, hold.process.pid, "borg\\nbackup")
        since = time.strptime(shown["since"].split(".")[0].rstrip("Z"), "%Y-%m-%dT%H:%M:%S")
        assert abs(begun - (time.mktime(since) - time.timezone)) < END_SECONDS
        block = quiet.tell("status", tree)
        assert f"Held by: process {hold.process.pid} (root) since " in block
        hold.end()
    wait_until(lambda: status_of(quiet, tree)["holds"] == [])
    assert "Held by" not in quiet.tell("status", tree)


def test_what_is_not_said_is_the_name_of_the_command(quiet, tree):
    with holding(quiet.environment(), tree):
        assert status_of(quiet, tree)["holds"][0]["why"] == "sh"


def test_what_is_asked_for_meanwhile_is_done_afterwards(quiet, tree):
    with holding(quiet.environment(), tree) as hold:
        quiet.tell("start", tree)
        running = quiet.begin("run", tree)
        time.sleep(A_WHILE_SECONDS)
        assert quiet.shows(str(tree))["passes"] == 1
        assert running.poll() is not None, "one pass is asked for already"
        running.communicate()
        hold.end()
    assert quiet.wait_for_passes(str(tree), 2)["last_freed_bytes"] == 8 * MIB


def test_who_waits_for_a_pass_that_is_ended_for_a_hold_waits_on(slow, tree):
    slow.tell("stop", tree)
    wait_until(lambda: slow.shows(str(tree))["state"] == "waiting", slow.log)
    running = slow.begin("run", tree)
    wait_until(lambda: (slow.shows(str(tree))["stage_bytes"] or 0) > 0, slow.log)
    with holding(slow.environment(), tree) as hold:
        speed_up(slow, tree)
        time.sleep(1)
        assert running.poll() is None
        hold.end()
    said, _ = running.communicate(timeout=60)
    assert (running.returncode, said) == (0, f"{tree}: complete, freed 32 MiB\n")


def test_all_who_hold_it_have_to_let_go(quiet, tree):
    quiet.tell("start", tree)
    quiet.wait_for_passes(str(tree), 2)
    with holding(quiet.environment(), tree) as first:
        with holding(quiet.environment(), tree) as second:
            quiet.tell("start", tree)
            assert len(status_of(quiet, tree)["holds"]) == 2
            first.end()
            wait_until(lambda: len(status_of(quiet, tree)["holds"]) == 1)
            time.sleep(A_WHILE_SECONDS)
            assert quiet.shows(str(tree))["passes"] == 2
            second.end()
    quiet.wait_for_passes(str(tree), 3)


def test_a_hold_ends_with_the_process(quiet, tree):
    with holding(quiet.environment(), tree) as hold:
        quiet.tell("start", tree)
        hold.process.kill()
        quiet.wait_for_passes(str(tree), 2)


def test_the_service_that_begins_anew_heeds_who_holds(quiet, tree):
    with holding(quiet.environment(), tree) as hold:
        quiet.end()
        quiet.start()
        why = f"process {hold.process.pid} has put it on hold"
        wait_until(lambda: quiet.shows(str(tree))["why"] == why, quiet.log)
        quiet.tell("start", tree)
        time.sleep(A_WHILE_SECONDS)
        assert quiet.shows(str(tree))["passes"] == 0
        hold.end()
    assert quiet.wait_for_passes(str(tree), 1)["last_freed_bytes"] == 8 * MIB


def test_a_stop_during_a_hold_is_obeyed_after_it(slow, tree):
    with holding(slow.environment(), tree) as hold:
        speed_up(slow, tree)
        slow.tell("stop", tree)
        passes = slow.shows(str(tree))["passes"]
        hold.end()
    time.sleep(A_WHILE_SECONDS)
    assert slow.shows(str(tree))["passes"] == passes


def run_held(service, tree, *command):
    return service.ask("hold", tree, "--", *command)


def test_the_exit_status_is_that_of_the_command(quiet, tree, tmp_path):
    assert run_held(quiet, tree, "true").returncode == 0
    assert run_held(quiet, tree, "sh", "-c", "exit 7").returncode == 7
    assert run_held(quiet, tree, "sh", "-c", "kill -TERM $$").returncode == 128 + signal.SIGTERM
    absent = run_held(quiet, tree, "no-such-command")
    assert absent.returncode == NO_COMMAND
    assert "cannot run no-such-command: No such file" in absent.stderr
    assert run_held(quiet, tree, tmp_path).returncode == CANNOT_RUN
    said = run_held(quiet, tree, "printf", "%s,", "--help", "--", "-v")
    assert said.stdout == "--help,--,-v,"


def test_what_cannot_be_held_has_no_command_run(quiet, tree, tmp_path):
    made = tmp_path / "made"
    for place in (tree / "absent", "/proc", "3d0e6d5b-7c4f-4b4a-9d51-0c5e8a1b2c3e"):
        done = quiet.ask("hold", place, "--", "touch", made)
        assert done.returncode == NOT_HELD, done.stderr
        assert "hold: " in done.stderr
    for words in (["hold", tree], ["hold", tree, "--"], ["hold", "--", "true"]):
        assert quiet.ask(*words).returncode == 2
    assert not made.exists()


def test_a_caller_that_ignores_its_children_has_the_hold_end(quiet, tree):
    """As Perl programs do: the kernel then tells nobody that the command has ended."""
    done = subprocess.run([harness.dedupctl_program(), "hold", tree, "--", "sh", "-c", "exit 7"],
                          env=quiet.environment(), timeout=END_SECONDS, check=False,
                          preexec_fn=lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN))
    assert done.returncode == 7


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1])
def test_signals_are_passed_on(quiet, tree, number):
    # One that arrives right before pause() would wait for another.
    script = f"import signal, sys, time; signal.signal({int(number)}, lambda *_: sys.exit(9)); " \
             "print('ready', flush=True); [time.sleep(0.1) for _ in iter(int, 1)]"
    with subprocess.Popen([harness.dedupctl_program(), "hold", tree, "--", "python3", "-c", script],
                          stdout=subprocess.PIPE, text=True, env=quiet.environment()) as process:
        assert process.stdout.readline() == "ready\n"
        process.send_signal(number)
        assert process.wait(END_SECONDS) == 9


def test_the_command_has_nothing_open_of_who_holds(quiet, tree):
    # With the descriptor of ls itself.
    assert run_held(quiet, tree, "ls", "/proc/self/fd").stdout.split() == ["0", "1", "2", "3"]


def without_service(tmp_path):
    return os.environ | {"DEDUPD_SOCKET": str(tmp_path / "no-socket"),
                         "DBUS_SYSTEM_BUS_ADDRESS": "unix:path=/nonexistent"}


@pytest.mark.parametrize("kind", ["btrfs", "xfs"])
def test_without_the_service_a_pass_that_runs_ends_and_none_begins(filesystem, tree, dedupd, tmp_path):
    write_much(filesystem, tree)
    process = dedupd.start(limit_rate="4M")
    wait_until(lambda: any(dedupd.state_directory.glob("*.sqlite")))
    time.sleep(1)
    with holding(without_service(tmp_path), tree, "--why=unseen") as hold:
        ended = dedupd.finish(process)
        assert ended.status == IN_USE, ended.stderr
        (report,) = ended.report["filesystems"]
        assert report["outcome"] == "interrupted"
        assert report["stopped_reason"] == f"process {hold.process.pid} has put it on hold"
        refused = dedupd.run()
        assert refused.status == IN_USE
        assert f"process {hold.process.pid} has put the filesystem" in refused.stderr
        assert hold.end() == 0
    assert dedupd.run().report["filesystems"][0]["freed"]["bytes"] == 32 * MIB


def test_a_pass_of_a_timer_ends_for_a_hold_of_the_service(quiet, filesystem, tree, dedupd):
    write_much(filesystem, tree)
    quiet.tell("pause", tree)
    process = dedupd.start(limit_rate="4M")
    wait_until(lambda: any(dedupd.state_directory.glob("*.sqlite")))
    with holding(quiet.environment(), tree) as hold:
        # When the command runs, the pass is over.
        assert process.wait(1) == IN_USE
        dedupd.finish(process)
        assert dedupd.run().status == IN_USE
        hold.end()
    # The service hears of the end a moment later.
    wait_until(lambda: dedupd.run().status == 0)


def test_a_pass_that_waits_for_its_turn_on_the_disk_makes_way(tree, dedupd, tmp_path):
    locks = pathlib.Path("/run/dedupd-lock")
    locks.mkdir(mode=0o700, exist_ok=True)
    with contextlib.ExitStack() as stack:
        # Whichever it lies on.
        for disk in os.listdir("/sys/block"):
            lock = stack.enter_context(open(locks / f"disk-{disk}", "ab"))
            fcntl.flock(lock, fcntl.LOCK_EX)
        process = dedupd.start(rotating="yes")
        wait_until(lambda: (locks / uuid_of(tree)).exists())
        time.sleep(1)
        assert process.poll() is None
        with holding(without_service(tmp_path), tree):
            assert dedupd.finish(process).status == IN_USE


def test_several_filesystems_are_held_at_once(make_filesystem, kind, dedupd, tmp_path, filesystem, tree):
    other = make_filesystem(kind)
    command = [harness.dedupctl_program(), "hold", tree, other.mount_point, tree, "--", "cat"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, env=without_service(tmp_path)) as process:
        for place in (tree, other.mount_point):
            wait_until(lambda place=place: dedupd.run(place).status == IN_USE)
        process.stdin.close()
        assert process.wait(END_SECONDS) == 0
    assert dedupd.run(tree).status == 0


def test_without_the_service_only_root_holds(tree, tmp_path):
    made = tmp_path / "made"
    done = dedupctl("hold", uuid_of(tree), "--", "touch", made, status=NOT_HELD, user=USER,
                    env=without_service(tmp_path))
    assert "only root" in done.stderr
    assert not made.exists()


class Peer:
    """One who holds by the private socket, by hand."""

    def __init__(self, service, tree):
        self._peer = PrivatePeer(service.socket_path)
        self._path = PREFIX + service.shows(str(tree))["uuid"].replace("-", "_")

    def hold(self, why):
        self._peer.ask("Hold", self._path, INTERFACE, "s", string(why))

    def close(self):
        self._peer.close()


def test_what_is_said_of_a_hold_is_bounded(quiet, tree):
    with contextlib.closing(Peer(quiet, tree)) as peer, pytest.raises(PeerError, match="LimitsExceeded"):
        peer.hold("x" * 257)
    with holding(quiet.environment(), tree, "--why=" + "ä" * 200):
        assert status_of(quiet, tree)["holds"][0]["why"] == "ä" * 128


def test_a_lease_that_nobody_took_holds_nothing(quiet, tree):
    # The peer takes no descriptors: the kernel drops what it does not receive.
    with contextlib.closing(Peer(quiet, tree)) as peer:
        peer.hold("gone")
    wait_until(lambda: status_of(quiet, tree)["holds"] == [])


def test_those_who_hold_are_bounded(quiet, tree):
    with contextlib.ExitStack() as stack:
        for _ in range(32):
            stack.enter_context(holding(quiet.environment(), tree))
        refused = run_held(quiet, tree, "true")
        assert refused.returncode == NOT_HELD
        assert "too many hold" in refused.stderr
    wait_until(lambda: status_of(quiet, tree)["holds"] == [])
    assert run_held(quiet, tree, "true").returncode == 0


def test_others_are_told_who_holds_it_and_not_why(quiet, tree):
    with holding(quiet.environment(), tree, "--why=/secret/name"):
        for words in (["status", tree], ["list", "--json"], ["status", "--json", tree]):
            shown = quiet.ask(*words, user=USER).stdout
            assert "on hold" in shown or "on-hold" in shown
            assert "secret" not in shown
        assert "secret" in quiet.tell("list", "--json")
