# SPDX-License-Identifier: GPL-2.0-or-later
"""Programs that find identical files, each as a user would call it to find and do nothing more."""

import json
import os
import re
import shutil

from dedupers import Dedupd, Deduper, report_of


class Finder(Deduper):
    """One program."""

    verifies = "hash only"

    def sets(self, cost, state):
        """How many sets of identical files it found; None where it does not say."""
        raise NotImplementedError

    def harms(self):
        """Whether the tree is another one afterwards."""
        return False


class DedupdFinding(Dedupd, Finder):
    """This project, sharing nothing."""

    name = "dedupd"
    verifies = "hash only"

    def command(self, state, tree, *options):
        return super().command(state, tree, "--read", "same-size", "--find", "read", "--dry-run",
                               *options)

    def sets(self, cost, state):
        return report_of(cost).get("found", {}).get("sets")


class DedupdSharing(DedupdFinding):
    """This project, doing its work."""

    name = "dedupd-share"
    verifies = "the kernel compares, and shares"

    def command(self, state, tree, *options):
        return Dedupd.command(self, state, tree, "--read", "same-size", "--find", "read", *options)

    def harms(self):
        return True


class Paragraphs(Finder):
    """Prints each set as lines with an empty one after them."""

    options = ()

    def version(self):
        return _first_version(self.program, "-v")

    def command(self, state, tree):
        return [self.program, "-q", "-r", *self.options, tree]

    def sets(self, cost, state):
        return len([part for part in cost.output.split("\n\n") if part.strip()])


class Jdupes(Paragraphs):
    """By sizes, hashes of heads, hashes, and comparing."""

    name = "jdupes"
    verifies = "bytes compared"


class JdupesQuick(Paragraphs):
    """The same without comparing."""

    name = "jdupes-quick"
    program_name = "jdupes"
    options = ("-Q",)


class Fdupes(Paragraphs):
    """The elder of jdupes."""

    name = "fdupes"
    verifies = "bytes compared"
    options = ("-n",)


class Rdfind(Finder):
    """By sizes, first bytes, last bytes, SHA-1."""

    name = "rdfind"

    def command(self, state, tree):
        return [self.program, "-dryrun", "true", "-outputname", f"{state}/results", tree]

    def sets(self, cost, state):
        with open(f"{state}/results", encoding="utf-8", errors="replace") as results:
            return sum(line.startswith("DUPTYPE_FIRST_OCCURRENCE") for line in results)


class Rmlint(Finder):
    """By several threads, in the order of the disk where that rotates."""

    name = "rmlint"

    def command(self, state, tree):
        return [self.program, "--types=duplicates", "--hidden", "-o", f"json:{state}/results", tree]

    def sets(self, cost, state):
        with open(f"{state}/results", encoding="utf-8", errors="replace") as results:
            return sum(1 for entry in json.load(results) if entry.get("is_original"))


class Duff(Finder):
    """By sizes, heads, SHA-1."""

    name = "duff"

    def version(self):
        return _first_version(self.program, "-h")

    def command(self, state, tree):
        return [self.program, "-r", "-a", "-z", tree]

    def sets(self, cost, state):
        return len(re.findall(r"^\d+ files in cluster ", cost.output, re.M))


class DuperemoveFinding(Finder):
    """Finds extents and blocks, too, and does not say which files are identical."""

    name = "duperemove"

    def command(self, state, tree):
        return [self.program, "-r", "-q", f"--hashfile={state}/hashes", tree]

    def sets(self, cost, state):
        return None


class OansFinding(DuperemoveFinding):
    """A relative of duperemove."""

    name = "oans"


class Fclones(Finder):
    """By threads of its own for each kind of disk."""

    name = "fclones"

    def command(self, state, tree):
        return [self.program, "group", "--hidden", "--no-ignore", "--format", "json", tree]

    def sets(self, cost, state):
        return len(json.loads(cost.output)["groups"])


class Dupd(Finder):
    """Scans once and answers questions about it later."""

    name = "dupd"

    def command(self, state, tree):
        return ["env", f"HOME={state}", self.program, "scan", "-q", "--path", tree]

    def sets(self, cost, state):
        return None


def _first_version(*command):
    # Those that do not know --version say it elsewhere, if at all.
    with os.popen(" ".join(command) + " 2>&1") as output:
        found = re.search(r"\d+\.\d+[^\s]*", output.read())
    return found[0] if found else "unknown"


KINDS = (Jdupes, JdupesQuick, Fdupes, Rdfind, Rmlint, Duff, DuperemoveFinding, Dupd, Fclones,
         OansFinding)


def find_all(wanted, dedupd):
    """The programs named in @wanted, those of this project first; what is not there is left out."""
    found = [kind(dedupd.program) for kind in (DedupdFinding, DedupdSharing) if kind.name in wanted]
    for kind in KINDS:
        program = shutil.which(kind.program_name or kind.name)
        if kind.name in wanted and program:
            found.append(kind(program))
    return found
