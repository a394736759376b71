# SPDX-License-Identifier: GPL-2.0-or-later
"""Running dedupd and dedupctl, and the one check that every test which shares something goes through."""

import atexit
import contextlib
import dataclasses
import fcntl
import functools
import hashlib
import json
import os
import pathlib
import re
import sqlite3
import subprocess
import time

import pytest

import ioctls
import oracle
import schemas
from feigned_clock import FeignedClock
from subvolumes import btrfs

# Where these modules are, and what tests start of them.
KIT = pathlib.Path(__file__).resolve().parent
# A file that changed within a second before a pass is read again by the next one.
RACY_SECONDS = 1.1
# What a pass may read beyond what a walk over names, inodes and extents reads.
METADATA_MARGIN_BYTES = 2 << 20
# Runs of so many blocks are certain to be found by checksums: anchors of 4 blocks, one in every window
# of 16.
CERTAIN_BLOCKS = 19
# Of files that are read: anchors of 2 blocks, one in every window of 8.
CERTAIN_BLOCKS_READ = 9
# An extent of btrfs that is shown in more places is not moved.
REFERENCES_MAX = 16
USER = 65533

# Kind of filesystem -> how root's passes find equal data there by themselves.
FIND = {"btrfs": "checksums", "xfs": "read"}

# Section of the report -> its fields.
FIELDS = {name: set(part["properties"])
          for name, part in schemas.schema("report")["properties"]["filesystems"]["items"]["properties"].items()
          if "properties" in part}

# What the programs under test go by.
clock = FeignedClock()


@dataclasses.dataclass
class Run:
    """What one run of dedupd did and said."""
    status: int
    stdout: str
    stderr: str
    seconds: float
    device_bytes: int  # read from the filesystem's device meanwhile

    @property
    def report(self):
        return json.loads(self.stdout)

    @property
    def filesystem(self):
        """The part of the report about the only filesystem."""
        entries = self.report["filesystems"]
        assert len(entries) == 1, entries
        return entries[0]

    def __getattr__(self, section):
        if section not in FIELDS:
            raise AttributeError(section)
        return self.filesystem[section]

    @property
    def freed_bytes(self):
        return self.filesystem["freed"]["bytes"]

    @property
    def skipped(self):
        """Reason -> number of files left alone for it."""
        return {entry["reason"]: entry["count"] for entry in self.filesystem["skipped"]}

    @property
    def pinned(self):
        """Cause -> number of extents that stay for it."""
        return {entry["cause"]: entry["count"] for entry in self.filesystem["pinned"]}

    def pin_of(self, cause):
        """The whole entry of one cause."""
        entries = [e for e in self.filesystem["pinned"] if e["cause"] == cause]
        assert len(entries) == 1, f"{cause} in {self.filesystem['pinned']}"
        return entries[0]

    def skip_of(self, reason):
        """The whole entry of one reason."""
        entries = [e for e in self.filesystem["skipped"] if e["reason"] == reason]
        assert len(entries) == 1, f"{reason} in {self.filesystem['skipped']}"
        return entries[0]


def check_report(report):
    """The report has the shape that docs/schema/report.json promises, and holds together."""
    schemas.check(report, "report")
    for entry in report["filesystems"]:
        assert (entry["error"] is not None) == (entry["outcome"] == "failed"), entry["error"]
        assert entry["store"] is not None or entry["outcome"] == "failed"
        for skip in entry["skipped"]:
            assert len(skip["examples"]) <= skip["count"], skip
            # An extent need not have a file that has a name, and inodes come without theirs.
            is_nameless = (entry["inventory"]["by"] == "bulkstat"
                           and skip["reason"] in ("small", "special", "young"))
            assert (skip["examples"] or entry["found"]["by"] == "checksums" or is_nameless), skip
        for pin in entry["pinned"]:
            assert pin["count"] >= len(pin["examples"]), pin


def option_words(options):
    """dry_run=True, zeros="hole", exclude=["a", "b"] as the words of a command line."""
    words = []
    for name, value in options.items():
        option = "--" + name.replace("_", "-")
        if value is True:
            words.append(option)
        elif value is not False and value is not None:
            for one in value if isinstance(value, (list, tuple)) else [value]:
                words += [option, str(one)]
    return words


def as_user(user, command):
    """The command as @user, a number, would give it; None: as this one does."""
    return command if user is None else ["setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups", *command]


