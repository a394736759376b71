# SPDX-License-Identifier: GPL-2.0-or-later
"""What the verbs that ask about files have in common: what they cost, and that they are in nobody's way."""

import contextlib
import fcntl
import json
import os
import pathlib
import pty
import random
import signal
import subprocess
import time

import pytest

import harness
from content import KIB, MIB, noise

IN_USE = 5
LOCKS = "/run/dedupd-lock"
BLOCK = 4 * KIB
# Blocks that are overwritten in each image: none beside another, and more than can be looked at one by one.
FEW, MANY = 1000, 4000
# So many take a second and more where each search takes a millisecond longer.
SLOW, SEARCH_USEC = 300, 1000
# n log n takes 4.7 times as long for four times as many; what is quadratic takes 16 times.
TIMES_MOST = 9


class Images:
    """Images on a btrfs with one base, in which the same blocks were overwritten, each with other data or all alike."""

    def __init__(self, make_filesystem, make_dedupd, n_edits, are_alike=False):
        self.filesystem = make_filesystem("btrfs")
        self.directory = pathlib.Path(self.filesystem.mount_point)
        self.dedupd = make_dedupd(self.filesystem)
        self.size = 3 * n_edits * BLOCK
        self.paths = [self.directory / name for name in ("one", "two")]
        order = list(range(n_edits))
        random.Random(n_edits).shuffle(order)
        for path in self.paths:
            with open(path, "wb", buffering=0) as image:
                image.write(noise(1, self.size))
                os.fsync(image.fileno())
                for number in order:
                    os.pwrite(image.fileno(), noise(2 if are_alike else 2 + number, BLOCK), 3 * number * BLOCK)
                os.fsync(image.fileno())
        harness.settle(self.filesystem)
        assert self.dedupd.run(find="checksums", dry_run=True).status == 0

    def command(self, verb, *words):
        asked = {"why": [self.paths[0]], "file": [self.paths[0]], "shared": self.paths}.get(
            verb, [self.directory])
        return [harness.dedupctl_program(), f"--state-dir={self.dedupd.state_directory}", verb, *words,
                *map(str, asked)]


@pytest.fixture(name="make_images")
def make_images_fixture(make_filesystem, make_dedupd):
    return lambda n_edits, **options: Images(make_filesystem, make_dedupd, n_edits, **options)


def slowly():
    """The environment in which a query of SLOW blocks takes long on every machine."""
    if "FEIGNED_KERNEL" not in os.environ:
        pytest.skip("FEIGNED_KERNEL does not name the library that feigns")
    return {**os.environ, "LD_PRELOAD": os.environ["FEIGNED_KERNEL"], "FEIGN_SLOW_SEARCHES": str(SEARCH_USEC)}


def processor_seconds(command, **options):
    """What the program took of the processor, of user and system together."""
    with subprocess.Popen(command, stdout=options.pop("stdout", subprocess.DEVNULL), **options) as process:
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    return usage.ru_utime + usage.ru_stime, process.returncode


def least_seconds(command):
    return min(processor_seconds(command)[0] for _ in range(3))


def test_four_times_as_many_extents_take_about_four_times_as_long(make_images):
    few, many = make_images(FEW), make_images(MANY)
    times = {verb: least_seconds(many.command(verb)) / least_seconds(few.command(verb))
             for verb in ("why", "file", "unique", "duplicates", "waste", "shared")}
    assert all(ratio < TIMES_MOST for ratio in times.values()), times


def test_what_equals_thousands_of_extents_is_found_once_for_all(make_images):
    """One by one that takes fifteen times as long as where each equals one other."""
    alike, others = make_images(FEW, are_alike=True), make_images(FEW)
    for verb in ("why", "file", "unique"):
        assert least_seconds(alike.command(verb)) < 3 * least_seconds(others.command(verb)), verb
    row, = json.loads(subprocess.run(alike.command("file", "--json"), stdout=subprocess.PIPE,
                                     check=True).stdout)["files"]
    edits = [extent for extent in row["extent_list"] if extent["bytes"] == BLOCK]
    assert len(edits) == FEW
    assert {extent["equals"] for extent in edits} == {64}


def test_all_extents_of_a_file_are_judged(make_images):
    """However many they are, and whatever is shared of them."""
    images = make_images(5200)
    rows = json.loads(subprocess.run(images.command("why", "--json"), stdout=subprocess.PIPE,
                                     check=True).stdout)["reasons"]
    row, = json.loads(subprocess.run(images.command("file", "--json"), stdout=subprocess.PIPE,
                                     check=True).stdout)["files"]
    assert row["extents"] > 10_000
    assert sum(reason["bytes"] for reason in rows) == row["data_bytes"] == images.size


# Until it fails; a pass that began is no failure.
AGAIN_AND_AGAIN = 'while "$@"; s=$?; [ $s = 0 ] || [ $s = 5 ]; do :; done'


@contextlib.contextmanager
def asked_again_and_again(commands):
    """Each in a loop, as long as this lasts."""
    with contextlib.ExitStack() as stack:
        loops = [stack.enter_context(subprocess.Popen(["sh", "-c", AGAIN_AND_AGAIN, "sh", *command],
                                                      stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                                      start_new_session=True)) for command in commands]
        try:
            yield loops
        finally:
            for loop in loops:
                os.killpg(loop.pid, signal.SIGKILL)


