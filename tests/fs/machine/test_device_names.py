# SPDX-License-Identifier: GPL-2.0-or-later
"""A filesystem goes by its label, its device and links to that, wherever it can be named."""

import contextlib
import json
import os
import pathlib
import shutil
import subprocess
import uuid

import pytest

from content import MIB, write_twins
from harness import dedupctl, settle
from service import wait_until


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
def named(make_filesystem, kind):
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


def encoded(name):
    """As udev names a link."""
    return name.replace(" ", "\\x20")


@pytest.mark.parametrize("name", ["LABEL={0.label}", "/dev/disk/by-label/{0.label}", "UUID={0.uuid}"])
@pytest.mark.parametrize("place", ["configuration", "command-line"])
def test_without_udev_the_filesystem_tells_its_label(named, program, tmp_path, name, place):
    words = config_or_word(tmp_path / "dedupd.conf", name.format(named), place)
    (report,) = passes_of(program, tmp_path / "dedupd.conf", *words)
    assert report["uuid"] == named.uuid


def config_or_word(config, name, place):
    config.write_text(f"[Filesystem {name}]\n" if place == "configuration" else "")
    return [name] if place == "command-line" else []


class Partition:
    """A filesystem in a partition of an image."""

    LABEL = "dedupd part"
    UUID = "6f7c1d5e-4a0b-4a57-8a3c-2f9f4b1d7e10"

    def __init__(self, kind, directory):
        self.tree = directory / "mount"
        self.tree.mkdir()
        image = directory / "image"
        image.touch()
        os.truncate(image, 400 * MIB)
        table = f'label: gpt\nstart=1MiB, size=380MiB, name="{self.LABEL}", uuid={self.UUID}\n'
        subprocess.run(["sfdisk", "-q", image], input=table, text=True, check=True, capture_output=True)
        self.whole = subprocess.run(["losetup", "--find", "--show", image], check=True, capture_output=True,
                                    text=True).stdout.strip()
        self.device = self.whole + "p1"
        self._kind = kind

    def __enter__(self):
        # The kernel need not know tables of partitions itself.
        subprocess.run(["partx", "--add", self.whole], check=True)
        subprocess.run([f"mkfs.{self._kind}", "-q", "-f", self.device], check=True, capture_output=True)
        subprocess.run(["mount", self.device, self.tree], check=True)
        write_twins(self.tree, MIB)
        subprocess.run(["sync", "-f", self.tree], check=True)
        return self

    def __exit__(self, *exception):
        subprocess.run(["umount", self.tree], check=False)

    def close(self):
        # A test beside this one may have copied the mount with all others.
        wait_until(lambda: subprocess.run(["partx", "--delete", self.whole], capture_output=True,
                                          check=False).returncode == 0)
        subprocess.run(["losetup", "--detach", self.whole], check=True)


@pytest.fixture
def partition(kind, tmp_path):
    if os.geteuid() != 0 or not shutil.which("sfdisk"):
        pytest.skip("partitions take root, and sfdisk")
    if os.path.isdir("/dev/disk/by-partuuid"):
        pytest.skip("udev makes links here")
    with contextlib.closing(Partition(kind, tmp_path)) as made, made:
        yield made


@pytest.mark.parametrize("name", ["PARTUUID={0.UUID}", "PARTLABEL={0.LABEL}", "/dev/disk/by-partuuid/{0.UUID}",
                                  "/dev/disk/by-partlabel/{1}", "{0.device}"])
@pytest.mark.parametrize("place", ["configuration", "command-line"])
def test_without_udev_the_table_of_partitions_tells_names(partition, program, tmp_path, name, place):
    words = config_or_word(tmp_path / "dedupd.conf", name.format(partition, encoded(partition.LABEL)), place)
    (report,) = passes_of(program, tmp_path / "dedupd.conf", *words)
    assert report["mount_point"] == str(partition.tree)
    assert report["freed"]["bytes"] == MIB


@pytest.mark.parametrize("kind", ["xfs"])
def test_without_udev_verbs_and_the_service_take_names_of_partitions(partition, service):
    service.configure(f"PARTLABEL={partition.LABEL}", WakeBytes="1T", WakeInterval="30d")
    service.start()
    service.wait_for_passes(str(partition.tree), 1)
    service.tell("pause", f"PARTUUID={partition.UUID}")
    assert service.shows(str(partition.tree))["why"] == "paused"


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
