# SPDX-License-Identifier: GPL-2.0-or-later
"""A real btrfs or XFS of its own for one test, on a loop device over a sparse image.

    with LoopFilesystem("xfs", "512M") as filesystem:
        (pathlib.Path(filesystem.mount_point) / "file").write_bytes(b"data")

Entering needs root, a free loop device, the mkfs of the kind and a kernel that knows it; where one
of them is not to be had it raises FilesystemUnavailable, which a test turns into a skip.  Anything
else that fails is a CommandFailed.  Whatever happens inside, leaving unmounts, detaches and deletes:
the device is found by the image it belongs to, so that one attached just before an interruption
goes too, and no other loop device is ever touched.

What a test did to a filesystem must leave it sound: check() asks the filesystem's own tools.
"""

import contextlib
import errno
import os
import re
import shutil
import stat
import subprocess
import tempfile
import time

import ioctls
import parent_pointers

SYSTEM_PATH = "/usr/local/sbin:/usr/sbin:/sbin:/usr/local/bin:/usr/bin:/bin"
MIN_XFS_BYTES = 300 << 20
UNMOUNT_SECONDS = 10
# A pass of another test that has mounts of its own has copies of all mounts, as long as it lasts.
OTHERS_SECONDS = 30
SECTOR_BYTES = 512
# For the images of several tests at a time.
IMAGES_BYTES = 8 << 30


class FilesystemUnavailable(Exception):
    """This machine cannot make such a filesystem; the message says why."""


class CommandFailed(Exception):
    """A command did not do what it should; the message is what it complained of."""


class FilesystemDamaged(Exception):
    """The filesystem's own tools find it damaged; the message is what they say."""


def parse_size(size):
    """Bytes of a size such as 536870912, "512M" or "2G"."""
    if isinstance(size, int):
        return size
    match = re.fullmatch(r"([0-9]+)([KMGT]?)", size)
    if not match:
        raise ValueError(f"not a size: {size!r} (a number, then K, M, G or T)")
    return int(match[1]) << {"": 0, "K": 10, "M": 20, "G": 30, "T": 40}[match[2]]


def _find_program(name):
    return shutil.which(name, path=os.environ.get("PATH", "") + ":" + SYSTEM_PATH)


def _run(*command):
    """Run a command and return its standard output."""
    program = _find_program(command[0])
    if not program:
        raise FilesystemUnavailable(f"{command[0]} is not installed")
    done = subprocess.run([program, *command[1:]], stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, errors="replace", check=False)
    if done.returncode != 0:
        raise CommandFailed(f"{' '.join(command)}: {(done.stderr + done.stdout).strip()}")
    return done.stdout.strip()


def has_room_for_images(directory):
    """Whether several tests at a time may have their images there."""
    try:
        found = os.statvfs(directory)
    except FileNotFoundError:
        return False
    return found.f_bavail * found.f_frsize >= IMAGES_BYTES