def test_no_query_keeps_a_pass_from_its_work(make_images):
    images = make_images(FEW)
    commands = [images.command(verb) for verb in ("why", "unique", "waste", "duplicates")]
    with asked_again_and_again(commands) as loops:
        time.sleep(0.2)
        runs = [images.dedupd.run(find="checksums") for _ in range(4)]
        assert all(loop.poll() is None for loop in loops), "a query failed"
    assert [run.status for run in runs] == [0] * 4, runs[0].stderr
    assert runs[0].freed_bytes > 0


def wait_for_looks(query, images):
    """Until the process asks the filesystem: it has the lock file open from its first look on."""
    lock = os.path.join(LOCKS, images.dedupd.store_path.stem)
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        assert query.poll() is None, "the query has ended"
        with contextlib.suppress(FileNotFoundError):
            if any(os.path.realpath(entry) == lock for entry in os.scandir(f"/proc/{query.pid}/fd")):
                return lock
        time.sleep(0.001)
    raise AssertionError("the query does not look at the filesystem")


def test_a_query_that_a_pass_interrupts_says_so(make_images):
    """What is asked after the pass began is left out."""
    images = make_images(SLOW)
    with subprocess.Popen(images.command("unique"), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True, env=slowly()) as query:
        lock = wait_for_looks(query, images)
        query.send_signal(signal.SIGSTOP)
        with open(lock, "r+b") as held:
            # Also where the query was stopped in the middle of a look.
            fcntl.lockf(held, fcntl.LOCK_EX, 1, 0)
            query.send_signal(signal.SIGCONT)
            said = query.communicate(timeout=60)[1]
    assert query.returncode == IN_USE
    assert "a pass works on the filesystem" in said


@pytest.mark.alone
def test_a_query_ends_when_nobody_reads_its_answer(make_images):
    images = make_images(SLOW)
    reader, writer = os.pipe()
    os.close(reader)
    begun = time.monotonic()
    subprocess.run(images.command("unique"), stdout=subprocess.DEVNULL, env=slowly(), check=True)
    whole = time.monotonic() - begun
    begun = time.monotonic()
    cut = subprocess.run(images.command("unique"), stdout=writer, env=slowly(), check=False)
    assert cut.returncode == -signal.SIGPIPE
    assert time.monotonic() - begun < whole / 2
    os.close(writer)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_query_ends_at_a_signal(make_images, number):
    images = make_images(SLOW)
    with subprocess.Popen(images.command("unique"), stdout=subprocess.DEVNULL, env=slowly()) as query:
        wait_for_looks(query, images)
        query.send_signal(number)
        assert query.wait(10) == -number


def shown_on_a_terminal(images, verb):
    """What is on standard error, a terminal, of a query that is stopped for a second after it began to look."""
    master, slave = pty.openpty()
    with subprocess.Popen(images.command(verb), stdout=subprocess.DEVNULL, stderr=slave,
                          env=slowly()) as query:
        wait_for_looks(query, images)
        query.send_signal(signal.SIGSTOP)
        time.sleep(1.2)
        query.send_signal(signal.SIGCONT)
        assert query.wait(60) == 0
    os.write(slave, b"end")
    shown = ""
    while not shown.endswith("end"):  # the kernel hands it over in parts
        shown += os.read(master, 65536).decode()
    os.close(slave)
    os.close(master)
    return shown


@pytest.mark.parametrize("verb", ["why", "file", "unique", "duplicates", "waste"])
def test_progress_is_shown_after_a_second_on_a_terminal(make_images, verb):
    shown = shown_on_a_terminal(make_images(SLOW), verb)
    assert "were looked at" in shown
    assert "\r\x1b[K" in shown[shown.rindex("were looked at"):], "the line was left on the terminal"


def test_a_query_without_a_terminal_shows_no_progress(make_images):
    images = make_images(FEW)
    done = subprocess.run(images.command("unique"), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          check=True, text=True)
    assert "looked at" not in done.stderr


def test_a_piece_that_is_shared_in_part_has_two_reasons(make_filesystem, make_dedupd):
    filesystem = make_filesystem("btrfs")
    tree = pathlib.Path(filesystem.mount_point)
    dedupd = make_dedupd(filesystem)
    one = tree / "one"
    one.write_bytes(noise(1, MIB))
    harness.settle(filesystem)
    subprocess.run(["xfs_io", "-f", "-c", f"reflink {one} 0 0 {256 * KIB}", str(tree / "part")], check=True,
                   stdout=subprocess.DEVNULL)
    harness.settle(filesystem)
    assert dedupd.run(find="checksums").status == 0
    rows = harness.dedupctl_rows("why", str(one), dedupd=dedupd)
    assert {row["reason"]: row["bytes"] for row in rows} == {"shared": 256 * KIB, "unique": 768 * KIB}
    row, = harness.dedupctl_rows("file", str(one), dedupd=dedupd)
    assert row["shared_bytes"] == 256 * KIB
