# SPDX-License-Identifier: GPL-2.0-or-later
"""dedupctl status --watch, on terminals and elsewhere."""

import re
import signal
import subprocess
import termios

import pytest

from content import forget_pages, noise, write, write_twins
from harness import dedupctl_program, settle
from service import PATIENCE_SECONDS, wait_until
from watched_terminal import ENTER, WatchedTerminal

MIB = 1 << 20
ENDS = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT]


@pytest.fixture
def kind():
    """What is shown of both is the same."""
    return "xfs"


@pytest.fixture
def at_rest(filesystem, tree, service):
    """A service that was told to pause, and has nothing to say."""
    write_twins(tree, MIB)
    settle(filesystem)
    service.configure(tree)
    service.start()
    service.wait_for_passes(str(tree), 1)
    service.tell("pause", tree)
    wait_until(lambda: service.shows(str(tree))["why"] == "paused", service.log)
    return service


@pytest.fixture
def at_work(filesystem, tree, service):
    """A service that reads 1 MiB a second, of 32 of them."""
    write_twins(tree, 32 * MIB)
    write(tree / "other", noise(7, 32 * MIB))
    settle(filesystem)
    forget_pages(tree)
    service.configure(tree, Find="read", LimitRate="1M")
    service.start()
    wait_until(lambda: (service.shows(str(tree))["stage_bytes"] or 0) > 0, service.log)
    return service


@pytest.fixture
def watch(service):
    terminals = []

    def watch(*words, columns=100, lines=30, **environment):
        terminal = WatchedTerminal(
            [dedupctl_program(), "status", "--watch", "--interval=0.2", *map(str, words)],
            service.environment() | {"TERM": "xterm", "LC_ALL": "C.UTF-8"} | environment,
            columns, lines)
        terminals.append(terminal)
        return terminal
    yield watch
    for terminal in terminals:
        terminal.__exit__()


def test_a_pass_has_a_bar_that_grows_and_the_end_is_told(at_work, tree, watch):
    terminal = watch(tree, columns=160)
    terminal.wait_for(rf"^{tree}  reading  .* of .*MiB  .*/s  .* left  freed ")
    before = int(terminal.wait_for(r"^  \[.*\] +(\d+) %$").group(1))
    wait_until(lambda: int(terminal.wait_for(r"^  \[.*\] +(\d+) %$").group(1)) > before)
    terminal.wait_for(r"^asked of disks: .*/s now, .*/s at most")
    assert "\x1b[32m" in terminal.output

    at_work.tell("pause", tree)
    terminal.wait_for(rf"^{tree}  waiting: paused  last pass interrupted")
    terminal.wait_for(r"^  ! paused: 'dedupctl resume' ends the pause$")
    assert not any(line.startswith("  [") for line in terminal.page)
    terminal.send(signal.SIGTERM)
    assert terminal.wait() == 128 + signal.SIGTERM
    assert terminal.is_as_it_was()


@pytest.mark.parametrize("number", ENDS)
def test_every_signal_gives_the_terminal_back(at_rest, watch, number):
    terminal = watch()
    terminal.wait_for("paused")
    assert not terminal.is_as_it_was()
    assert not termios.tcgetattr(terminal._slave)[3] & termios.ECHO
    terminal.send(number)
    assert terminal.wait() == 128 + number
    assert terminal.is_as_it_was()


def test_a_key_ends_it(at_rest, watch):
    terminal = watch()
    terminal.wait_for("paused")
    terminal.type("xq")
    assert terminal.wait() == 0
    assert terminal.is_as_it_was()


def test_who_is_stopped_gives_the_terminal_back_until_he_goes_on(at_rest, watch):
    terminal = watch()
    terminal.wait_for("paused")
    terminal.send(signal.SIGTSTP)
    terminal.wait_until_stopped()
    assert terminal.is_as_it_was()
    terminal.send(signal.SIGCONT)
    wait_until(lambda: terminal.read().count(ENTER) == 2)
    draws = terminal.draws()
    wait_until(lambda: terminal.draws() > draws or terminal.wait_for("paused"))
    terminal.type("q")
    assert terminal.wait() == 0
    assert terminal.is_as_it_was()


