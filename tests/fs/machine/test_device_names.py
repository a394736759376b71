# SPDX-License-Identifier: GPL-2.0-or-later
"""A filesystem goes by its label, its device and links to that, wherever it can be named."""

import contextlib
import json
import os
import pathlib
import subprocess
import uuid

import pytest

from content import MIB, write_twins
from harness import dedupctl, settle


class Named:
    """A mounted filesystem with a label and twins."""

    def __init__(self, filesystem):
        self.filesystem = filesystem
        self.tree = pathlib.Path(filesystem.mount_point)
        self.label = f"dd{uuid.uuid4().hex[:8]}"
        command = {"btrfs": ["btrfs", "filesystem", "label", self.tree, self.label],
                   "xfs": ["xfs_io", "-c", f"label -s {self.label}", self.tree]}[filesystem.kind]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        self.device, self.uuid = subprocess.run(
            ["findmnt", "-nro", "SOURCE,UUID", self.tree], check=True, capture_output=True,
            text=True).stdout.split()
        write_twins(self.tree, MIB)
        settle(filesystem)


@pytest.fixture
def named(make_filesystem, kind, tmp_path, monkeypatch):
    # libblkid asks no device again that it asked within two seconds, whatever was mounted from it.
    monkeypatch.setenv("BLKID_FILE", str(tmp_path / "blkid.tab"))
    return Named(make_filesystem(kind))


def remove_link(path):
    path.unlink()
    # Directories that udev made have other links.
    with contextlib.suppress(OSError):
        path.parent.rmdir()
        path.parent.parent.rmdir()


@pytest.fixture
def link(named):
    """Make links to the device as udev does, where it does not run."""
    with contextlib.ExitStack() as stack:
        def make(directory, name):
            path = pathlib.Path("/dev/disk") / directory / name
            path.parent.mkdir(parents=True, exist_ok=True)
            if not path.is_symlink():
                path.symlink_to(f"../../{os.path.basename(named.device)}")
                stack.callback(remove_link, path)
            return path
        yield make


def passes_of(program, config, *words):
    done = subprocess.run([program, "--once", "--json", f"--config={config}", f"--state-dir={config.parent}/state",
                           *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["filesystems"]


def names_of(named, link):
    """Each by the kind of name that it is."""
    part = str(uuid.uuid4())
    by_part = link("by-partuuid", part)
    link("by-partlabel", f"{named.label}\\x20part")
    return {"label": f"LABEL={named.label}", "uuid": f"UUID={named.uuid}", "device": named.device,
            "link": by_part, "partuuid": f"PARTUUID={part}",
            "partlabel": f"PARTLABEL={named.label} part",
            "label-link": link("by-label", named.label)}


@pytest.mark.parametrize("sort", ["label", "uuid", "device", "link", "partuuid", "partlabel", "label-link"])
def test_the_configuration_names_it(named, link, program, tmp_path, sort):
    config = tmp_path / "dedupd.conf"
    config.write_text(f"[Dedupd]\nMinSize=2M\n[Filesystem {names_of(named, link)[sort]}]\nMinSize=4K\n")
    (report,) = passes_of(program, config)
    assert report["uuid"] == named.uuid
    assert report["freed"]["bytes"] == MIB


@pytest.mark.parametrize("sort", ["label", "uuid", "device", "partuuid"])
def test_the_command_line_names_it(named, link, program, tmp_path, sort):
    config = tmp_path / "dedupd.conf"
    config.write_text("")
    (report,) = passes_of(program, config, str(names_of(named, link)[sort]))
    assert (report["uuid"], report["freed"]["bytes"]) == (named.uuid, MIB)


def test_without_udev_the_devices_tell_the_label(named, program, tmp_path):
    config = tmp_path / "dedupd.conf"
    config.write_text("")
    (report,) = passes_of(program, config, f"LABEL={named.label}")
    assert report["uuid"] == named.uuid


def test_verbs_take_each_of_its_names(named, link, service, tmp_path):
    service.configure(named.tree, WakeBytes="1T", WakeInterval="30d")
    service.start()
    service.wait_for_passes(str(named.tree), 1)
    for name in names_of(named, link).values():
        service.tell("pause", name)
        assert service.shows(str(named.tree))["why"] == "paused"
        service.tell("resume", name)
        (row,) = json.loads(service.tell("list", "--json", name))["filesystems"]
        assert row["uuid"] == named.uuid
        (row,) = json.loads(service.tell("status", "--json", name))["filesystems"]
        assert row["uuid"] == named.uuid
    assert service.ask("run", f"LABEL={named.label}").returncode == 0
    service.wait_for_passes(str(named.tree), 2)
    unknown = service.ask("pause", "LABEL=dd-nothing")
    assert unknown.returncode == 1
    assert "LABEL=dd-nothing" in unknown.stderr


def test_the_service_goes_by_labels(named, link, service):
    service.configure(f"LABEL={names_of(named, link)['label'][6:]}")
    service.start()
    service.wait_for_passes(str(named.tree), 1)
    assert service.shows(str(named.tree))["last_outcome"] == "complete"


def test_what_is_enabled_by_its_label_is_named_by_its_uuid(named, tmp_path):
    words = [f"--config-dir={tmp_path}/etc", f"LABEL={named.label}"]
    environment = os.environ | {"DEDUPD_SOCKET": "/nonexistent"}
    dedupctl("enable", *words, "Zeros=keep", env=environment)
    (path,) = (tmp_path / "etc/dedupd.conf.d").iterdir()
    assert path.name == f"{named.uuid}.conf"
    assert f"[Filesystem {named.uuid}]\n" in path.read_text()
    dedupctl("disable", *words, env=environment)
    assert not path.exists()