def dedupctl_program():
    """The dedupctl that is tested; skips the test if there is none."""
    if "DEDUPCTL" not in os.environ:
        pytest.skip("DEDUPCTL does not name dedupctl")
    return os.environ["DEDUPCTL"]


def dedupctl(*words, dedupd=None, status=0, user=None, program=None, **options):
    """Run dedupctl to its end, with the stores of @dedupd; the finished process.

    It has to exit with @status, unless that is None.  What it prints as JSON is held to its schema.
    """
    command = [program or dedupctl_program(), *map(str, words)]
    if dedupd:
        command.insert(1, f"--state-dir={dedupd.state_directory}")
    options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "timeout": 120} | options
    if options.setdefault("text", True):
        options |= {"encoding": "utf-8", "errors": "surrogateescape"}
    done = subprocess.run(as_user(user, command), check=False, **options)
    assert status is None or done.returncode == status, done.stderr
    schemas.check_printed(words, done.stdout)
    return done


@contextlib.contextmanager
def working_pass(uuid):
    """Hold the locks that a pass over the filesystem holds."""
    directory = pathlib.Path("/run/dedupd-lock")
    directory.mkdir(mode=0o700, exist_ok=True)
    with open(directory / uuid, "a+b") as held:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        fcntl.lockf(held, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, 0)  # which refuses looks
        yield


def dedupctl_rows(*words, **options):
    """The same as JSON: the rows of the only table that is printed."""
    document = json.loads(dedupctl(*words, "--json", **options).stdout)
    (rows,) = (value for key, value in document.items() if isinstance(value, list))
    return rows


class Dedupd:
    """The program under test with a state directory of its own."""

    def __init__(self, program, state_directory, filesystem):
        self.program = program
        self.state_directory = pathlib.Path(state_directory)
        self.filesystem = filesystem
        self.feigned = {}  # more environment, for passes that are deceived

    def environment(self):
        """The test's own, save that what belongs to its user lies in the state directory."""
        personal = {name for name in os.environ if name.startswith("XDG_")}
        kept = {name: os.environ[name] for name in os.environ.keys() - personal}
        preloaded = [feigned["LD_PRELOAD"] for feigned in (clock.environment(), self.feigned)
                     if "LD_PRELOAD" in feigned]
        return (kept | {"HOME": str(self.state_directory)} | clock.environment() | self.feigned
                | {"LD_PRELOAD": ":".join(preloaded)})

    def command(self, *paths, user=None, **options):
        options.setdefault("json", True)
        options.setdefault("find", "read")
        # What is tested is the program, not how this machine is configured.
        options.setdefault("config", "none")
        # All of this machine's disks may be said to rotate: others would be waited for.
        options.setdefault("rotating", "no")
        options.setdefault("state_dir", self.state_directory)
        paths = [os.fspath(path) for path in paths or [self.filesystem.mount_point]]
        return as_user(user, [self.program, "--once", *paths, *option_words(options)])

    def start(self, *paths, **options):
        """Start it and return the process, its standard output and error piped."""
        process = subprocess.Popen(self.command(*paths, **options), stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   env=self.environment())
        # A test that fails may leave it, with the filesystem that it works on.
        atexit.register(process.kill)
        return process

    def run(self, *paths, **options):
        """Run it to its end.  A report is checked for its shape."""
        read_before = self.filesystem.read_bytes()
        begun = time.monotonic()
        return self.finish(self.start(*paths, **options), begun, read_before)

    def finish(self, process, begun=None, read_before=0, timeout=180):
        """Wait for a started process and return its Run."""
        begun = begun or time.monotonic()
        try:
            stdout, stderr = process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            process.kill()
            raise
        run = Run(process.returncode, stdout.decode("utf-8", "surrogateescape"),
                  stderr.decode("utf-8", "surrogateescape"), time.monotonic() - begun,
                  self.filesystem.read_bytes() - read_before)
        with contextlib.suppress(json.JSONDecodeError):
            check_report(run.report)
        return run

    @property
    def store_path(self):
        stores = list(self.state_directory.glob("*.sqlite"))
        assert len(stores) == 1, list(self.state_directory.iterdir())
        return stores[0]

    def note(self, name):
        """What the store has noted under a name, or None."""
        with contextlib.closing(sqlite3.connect(self.store_path)) as database:
            rows = database.execute("SELECT text FROM note WHERE name = ?", [name]).fetchall()
        return rows[0][0] if rows else None

    def set_note(self, name, text):
        """Have the store note something else under a name that it knows."""
        with contextlib.closing(sqlite3.connect(self.store_path)) as database, database:
            changed = database.execute("UPDATE note SET text = ? WHERE name = ?", [text, name])
            assert changed.rowcount == 1

    def store_contents(self):
        """Name -> digest of every file of the state directory; of a store of all but its history.

        Each pass is in the history, also one that finds nothing.
        """
        return {path.name: digest_of_store(path) if path.suffix == ".sqlite"
                else (path.stat().st_mtime_ns, hashlib.sha256(path.read_bytes()).hexdigest())
                for path in sorted(self.state_directory.iterdir())
                if path.is_file() and not path.name.endswith(("-wal", "-shm"))}


