# SPDX-License-Identifier: GPL-2.0-or-later
"""What tests are given: a filesystem of each kind, and dedupd with a state directory."""

import contextlib
import os
import pathlib
import signal

import pytest

import harness
from filesystem import FilesystemUnavailable, LoopFilesystem


def pytest_configure():
    """Unmount and detach also when meson's patience ends: SIGTERM ends tests as Ctrl-C does."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)


@pytest.fixture(params=["btrfs", "xfs"])
def kind(request):
    return request.param


@pytest.fixture
def make_filesystem():
    """Make mounted filesystems, with the arguments of LoopFilesystem, that go with the test."""
    with contextlib.ExitStack() as stack:
        def make(*arguments, **options):
            try:
                return stack.enter_context(LoopFilesystem(*arguments, **options))
            except FilesystemUnavailable as unavailable:
                pytest.skip(str(unavailable))
        yield make


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
