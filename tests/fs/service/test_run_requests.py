# SPDX-License-Identifier: GPL-2.0-or-later
"""What becomes of passes over paths that somebody asked the service for, whatever happens meanwhile."""

import concurrent.futures
import contextlib
import fcntl
import os
import pathlib
import subprocess
import time

import pytest

import content
import harness
from content import MIB, forget_pages, noise, write_extent
from hung_mount import HungMount, HungMountUnavailable
from private_peer import PeerError, PrivatePeer, array, string
from service import END_SECONDS, wait_until
from supervisor import supervisor

LOCKS = pathlib.Path("/run/dedupd-lock")
INTERFACE = "org.dedupd1.Filesystem"
PREFIX = "/org/dedupd1/filesystem/"
# What "at once" means on a machine that does other things, too.
AT_ONCE_SECONDS = 1
# What the service allows for paths to be looked up.
LOOK_UP_SECONDS = 20


@pytest.fixture
def kind():
    """The service looks paths up in the same way on both."""
    return "xfs"


@pytest.fixture(name="quiet")
def quiet_fixture(service, tree):
    """The service after a pass over what is there, which makes no other by itself."""
    service.configure(tree, WakeBytes="1T", WakeInterval="30d")
    service.start()
    service.wait_for_passes(str(tree), 1)
    return service


@pytest.fixture(name="hung")
def hung_fixture(tmp_path):
    try:
        with HungMount(tmp_path / "hung") as mount:
            yield mount.directory
    except HungMountUnavailable as unavailable:
        pytest.skip(f"no filesystem that hangs can be had: {unavailable}")


class Caller:
    """One who calls methods of the filesystem on the private socket, each on a connection of its own."""

    def __init__(self, service, tree):
        self._socket_path = service.socket_path
        self._path = PREFIX + service.shows(str(tree))["uuid"].replace("-", "_")
        self._threads = concurrent.futures.ThreadPoolExecutor(max_workers=32)

    def connect(self):
        return PrivatePeer(self._socket_path)

    def words(self, *paths, wishes=()):
        """What PrivatePeer asks with for Run."""
        body = array([array([os.fsencode(path)], 1) for path in paths])
        body += b"\0" * (-len(body) % 4) + array([string(wish) for wish in wishes])
        return "Run", self._path, INTERFACE, "aayas", body

    def run(self, *paths, wishes=()):
        """Call Run; None, or the error."""
        peer = self.connect()
        try:
            peer.ask(*self.words(*paths, wishes=wishes))
        except PeerError as error:
            return str(error)
        finally:
            peer.close()
        return None

    def begin(self, *paths, wishes=()):
        """Call Run from a thread; what it is going to say."""
        return self._threads.submit(self.run, *paths, wishes=wishes)

    def is_asked(self):
        """Whether a pass is asked for that has not ended."""
        peer = self.connect()
        body = string(INTERFACE)
        body += b"\0" * (-len(body) % 4) + string("Asked")
        value = peer.ask("Get", self._path, "org.freedesktop.DBus.Properties", "ss", body)
        peer.close()
        return value[-4:] == b"\1\0\0\0"

    def close(self):
        self._threads.shutdown()


@pytest.fixture(name="caller")
def caller_fixture(quiet, tree):
    caller = Caller(quiet, tree)
    yield caller
    # Which ends what still hangs there.
    quiet.close()
    caller.close()


@contextlib.contextmanager
def held(service, tree):
    """While it lasts, somebody else works on the filesystem."""
    with open(LOCKS / service.shows(str(tree))["uuid"], "ab") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def write_pairs(filesystem, *names, size=2 * MIB):
    """Two equal files in each of the directories; their paths by these."""
    tree = pathlib.Path(filesystem.mount_point)
    files = {}
    for seed, name in enumerate(names):
        (tree / name).mkdir()
        files[name] = [write_extent(tree / name / one, noise(seed, size)) for one in "ab"]
    harness.settle(filesystem)
    return files


def are_shared(one, other):
    return subprocess.run([os.environ["DEDUPCTL"], "shared", one, other], check=False,
                          capture_output=True, timeout=60).returncode == 0


def assert_answers_at_once(service, tree):
    begun = time.monotonic()
    shown = service.shows(str(tree))
    assert time.monotonic() - begun < AT_ONCE_SECONDS
    return shown


def is_hanging(service):
    """Whether a thread of the service waits for the filesystem that hangs."""
    for thread in pathlib.Path(f"/proc/{service.pid}/task").iterdir():
        with contextlib.suppress(OSError):
            if "fuse" in (thread / "stack").read_text(encoding="ascii"):
                return True
    return False


def test_a_path_that_hangs_is_in_nobodys_way(tree, quiet, caller, hung):
    asked = caller.begin(hung / "x")
    wait_until(lambda: is_hanging(quiet))
    assert assert_answers_at_once(quiet, tree)["state"] == "waiting"
    begun = time.monotonic()
    assert quiet.tell("start", "--wait", tree).startswith(f"{tree}: complete")
    assert time.monotonic() - begun < END_SECONDS
    assert not asked.done()
    assert "InUse" in caller.run(tree)
    quiet.tell("stop", tree)
    assert "stopped meanwhile" in asked.result(AT_ONCE_SECONDS)
    assert caller.run(tree) is None
    quiet.wait_for_passes(str(tree), 3)