def digest_of_store(path):
    """Of all rows of a store, but for passes, and which mounting they were over; else of the bytes of the file."""
    digest = hashlib.sha256()
    try:
        with contextlib.closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as database:
            database.text_factory = bytes
            tables = [name.decode() for name, in database.execute(
                "SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name")]
            for table in tables:
                digest.update(table.encode())
                if table not in ("pass", "pass_total"):
                    for row in database.execute(f"SELECT * FROM {table}"):
                        if row[0] != b"mount-instance":
                            digest.update(repr(row).encode())
    except sqlite3.DatabaseError:
        digest.update(path.read_bytes())
    return digest.hexdigest()


def settle(filesystem):
    """Make what was written so far old enough for a pass to trust it."""
    ioctls.sync(filesystem.mount_point)
    clock.wait(RACY_SECONDS)


def metadata_bytes(filesystem, tree):
    """What reading names, inodes and extents of a tree from a cold cache costs the device."""
    filesystem.drop_caches()
    before = filesystem.read_bytes()
    oracle.layout(tree)
    return filesystem.read_bytes() - before


def block_groups(filesystem):
    """Kind of block group of a btrfs -> bytes allocated and used, everything being on the disk."""
    btrfs("filesystem", "sync", filesystem.mount_point)
    listing = subprocess.run(["btrfs", "filesystem", "df", "-b", filesystem.mount_point],
                             check=True, capture_output=True, text=True).stdout
    found = {}
    for kind, total, used in re.findall(r"^(\w+), .*total=(\d+), used=(\d+)$", listing, re.M):
        before = found.get(kind, (0, 0))
        found[kind] = before[0] + int(total), before[1] + int(used)
    return found


def used_data_bytes(filesystem):
    return block_groups(filesystem)["Data"][1]


def used_metadata_bytes(filesystem):
    return block_groups(filesystem)["Metadata"][1]


@dataclasses.dataclass
class CheckedPass:
    """A pass that kept every promise, and the one after it, which had nothing to do."""
    first: Run
    second: Run
    freed_bytes: int       # measured from outside
    used_drop_bytes: int   # btrfs: by the filesystem's own count; XFS: as freed_bytes


def assert_unchanged(before, tree):
    changes = oracle.differences(before, oracle.snapshot(tree))
    assert not changes, "the pass changed what it must not:\n" + "\n".join(changes)


def assert_converged(dedupd, tree, paths=(), status=0, may_note=False, **options):
    """A pass over an unchanged tree shares, reads and writes nothing; returns its Run.

    What it reads of names, inodes and extents is mostly in memory, so it is not measured here.
    With @may_note it may write down how far it looked: on btrfs it does where what the pass before
    shared left it megabytes of leaves to look through.
    """
    filesystem = dedupd.filesystem
    layout = oracle.layout(tree)
    store = dedupd.store_contents()
    filesystem.forget_data()

    runs = [dedupd.run(*paths, **options)]
    if runs[0].device_bytes > METADATA_MARGIN_BYTES:
        # A test beside this one may have looked at all block devices.
        filesystem.forget_data()
        runs.append(dedupd.run(*paths, **options))

    for run in runs:
        assert run.status == status, run.stderr
        assert run.shared["calls"] == 0, run.filesystem
        assert run.shared["bytes"] == 0, run.filesystem
        assert run.freed_bytes == 0, run.filesystem
        assert run.read["finding_bytes"] == 0 and run.read["compare_bytes"] == 0, run.filesystem
    assert run.device_bytes <= METADATA_MARGIN_BYTES, "the second pass read data"
    assert may_note or dedupd.store_contents() == store, "the second pass wrote to its store"
    assert oracle.layout(tree) == layout
    return run


