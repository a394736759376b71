# SPDX-License-Identifier: GPL-2.0-or-later
"""A machine with systemd as its first process, on which dedupd is installed as it is shipped.

It runs in namespaces of its own (systemd-nspawn), with a btrfs in a file as its root, this machine's
/usr with what is installed laid over it, and a cgroup of its own.  Nothing of it stays.

Where the kernel does not let one make such namespaces entering raises MachineUnavailable, which a test
turns into a skip; whatever else goes wrong is an error.
"""

import contextlib
import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import time
import uuid

import schemas

PATIENCE_SECONDS = 60
ROOT_BYTES = 1 << 30
CGROUP_ROOTS = ("/sys/fs/cgroup/unified", "/sys/fs/cgroup")
# What is there on a machine, and is made anew by what boots.
DIRECTORIES = ("boot", "dev", "etc", "home", "proc", "root", "run", "srv", "sys", "tmp", "usr", "var")
LINKS_TO_USR = ("bin", "sbin", "lib", "lib64")
# Of /etc, all that programs of /usr need here.
ETC = ("alternatives", "dbus-1", "group", "ld.so.cache", "ld.so.conf", "ld.so.conf.d", "nsswitch.conf",
       "passwd", "polkit-1", "shadow")
# Of /sys, what it does not show of itself: what the filesystems say of what changed.
SYSFS = ("/sys/fs/btrfs", "/sys/fs/xfs")
# What systemd-nspawn keeps from those in it, though they have the capability.
CALLS = "fanotify_init fanotify_mark open_by_handle_at"

# Within a namespace of mounts: without filesystems of other tests, which nobody could unmount as long as
# it has copies of their mounts; with a cgroup tree of the kind that systemd-nspawn takes, a place for its
# locks, and the root.
BOOT = """
set -e
root=$1 device=$2
shift 2
findmnt --kernel --noheadings --list --output SOURCE,TARGET | tac | while read -r source target; do
    [[ $source != /dev/loop* || $target == / ]] || umount -l "$target" || true
done
umount -R -l /sys/fs/cgroup
mount -t cgroup2 none /sys/fs/cgroup
mkdir -p /run/systemd/nspawn
mount -t tmpfs none /run/systemd/nspawn
mount "$device" "$root"
export SYSTEMD_NSPAWN_UNIFIED_HIERARCHY=1
exec systemd-nspawn -D "$root" --boot "$@"
"""

# What has to be possible for it.
PROBE = """
set -e
mount -t tmpfs none /run
mkdir /run/lower /run/upper /run/both /run/cgroup
mount -t cgroup2 none /run/cgroup
mount -t overlay -o lowerdir=/run/upper:/run/lower none /run/both
"""


class MachineUnavailable(Exception):
    """No such machine can be had here; the message says why."""


