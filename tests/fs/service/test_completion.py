# SPDX-License-Identifier: GPL-2.0-or-later
"""Filesystems that are mounted are completed, where one is meant."""

import pathlib
import subprocess
import sys

import pytest

sys.path.append(str(pathlib.Path(__file__).parents[2] / "cli"))

from shells import COMPLETION, ask_bash, ask_fish, ask_zsh  # noqa: E402

pytestmark = pytest.mark.skipif(not COMPLETION, reason="COMPLETION does not name what was built")


@pytest.fixture
def elsewhere(filesystem, tmp_path):
    """Where the filesystem is mounted, too: what needs quotes, or more than that."""
    path = tmp_path / "it's $HOME; a"
    path.mkdir()
    subprocess.run(["mount", "--bind", filesystem.mount_point, path], check=True)
    try:
        yield path
    finally:
        subprocess.run(["umount", path], check=True)


def uuid_of(filesystem):
    return subprocess.run(["findmnt", "-no", "UUID", filesystem.mount_point], stdout=subprocess.PIPE,
                          check=True, text=True).stdout.strip()


@pytest.mark.parametrize("typed", ["status", "history --plot", "start", "config", "enable", "store check"])
@pytest.mark.parametrize("complete", [ask_bash, ask_fish])
def test_mount_points_are_completed(filesystem, complete, typed):
    beginning = str(filesystem.mount_point)[:-1]
    assert complete(f"dedupctl {typed} {beginning}") == [str(filesystem.mount_point)]


@pytest.mark.parametrize("complete", [ask_bash, ask_fish])
def test_uuids_are_completed(filesystem, complete):
    uuid = uuid_of(filesystem)
    assert complete(f"dedupctl status {uuid[:-1]}") == [uuid]


def test_what_a_filesystem_is_not_meant_by_is_not_completed_by_one(filesystem):
    assert ask_bash(f"dedupctl reload {str(filesystem.mount_point)[:-1]}") == []


def test_bash_is_given_names_as_they_are_typed(elsewhere):
    quoted = str(elsewhere).replace("it's $HOME; a", "it\\'s\\ \\$HOME\\;\\ a")
    assert ask_bash(f"dedupctl status {str(elsewhere.parent)}/") == [quoted]


def test_zsh_offers_mount_points(filesystem, tmp_path):
    assert str(filesystem.mount_point) in ask_zsh("dedupctl status ", tmp_path)