class LoopFilesystem:
    """One filesystem, mounted while the context lasts.

    Its image lies in LoopFilesystem.images; None: where tempfile makes its files.

    mount_point and device are strings; device is such as "/dev/loop3".  With @knows_names each inode of
    an XFS keeps its names.
    """

    images = None

    def __init__(self, kind, size="512M", mkfs_options=(), mount_options=(), knows_names=False):
        if kind not in ("btrfs", "xfs"):
            raise ValueError(f"not a kind of filesystem: {kind!r} (btrfs or xfs)")
        self.kind = kind
        self.size_bytes = parse_size(size)
        if kind == "xfs" and self.size_bytes < MIN_XFS_BYTES:
            raise ValueError(f"XFS needs {MIN_XFS_BYTES >> 20} MiB, not {self.size_bytes} bytes")
        self.mkfs_options = list(mkfs_options)
        self.mount_options = ([mount_options] if isinstance(mount_options, str)
                              else list(mount_options))
        self.directory = None
        self.image_directory = None
        self.image = None
        self.mount_point = None
        self.device = None
        self._knows_names = knows_names
        self._has_bad_data = False
        self._is_left_to_scrub = False

    def __enter__(self):
        if os.geteuid() != 0:
            raise FilesystemUnavailable("mounting needs root")
        try:
            self._make()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *exception):
        self.close()

    def _make(self):
        self.directory = tempfile.mkdtemp(prefix="dedupd-fs-")
        self.image_directory = tempfile.mkdtemp(prefix="dedupd-image-", dir=self.images)
        self.image = os.path.join(self.image_directory, "image")
        self.mount_point = os.path.join(self.directory, "mount")
        os.mkdir(self.mount_point)
        with open(self.image, "wb") as image:
            image.truncate(self.size_bytes)
        self.device = self._attach()
        _run(*self._mkfs_command())
        if self._knows_names:
            parent_pointers.enable(self.device)
        self.mount()

    def _attach(self):
        try:
            device = _run("losetup", "--find", "--show", self.image)
        except CommandFailed as failure:
            raise FilesystemUnavailable(str(failure)) from failure
        # The image may lie on a filesystem without direct I/O.
        with contextlib.suppress(CommandFailed):
            _run("losetup", "--direct-io=on", device)
        return device

    def _mkfs_command(self):
        """The mkfs of the kind, with a default that the caller's own word on it replaces."""
        if self.kind == "xfs":
            words, default = "reflink=", ["-m", "reflink=1"]
        else:
            # Space in so small a filesystem is better spent on data than on a second copy.
            words, default = ("-m", "--metadata", "-M", "--mixed"), ["-m", "single"]
        if any(option.startswith(words) for option in self.mkfs_options):
            default = []
        return [f"mkfs.{self.kind}", "-q", "-f", *default, *self.mkfs_options, self.device]

    def mount(self):
        """Mount it where it was; for use after unmount()."""
        options = ["-o", ",".join(self.mount_options)] if self.mount_options else []
        try:
            _run("mount", "-t", self.kind, *options, self.device, self.mount_point)
        except CommandFailed as failure:
            if not self._kernel_knows_kind():
                raise FilesystemUnavailable(f"this kernel has no {self.kind}") from failure
            if self._knows_names:
                raise FilesystemUnavailable("this kernel refuses an XFS whose inodes know their "
                                            f"names: {failure}") from failure
            raise

    def _kernel_knows_kind(self):
        # Read after a try to mount, which loads the module.
        with open("/proc/filesystems", encoding="ascii") as filesystems:
            return self.kind in filesystems.read().split()

    def unmount(self):
        """Unmount it, waiting for whoever is just closing a file there, and until the kernel is done with it."""
        self._unmount(self.mount_point)
        if not self._is_mounted():
            with contextlib.suppress(FilesystemDamaged):
                self._wait_for_device()

    def _is_mounted(self):
        """Whether it is mounted anywhere else, as far as this process sees."""
        with open("/proc/self/mountinfo", encoding="utf-8", errors="surrogateescape") as mountinfo:
            return any(line.rpartition(" - ")[2].split()[1] == self.device for line in mountinfo)

    @staticmethod
    def _unmount(mount_point):
        deadline = time.monotonic() + UNMOUNT_SECONDS
        while True:
            try:
                _run("umount", mount_point)
                return
            except CommandFailed:
                if time.monotonic() > deadline:
                    raise
            time.sleep(0.1)

    def move_to(self, image):
        """Have it lie in another file, which has all that is in its own; returns the path of that."""
        self.unmount()
        self._flush_device()
        # Its image may be on a filesystem that is gone, so it is not found by that.
        _run("losetup", "--detach", self.device)
        before, self.image = self.image, image
        self.device = self._attach()
        self.mount()
        return before

    def _flush_device(self):
        """Empty its volatile cache, as a machine does when it is switched off: unmounting btrfs leaves copies there."""
        # The device may have lost its power.
        with contextlib.suppress(OSError):
            device = os.open(self.device, os.O_RDONLY)
            try:
                os.fsync(device)
            finally:
                os.close(device)

    def remount(self, options):
        """Change mount options in place, such as "ro" or ["ro", "noatime"]."""
        if not isinstance(options, str):
            options = ",".join(options)
        _run("mount", "-o", "remount," + options, self.mount_point)

    def read_bytes(self):
        """Bytes read from the device since it was attached."""
        name = os.path.basename(self.device)
        with open(f"/sys/block/{name}/stat", encoding="ascii") as counters:
            return int(counters.read().split()[2]) * SECTOR_BYTES

    def drop_caches(self):
        """Write everything out and forget all clean pages, dentries and inodes of the machine.

        It disturbs others, so it is for tests that run alone.
        """
        ioctls.sync(self.mount_point)
        with open("/proc/sys/vm/drop_caches", "w", encoding="ascii") as control:
            control.write("3\n")

    def forget_data(self):
        """Write everything out and forget the data of all files, so that reading it is read from the device.

        Names, inodes and extents stay in memory, as does what others on this machine have there.
        """
        ioctls.sync(self.mount_point)
        for _, _, names, directory in os.fwalk(self.mount_point):
            for name in names:
                with contextlib.suppress(FileNotFoundError):
                    self._forget_data_of(name, directory)

    @staticmethod
    def _forget_data_of(name, directory):
        if not stat.S_ISREG(os.stat(name, dir_fd=directory, follow_symlinks=False).st_mode):
            return
        file = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NOATIME, dir_fd=directory)
        try:
            os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
        finally:
            os.close(file)

    def expect_bad_data(self):
        """Say that data, though no metadata, is damaged on purpose: check() asks for no scrub."""
        self._has_bad_data = True

    def leave_out_programs(self):
        """Have check() do without btrfs check and xfs_repair: they are too old for it, or would take minutes."""
        self._is_left_to_scrub = True

    def check(self):
        """Unmount it for good, and raise FilesystemDamaged unless the filesystem is sound.

        On btrfs neither a scrub, which reads all data and metadata, nor `btrfs check` may find
        anything; on XFS neither may `xfs_repair -n`, unless inodes know their names: Debian's does not
        know of that.
        """
        if self.kind == "btrfs" and not self._has_bad_data:
            self._scrub()
        self._swap_off()
        for mount_point in self._mounts_below():
            self._unmount(mount_point)
        if self._knows_names or self._is_left_to_scrub:
            return
        self._wait_for_device()
        command = {"btrfs": ["btrfs", "check", "--readonly"], "xfs": ["xfs_repair", "-n"]}
        try:
            _run(*command[self.kind], self.device)
        except CommandFailed as failure:
            raise FilesystemDamaged(str(failure)) from failure

    def _wait_for_device(self):
        """Wait until nothing has it mounted: a test beside this one may have copied our mount with all others."""
        deadline = time.monotonic() + OTHERS_SECONDS
        while True:
            try:
                os.close(os.open(self.device, os.O_RDONLY | os.O_EXCL))
                return
            except OSError as error:
                if error.errno != errno.EBUSY:
                    raise
                if time.monotonic() > deadline:
                    raise FilesystemDamaged(f"{self.device} is still in use: {error}") from error
            time.sleep(0.1)

    def _scrub(self):
        if not os.path.ismount(self.mount_point):
            self.mount()
        # What is not on the disk yet is not read.
        ioctls.sync(self.mount_point)
        errors = ioctls.btrfs_scrub(self.mount_point)
        if errors:
            raise FilesystemDamaged(f"scrub of {self.mount_point}: {errors}")

    def close(self):
        """Undo what was done, however far that got; harmless when repeated."""
        if self.directory is None:
            return
        self._swap_off()
        self._unmount_all()
        self._detach()
        for directory in filter(None, (self.image_directory, self.directory)):
            shutil.rmtree(directory)
        self.directory = self.image_directory = None

    def _swap_off(self):
        # A swap file that a test left active would keep the device for ever.
        with open("/proc/swaps", encoding="utf-8", errors="surrogateescape") as swaps:
            paths = [line.split()[0] for line in swaps]
        for path in paths:
            if path.startswith(self.directory + "/"):
                _run("swapoff", path)

    def _unmount_all(self):
        for mount_point in self._mounts_below():
            try:
                self._unmount(mount_point)
            except CommandFailed:
                # The device goes with its last user.
                _run("umount", "--lazy", mount_point)

    def _mounts_below(self):
        """Mount points at and below the directory, the latest mounted first."""
        mounts = []
        with open("/proc/self/mountinfo", encoding="utf-8", errors="surrogateescape") as mountinfo:
            for line in mountinfo:
                escaped = line.split()[4]
                path = re.sub(r"\\([0-7]{3})", lambda m: chr(int(m[1], 8)), escaped)
                if path.startswith(self.directory + "/"):
                    mounts.insert(0, path)
        return mounts

    def _detach(self):
        if self.image is None:
            return
        for line in _run("losetup", "--noheadings", "--output", "NAME", "-j", self.image).split():
            _run("losetup", "--detach", line)
