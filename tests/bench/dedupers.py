# SPDX-License-Identifier: GPL-2.0-or-later
"""The programs that are compared, each as a user would call it."""

import json
import os
import re
import shutil
import subprocess

ROOT = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))


class Deduper:
    """One program; what it verifies before it has blocks shared is part of the comparison."""

    name = ""
    program_name = ""  # if it is not the same
    verifies = ""
    good_statuses = (0,)

    def __init__(self, program):
        self.program = program

    def version(self):
        """What it calls itself."""
        return _version([self.program, "--version"])

    def command(self, state, tree):
        """Argument vector of a run over @tree with its memory in the directory @state."""
        raise NotImplementedError

    def is_known(self):
        """Whether this program is able to run in this way."""
        return True


class Dedupd(Deduper):
    """This project."""

    name = "dedupd"
    verifies = "the kernel compares"

    def command(self, state, tree, *options):
        return [self.program, "--once", "--json", "--state-dir", state, *options, tree]


class DedupdReading(Dedupd):
    """This project, finding equal data by reading where it could take checksums."""

    name = "dedupd-read"

    def command(self, state, tree, *options):
        return super().command(state, tree, "--find", "read", *options)


class DedupdNotRewriting(Dedupd):
    """This project, writing nothing anew to be rid of an extent."""

    name = "dedupd-never"

    def command(self, state, tree, *options):
        return super().command(state, tree, "--rewrite=never", *options)

    def is_known(self):
        done = subprocess.run([self.program, "--help"], capture_output=True, text=True, check=False)
        return "--rewrite=" in done.stdout


class DedupdPaying(Dedupd):
    """This project, comparing whatever it takes to free an extent at once, in snapshots as well."""

    name = "dedupd-paying"

    def command(self, state, tree, *options):
        return super().command(state, tree, "--max-compare=1000", "--read-only-snapshots=share",
                               *options)

    def is_known(self):
        done = subprocess.run([self.program, "--help"], capture_output=True, text=True, check=False)
        return "--max-compare=" in done.stdout


class Duperemove(Deduper):
    """Extents by their content, with a file of hashes kept from run to run."""

    name = "duperemove"
    verifies = "the kernel compares"

    def command(self, state, tree):
        return [self.program, "-dr", "-b", "64K", f"--hashfile={state}/hashes", tree]


class DuperemoveFine(Duperemove):
    """The same by the smallest blocks it knows, those of the filesystem."""

    name = "duperemove-4k"
    program_name = "duperemove"

    def command(self, state, tree):
        return [self.program, "-dr", "-b", "4K", f"--hashfile={state}/hashes", tree]


class Jdupes(Deduper):
    """Identical files; keeps nothing."""

    name = "jdupes"
    verifies = "reads and compares, then the kernel does"

    def version(self):
        return _version([self.program, "-v"])

    def command(self, state, tree):
        return [self.program, "-q", "-r", "-B", tree]


class Oans(Duperemove):
    """A relative of duperemove."""

    name = "oans"


class Bees(Deduper):
    """Goes on until it is stopped: it gets a fixed time, and counts for what it freed by then."""

    name = "bees"
    seconds = 600
    # That of timeout(1), which ends it.
    good_statuses = (0, 124, 143)

    def command(self, state, tree):
        with open(os.path.join(state, "beeshash.dat"), "wb") as table:
            table.truncate(128 << 20)
        return ["env", f"BEESHOME={state}", "timeout", str(self.seconds), self.program, tree]


class Dduper(Deduper):
    """Takes the checksums of btrfs, by a patched btrfs-progs; keeps nothing."""

    name = "dduper"

    def command(self, state, tree):
        device = subprocess.run(["findmnt", "-n", "-o", "SOURCE", "--target", tree], check=True,
                                capture_output=True, text=True).stdout.strip()
        return [self.program, "--device", device, "--dir", tree, "--recurse"]


def _version(command):
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    found = re.search(r"\d+\.\d+[^\s]*", done.stdout + done.stderr)
    return found[0] if found else "unknown"


def find_dedupd(path=None):
    """The dedupd to measure: as asked for, or of this tree's release build, or installed."""
    for candidate in (path, f"{ROOT}/build-bench/daemon/dedupd", shutil.which("dedupd")):
        if candidate and os.access(candidate, os.X_OK):
            return Dedupd(os.path.abspath(candidate))
    raise SystemExit(f"no dedupd at {path}" if path else
                     "no dedupd: build it in build-bench, or give --dedupd PATH")


def find_all(wanted, path=None):
    """The programs named in @wanted; a peer that is not installed is left out."""
    found = []
    for kind in (Dedupd, DedupdReading, DedupdNotRewriting, DedupdPaying, Duperemove, DuperemoveFine,
                 Jdupes, Oans, Bees, Dduper):
        if kind.name not in wanted:
            continue
        if issubclass(kind, Dedupd):
            found.append(kind(find_dedupd(path).program))
            if not found[-1].is_known():
                found.pop()
        elif shutil.which(kind.program_name or kind.name):
            found.append(kind(shutil.which(kind.program_name or kind.name)))
    return found


def report_of(cost):
    """The part of a dedupd report that speaks of the one filesystem; {} when there is none."""
    try:
        return json.loads(cost.output)["filesystems"][0]
    except (ValueError, LookupError):
        return {}
