# SPDX-License-Identifier: GPL-2.0-or-later
"""Which tests run a line of the sources, and how long each test takes."""

import collections
import concurrent.futures
import dataclasses
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import time

SUITES = ("unit", "store", "cli", "fs")
# How much longer than without a mutant a test may take.
PATIENCE = 5
LEAST_SECONDS = 20
# gcov counts a statement of several lines at its first ones: how far back these are looked for.
STATEMENT_LINES = 6
# What a test ends with that skips all.
EXIT_SKIP = 77


@dataclasses.dataclass
class BuiltTest:
    """A test of one build directory."""

    name: str
    suite: str
    build: str
    command: list
    environment: dict
    # Relative to the build directory.
    targets: list
    timeout_seconds: int

    def passes(self, seconds, environment=None, umask=-1):
        """Whether it ends in this time, with success or because it skips all."""
        with subprocess.Popen(self.command, cwd=self.build, env={**os.environ, **self.environment, **(environment or {})},
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL,
                              start_new_session=True, umask=umask) as process:
            try:
                return process.wait(seconds) in (0, EXIT_SKIP)
            except subprocess.TimeoutExpired:
                _end(process)
                return False


def _end(process):
    """End a test with all that it started.  At SIGINT it removes its filesystems."""
    for number in (signal.SIGINT, signal.SIGKILL):
        try:
            os.killpg(process.pid, number)
            process.wait(30)
        except (ProcessLookupError, subprocess.TimeoutExpired):
            pass


def built_tests(build):
    """Name -> test of a build directory, of SUITES.  Tests that must run alone are left out."""
    def introspect(what):
        return json.loads(subprocess.run(["meson", "introspect", what, build], check=True, capture_output=True).stdout)

    files = {target["id"]: [os.path.relpath(name, build) for name in target["filename"]]
             for target in introspect("--targets")}
    tests = {}
    for entry in introspect("--tests"):
        suite = entry["suite"][0].split(":")[-1]
        if suite not in SUITES or not entry["is_parallel"]:
            continue
        command = entry["cmd"] + (["-x"] if entry["cmd"][0].endswith("run-pytest") else [])
        tests[entry["name"]] = BuiltTest(entry["name"], suite, build, command, entry["env"],
                                         [name for target in entry["depends"] for name in files[target]],
                                         entry["timeout"])
    return tests


class LineTests:
    """What a run of all tests has shown."""

    def __init__(self):
        # (source, line) -> tests.
        self._tests = collections.defaultdict(list)
        # Source -> all lines with code.
        self._lines = collections.defaultdict(set)
        self._seconds = {}

    def learn(self, tree, build, directory, jobs):
        """Run all tests of a build directory with coverage.  Those that fail are left out, and named on stderr."""
        tests = built_tests(build)
        os.mkdir(directory)

        def run(test):
            place = pathlib.Path(directory, test.name)
            place.mkdir()
            # Programs of other users write there, too, also below directories that another user's program made.
            place.chmod(0o777)
            began = time.monotonic()
            passes = test.passes(2 * test.timeout_seconds, {"GCOV_PREFIX": str(place)}, umask=0)
            seconds = time.monotonic() - began
            return test, passes, seconds, _counts(tree, build, place)

        with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
            longest_first = sorted(tests.values(), key=lambda test: -test.timeout_seconds)
            for test, passes, seconds, counts in pool.map(run, longest_first):
                if not passes:
                    print(f"left out, as it fails: {test.name}", file=sys.stderr, flush=True)
                    continue
                self._seconds[test.name] = seconds
                for (source, line), count in counts.items():
                    self._lines[source].add(line)
                    if count:
                        self._tests[source, line].append(test)

    def judges(self, source, line, most_seconds):
        """Names of tests that run a line: first those without filesystems, those of its subject, and the fastest."""
        begin = next((near for near in range(line, line - STATEMENT_LINES, -1) if near in self._lines[source]), line)
        tests = sorted(self._tests.get((source, begin), ()),
                       key=lambda test: (test.suite == "fs", -len(_words(test.name) & _words(source)),
                                         self._seconds[test.name]))
        spent = 0
        for test in tests:
            spent += self._seconds[test.name]
            if spent > most_seconds:
                return
            yield test.name

    def patience_seconds(self, name):
        """How long a test may take with a mutant."""
        return max(LEAST_SECONDS, PATIENCE * self._seconds[name])

    def shares(self, folders):
        """(folder, lines with code, lines that a test runs) of each folder."""
        for folder in folders:
            lines = [(source, line) for source, all_lines in self._lines.items() for line in all_lines
                     if source.startswith(folder + "/")]
            yield folder, len(lines), sum(key in self._tests for key in lines)


def _words(name):
    """Words of a path or of a test's name, in the singular."""
    return {word.removesuffix("s") for word in re.split(r"[-/._]", name)} - {"fs", "daemon", "c"}


def _counts(tree, build, place):
    """(source, line) -> how often a test ran it."""
    counts = collections.Counter()
    files = list(place.rglob("*.gcda"))
    for counters in files:
        notes = pathlib.Path("/", counters.relative_to(place)).with_suffix(".gcno")
        if notes.exists():
            counters.with_suffix(".gcno").symlink_to(notes)
    if not files:
        return counts
    found = subprocess.run(["gcov", "--json-format", "--stdout", *files], cwd=build, capture_output=True, check=False)
    for part in found.stdout.splitlines():
        for source in json.loads(part)["files"]:
            path = os.path.relpath(os.path.join(build, source["file"]), tree)
            for line in source["lines"]:
                counts[path, line["line_number"]] += line["count"]
    return counts
