# SPDX-License-Identifier: GPL-2.0-or-later
"""Writers that change a btrfs in all ways, and passes over it that run, and are killed, meanwhile."""

import contextlib
import dataclasses
import itertools
import json
import random
import select
import subprocess
import tempfile
import time

SECONDS_TO_CHECK = 300
SECONDS_TO_PASS = 300
# Of so many passes one is killed.
KILL_ONE_IN = 4
# And so many when nobody writes any more.  A pass that has little to do takes longer.
KILLS_AT_REST = 3
REST_SECONDS = 0.02


class RaceLost(Exception):
    """Something is not as it must be; the message says what, and the seed."""


class RacingWriters:
    """Processes of racing-writers over a directory; tests/fs/programs/racing-writers.c says what they do.

    Each writer knows what its files must hold, and ends with a complaint when they do not.
    """

    def __init__(self, program, directory, seed, operations, processes=2, writers=2):
        self._messages = tempfile.TemporaryFile()
        self._processes = []
        self._running = []
        each = operations // (processes * writers)
        self.operations = each * processes * writers
        for number in range(processes):
            words = [directory, seed, number * writers, writers, each]
            self._processes.append(subprocess.Popen(
                [program, *map(str, words)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                stderr=self._messages, bufsize=0))
        self._running = list(self._processes)

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.close()

    def close(self):
        """End them, wherever they are."""
        for process in self._processes:
            process.kill()
            process.communicate()
        self._messages.close()

    def are_running(self, seconds):
        """Whether any is still writing after so many seconds at most; RaceLost if one complains."""
        ready = select.select([process.stdout for process in self._running], [], [], seconds)[0]
        for process in [process for process in self._running if process.stdout in ready]:
            self._expect(process, b"done\n")
            self._running.remove(process)
        return bool(self._running)

    def check(self):
        """Have all that was written compared with what it must be; RaceLost if it is not."""
        for process in self._processes:
            with contextlib.suppress(BrokenPipeError):
                process.stdin.write(b"\n")
            if not select.select([process.stdout], [], [], SECONDS_TO_CHECK)[0]:
                raise RaceLost("a check takes for ever")
            self._expect(process, b"same\n")

    def _expect(self, process, line):
        if process.stdout.readline() == line:
            return
        status = process.wait()
        self._messages.seek(0)
        messages = self._messages.read().decode("utf-8", "replace")
        raise RaceLost(f"{' '.join(process.args)} ended with {status}:\n{messages}")


@dataclasses.dataclass
class Passes:
    """What passes did together, as they say themselves."""
    complete: int = 0
    killed: int = 0
    shared_bytes: int = 0
    freed_bytes: int = 0
    rewritten_bytes: int = 0
    rewritten_extents: int = 0
    slowest_seconds: float = 0

    def add(self, report, seconds):
        """What a complete pass reports of its filesystem."""
        self.complete += 1
        self.shared_bytes += report["shared"]["bytes"]
        self.freed_bytes += report["freed"]["bytes"]
        self.rewritten_bytes += report["rewritten"]["bytes"]
        self.rewritten_extents += report["rewritten"]["extents"]
        self.slowest_seconds = max(self.slowest_seconds, seconds)


class Race:
    """Passes over one filesystem, of which some are killed at random moments.

    @command is that of one pass, which reports as JSON.
    """

    def __init__(self, command, seed):
        self._command = command
        self._seed = seed
        self._chance = random.Random(seed)
        self.passes = Passes()

    def run_against(self, writers):
        """One pass after the other, until the writers are done; the first is killed."""
        for number in itertools.count():
            if not writers.are_running(self._chance.uniform(0, 0.2)):
                return
            self.run_pass(is_killed=number % KILL_ONE_IN == 0)

    def kill_at_rest(self):
        """Passes that are killed, one after the other."""
        for _ in range(KILLS_AT_REST):
            self.run_pass(is_killed=True, within_seconds=REST_SECONDS)

    def run_pass(self, is_killed=False, within_seconds=None):
        """One pass; RaceLost unless it comes to a good end, or is killed before at any moment."""
        begun = time.monotonic()
        with subprocess.Popen(self._command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE) as process:
            moment = self._chance.uniform(0, within_seconds or max(self.passes.slowest_seconds, 0.5))
            try:
                report, messages = process.communicate(timeout=moment if is_killed
                                                       else SECONDS_TO_PASS)
            except subprocess.TimeoutExpired as expired:
                process.kill()
                if not is_killed:
                    raise RaceLost(f"seed {self._seed}: a pass takes for ever") from expired
                self.passes.killed += 1
                return
        if process.returncode != 0:
            raise RaceLost(f"seed {self._seed}: a pass ended with {process.returncode}: "
                           f"{messages.decode('utf-8', 'replace')}")
        self.passes.add(json.loads(report)["filesystems"][0], time.monotonic() - begun)