def test_the_page_follows_the_size_of_the_terminal(at_work, tree, watch):
    terminal = watch(columns=100)
    terminal.wait_for(r"^asked of disks")
    assert max(map(len, terminal.page)) > 45
    terminal.resize(40, 4)
    terminal.send(signal.SIGWINCH)
    wait_until(lambda: terminal.read() and max(map(len, terminal.page)) <= 40)
    assert len(terminal.page) == 4
    assert re.fullmatch(r"and \d+ lines more", terminal.page[-1])


def test_at_rest_nothing_is_drawn_again(at_rest, watch):
    terminal = watch()
    terminal.wait_for("paused")
    terminal.read(0.5)
    draws = terminal.draws()
    # As long as seven intervals.
    terminal.read(1.5)
    assert terminal.draws() == draws


def test_without_colours_none_are_sent(at_work, watch):
    terminal = watch(NO_COLOR="1", LC_ALL="C")
    terminal.wait_for(r"^  \[[#.]+\] +\d+ %$")
    terminal.wait_for(r"^asked of disks")
    assert not re.search(r"\x1b\[[0-9;]*m", terminal.output)
    assert re.sub(r"[\x1b\r\n]", "", terminal.output).isascii()


@pytest.mark.parametrize("kind_of_terminal", ["dumb", ""])
def test_a_dumb_terminal_gets_lines(at_rest, tree, watch, kind_of_terminal):
    terminal = watch(TERM=kind_of_terminal)
    wait_until(lambda: "waiting: paused" in terminal.read(0.05))
    at_rest.tell("resume", tree)
    wait_until(lambda: terminal.read(0.05).count(str(tree)) >= 2)
    assert "\x1b" not in terminal.output
    terminal.send(signal.SIGINT)
    assert terminal.wait() == 128 + signal.SIGINT


def test_a_pipe_gets_what_changed(at_rest, tree):
    watching = at_rest.begin("status", "-w", "--interval=0.2", tree)
    try:
        assert watching.stdout.readline().startswith(f"{tree}  waiting: paused")
        assert "! paused" in watching.stdout.readline()
        at_rest.tell("resume", tree)
        assert watching.stdout.readline() == "\n"
        line = watching.stdout.readline()
        assert line.startswith(f"{tree}  ")
        assert "paused" not in line
    finally:
        watching.terminate()
        rest = watching.communicate(timeout=PATIENCE_SECONDS)[0]
    assert watching.returncode == 128 + signal.SIGTERM
    assert "\x1b" not in rest


def test_the_end_of_the_service_ends_it(at_rest, watch):
    terminal = watch()
    terminal.wait_for("paused")
    at_rest.end()
    assert terminal.wait() == 3
    assert terminal.is_as_it_was()
    assert terminal.process.stderr.read() == "dedupctl: dedupd does not run any more\n"


def test_what_cannot_be_watched_is_refused(at_rest):
    assert at_rest.ask("status", "-w", "/nowhere").returncode == 1
    for options in (["--interval=0"], ["--interval=nan"], ["--interval=1e9"], ["--json"], ["-o", "uuid"]):
        told = at_rest.ask("status", "-w", *options)
        assert (told.returncode, told.stdout) == (2, ""), options
    at_rest.end()
    told = at_rest.ask("status", "-w")
    assert told.returncode == 3
    assert "does not run" in told.stderr


def test_others_may_watch(at_rest, tree):
    command = ["setpriv", "--reuid=65533", "--regid=65533", "--clear-groups",
               dedupctl_program(), "status", "--watch"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True,
                          env=at_rest.environment()) as watching:
        assert "waiting: paused" in watching.stdout.readline()
        watching.terminate()
