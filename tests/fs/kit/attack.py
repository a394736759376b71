# SPDX-License-Identifier: GPL-2.0-or-later
"""Passes over a filesystem on which one user did their worst, and all that must hold of them.

    attack = Attack(filesystem, dedupd, seed)
    attack.have_user(hostile_acts.clone_few_blocks)
    attack.check()

Beside the user's files lie equal ones of root's and of another user's.  The user can do nothing
to those, so every pass over all must deduplicate them.
"""

import contextlib
import os
import pathlib
import random
import re
import signal
import subprocess
import time

import attack_limits
import harness
import hostile_acts
import hostile_companion
import hostile_tree
import oracle
import tree_inodes
from content import BLOCK, MIB, noise, write
from harness import USER

OTHER = 65532
VICTIMS = 6
VICTIM_BYTES = 256 << 10
LIVE = "live"
# btrfs check takes time in the square of the names of an inode: two minutes for 65000.
LINKS_TO_CHECK = 5000
ANSWER_SECONDS = 10
FILES_TO_ASK = 40
# Documented statuses of dedupctl, of which none says that it failed, and its end when it is interrupted.
GOOD_ANSWERS = (0, 4, 10, 11, 12, 130, -signal.SIGINT)
# Documented ends of a pass that nobody cut short: done, and done with files that could not be read.
GOOD_STATUSES = (0, 4)
# It had ended before, was stopped, or was told so before it could hear.
STOPPED_STATUSES = (0, 4, 143, -signal.SIGTERM)
# Of control characters a report has tabs and ends of lines alone.
RAW_CONTROL = re.compile("[\0-\x08\x0b-\x1f\x7f-\x9f\udc80-\udcff]")
# With these files of a btrfs are fingerprinted, beside extents or instead of them.
BY_FILES = {("find", "read"), ("compressed", "read"), ("no_data_cow", "share")}
# What dedupd has for each filesystem by itself.
STATE_NAMES = re.compile(r"[0-9a-f-]{36}\.sqlite(-wal|-shm|-journal)?|[\w.-]+\.lock|lock|locks|ignore|secret")


class LimitMissed(Exception):
    """A promise was not kept; the message says which, and how to see it again."""