def check_pass(dedupd, tree=None, paths=(), status=0, user=None, has_clones=False,
               may_note=False, **options):
    """Run a pass and one more, and check all that holds for every pass.

    Contents, times, owners, modes and xattrs stay; what is said to be freed is what was freed; the
    second pass finds nothing to do, reads no data and writes nothing.

    With @has_clones, blocks with several users may all have been moved away from: then at least
    what had one user must be said to be freed, and no more than was.

    What is found by checksums is counted in whole extents, with what no file shows of them: that is
    measured by the filesystem's own count.  For @may_note see assert_converged().
    """
    filesystem = dedupd.filesystem
    tree = tree or filesystem.mount_point
    settle(filesystem)
    before = oracle.snapshot(tree)
    physical_before = oracle.physical_bytes(tree)
    sole_blocks = oracle.data_blocks(tree, only_sole=True)
    used_before = used_data_bytes(filesystem) if filesystem.kind == "btrfs" else physical_before

    first = dedupd.run(*paths, user=user, **options)

    assert first.status == status, f"exit {first.status}: {first.stderr}"
    assert first.report["outcome"] == "complete", first.report
    assert_unchanged(before, tree)
    freed = physical_before - oracle.physical_bytes(tree)
    if first.found["by"] == "checksums":
        # The report does not subtract the copies for extents that snapshots hold from the space freed.
        freed = used_before - used_data_bytes(filesystem) + first.filesystem["deferred"]["written_bytes"]
    least = freed
    if has_clones:
        least = len(sole_blocks - oracle.data_blocks(tree)) * oracle.BLOCK_BYTES
    assert least <= first.freed_bytes <= freed, (
        f"claimed {first.freed_bytes}, freed {freed}, sole use of {least}")
    used_drop = freed
    if filesystem.kind == "btrfs":
        used_drop = used_before - used_data_bytes(filesystem)
        claimed = first.freed["used_before_bytes"] - first.freed["used_after_bytes"]
        assert claimed == used_drop, f"claimed {claimed} less in use, it is {used_drop}"
    second = assert_converged(dedupd, tree, paths, status, may_note, user=user, **options)
    return CheckedPass(first, second, freed, used_drop)


def check_btrfs_pass(dedupd, *paths, find="checksums", **options):
    """check_pass() of a pass over a btrfs that finds by checksums unless @find says otherwise."""
    done = check_pass(dedupd, paths=paths, find=find, **options)
    if find == "checksums":
        found = dict(done.first.found)
        # The first pass looks at all extents; one that has nothing left to do never does, but once a week.
        found.pop("full_look_seconds")
        assert found == {"by": "checksums", "reason": None, "read": None, "sets": 0}
        assert done.second.found["full_look_seconds"] is None
    return done


@functools.cache
def _why_no_own_mounts():
    probe = subprocess.run(["unshare", "--mount", "true"], capture_output=True, text=True, check=False)
    return probe.stderr.strip() if probe.returncode else None


def own_mounts():
    """Words that start a program with mounts of its own.

    Skips the test where there are none, as in a chroot whose root is not a mount point.
    """
    if _why_no_own_mounts():
        pytest.skip(f"no mounts of its own can be had: {_why_no_own_mounts()}")
    return ["unshare", "--mount"]


def run_where_boot_is(directory, dedupd, *paths, **options):
    """Run it where @directory is mounted at /boot, which nobody else sees."""
    in_namespace = [*own_mounts(), "sh", "-ec",
                    'mount --bind "$1" /boot; shift; exec "$@"', "sh", str(directory)]
    run = dedupd.finish(subprocess.Popen(
        in_namespace + dedupd.command(*paths, **options), stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=dedupd.environment()))
    assert run.status == 0, run.stderr
    return run


def seeds(count):
    """Of @count random trees; DEDUPD_SEEDS chooses another number, DEDUPD_SEED the first."""
    first = int(os.environ.get("DEDUPD_SEED", "1"))
    return range(first, first + int(os.environ.get("DEDUPD_SEEDS", count)))


def cache_drops():
    """How often anyone on this machine has emptied the page cache."""
    with open("/proc/vmstat", encoding="ascii") as counters:
        return dict(line.split() for line in counters)["drop_pagecache"]