class Machine:
    """Booted while the context lasts; @programs is the directory that meson has built in, or where they are installed."""

    def __init__(self, programs):
        self._programs = programs
        self._stack = contextlib.ExitStack()
        self._nspawn = None
        self._leader = None
        self._log_path = None
        self._page_begun_usec = 0

    def __enter__(self):
        with contextlib.ExitStack() as self._stack:
            self._check()
            self._boot()
            self._stack = self._stack.pop_all()
        return self

    def __exit__(self, *exception):
        self._stack.close()

    @staticmethod
    def _check():
        if os.geteuid() != 0:
            raise MachineUnavailable("booting a machine needs root")
        for command in ("systemd-nspawn", "mkfs.btrfs", "losetup", "nsenter"):
            if not shutil.which(command):
                raise MachineUnavailable(f"there is no {command}")
        if not all(os.path.islink(f"/{name}") for name in LINKS_TO_USR[:3]):
            raise MachineUnavailable("/usr is not merged here")
        probe = subprocess.run(
            ["unshare", "--mount", "--pid", "--fork", "--ipc", "--uts", "--cgroup",
             "--propagation=private", "bash", "-c", PROBE], capture_output=True, text=True, check=False)
        if probe.returncode != 0:
            raise MachineUnavailable(f"the kernel forbids namespaces: {probe.stderr.strip()}")

    def _boot(self):
        directory = pathlib.Path(tempfile.mkdtemp(prefix="dedupd-machine-"))
        self._stack.callback(shutil.rmtree, directory)
        installed = self._install(directory)
        device = self._make_root(directory, installed)
        cgroup = self._make_cgroup(directory.name)
        (directory / "root").mkdir()
        self._log_path = directory / "console"
        with self._log_path.open("wb") as log:
            self._nspawn = subprocess.Popen(
                ["unshare", "--mount", "--propagation=private", "bash", "-c", BOOT, "boot",
                 directory / "root", device, *self._nspawn_options(installed)],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                preexec_fn=lambda: (cgroup / "cgroup.procs").write_text(str(os.getpid())))
        self._stack.callback(self._power_off)
        self._wait_until_booted()

    @staticmethod
    def _nspawn_options(installed):
        return ["--register=no", "--keep-unit", "--private-network", "--console=pipe",
                "--capability=all", f"--system-call-filter={CALLS}", "--resolv-conf=off",
                "--timezone=off", "--link-journal=no", f"--overlay-ro=/usr:{installed}/usr:/usr",
                *(f"--bind-ro={path}" for path in SYSFS if os.path.exists(path)),
                "systemd.unit=basic.target", "systemd.condition-needs-update=no"]

    def _install(self, directory):
        """What is shipped, as `meson install` puts it, in a directory of its own."""
        installed = directory / "installed"
        if not (self._programs / "meson-private").exists():
            # /usr of this machine has it already.
            (installed / "usr").mkdir(parents=True)
            shutil.copytree("/etc/dedupd", installed / "etc/dedupd")
            return installed
        if not shutil.which("meson"):
            raise MachineUnavailable("there is no meson")
        subprocess.run(["meson", "install", "-C", self._programs, "--no-rebuild", "--quiet",
                        f"--destdir={installed}"], check=True, stdout=subprocess.DEVNULL)
        return installed

    def _make_root(self, directory, installed):
        """A btrfs with all of a root directory but /usr; the loop device it is on."""
        tree = directory / "tree"
        for name in DIRECTORIES:
            (tree / name).mkdir(parents=True)
        for name in LINKS_TO_USR:
            if os.path.islink(f"/{name}"):
                (tree / name).symlink_to(f"usr/{name}")
        for name in ETC:
            source = pathlib.Path("/etc", name)
            if source.is_dir():
                shutil.copytree(source, tree / "etc" / name, symlinks=True)
            elif source.exists():
                shutil.copy2(source, tree / "etc")
        shutil.copytree(installed / "etc", tree / "etc", dirs_exist_ok=True)
        # What systemd-nspawn looks for before it lays /usr over it.
        shutil.copy("/usr/lib/os-release", tree / "etc/os-release")
        # One that has booted before, or it would enable all units that it finds.
        (tree / "etc/machine-id").write_text(uuid.uuid4().hex + "\n")
        image = directory / "image"
        with image.open("wb") as file:
            file.truncate(ROOT_BYTES)
        subprocess.run(["mkfs.btrfs", "-q", "-m", "single", "--rootdir", tree, image],
                       check=True, stdout=subprocess.DEVNULL)
        return self._attach(image)

    def _attach(self, image):
        device = subprocess.run(["losetup", "--find", "--show", image], check=True,
                                capture_output=True, text=True).stdout.strip()
        self._stack.callback(subprocess.run, ["losetup", "--detach", device], check=True)
        return device

    def _make_cgroup(self, name):
        roots = [root for root in CGROUP_ROOTS if os.path.exists(f"{root}/cgroup.procs")]
        if not roots:
            raise MachineUnavailable("there is no cgroup2 hierarchy")
        cgroup = pathlib.Path(roots[0], name)
        cgroup.mkdir()
        self._stack.callback(_remove_cgroup, cgroup)
        return cgroup

    def _wait_until_booted(self):
        children = pathlib.Path(f"/proc/{self._nspawn.pid}/task/{self._nspawn.pid}/children")

        def has_booted():
            assert self._nspawn.poll() is None, f"it did not boot: {self._log_path.read_text()}"
            # What it was before, and its helpers, may be gone already.
            with contextlib.suppress(FileNotFoundError, ProcessLookupError):
                for child in children.read_text().split():
                    if pathlib.Path(f"/proc/{child}/comm").read_text().strip() == "systemd":
                        self._leader = int(child)
            return self._leader and self.run("systemctl", "is-system-running").stdout.strip() in (
                "running", "degraded")
        wait_until(has_booted, self._log_path.read_text)

    def _power_off(self):
        if self._leader:
            self.run("systemctl", "poweroff")
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._nspawn.wait(PATIENCE_SECONDS if self._leader else 0.1)
        if self._nspawn.poll() is None:
            self._nspawn.kill()
            self._nspawn.wait()

    # What tests do on it.

    def run(self, *command):
        """Run a command as root in all its namespaces; the finished process."""
        return subprocess.run(
            ["nsenter", "-t", str(self._leader), "-m", "-u", "-i", "-n", "-p", "-C", "-r", "-w", "--",
             *map(str, command)], capture_output=True, text=True, check=False,
            stdin=subprocess.DEVNULL, timeout=PATIENCE_SECONDS,
            env={"PATH": "/usr/sbin:/usr/bin", "LC_ALL": "C.UTF-8", "SYSTEMD_PAGER": ""})

    def tell(self, *command):
        """Run a command that has to succeed; what it said."""
        done = self.run(*command)
        assert done.returncode == 0, f"{command}: {done.stderr}{done.stdout}\n{self.journal_text()}"
        if command[0] == "dedupctl":
            schemas.check_printed(command[1:], done.stdout)
        return done.stdout

    def path(self, path):
        """By which this machine reaches what is @path there."""
        return pathlib.Path(f"/proc/{self._leader}/root{path}")

    def add_filesystem(self, kind, mount_point):
        """Make one and mount it there; its device.  It goes with the machine."""
        image = self._log_path.parent / f"image-{len(list(self._log_path.parent.iterdir()))}"
        with image.open("wb") as file:
            file.truncate(ROOT_BYTES // 2)
        device = self._attach(image)
        subprocess.run([f"mkfs.{kind}", "-q", "-f", device], check=True, stdout=subprocess.DEVNULL)
        # Devices are of the whole machine; its own directory of them is made when it boots.
        number = os.stat(device).st_rdev
        self.tell("mknod", "-m", "600", device, "b", os.major(number), os.minor(number))
        self.tell("mkdir", "-p", mount_point)
        self.tell("mount", device, mount_point)
        return device

    def write(self, path, text):
        """A file there, with the directories on the way to it."""
        target = self.path(path)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)

    def show(self, unit, name):
        """A property of a unit."""
        return self.tell("systemctl", "show", "--value", "--property", name, unit).strip()

    def turn_page(self):
        """Have journal() tell of what is written from now on alone."""
        self._page_begun_usec = time.time_ns() // 1000

    def journal(self, *matches):
        """Entries with these fields, oldest first."""
        # What was sent may still be on its way.
        self.run("journalctl", "--sync")
        text = self.run("journalctl", "--output=json", "--quiet", "--all", *matches).stdout
        entries = [json.loads(line) for line in text.splitlines()]
        return [entry for entry in entries
                if int(entry["__REALTIME_TIMESTAMP"]) >= self._page_begun_usec]

    def journal_text(self):
        return self.run("journalctl", "--quiet", "--no-pager", "--lines=60").stdout


def wait_until(is_so, describe=lambda: ""):
    end = time.monotonic() + PATIENCE_SECONDS
    while not is_so():
        assert time.monotonic() < end, f"waited for {PATIENCE_SECONDS} s: {describe()}"
        time.sleep(0.05)


def _remove_cgroup(cgroup):
    for directory, _, _ in os.walk(cgroup, topdown=False):
        # What was in it may take a moment to be gone.
        for _ in range(100):
            try:
                os.rmdir(directory)
                break
            except OSError:
                time.sleep(0.05)