class Attack:
    """One filesystem, its attacker and its victims."""

    def __init__(self, filesystem, dedupd, seed=0, **options):
        self.filesystem = filesystem
        self.dedupd = dedupd
        self.seed = seed
        self.chance = random.Random(seed)
        self.tree = pathlib.Path(filesystem.mount_point)
        self.home = self.tree / "home"
        self.costs = attack_limits.Costs()
        self.last_run = None
        self.paths = []  # of passes; none: the whole filesystem
        self.options = {"find": harness.FIND[filesystem.kind]} | options
        self._write_victims()
        # The user has to get there.
        os.chmod(filesystem.directory, 0o755)
        self.home.mkdir()
        os.chown(self.home, USER, USER)

    def _write_victims(self):
        for number, (name, owner, mode) in enumerate((("root", 0, 0o700), ("other", OTHER, 0o700),
                                                      ("readable", 0, 0o755))):
            directory = self.tree / name
            directory.mkdir()
            for victim in range(VICTIMS):
                data = noise(1000 * number + victim, VICTIM_BYTES)
                for copy in ("a", "b"):
                    path = write(directory / f"{victim}{copy}", data)
                    os.chown(path, owner, owner)
            if name == "readable":
                write(directory / "data", noise(99, 100 * BLOCK))
            os.chmod(directory, mode)
            os.chown(directory, owner, owner)

    def have_user(self, function, *arguments, **options):
        """Have the user do @function to their directory, with a HostileUser of this seed."""
        def act():
            user = hostile_tree.HostileUser(self.home, self.filesystem.kind, self.seed, **options)
            with contextlib.suppress(hostile_tree.Spent):
                function(user, *arguments)
        hostile_tree.as_user(USER, act)

    def fill_at_random(self, seconds):
        """Have the user do what they can do in that time."""
        hostile_tree.as_user(USER, hostile_tree.fill, self.home, self.filesystem.kind, self.seed,
                             hostile_acts.ACTS, seconds)

    def mount_anew(self):
        """Forget what is cached of this filesystem, and of no other."""
        self.filesystem.unmount()
        self.filesystem.mount()
        os.chmod(self.filesystem.directory, 0o755)

    # Passes.

    def check(self, is_stopped=True):
        """All kinds of passes: stopped, complete, and one that finds nothing to do."""
        harness.settle(self.filesystem)
        self.mount_anew()
        before = tree_inodes.Tree(self.tree)
        before.choose_pieces(self.chance)
        before.read_pieces()
        if before.most_links() > LINKS_TO_CHECK and self.filesystem.kind == "btrfs":
            self.filesystem.leave_out_programs()
        if is_stopped:
            self.stop_a_pass()
            stopped = tree_inodes.Tree(self.tree)
            stopped.read_pieces(like=before)
            self._expect_same(before, stopped)
            before = stopped
        self.complete_pass(before)
        self.expect_convergence()
        self.expect_clean_text()
        if "DEDUPCTL" in os.environ:
            self.expect_clean_answers()
        self.expect_limits()

    def stop_a_pass(self):
        """Stop one at any moment; in the first second most begins."""
        self.mount_anew()
        process = self.dedupd.start(*self.paths, **self.options)
        time.sleep(self.chance.choice([0.05, 0.3, 1, 3]) * self.chance.random())
        begun = time.monotonic()
        process.send_signal(signal.SIGTERM)
        run = self.dedupd.finish(process)
        self.costs.add("seconds to stop", time.monotonic() - begun, attack_limits.stop_seconds())
        self._expect(run.status in STOPPED_STATUSES, f"stopped, it ended with {run.status}: {run.stderr}")

    def measured_pass(self):
        """A pass with what it cost: (Run, CPU seconds, bytes of memory)."""
        self.mount_anew()
        read_before = self.filesystem.read_bytes()
        begun = time.monotonic()
        with attack_limits.CpuWatch() as cpu:
            process = self.dedupd.start(*self.paths, **self.options)
            with attack_limits.MemoryWatch(process.pid) as memory:
                run = self.dedupd.finish(process, begun, read_before)
        self._expect(run.status in GOOD_STATUSES, f"exit {run.status}: {run.stderr}")
        self._expect(run.report["outcome"] == "complete", run.stdout)
        return run, cpu.seconds, memory.bytes

    def complete_pass(self, before):
        """One over the quiet tree: nothing else may change it, and what is said must be true."""
        counts_used = self.options["find"] == "checksums"
        used_before = harness.used_data_bytes(self.filesystem) if counts_used else 0
        run, cpu_seconds, resident_bytes = self.measured_pass()
        self.last_run = run
        after = tree_inodes.Tree(self.tree)
        after.read_pieces(like=before)
        self._expect_same(before, after)
        least, most = before.freed_bytes(after)
        if counts_used:
            least = most = used_before - harness.used_data_bytes(self.filesystem)
        self._expect(least <= run.freed_bytes <= most, f"claimed {run.freed_bytes}, freed {least} to {most}")
        attack_limits.add_costs_of_pass(self.costs, run, before, max(0, most), cpu_seconds, resident_bytes)
        attack_limits.add_cost_of_store(self.costs, self.dedupd.state_directory, before,
                                        self._bytes_if_clones_have_anchors())
        self._expect_victims_are_shared(run)
        strange = [path.name for path in self.dedupd.state_directory.iterdir()
                   if not STATE_NAMES.fullmatch(path.name)]
        self._expect(not strange, f"left behind in the state directory: {strange}")

    def _bytes_if_clones_have_anchors(self):
        """Of a btrfs of which files are fingerprinted one by one; else 0."""
        if self.filesystem.kind != "btrfs" or not BY_FILES.intersection(self.options.items()):
            return 0
        state = os.statvfs(self.tree)
        return state.f_blocks * state.f_frsize

    def _expect_victims_are_shared(self, run):
        for name in ("root", "other"):
            for victim in range(VICTIMS):
                self._expect(oracle.is_shared(self.tree / name / f"{victim}a", self.tree / name / f"{victim}b"),
                             f"{name}/{victim} is not shared: {run.skipped}")

    def expect_convergence(self):
        """The next pass has nothing to do but to look; what calls the kernel for nothing changes nothing."""
        store = self.dedupd.store_contents()
        run, _, _ = self.measured_pass()
        done = (run.shared["calls"], run.shared["bytes"], run.freed_bytes, run.read["finding_bytes"],
                run.read["compare_bytes"])
        self._expect(not any(done), f"the second pass did (calls, bytes, freed, found, compared) {done}")
        self._expect(self.filesystem.kind == "btrfs" or self.dedupd.store_contents() == store,
                     "the second pass wrote to its store")

    def expect_clean_text(self):
        """What people read has nothing that a terminal obeys."""
        for options in ({"json": None}, {"json": None, "verbose": True}, {"dry_run": True}):
            run = self.dedupd.run(*self.paths, **self.options | options)
            found = RAW_CONTROL.search(run.stdout + run.stderr)
            self._expect(not found, f"raw control character in {found and found.string[-2000:]!r}")

    def expect_clean_answers(self):
        """The same of what dedupctl says of the user's files, which takes no longer than a pass may."""
        verb = self.chance.choice(["duplicates", "waste", "unique", "file", "why"])
        words = {"duplicates": [], "waste": [self.home], "unique": [self.home]}.get(verb)
        if words is None:
            words = sorted(path for path in self.home.glob("*/*")
                           if path.is_file() and not path.is_symlink())[:FILES_TO_ASK] or [self.tree / "root/0a"]
        command = [harness.dedupctl_program(), f"--state-dir={self.dedupd.state_directory}", verb, *map(str, words)]
        status, text = self._answer_of(command)
        self._expect(status in GOOD_ANSWERS, f"dedupctl {verb}: {status}: {text[-500:]}")
        found = RAW_CONTROL.search(text)
        self._expect(not found, f"dedupctl {verb}: raw control character in {found and found.string[-2000:]!r}")

    def _answer_of(self, command):
        """Status and text of a command that is interrupted where it takes long."""
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.STDOUT, env=self.dedupd.environment())
        try:
            output = process.communicate(timeout=ANSWER_SECONDS)[0]
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGINT)
            begun = time.monotonic()
            output = process.communicate()[0]
            self.costs.add("seconds to stop dedupctl", time.monotonic() - begun, attack_limits.stop_seconds())
        return process.returncode, output.decode("utf-8", "surrogateescape")

    def disturbed_pass(self):
        """One while the user goes on; only what lies outside the live directory stays as it is."""
        def companion(stop):
            hostile_companion.disturb(self.home / LIVE, self.filesystem.kind, self.seed, stop)
        harness.settle(self.filesystem)
        before = tree_inodes.Tree(self.tree, left_out="home")
        before.choose_pieces(self.chance)
        before.read_pieces()
        with hostile_companion.Companion(USER, companion):
            process = self.dedupd.start(*self.paths, **self.options)
            run = self.dedupd.finish(process)
        self._expect(run.status in GOOD_STATUSES, f"exit {run.status}: {run.stderr}")
        after = tree_inodes.Tree(self.tree, left_out="home")
        after.read_pieces(like=before)
        self._expect_same(before, after)
        self._expect_victims_are_shared(run)

    # Verdicts.

    def expect_limits(self):
        missed = self.costs.missed()
        if missed:
            run = self.last_run
            missed += [f"{name}: {run.filesystem[name]}" for name in ("read", "shared", "freed", "files", "store")
                       ] if run else []
        self._expect(not missed, "\n".join(missed))

    def _expect_same(self, before, after):
        self._expect(not before.differences(after), "the pass changed what it must not:\n"
                     + "\n".join(before.differences(after)))

    def _expect(self, is_so, message):
        if not is_so:
            raise LimitMissed(f"seed {self.seed} on {self.filesystem.kind}, {self.options}: {message}")
