# SPDX-License-Identifier: GPL-2.0-or-later
"""What tests are given: a filesystem of each kind, and dedupd with a state directory."""

import contextlib
import os
import pathlib
import shutil
import signal
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parent / "kit"))

import harness
import own_mounts
from filesystem import CommandFailed, FilesystemDamaged, FilesystemUnavailable, LoopFilesystem, has_room_for_images
from race import RacingWriters
from service import Service

HAS_FAILED = pytest.StashKey()
SHARED_MEMORY = pathlib.Path("/dev/shm")


def pytest_configure(config):
    """Unmount and detach also when meson's patience ends: SIGTERM ends tests as Ctrl-C does."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    # What a shell starts in the background ignores Ctrl-C, and so would all that tests start and interrupt.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    has_own_mounts = own_mounts.take()
    # So that no test waits for the disk of another one.
    if has_room_for_images(SHARED_MEMORY):
        LoopFilesystem.images = SHARED_MEMORY
        if has_own_mounts:
            own_mounts.take_memory(SHARED_MEMORY)
    config.addinivalue_line("markers", "true_clock: waits are not feigned, as something else races")
    config.addinivalue_line("markers", "alone: meson runs nothing else at the same time")
    harness.clock.open()


def pytest_unconfigure():
    harness.clock.close()


@pytest.fixture(autouse=True)
def begin_clock(request):
    harness.clock.begin(is_true=request.node.get_closest_marker("true_clock") is not None)


@pytest.fixture
def filled_memory(monkeypatch):
    """What the programs allocate and free has other bytes than zeros, so that what nobody set shows."""
    monkeypatch.setenv("MALLOC_PERTURB_", "85")


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item):
    """Note of a test that it failed, for what looks at its filesystems afterwards."""
    outcome = yield
    if outcome.get_result().failed:
        item.stash[HAS_FAILED] = True


@pytest.fixture(params=["btrfs", "xfs"])
def kind(request):
    return request.param


@pytest.fixture
def make_filesystem(request):
    """Make mounted filesystems, with the arguments of LoopFilesystem, that go with the test.

    They must be sound when it ends, as LoopFilesystem.check() has it, unless it failed anyway.
    """
    filesystems = []
    with contextlib.ExitStack() as stack:
        def make(*arguments, **options):
            try:
                filesystem = stack.enter_context(LoopFilesystem(*arguments, **options))
            except FilesystemUnavailable as unavailable:
                pytest.skip(str(unavailable))
            filesystems.append(filesystem)
            return filesystem
        yield make
        if not request.node.stash.get(HAS_FAILED, False):
            try:
                for filesystem in filesystems:
                    filesystem.check()
            except (CommandFailed, FilesystemDamaged) as failure:
                pytest.fail(str(failure), pytrace=False)


@pytest.fixture
def filesystem(make_filesystem, kind):
    return make_filesystem(kind)


@pytest.fixture
def tree(filesystem):
    """The root of the filesystem."""
    return pathlib.Path(filesystem.mount_point)


@pytest.fixture
def program():
    if "DEDUPD" not in os.environ:
        pytest.skip("DEDUPD does not name the program to test")
    return os.environ["DEDUPD"]


@pytest.fixture
def make_dedupd(program, tmp_path):
    """Give dedupd for a filesystem; @state chooses another state directory than the test's own."""
    def make(filesystem, state="state"):
        directory = tmp_path / state
        directory.mkdir(mode=0o700, exist_ok=True)
        return harness.Dedupd(program, directory, filesystem)
    return make


@pytest.fixture
def dedupd(make_dedupd, filesystem):
    return make_dedupd(filesystem)


@pytest.fixture
def learn(dedupd, kind):
    """A pass over what was written, after which the store knows it; its Run."""
    def learn(*paths, status=0, **options):
        harness.settle(dedupd.filesystem)
        options.setdefault("find", harness.FIND[kind])
        run = dedupd.run(*paths, **options)
        assert run.status == status, run.stderr
        return run
    return learn


@pytest.fixture
def failing_calls():
    """The library that has calls of a pass fail."""
    if "FAILING_CALLS" not in os.environ:
        pytest.skip("FAILING_CALLS does not name the library that has calls fail")
    return os.environ["FAILING_CALLS"]


@pytest.fixture
def users_dedupd(make_dedupd, filesystem, program, tmp_path):
    """dedupd with a state directory of harness.USER, all on the way to it open to them."""
    dedupd = make_dedupd(filesystem)
    for directory in (tmp_path, *tmp_path.parents):
        if directory.stat().st_mode & 0o111 != 0o111:
            directory.chmod(directory.stat().st_mode | 0o111)
    os.chmod(filesystem.directory, 0o755)
    dedupd.program = shutil.copy(program, tmp_path / "dedupd")
    os.chmod(dedupd.program, 0o755)
    os.chown(dedupd.state_directory, harness.USER, harness.USER)
    return dedupd


@pytest.fixture
def service(program, tmp_path):
    """The service, not started, with a state directory and a socket of its own."""
    service = Service(program, harness.dedupctl_program(), tmp_path)
    yield service
    service.close()


@pytest.fixture
def quick_disks(monkeypatch):
    """Have images of filesystems lie in memory, so that each is a disk of its own, and quick."""
    if not SHARED_MEMORY.is_dir():
        pytest.skip(f"{SHARED_MEMORY} is not there")
    monkeypatch.setattr(LoopFilesystem, "images", SHARED_MEMORY)


@pytest.fixture
def compressing(make_filesystem):
    """A btrfs that compresses all data."""
    return make_filesystem("btrfs", mount_options=["compress-force=zstd"])


@pytest.fixture
def start_writers(tree):
    """Start writers, with a seed and a number of operations; they end with the test."""
    if "RACING_WRITERS" not in os.environ:
        pytest.skip("RACING_WRITERS does not name the program that writes")
    started = []

    def start(seed, operations, **options):
        started.append(RacingWriters(os.environ["RACING_WRITERS"], tree, seed, operations,
                                     **options))
        return started[-1]
    yield start
    for writers in started:
        writers.close()