def test_the_service_ends_while_a_path_hangs(quiet, caller, hung):
    asked = caller.begin(hung / "x")
    wait_until(lambda: is_hanging(quiet))
    assert quiet.end() < 2
    assert asked.result(AT_ONCE_SECONDS) is not None


def test_the_watchdog_is_fed_while_a_path_hangs(tree, service, hung, tmp_path, monkeypatch):
    monkeypatch.setenv("WATCHDOG_USEC", "1000000")
    with supervisor(tmp_path) as told:
        service.configure(tree)
        service.start()
        service.wait_for_passes(str(tree), 1)
        caller = Caller(service, tree)
        caller.begin(hung / "x")
        wait_until(lambda: is_hanging(service))
        count = told.count("WATCHDOG=1")
        wait_until(lambda: told.count("WATCHDOG=1") >= count + 4)
        assert is_hanging(service)
        service.end()
        caller.close()


def test_whose_path_hangs_is_told_so(quiet, caller, hung, tree):
    begun = time.monotonic()
    assert "hangs" in caller.run(hung / "x")
    assert LOOK_UP_SECONDS <= time.monotonic() - begun < LOOK_UP_SECONDS + END_SECONDS
    # Which keeps nobody from the next.
    assert caller.run(tree) is None
    quiet.wait_for_passes(str(tree), 2)


def test_threads_that_hang_are_bounded(tree, quiet, caller, hung):
    for _ in range(16):
        asked = caller.begin(hung / "x")
        time.sleep(0.05)
        quiet.tell("stop", tree)
        assert "stopped" in asked.result(END_SECONDS)
    assert "too many lookups of paths" in caller.run(hung / "x")
    threads = len(list(pathlib.Path(f"/proc/{quiet.pid}/task").iterdir()))
    assert threads <= 16 + 4
    assert quiet.end() < 2


def test_who_hangs_up_is_not_waited_for(tree, quiet, caller, hung):
    asking = caller.connect()
    asking.say(*caller.words(hung / "x"))
    wait_until(lambda: is_hanging(quiet))
    asking.close()
    assert_answers_at_once(quiet, tree)
    quiet.tell("stop", tree)
    assert caller.run(tree) is None
    quiet.wait_for_passes(str(tree), 2)


def test_who_hangs_up_at_once_has_the_pass(filesystem, tree, quiet, caller):
    files = write_pairs(filesystem, "in")
    asking = caller.connect()
    asking.say(*caller.words(tree / "in"))
    wait_until(lambda: quiet.shows(str(tree))["passes"] == 2, quiet.log)
    asking.close()
    assert are_shared(*files["in"])


def test_a_path_that_hangs_when_its_pass_begins_is_in_nobodys_way(filesystem, tree, quiet, caller,
                                                                  hung):
    write_pairs(filesystem, "in")
    with held(quiet, tree):
        assert caller.run(tree / "in") is None
        (tree / "in").rename(tree / "other")
        (tree / "in").symlink_to(hung / "x")
    wait_until(lambda: quiet.shows(str(tree))["state"] == "running", quiet.log)
    wait_until(lambda: is_hanging(quiet))
    assert_answers_at_once(quiet, tree)
    assert "runs already" in caller.run(tree)
    assert "stop it first" in quiet.ask("forget", tree).stderr
    quiet.tell("stop", tree)
    assert quiet.shows(str(tree))["state"] == "waiting"
    assert not caller.is_asked()
    (tree / "in").unlink()
    assert quiet.tell("start", "--wait", tree) == f"{tree}: complete, freed 2 MiB\n"


def test_the_service_ends_while_what_a_pass_is_over_hangs(tree, quiet, caller, hung):
    (tree / "in").mkdir()
    with held(quiet, tree):
        assert caller.run(tree / "in") is None
        (tree / "in").rmdir()
        (tree / "in").symlink_to(hung / "x")
    wait_until(lambda: is_hanging(quiet))
    assert quiet.end() < 2


def test_what_leads_elsewhere_when_its_pass_begins_is_left_alone(tree, quiet, caller, tmp_path):
    (tree / "in").mkdir()
    with held(quiet, tree):
        assert caller.run(tree / "in") is None
        (tree / "in").rmdir()
        (tree / "in").symlink_to(tmp_path)
    wait_until(lambda: "cannot begin a pass" in quiet.log(), quiet.log)
    assert not caller.is_asked()
    (tree / "in").unlink()
    assert quiet.tell("start", "--wait", tree).startswith(f"{tree}: complete")


