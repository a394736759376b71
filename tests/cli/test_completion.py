# SPDX-License-Identifier: GPL-2.0-or-later
"""What the shells complete of dedupctl and dedupd, asked of each shell itself."""

import os
import pathlib
import shutil
import subprocess

import pytest

from shells import COMPLETION, ENVIRONMENT, ask, ask_bash, ask_fish, ask_zsh, shell

DEDUPCTL = os.environ.get("DEDUPCTL")
pytestmark = pytest.mark.skipif(not (COMPLETION and DEDUPCTL),
                                reason="COMPLETION and DEDUPCTL do not name what was built")

@pytest.fixture(params=[ask_bash, ask_fish], ids=["bash", "fish"])
def complete(request):
    return request.param


@pytest.mark.parametrize("line, candidates", [
    ("dedupctl sta", ["start", "status"]),
    ("dedupctl --json sta", ["start", "status"]),
    ("dedupctl --state-dir /tmp sta", ["start", "status"]),
    ("dedupctl --state-dir=/tmp sta", ["start", "status"]),
    ("dedupctl store ", ["check", "prune", "size", "vacuum"]),
    ("dedupctl store pr", ["prune"]),
    ("dedupctl duplicates --format=", ["csv", "fdupes", "json", "table"]),
    ("dedupctl duplicates --format ", ["csv", "fdupes", "json", "table"]),
    ("dedupctl duplicates --format=t", ["table"]),
    ("dedupctl status -o mo", ["mount_point"]),
    ("dedupctl status -nro mo", ["mount_point"]),
    ("dedupctl status --output=kind,mo", ["kind,mount_point"]),
    ("dedupctl status --output kind,mo", ["kind,mount_point"]),
    ("dedupctl status --output=+mo", ["+mount_point"]),
    ("dedupctl reload re", []),
    ("dedupd --zeros=", ["auto", "hole", "keep", "share"]),
    ("dedupd --zeros h", ["hole"]),
    ("dedupd --memory ", []),
])
def test_words_options_and_their_values_are_completed(complete, line, candidates):
    assert complete(line) == candidates


def test_options_of_a_verb_are_completed_and_those_of_others_are_not(complete):
    found = {option.rstrip("=") for option in complete("dedupctl store prune --")}
    assert {"--keep", "--json", "--state-dir", "--output"} <= found
    assert not found & {"--sample", "--version", "--format"}
    assert {option.rstrip("=") for option in complete("dedupctl --ver")} == {"--version"}


def test_files_and_directories_are_completed(complete, tmp_path):
    (tmp_path / "directory").mkdir()
    (tmp_path / "disk.img").touch()
    names = {word.rstrip("/") for word in complete("dedupctl file di", tmp_path)}
    assert names == {"directory", "disk.img"}
    assert {word.rstrip("/") for word in complete("dedupctl unique di", tmp_path)} == {"directory"}
    assert {word.rstrip("/") for word in complete("dedupctl config --config=di", tmp_path)} == names
    assert {word.rstrip("/") for word in complete("dedupd --once --state-dir=di", tmp_path)} == {"directory"}
    assert "none" in complete("dedupctl config --config ", tmp_path)


def test_keys_of_the_configuration_are_completed_behind_a_filesystem(complete):
    assert "Window=" in complete("dedupctl enable /srv W")
    assert "Window=" not in complete("dedupctl enable W")
    assert {"hole", "keep"} <= set(complete("dedupctl enable /srv Zeros="))
    assert complete("dedupctl enable /srv MinSize=4K Zeros=h") == ["hole"]


def test_disks_are_completed(complete):
    if shutil.which("lsblk") is None:
        pytest.skip("there is no lsblk")
    disks = subprocess.run(["lsblk", "-dno", "NAME"], stdout=subprocess.PIPE, text=True, check=True).stdout.split()
    # Loop devices of other tests come and go.
    lasting = {disk for disk in disks if not disk.startswith("loop")}
    if not lasting:
        pytest.skip("there is no disk but loop devices")
    assert lasting <= set(complete("dedupctl budget "))


def columns_of(verb):
    process = subprocess.run([DEDUPCTL, verb, "--help"], stdout=subprocess.PIPE, text=True, check=True,
                             env=ENVIRONMENT)
    return process.stdout.partition("Columns for --output:\n")[2].split()


@pytest.mark.parametrize("verb", ["status", "history", "doctor", "verify"])
def test_all_columns_of_a_verb_are_completed(complete, verb):
    assert complete(f"dedupctl {verb} -o ") == sorted(columns_of(verb)) != []


@pytest.mark.parametrize("name, files", [("bash", "{}"), ("zsh", "_{}"), ("fish", "{}.fish")])
@pytest.mark.parametrize("program", ["dedupctl", "dedupd"])
def test_what_shells_load_is_in_their_language(name, files, program):
    path = pathlib.Path(COMPLETION) / files.format(program)
    assert ask([shell(name), "-n", path], "/") == []


@pytest.mark.parametrize("line, candidates", [
    ("dedupctl --json store ", ["check", "prune", "size", "vacuum"]),
    ("dedupctl duplicates --format=", ["csv", "fdupes", "json", "table"]),
    ("dedupctl enable / Zeros=h", ["hole"]),
    ("dedupd --zeros=", ["auto", "hole", "keep", "share"]),
])
def test_zsh_offers_the_same(tmp_path, line, candidates):
    assert [word.rstrip("=") for word in ask_zsh(line, tmp_path)] == candidates