def test_what_is_unmounted_while_it_is_looked_up_is_not_worked_on(filesystem, tree, quiet, caller,
                                                                  hung):
    uuid = quiet.shows(str(tree))["uuid"]
    asked = caller.begin(tree, hung / "x")
    wait_until(lambda: is_hanging(quiet))
    subprocess.run(["umount", "--lazy", filesystem.mount_point], check=True)
    wait_until(lambda: quiet.shows(uuid)["state"] == "unmounted")
    quiet.tell("stop", uuid)
    assert asked.result(AT_ONCE_SECONDS) is not None
    quiet.close()
    wait_until(lambda: subprocess.run(["fuser", filesystem.device], check=False,
                                      capture_output=True).returncode != 0)
    filesystem.mount()


def test_what_is_no_longer_enabled_is_not_worked_on(tree, quiet, caller, hung):
    asked = caller.begin(hung / "x")
    wait_until(lambda: is_hanging(quiet))
    quiet.configure()
    quiet.tell("reload")
    assert "stopped meanwhile" in asked.result(AT_ONCE_SECONDS)
    assert "not enabled" in caller.run(tree)


def test_a_pass_that_waits_goes_by_the_configuration_of_when_it_begins(filesystem, tree, quiet,
                                                                       caller):
    files = write_pairs(filesystem, "one", "two", "three")
    with held(quiet, tree):
        assert caller.run(tree, wishes=["exclude=two"]) is None
        quiet.configure(tree, Exclude="three", WakeBytes="1T", WakeInterval="30d")
        quiet.tell("reload")
    quiet.wait_for_passes(str(tree), 2)
    assert are_shared(*files["one"])
    assert not are_shared(*files["two"]) and not are_shared(*files["three"])
    quiet.tell("start", "--wait", tree)
    assert are_shared(*files["two"]) and not are_shared(*files["three"])


@pytest.fixture(name="slow")
def slow_fixture(filesystem, tree, service):
    """With budgets that make a pass over "in" take long, and files in "out"."""
    settings = {"Find": "read", "WakeBytes": "1T", "WakeInterval": "30d"}
    service.configure(tree, LimitRate="2M", **settings)
    service.start()
    service.wait_for_passes(str(tree), 1)
    write_pairs(filesystem, "out")
    (tree / "in").mkdir()
    for number in range(8):
        content.write(tree / "in" / f"file-{number}", noise(10 + number // 2, 8 * MIB))
    harness.settle(filesystem)
    forget_pages(tree)
    yield service
    # Soon, whatever it is about.
    service.close()


def is_asked(service, tree):
    return Caller(service, tree).is_asked()


def begin(service, tree, *words):
    """dedupctl run, when its pass is in the middle."""
    running = service.begin("run", *words, tree / "in")
    wait_until(lambda: (service.shows(str(tree))["stage_bytes"] or 0) > 0, service.log)
    return running


def pause(service, tree, running):
    service.tell("pause", tree)
    wait_until(lambda: service.shows(str(tree))["state"] == "waiting", service.log)
    said, _ = running.communicate(timeout=30)
    assert said.startswith(f"{tree}: interrupted")


def speed_up(service, tree):
    service.configure(tree, Find="read", WakeBytes="1T", WakeInterval="30d")
    service.tell("reload")


def test_a_pass_over_paths_goes_on_after_a_pause(slow, tree):
    pause(slow, tree, begin(slow, tree, "--exclude=file-[67]"))
    speed_up(slow, tree)
    shown = slow.shows(str(tree))
    assert shown["why"] == "paused"
    assert is_asked(slow, tree)
    slow.tell("resume", tree)
    slow.wait_for_passes(str(tree), shown["passes"] + 1)
    assert slow.shows(str(tree))["last_outcome"] == "complete"
    assert are_shared(tree / "in/file-0", tree / "in/file-1")
    # With its paths, and its wishes.
    assert not are_shared(tree / "out/a", tree / "out/b")
    assert not are_shared(tree / "in/file-6", tree / "in/file-7")
    assert not is_asked(slow, tree)


def test_a_stop_drops_a_pass_over_paths_that_is_paused(slow, tree):
    pause(slow, tree, begin(slow, tree))
    passes = slow.shows(str(tree))["passes"]
    slow.tell("stop", tree)
    assert not is_asked(slow, tree)
    slow.tell("resume", tree)
    time.sleep(1)
    shown = slow.shows(str(tree))
    assert (shown["state"], shown["passes"]) == ("waiting", passes)


def test_a_pass_over_paths_that_its_time_ends_is_not_made_again(slow, tree):
    slow.configure(tree, Find="read", LimitRate="2M", RunFor="3s", WakeBytes="1T",
                   WakeInterval="30d")
    slow.tell("reload")
    running = begin(slow, tree)
    said, _ = running.communicate(timeout=30)
    assert said.startswith(f"{tree}: interrupted")
    time.sleep(1)
    shown = slow.shows(str(tree))
    assert shown["state"] == "waiting"
    assert not is_asked(slow, tree)


def test_no_pass_over_paths_is_asked_for_during_a_pause(tree, quiet, caller):
    quiet.tell("pause", tree)
    assert "is paused: 'dedupctl resume' ends the pause" in caller.run(tree)
    assert quiet.shows(str(tree))["why"] == "paused"
    assert not is_asked(quiet, tree)

    quiet.tell("resume", tree)
    assert caller.run(tree) is None
    quiet.wait_for_passes(str(tree), 2)
