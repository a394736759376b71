# SPDX-License-Identifier: GPL-2.0-or-later
"""What dedupctl prints, says and exits with."""

import contextlib
import fcntl
import json
import os
import pathlib
import pty
import re
import shutil
import sqlite3
import struct
import subprocess
import sys
import termios

import pytest

sys.path.append(str(pathlib.Path(__file__).parents[1] / "fs/kit"))
import schemas  # noqa: E402 (the path is set above)

DEDUPCTL = os.environ.get("DEDUPCTL")
MAKE_STORE = os.environ.get("MAKE_STORE")
pytestmark = pytest.mark.skipif(not (DEDUPCTL and MAKE_STORE),
                                reason="DEDUPCTL and MAKE_STORE do not name the programs")

UUID = "0d8a5e5c-36c5-4d7b-9c50-3f0f0a3c8a01"
OTHER_UUID = "7f3c1f0e-9a44-4c6e-8b1d-2d8f6f1f9b02"
MIB = 1 << 20
NO_SERVICE = {"DEDUPD_SOCKET": "/nonexistent", "DBUS_SYSTEM_BUS_ADDRESS": "unix:path=/nonexistent"}


def run(*arguments, environment=None, stdout=subprocess.PIPE, typed=None):
    """The finished process; JSON is held to its schema."""
    done = subprocess.run([DEDUPCTL, *arguments], stdout=stdout, stderr=subprocess.PIPE, text=True,
                          check=False, timeout=30, input=typed,
                          env={"PATH": "/usr/bin:/bin", "TZ": "Europe/Berlin", "LC_ALL": "C.UTF-8",
                               **(environment or {})})
    schemas.check_printed(arguments, done.stdout)
    return done


@pytest.fixture
def state(tmp_path):
    return tmp_path / "state"


@pytest.fixture
def make_store(state):
    def make(uuid=UUID, mount_point="/srv", passes=2, examples=(), kind="btrfs"):
        subprocess.run([MAKE_STORE, state, uuid, kind, mount_point, str(passes), *examples],
                       check=True)
        return state / f"{uuid}.sqlite"
    return make


@pytest.fixture
def dedupctl(state):
    def dedupctl(*arguments, **options):
        return run(f"--state-dir={state}", *arguments, **options)
    return dedupctl


def rows(process):
    """The only array of a JSON document."""
    (array,) = without_head(process).values()
    return array


def without_head(process):
    """A JSON document without what says which it is."""
    document = json.loads(process.stdout)
    assert [*document][:2] == ["schema", "version"]
    return {key: value for key, value in document.items() if key not in ("schema", "version")}


def snapshot(directory):
    return {path.name: (path.read_bytes(), path.stat().st_mtime_ns)
            for path in directory.iterdir() if path.suffix in (".sqlite", ".lock")}


# Bad use.


@pytest.mark.parametrize("typed, meant", [("statsu", "status"), ("Status", "status"),
                                          ("hist", "history"), ("histroy", "history")])
def test_unknown_verb_is_named_with_the_nearest_one(typed, meant):
    process = run(typed)
    assert process.returncode == 2
    assert process.stdout == ""
    assert process.stderr == f"dedupctl: unknown verb '{typed}': did you mean '{meant}'?\n"


@pytest.mark.parametrize("typed", ["frobnicate", "", "s" * 1000, "\x1b[2J"])
def test_a_verb_like_no_other_points_to_help(typed):
    process = run(typed)
    assert process.returncode == 2
    assert "dedupctl --help" in process.stderr or "did you mean" in process.stderr
    assert "\x1b" not in process.stderr


@pytest.mark.parametrize("arguments, named", [
    (["--frob", "status"], "--frob"), (["status", "--frob"], "--frob"), (["-x"], "-x"),
    (["history", "--verbose"], "--verbose"), (["status", "--state-dir"], "--state-dir"),
    (["--state-dir=", "status"], "--state-dir"), (["status", ""], "empty name"),
])
def test_bad_options_are_refused_by_name(arguments, named):
    process = run(*arguments)
    assert process.returncode == 2
    assert process.stdout == ""
    assert named in process.stderr


def test_no_verb_is_bad_use():
    process = run()
    assert process.returncode == 2
    assert "no verb" in process.stderr


@pytest.mark.parametrize("option, verb, shown", [
    ("verbose", "status", "UUID|MOUNT…"), ("plot", "history", "UUID|MOUNT…"), ("full", "estimate", "DIRECTORY…"),
    ("check", "config", "UUID|MOUNT|DISK…"), ("config-dir", "enable", "KEY=VALUE…"),
    ("format", "duplicates", "DIRECTORY"), ("keep", "store prune", "UUID|MOUNT…"),
    ("sample", "verify", "UUID|MOUNT…"), ("wait", "start", "UUID|MOUNT…"),
    ("rate", "budget", "DISK…"), ("by", "waste", "[DIRECTORY|UUID…]"),
    ("delete", "snapshots", "SUBVOLUME…"), ("dry-run", "run", "PATH…"), ("exclude", "run", "PATH…"),
])
def test_an_option_of_one_verb_is_no_option_of_another(option, verb, shown):
    verbs = re.findall(r"^  (\w+(?: \w+)?)  +\S", run("--help").stdout.split("Verbs:")[1], re.MULTILINE)
    have = [name for name in verbs
            if re.search(rf"^  (-., )?--{option}\b(?!-)", run(*name.split(), "--help").stdout,
                         re.MULTILINE)]
    several = {"config-dir": ["enable", "disable"], "plot": ["history", "estimate"],
               "sample": ["estimate", "verify"], "exclude": ["estimate", "run"]}
    assert have == several.get(option, [verb])
    assert shown in run(*verb.split(), "--help").stdout.splitlines()[1]


@pytest.mark.parametrize("arguments", [["--help"], ["status", "--help"], ["history", "-h"]])
def test_help_is_no_error(arguments):
    process = run(*arguments)
    assert process.returncode == 0
    assert process.stderr == ""
    assert "--state-dir" in process.stdout


def test_help_lists_the_verbs():
    assert re.search(r"^  status +\S", run("--help").stdout, re.MULTILINE)
    assert re.search(r"^  history +\S", run("--help").stdout, re.MULTILINE)


def test_version_is_one_line():
    assert re.fullmatch(r"dedupctl \d+\.\d+\.\d+\n", run("--version").stdout)


# Columns.


@pytest.mark.parametrize("verb", ["status", "history", "config", "list", "shared", "file", "duplicates", "waste", "unique",
                                  "why", "doctor", "snapshots", "estimate", "store size", "store check", "store prune",
                                  "store vacuum"])
@pytest.mark.parametrize("typed, said", [
    ("frob", "no column 'frob'"), ("", "names no column"), ("+", "names no column"),
    (",", "no column ''"), ("\x1b[2J", "no column"),
])
def test_a_column_that_does_not_exist_is_refused(dedupctl, verb, typed, said):
    process = dedupctl(*verb.split(), f"--output={typed}")
    assert process.returncode == 2
    assert process.stdout == ""
    assert said in process.stderr
    assert "\x1b" not in process.stderr


def test_the_nearest_column_is_suggested(dedupctl):
    assert "did you mean 'kind'?" in dedupctl("status", "-o", "uuid,kindd").stderr


@pytest.mark.parametrize("verb", ["status", "history", "config", "list", "shared", "file", "duplicates", "waste", "why"])
def test_help_lists_the_columns(dedupctl, verb):
    said = dedupctl(verb, "--help").stdout
    keys = re.findall(r"^  (\w+)$", said, re.MULTILINE)
    assert len(keys) >= 4
    if verb in ("status", "history"):
        assert dedupctl(verb, "-o", ",".join(keys)).returncode == 0


def test_columns_come_in_the_order_that_is_asked_for(dedupctl, make_store):
    make_store()
    lines = dedupctl("status", "-o", "UUID,passes,kind").stdout.splitlines()
    assert lines[0].split() == ["UUID", "PASSES", "KIND"]
    assert lines[1].split() == [UUID, "2", "btrfs"]
    assert len(lines) == 2


def test_columns_are_added_to_those_that_are_shown(dedupctl, make_store):
    make_store()
    plain = dedupctl("status").stdout.splitlines()[0].split()
    more = dedupctl("status", "--output=+passes").stdout.splitlines()[0].split()
    assert more == plain + ["PASSES"]


def test_json_has_the_columns_that_are_asked_for(dedupctl, make_store):
    make_store()
    assert rows(dedupctl("status", "--json", "-o", "uuid,skipped"))[0].keys() == {"uuid", "skipped"}
    assert rows(dedupctl("history", "-J", "-o", "outcome")) == [
        {"outcome": "interrupted"}, {"outcome": "complete"}]


def test_raw_lines_are_for_scripts(dedupctl, make_store):
    make_store(mount_point="/srv/a b")
    said = dedupctl("status", "-rnbo", "mount_point,kind,freed_bytes").stdout
    assert re.fullmatch(r"/srv/a\\x20b btrfs \d+\n", said)


def test_without_headings_there_is_nothing_but_rows(dedupctl, make_store):
    make_store()
    lines = dedupctl("history", "--noheadings").stdout.splitlines()
    assert len(lines) == 2
    assert all(line.startswith("/srv") for line in lines)


@pytest.mark.parametrize("verb, option", [("duplicates", "--limit"), ("waste", "--limit"),
                                          ("waste", "--depth"), ("log", "--lines")])
@pytest.mark.parametrize("count", [-1, -2147483647, 2147483648])
def test_counts_below_0_and_beyond_all_bounds_are_refused(dedupctl, verb, option, count):
    process = dedupctl(verb, f"{option}={count}")
    assert (process.returncode, process.stdout) == (2, "")
    assert process.stderr.count("\n") == 1 and str(count) in process.stderr


def test_a_verb_that_takes_no_names_refuses_them(dedupctl):
    process = dedupctl("reload", "now\x1b[31m")
    assert (process.returncode, process.stdout) == (2, "")
    assert process.stderr == "dedupctl: reload: it takes no names: 'now\\e[31m'\n"


# No stores.


@pytest.mark.parametrize("verb", ["status", "history"])
@pytest.mark.parametrize("exists", [False, True])
def test_no_store_is_said_plainly(dedupctl, state, verb, exists):
    if exists:
        state.mkdir()
    process = dedupctl(verb)
    assert process.returncode == 0
    assert f"There is no store in {state}" in process.stdout
    assert process.stderr == ""


@pytest.mark.parametrize("verb", ["duplicates", "waste", "verify", "store size", "store check",
                                  "store prune", "store vacuum"])
def test_what_works_on_stores_notes_that_there_is_none(dedupctl, state, verb):
    process = dedupctl(*verb.split())
    assert process.returncode == 0
    assert process.stderr == (f"dedupctl: there is no store in {state}: dedupd made no pass that is "
                              "remembered there\n")


@pytest.mark.parametrize("verb, key", [("status", "filesystems"), ("history", "passes")])
def test_no_store_is_an_empty_array(dedupctl, verb, key):
    process = dedupctl(verb, "--json")
    assert process.returncode == 0
    assert without_head(process) == {key: []}


@pytest.mark.parametrize("verb", ["status", "history"])
def test_a_state_directory_that_is_none_is_an_error(state, dedupctl, verb):
    state.write_text("")
    process = dedupctl(verb)
    assert process.returncode == 1
    assert str(state) in process.stderr
    # Nobody knows whether there is one.
    assert "There is no store" not in process.stdout


def test_an_ordinary_users_stores_lie_in_his_state_home(make_store, state, tmp_path):
    if os.geteuid() != 0 or shutil.which("setpriv") is None:
        pytest.skip("to become somebody else takes root and setpriv")
    process = subprocess.run(["setpriv", "--reuid=65534", "--clear-groups", DEDUPCTL, "status"],
                             capture_output=True, text=True, check=False,
                             env={"XDG_STATE_HOME": "/nonexistent/state", "HOME": "/nonexistent"})
    if process.returncode == 127 or process.returncode == 126:
        pytest.skip("nobody may not run the program where it lies")
    assert process.stdout.startswith("There is no store in /nonexistent/state/dedupd")


# What is shown.


def test_status_as_json(make_store, dedupctl):
    path = make_store(passes=2, examples=["/srv/a", "/srv/b"])
    process = dedupctl("status", "--json")
    assert (process.returncode, process.stderr) == (0, "")
    (row,) = json.loads(process.stdout)["filesystems"]
    assert row.pop("store_bytes") >= path.stat().st_size
    # What only a service that runs can tell.
    live = {"state", "why", "wait_reason", "stage", "stage_files", "stage_bytes", "stage_total_bytes",
            "stage_rate_bytes", "stage_left_seconds", "pass_started", "pass_freed_bytes", "deadline",
            "next_pass", "service_passes", "service_freed_bytes", "disks", "trouble", "holds"}
    assert {key: row.pop(key) for key in live} == dict.fromkeys(live)
    assert row == {
        "uuid": UUID, "kind": "btrfs", "mount_point": "/srv", "last_pass": "1970-01-03T00:00:00Z",
        "outcome": "interrupted", "freed_bytes": 2 * MIB, "freed_total_bytes": 3 * MIB,
        "net_bytes": None, "pinned_extents": 0, "pinned_bytes": 0, "deferred_bytes": 0, "deferred_snapshots": 0,
        "deferred_last_snapshot": None, "deferred_last_id": None,
        "passes": 2, "objects": 2, "anchor_blocks": 4, "window": 16, "store_path": str(path),
        "skipped": [{"reason": "leased", "count": 2, "bytes": 16 * MIB,
                     "examples": ["/srv/a", "/srv/b"],
                     "advice": "a program holds a lease on them; the next pass tries again"}],
    }


def test_history_as_json(make_store, dedupctl):
    make_store(passes=4)
    process = dedupctl("history", "--json")
    assert (process.returncode, process.stderr) == (0, "")
    passes = json.loads(process.stdout)["passes"]
    assert [row["outcome"] for row in passes] == ["complete", "failed", "interrupted", "complete"]
    assert [row["seconds"] for row in passes] == [4.0, 3.0, 2.0, 1.0]
    assert passes[-1] == {
        "mount_point": "/srv", "uuid": UUID, "started": "1970-01-02T00:00:00Z", "seconds": 1.0,
        "outcome": "complete", "files": 101, "extents": None, "net_bytes": None, "objects_read": 10, "finding_bytes": 5 * MIB,
        "compare_bytes": 4 * MIB, "shared_bytes": 3 * MIB, "freed_bytes": MIB,
        "hole_bytes": MIB // 2, "runs_shared": 7, "runs_differed": 1, "capped": 2,
        "pinned_bytes": 2 * MIB, "rewritten_bytes": 4096, "metadata_delta_bytes": -16384,
        "drift_bytes": -1, "deferred_bytes": 0, "released_bytes": 0, "deferred_written_bytes": 0, "used_bytes": None,
    }
    assert [row["drift_bytes"] for row in passes] == [None, -3, None, -1]
    assert [row["used_bytes"] for row in passes] == [400 * MIB, 300 * MIB, 200 * MIB, None]


def test_status_for_people(make_store, dedupctl):
    make_store(passes=2, examples=["/srv/a", "/srv/b"])
    text = dedupctl("status").stdout
    assert "/srv  btrfs 1970-01-03 01:00:00 interrupted 2 MiB  3 MiB       2" in text
    assert "The last pass over /srv skipped:" in text
    assert re.search(r"^leased +2 16 MiB /srv/a +a program holds a lease on them; ", text, re.MULTILINE)
    assert "/srv/b" not in text
    assert "/srv/b" in dedupctl("status", "--verbose").stdout


def test_the_examples_of_the_manual_print_what_they_say(make_store, dedupctl):
    make_store(passes=3)
    assert dedupctl("status", "-bnro", "mount_point,freed_total_bytes").stdout == f"/srv {6 * MIB}\n"
    passes = json.loads(dedupctl("history", "--json", "/srv").stdout)["passes"]
    assert [each["freed_bytes"] for each in passes] == [3 * MIB, 2 * MIB, MIB]


def test_status_of_a_filesystem_that_is_named_is_a_block(make_store, dedupctl):
    path = make_store(passes=3, examples=["/srv/a"])
    lines = dedupctl("status", "/srv").stdout.splitlines()
    store = re.escape(str(path))
    for line, expected in zip(lines, [
            r"      Mount: /srv", rf"       UUID: {UUID}", r"       Kind: btrfs",
            r"  Last pass: 1970-01-04 01:00:00, failed in 3.00 s, freed 3 MiB",
            r"     In all: freed 6 MiB by 3 passes of the history", rf"      Store: {store}, \S+ KiB, 2 objects",
            r"    Trouble: the last pass failed", "", r"The last pass over /srv skipped:",
            r"REASON +COUNT +SIZE +FOR EXAMPLE +WHY; WHAT TO DO",
            r"leased +1 +8 MiB +/srv/a +a program holds a lease on them; the next pass tries again"], strict=True):
        assert re.fullmatch(expected, line), (line, expected)
    make_store(uuid=OTHER_UUID, mount_point="/home", kind="XFS")
    both = dedupctl("status", "/home", UUID).stdout
    assert re.findall("Mount: (.*)", both) == ["/srv", "/home"]
    assert "skipped:" not in both
    assert dedupctl("status", "-o", "uuid", "/home").stdout.splitlines()[0] == "UUID"
    assert rows(dedupctl("status", "-J", "/home"))[0]["uuid"] == OTHER_UUID


@pytest.mark.parametrize("arguments", [["status"], ["status", "--json"]])
def test_that_no_service_runs_is_said(tmp_path, arguments):
    process = run(*arguments, environment=NO_SERVICE | {"XDG_STATE_HOME": str(tmp_path)})
    assert process.returncode == 0
    assert process.stderr == ("dedupctl: dedupd does not run as a service ('systemctl start dedupd' "
                              "starts it)\ndedupctl: the data comes from the stores\n")


def test_history_for_people(make_store, dedupctl):
    make_store(passes=1)
    heading, row = dedupctl("history").stdout.splitlines()
    assert heading.split() == ["MOUNT", "WHEN", "TOOK", "OUTCOME", "FILES", "READ", "COMPARED",
                               "SHARED", "FREED"]
    assert row.split() == ["/srv", "1970-01-02", "01:00:00", "1.00", "s", "complete", "101",
                           "5", "MiB", "4", "MiB", "3", "MiB", "1", "MiB"]


def test_history_tells_what_was_deferred_and_what_was_written_for_that(make_store, dedupctl):
    path = make_store(passes=2)
    with contextlib.closing(sqlite3.connect(path)) as store, store:
        store.execute("UPDATE pass SET deferred_bytes = 8388608, deferred_written_bytes = 131072 WHERE id = 2")

    heading, row, other = dedupctl("history").stdout.splitlines()

    assert heading.split()[-3:] == ["FREED", "DEFERRED", "COPIED"]
    assert row.split()[-6:] == ["2", "MiB", "8", "MiB", "128", "KiB"]
    assert other.split()[-6:] == ["1", "MiB", "0", "B", "0", "B"]
    assert rows(dedupctl("history", "--json"))[0]["deferred_written_bytes"] == 131072


@pytest.mark.parametrize("options", [["--bytes", "status"], ["status", "--bytes"], ["status", "-b"]])
def test_options_stand_on_either_side_of_the_verb(make_store, dedupctl, options):
    make_store(passes=1)
    assert f" {MIB} " in dedupctl(*options).stdout


def test_a_filesystem_without_a_pass_is_shown(make_store, dedupctl):
    make_store(passes=0)
    (row,) = rows(dedupctl("status", "--json"))
    assert (row["last_pass"], row["outcome"], row["mount_point"]) == (None, None, None)
    assert row["freed_total_bytes"] == 0
    assert UUID in dedupctl("status").stdout
    assert rows(dedupctl("history", "--json")) == []


def test_several_filesystems_show_what_was_left_alone_when_asked(make_store, dedupctl):
    make_store(examples=["/srv/a"])
    make_store(uuid=OTHER_UUID, mount_point="/home", kind="XFS")
    assert [row["kind"] for row in rows(dedupctl("status", "--json"))] == ["btrfs", "XFS"]
    assert "skipped:" not in dedupctl("status").stdout
    verbose = dedupctl("status", "--verbose").stdout
    assert "The last pass over /srv skipped:" in verbose
    assert "The last pass over /home skipped nothing." in verbose


def test_nothing_is_changed(make_store, dedupctl, state):
    make_store(examples=["/srv/a"])
    before = snapshot(state)
    dedupctl("status")
    dedupctl("history", "--json")
    assert snapshot(state) == before


# Names.


def test_a_filesystem_is_named_by_uuid_or_mount_point(make_store, dedupctl, tmp_path):
    mount_point = tmp_path / "mnt"
    mount_point.mkdir()
    (tmp_path / "link").symlink_to(mount_point)
    make_store(mount_point=str(mount_point))
    make_store(uuid=OTHER_UUID, mount_point="/gone")
    for name, uuid in [(UUID, UUID), (UUID.upper(), UUID), (str(mount_point), UUID),
                       (f"{mount_point}/", UUID), (str(tmp_path / "link"), UUID),
                       (OTHER_UUID, OTHER_UUID), ("/gone", OTHER_UUID), ("/x/../gone", OTHER_UUID)]:
        process = dedupctl("status", "--json", name)
        assert process.returncode == 0, process.stderr
        assert [row["uuid"] for row in rows(process)] == [uuid], name
    both = dedupctl("status", "--json", OTHER_UUID, str(mount_point), UUID)
    assert len(rows(both)) == 2


@pytest.mark.parametrize("verb", ["status", "history"])
@pytest.mark.parametrize("name", [OTHER_UUID, "/elsewhere"])
def test_a_filesystem_that_is_not_known_is_named(make_store, dedupctl, verb, name):
    make_store()
    process = dedupctl(verb, "--json", name)
    assert process.returncode == 1
    assert name in process.stderr
    assert rows(process) == []
    known = dedupctl(verb, "--json", name, UUID)
    assert known.returncode == 1
    assert len(rows(known)) > 0


@pytest.mark.parametrize("verb", ["status", "duplicates", "waste", "verify", "store check"])
def test_why_a_name_can_be_no_filesystem_is_said(make_store, dedupctl, tmp_path, verb):
    make_store()
    (tmp_path / "file").touch()
    for name, why in [("absent", ": there is no such directory"), ("file", ": it is no directory"),
                      ("", "")]:
        process = dedupctl(*verb.split(), str(tmp_path / name))
        assert process.returncode == 1
        last = process.stderr.splitlines()[-1]
        assert "no store of the filesystem" in last and last.endswith(f"{tmp_path / name}{why}")


HOSTILE = "/srv/new\nline\x1b[31m\ttab\\back\u202e"
ESCAPED = r"/srv/new\nline\e[31m\ttab\\back\xe2\x80\xae"


@pytest.mark.parametrize("verb", ["status", "history"])
@pytest.mark.parametrize("options", [[], ["--json"]])
def test_names_are_escaped(make_store, dedupctl, verb, options):
    make_store(mount_point=HOSTILE, examples=[HOSTILE])
    for named in ([], [UUID]):
        text = dedupctl(verb, *options, *named).stdout
        assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f]", text)
        assert "\u202e" not in text
    if options:
        assert rows(dedupctl(verb, *options))[0]["mount_point"] == ESCAPED
    else:
        assert ESCAPED in text


def test_bytes_that_are_no_text_are_escaped(make_store, dedupctl):
    make_store(mount_point=b"/srv/\xff\xc3", examples=[b"/srv/\xfe"])
    (row,) = rows(dedupctl("status", "--json"))
    assert row["mount_point"] == r"/srv/\xff\xc3"
    assert row["skipped"][0]["examples"] == [r"/srv/\xfe"]


def test_what_a_pass_escaped_is_not_escaped_again(make_store, dedupctl):
    make_store(examples=[r"/srv/a\nb\\c\xff", "/srv/grüße"])
    (row,) = rows(dedupctl("status", "--json"))
    assert row["skipped"][0]["examples"] == [r"/srv/a\nb\\c\xff", "/srv/grüße"]


def test_names_are_fit_for_a_plain_locale_too(make_store, dedupctl):
    make_store(mount_point="/srv/grüße")
    for named in ([], [UUID]):
        process = dedupctl("status", *named, environment={"LC_ALL": "C"})
        assert process.returncode == 0
        assert process.stdout.isascii()


# Stores that cannot be read.


def damage(path):
    path.write_bytes(b"\xde\xad" * 4096)


def make_foreign(path):
    path.unlink()
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE t (x)")
    connection.commit()
    connection.close()


def make_newer(path):
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA user_version = 1000000")
    connection.commit()
    connection.close()


def make_a_directory(path):
    path.unlink()
    path.mkdir()


@pytest.mark.parametrize("harm", [damage, make_foreign, make_newer, make_a_directory])
@pytest.mark.parametrize("verb", ["status", "history"])
def test_a_store_that_cannot_be_read_is_named_and_others_are_shown(make_store, dedupctl, harm, verb):
    path = make_store()
    make_store(uuid=OTHER_UUID, mount_point="/home")
    harm(path)
    process = dedupctl(verb, "--json")
    assert process.returncode == 1
    assert str(path) in process.stderr
    assert len(process.stderr.splitlines()) == 1
    assert {row["uuid"] for row in rows(process)} == {OTHER_UUID}
    asked = dedupctl(verb, "--json", OTHER_UUID)
    assert (asked.returncode, asked.stderr) == (0, "")


def test_a_store_under_another_name_is_refused(make_store, dedupctl, state):
    shutil.copy(make_store(), state / f"{OTHER_UUID}.sqlite")
    process = dedupctl("status", "--json")
    assert process.returncode == 1
    assert OTHER_UUID in process.stderr and UUID in process.stderr
    assert [row["uuid"] for row in rows(process)] == [UUID]


def test_a_store_cut_short_is_named(make_store, dedupctl):
    path = make_store(passes=50, examples=["/srv/a"])
    content = path.read_bytes()
    for length in range(0, len(content), 4096):
        path.write_bytes(content[:length])
        process = dedupctl("status", "--json")
        json.loads(process.stdout)
        assert process.returncode in (0, 1)
        assert (process.returncode == 0) == (not process.stderr) or length == 0, process.stderr


def test_other_files_are_no_stores(make_store, dedupctl, state):
    make_store()
    (state / f"{OTHER_UUID}.sqlite.old-1").write_text("x")
    (state / "notes.txt").write_text("x")
    process = dedupctl("status", "--json")
    assert (process.returncode, process.stderr) == (0, "")
    assert len(rows(process)) == 1


@pytest.mark.parametrize("words", ["history", "--help", "history --help", "--version"])
def test_a_full_disk_is_an_error(make_store, dedupctl, words):
    make_store()
    with open("/dev/full", "w", encoding="ascii") as full:
        process = dedupctl(*words.split(), stdout=full)
    assert process.returncode == 1
    assert "standard output" in process.stderr


def test_it_answers_while_a_pass_writes(make_store, dedupctl):
    connection = sqlite3.connect(make_store(), isolation_level=None)
    connection.execute("BEGIN IMMEDIATE")
    process = dedupctl("status", "--json")
    connection.execute("ROLLBACK")
    connection.close()
    assert (process.returncode, process.stderr) == (0, "")
    assert len(rows(process)) == 1


@pytest.fixture
def configuration(tmp_path):
    path = tmp_path / "dedupd.conf"
    path.write_text("""[Dedupd]
Zeros=keep
Exclude=*.tmp
[Filesystem /srv]
Include=keep.tmp
MinSize=1M
[Disk sda]
ReadRate=50M
""")
    return path


def values(process):
    """Section and key -> values with their lines."""
    found = {}
    for row in rows(process):
        found.setdefault((row["section"], row["key"]), []).append((row["value"], row["line"]))
    return found


def test_config_shows_all_that_is_said_and_where(dedupctl, configuration):
    process = dedupctl("config", "--json", "--config", configuration)
    found = values(process)

    assert (process.returncode, process.stderr) == (0, "")
    assert found["[Dedupd]", "Zeros"] == [("keep", 2)]
    assert found["[Dedupd]", "Exclude"] == [("*.tmp", 3)]
    assert found["[Dedupd]", "Find"] == [("auto", None)]
    assert found["[Filesystem /srv]", "MinSize"] == [("1M", 6)]
    assert found["[Disk sda]", "ReadRate"] == [("50M", 8)]
    assert ("[Filesystem /srv]", "Find") not in found
    assert {row["file"] for row in rows(process)} == {str(configuration), None}


def test_config_describes_each_key_for_forms(dedupctl):
    keys = {row["key"]: row for row in rows(dedupctl("config", "--json", "--config=none"))}
    forms = {key: [row[name] for name in ("type", "default", "words", "least", "most", "list", "sections")]
             for key, row in keys.items()}

    assert forms["Mode"] == ["choice", "resident", ["timer", "resident"], None, None, "no", ["Dedupd", "Filesystem"]]
    assert forms["Memory"] == ["size", "64M", [], 4 << 20, None, "no", ["Dedupd"]]
    assert forms["Threads"] == ["number", "auto", ["auto"], 1, 64, "no", ["Dedupd", "Filesystem"]]
    assert forms["ReadRate"] == ["size", "none", ["none"], 1, None, "no", ["Dedupd", "Disk"]]
    assert forms["Exclude"] == ["pattern", None, [], None, None, "yes", ["Dedupd", "Filesystem"]]
    assert keys["Exclude"]["value"] is None


def test_config_check_reads_what_a_form_has_on_its_input(dedupctl):
    process = dedupctl("config", "--check", "/dev/stdin", typed="[Dedupd]\nMode=never\n")
    assert process.returncode == 1
    assert "/dev/stdin:2: [Dedupd] Mode=: " in process.stderr


@pytest.mark.parametrize("name", ["/srv", "/srv/", UUID, UUID.upper()])
def test_config_shows_what_holds_for_a_filesystem_by_either_name(make_store, dedupctl,
                                                                 configuration, name):
    make_store()
    process = dedupctl("config", "--json", "--config", configuration, name)
    section = f"[Filesystem {name.rstrip('/').lower()}]"
    found = values(process)

    assert process.returncode == 0, process.stderr
    assert found[section, "Zeros"] == [("keep", 2)]
    assert found[section, "Include"] == [("keep.tmp", 5)]
    assert found[section, "MinSize"] == [("1M", 6)]
    assert found[section, "Enable"] == [("yes", None)]
    assert {section for section, _ in found} == {section}


def test_config_knows_disks_and_filesystems_without_sections(dedupctl, configuration):
    process = dedupctl("config", "--json", "--config", configuration, "/home", "/dev/sda")
    found = values(process)

    assert found["[Filesystem /home]", "MinSize"] == [("auto", None)]
    assert ("[Filesystem /home]", "Enable") not in found
    assert found["[Disk sda]", "ReadRate"] == [("50M", 8)]
    assert found["[Disk sda]", "Rotating"] == [("auto", None)]


def test_config_is_a_table_for_people(dedupctl, configuration):
    process = dedupctl("config", "--config", configuration)
    lines = [line.split() for line in process.stdout.splitlines()]

    assert lines[0] == ["SECTION", "KEY", "VALUE", "FROM"]
    assert ["[Dedupd]", "Zeros", "keep", f"{configuration}:2"] in lines
    assert ["[Dedupd]", "Find", "auto", "default"] in lines


def test_config_check_says_all_that_is_wrong(dedupctl, configuration, tmp_path):
    wrong = tmp_path / "wrong.conf"
    wrong.write_text("[Dedupd]\nZeross=keep\nZeros=\033[2J\n")
    assert dedupctl("config", "--check", configuration).returncode == 0
    assert dedupctl("config", "--check", "--config", "none").returncode == 0

    process = dedupctl("config", "--check", configuration, wrong)
    # Filesystems that are not mounted here are warned of.
    lines = [line for line in process.stderr.splitlines() if ": warning: " not in line]
    assert (process.returncode, process.stdout) == (1, "")
    assert lines[0] == f"dedupctl: {wrong}:2: [Dedupd] Zeross=: unknown key, did you mean Zeros=?"
    assert lines[1].startswith(f"dedupctl: {wrong}:3: [Dedupd] Zeros=: ")
    assert "\033" not in process.stderr

    process = dedupctl("config", "--config", wrong)
    assert (process.returncode, process.stdout) == (1, "")
    assert process.stderr.splitlines() == lines
    process = dedupctl("config", "--check", tmp_path / "missing")
    assert process.returncode == 1
    assert "missing" in process.stderr


# What could be freed.


@pytest.mark.parametrize("options, said", [
    ("--sample=0", "--sample is a percentage"), ("--sample=101%", "--sample is a percentage"),
    ("--sample=x", "--sample is a percentage"), ("--min-size=3_apples", "--min-size: "),
    ("--limit-rate=0", "--limit-rate: nothing could be read"), ("--limit-rate=64KB", "--limit-rate: "),
    ("--full --sample=5", "it does not go with --sample"),
])
def test_bad_use_of_estimate_is_refused(dedupctl, tmp_path, options, said):
    process = dedupctl("estimate", "--config=none", *options.split(), str(tmp_path))
    assert process.returncode == 2
    assert process.stdout == ""
    assert said in process.stderr


def test_estimate_says_where_nothing_can_be_shared(dedupctl):
    process = dedupctl("estimate", "--config=none", "/proc")
    assert process.returncode == 1
    assert process.stdout == ""
    assert process.stderr == "dedupctl: /proc is not on a btrfs or XFS filesystem: dedupd supports only these\n"


@pytest.mark.parametrize("name", ["\x1b[2J", "new\nline", b"\xff\x1b]0;x\x07"])
def test_estimate_makes_names_fit_for_terminals(dedupctl, tmp_path, name):
    path = os.path.join(os.fsencode(tmp_path), os.fsencode(name))
    process = subprocess.run([DEDUPCTL, "estimate", "--config=none", path], capture_output=True,
                             check=False, timeout=30)
    assert process.returncode == 1
    assert process.stdout == b""
    assert b"\x1b" not in process.stderr and process.stderr.count(b"\n") == 1


def test_estimate_is_of_directories(dedupctl, tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"x")
    process = dedupctl("estimate", "--config=none", str(path))
    assert process.returncode == 1
    assert "Not a directory" in process.stderr


# The doctor.


def test_doctor_says_where_nothing_can_be_shared(dedupctl):
    process = dedupctl("doctor", "/proc")
    assert process.returncode == 1
    assert process.stderr == ""
    assert re.search(r"^machine\n  \w+ +rights ", process.stdout)
    assert re.search(r"^/proc\n  error +mount ", process.stdout, re.MULTILINE)
    assert re.search(r"^ +=> name a mount point", process.stdout, re.MULTILINE)


def test_doctor_for_programs(dedupctl):
    process = dedupctl("doctor", "--json", "/proc")
    assert process.returncode == 1
    findings = rows(process)
    assert {"rights", "clock", "deduplicators", "service", "mount"} <= {
        finding["check"] for finding in findings}
    for finding in findings:
        assert set(finding) == {"level", "subject", "check", "evidence", "advice"}
    assert (findings[-1]["level"], findings[-1]["subject"]) == ("error", "/proc")


def test_doctor_makes_names_fit_for_terminals(dedupctl, tmp_path):
    name = tmp_path / "\x1b[2J\nmachine"
    name.mkdir()
    for options in ((), ("--raw",), ("--json",)):
        process = dedupctl("doctor", *options, str(name))
        assert "\x1b" not in process.stdout + process.stderr
        assert "\nmachine\n  error" not in process.stdout


# The upkeep of stores.


@pytest.mark.parametrize("arguments, said", [
    (["store"], "'store' takes another word: 'store size', 'store check'"),
    (["store", "chekc"], "'store' takes another word"),
    (["store", "check", "--keep=1w"], "--keep"),
    (["store", "prune", "--keep=soon"], "\"soon\" is not a duration"),
    (["store", "prune", "--keep=0s"], "--keep"),
])
def test_bad_use_of_store_is_refused(dedupctl, arguments, said):
    process = dedupctl(*arguments)
    assert process.returncode == 2
    assert process.stdout == ""
    assert said in process.stderr


def test_store_size_counts_parts(dedupctl, make_store):
    make_store()
    parts = {row["part"]: row for row in rows(dedupctl("store", "size", "--json"))}
    assert parts["objects"]["number"] == 2
    assert parts["history"]["number"] == 2
    assert parts["data"]["bytes"] == 2 * MIB
    # 1 TiB is so many times as much as there is.
    assert parts["all"]["bytes_per_tib"] == parts["all"]["bytes"] << 19
    process = dedupctl("store", "size")
    assert process.returncode == 0
    assert re.search(r"^/srv +objects +2 ", process.stdout, re.MULTILINE)


def test_store_check_says_that_all_is_well_and_changes_nothing(dedupctl, make_store, state):
    make_store()
    make_store(uuid=OTHER_UUID)
    before = snapshot(state)
    process = dedupctl("store", "check", "--json")
    assert process.returncode == 0
    assert process.stderr == ""
    assert [(row["state"], row["problems"]) for row in rows(process)] == [("ok", [])] * 2
    assert snapshot(state) == before


def test_store_check_says_what_is_damaged(dedupctl, make_store):
    path = make_store()
    make_store(uuid=OTHER_UUID)
    with sqlite3.connect(path) as store:
        store.execute("DELETE FROM object WHERE id = 1")
    process = dedupctl("store", "check", "--json")
    assert process.returncode == 1
    assert [row["state"] for row in rows(process)] == ["damaged", "ok"]
    assert "wrong by -1" in rows(process)[0]["problems"][0]
    assert "--rebuild" in process.stderr
    assert dedupctl("store", "check", OTHER_UUID).returncode == 0


@pytest.mark.parametrize("verb", ["prune", "vacuum"])
def test_a_store_that_a_pass_writes_is_left_alone(dedupctl, make_store, state, verb):
    make_store()
    make_store(uuid=OTHER_UUID)
    before = snapshot(state)[f"{UUID}.sqlite"]
    with open(state / f"{UUID}.lock", "r", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        process = dedupctl("store", verb, "--json")
        assert dedupctl("store", "check").returncode == 0
    assert process.returncode == 5
    assert "another process writes the store" in process.stderr
    assert [row["uuid"] for row in rows(process)] == [OTHER_UUID]
    assert snapshot(state)[f"{UUID}.sqlite"] == before


def test_store_vacuum_makes_the_file_smaller(dedupctl, make_store):
    path = make_store()
    with sqlite3.connect(path) as store:
        store.execute("CREATE TABLE junk (text)")
        store.execute("INSERT INTO junk VALUES (zeroblob(5000000))")
        store.execute("DROP TABLE junk")
    before = path.stat().st_size
    process = dedupctl("store", "vacuum", "--json")
    assert process.returncode == 0
    (row,) = rows(process)
    assert row["before_bytes"] >= before > 5000000 > row["after_bytes"]
    assert path.stat().st_size < 200000
    assert dedupctl("store", "check").returncode == 0
    assert [each["freed_bytes"] for each in rows(dedupctl("history", "--json"))] == [2 * MIB, MIB]


def test_store_prune_forgets_old_passes(dedupctl, make_store):
    make_store(passes=5)
    process = dedupctl("store", "prune", "--keep=1w", "--json")
    assert process.returncode == 0
    assert "is not mounted" in process.stderr
    assert (rows(process)[0]["passes"], rows(process)[0]["files"]) == (5, None)
    assert rows(dedupctl("history", "--json")) == []
    assert rows(dedupctl("status", "--json"))[0]["passes"] == 5


def test_store_prune_keeps_all_passes_when_not_told(dedupctl, make_store):
    make_store(passes=5)
    assert rows(dedupctl("store", "prune", "--json"))[0]["passes"] == 0
    assert len(rows(dedupctl("history", "--json"))) == 5


@pytest.mark.parametrize("verb", ["size", "check", "prune", "vacuum"])
def test_no_store_is_nothing_to_keep_up(dedupctl, verb):
    process = dedupctl("store", verb, "--json")
    assert process.returncode == 0
    assert rows(process) == []


# The plot of the history.


def on_terminal(state, *arguments, width=60, environment=None, status=0, has_messages=False):
    """What a terminal of so many columns is sent, with messages or while there are none.

    Of the environment what is None is not there; @status None stands for any.
    """
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, width, 0, 0))
    variables = {"PATH": "/usr/bin:/bin", "TZ": "UTC", "LC_ALL": "C.UTF-8", "TERM": "xterm",
                 "PAGER": "", **(environment or {})}
    process = subprocess.Popen(
        [DEDUPCTL, f"--state-dir={state}", *arguments], stdin=theirs, stdout=theirs,
        stderr=theirs if has_messages else subprocess.PIPE,
        env={name: value for name, value in variables.items() if value is not None})
    os.close(theirs)
    text = b""
    # A terminal whose other side is closed answers EIO.
    with contextlib.suppress(OSError):
        while piece := os.read(ours, 65536):
            text += piece
    os.close(ours)
    assert process.wait(timeout=30) == status or status is None
    if not has_messages:
        assert process.stderr.read() == b""
        process.stderr.close()
    return text.decode().replace("\r\n", "\n")


def test_plot_is_ascii_where_there_is_no_terminal(make_store, dedupctl):
    make_store(passes=4)
    process = dedupctl("history", "--plot")
    assert process.returncode == 0
    assert process.stdout.isascii()
    assert "\x1b" not in process.stdout
    assert process.stdout.startswith("/srv: the last 4 of 4 passes\n")
    assert "freed: 10 MiB in these passes, 4 MiB at most" in process.stdout
    assert re.search(r"^ +4 MiB +#$", process.stdout, re.MULTILINE)
    assert re.search(r"^ +0 ####$", process.stdout, re.MULTILINE)
    assert "1970-01-02 to 1970-01-05" in process.stdout


def test_plot_on_a_terminal_has_blocks_and_colours(make_store, state):
    make_store(passes=100)
    text = on_terminal(state, "history", "--plot")
    assert "█" in text and "▁" in text
    assert "\x1b[32m" in text
    plain = re.sub(r"\x1b\[[0-9;]*m", "", text)
    assert max(map(len, plain.splitlines())) == 60
    assert plain.startswith("/srv: the last 45 of 100 passes\n")


@pytest.mark.parametrize("environment", [{"NO_COLOR": "1"}, {"TERM": "dumb"}, {"TERM": ""}])
def test_plot_has_no_colours_where_they_are_not_wanted(make_store, state, environment):
    make_store(passes=3)
    text = on_terminal(state, "history", "--plot", environment=environment)
    assert "\x1b" not in text
    assert "█" in text


def test_plot_on_a_plain_terminal_is_ascii(make_store, state):
    make_store(passes=3)
    text = on_terminal(state, "history", "--plot", environment={"LC_ALL": "C"})
    assert text.isascii()
    assert "#" in text


def test_plot_of_several_filesystems_and_of_none(make_store, dedupctl):
    assert dedupctl("history", "--plot").stdout.startswith("There is no store")
    make_store(passes=0)
    make_store(uuid=OTHER_UUID, mount_point="/home", passes=1)
    process = dedupctl("history", "--plot")
    assert f"{UUID}: no pass is remembered" in process.stdout
    assert "/home: the last 1 of 1 passes" in process.stdout
    assert dedupctl("history", "--plot", "--bytes", "/home").stdout.count("1048576") == 3


@pytest.mark.parametrize("option", ["--json", "--raw", "--noheadings", "--output=uuid"])
def test_plot_is_for_people(make_store, dedupctl, option):
    make_store()
    process = dedupctl("history", "--plot", option)
    assert process.returncode == 2
    assert process.stdout == ""
    assert "--plot" in process.stderr


# Names for scripts.


@pytest.mark.parametrize("verb", ["file", "unique", "duplicates"])
@pytest.mark.parametrize("other", ["--json", "--output=file"])
def test_bare_names_have_nothing_beside_them(dedupctl, verb, other):
    process = dedupctl(verb, "-0", other, "/")
    assert process.returncode == 2
    assert process.stdout == ""
    assert f"does not go with {other.split('=')[0]}" in process.stderr


# Verifying.


@pytest.mark.parametrize("option", ["--sample=0", "--sample=101%", "--sample=few", "--sample=5%%",
                                    "--sample=nan", "--limit-rate=fast", "--limit-rate=0"])
def test_bad_use_of_verify_is_refused(make_store, dedupctl, option):
    make_store()
    process = dedupctl("verify", option)
    assert process.returncode == 2
    assert process.stdout == ""
    assert option.split("=")[0] in process.stderr


def test_verify_needs_the_filesystem(make_store, dedupctl):
    make_store()
    process = dedupctl("verify", "--json")
    assert process.returncode == 1
    assert rows(process) == []
    assert "is not mounted" in process.stderr


# Duplicates.


@pytest.mark.parametrize("kind, status, stale, said", [
    ("XFS", 0, 2, ""), ("btrfs", 1, 0, f"the filesystem {UUID} is not mounted"),
])
def test_a_filesystem_that_is_not_mounted_has_no_duplicates(dedupctl, make_store, kind, status,
                                                            stale, said):
    make_store(kind=kind)
    process = dedupctl("duplicates", "--json", UUID)
    assert process.returncode == status
    assert without_head(process) == {"duplicates": [], "stale": stale, "fresh": 0,
                                     "gone_extents": 0}
    assert said in process.stderr


@pytest.mark.parametrize("kind, status, stale, freed, said", [
    ("XFS", 0, 2, 3, ""), ("btrfs", 1, 0, 0, f"the filesystem {UUID} is not mounted"),
])
def test_a_filesystem_that_is_not_mounted_has_no_waste(dedupctl, make_store, kind, status, stale,
                                                       freed, said):
    make_store(kind=kind)
    process = dedupctl("waste", "--json", UUID)
    assert process.returncode == status
    assert rows(process) == [{"by": "directory", "reclaimable_bytes": 0, "shared_bytes": 0,
                              "files": 0, "pinned_extents": 0, "pinned_bytes": 0, "freed_total_bytes": freed * MIB,
                              "stale": stale, "keys": []}]
    assert said in process.stderr
    process = dedupctl("waste", UUID, "--by=owner")
    assert process.stdout.splitlines() == (
        (["As of the last pass, 1970-01-03 01:00:00; newer files are not counted ('dedupctl "
          "estimate' looks at the files).", ""] if freed else [])
        + ["In all: 0 B of 0 files could be freed."]
        + (["Passes freed 3 MiB so far ('dedupctl history')."] if freed else []))
    assert process.returncode == status


# The journal.


@pytest.mark.parametrize("exists", [False, True])
def test_that_there_is_no_journal_is_said(dedupctl, tmp_path, exists):
    if exists:
        (tmp_path / "journal").mkdir()
    process = dedupctl("log", f"--directory={tmp_path / 'journal'}")
    assert (process.returncode, process.stdout) == (3, "")
    assert process.stderr == "dedupctl: there is no journal here that you may read\n"


@pytest.mark.parametrize("since", ["", "frob", "2026-13-01", "5", "-5min", "\x1b[2J"])
def test_a_time_that_is_none_is_refused(dedupctl, since):
    process = dedupctl("log", f"--since={since}")
    assert process.returncode == 2
    assert "--since" in process.stderr
    assert "\x1b" not in process.stderr


# The pager.

PAGER = "sed 's/^/page: /'"


@pytest.mark.parametrize("variable", ["DEDUPCTL_PAGER", "PAGER"])
def test_a_terminal_is_shown_tables_by_a_pager(make_store, state, variable):
    make_store(passes=2)
    text = on_terminal(state, "history", environment={variable: PAGER})
    assert len(text.splitlines()) == 3
    assert all(line.startswith("page: ") for line in text.splitlines())


def test_what_a_pager_shows_is_fit_for_the_terminal_behind_it(make_store, state):
    make_store(passes=100)
    direct = on_terminal(state, "history", "--plot")
    paged = on_terminal(state, "history", "--plot", environment={"PAGER": PAGER})
    assert paged.replace("page: ", "") == direct
    assert "\x1b[32m" in paged and "█" in paged


@pytest.mark.parametrize("words, environment", [
    (["--no-pager", "history"], {"PAGER": PAGER}),
    (["history", "--no-pager"], {"PAGER": PAGER}),
    (["history"], {"DEDUPCTL_PAGER": "", "PAGER": PAGER}),
    (["history"], {"DEDUPCTL_PAGER": "cat", "PAGER": PAGER}),
    (["history"], {"PAGER": PAGER, "TERM": "dumb"}),
    (["history"], {"PAGER": PAGER, "TERM": None}),
])
def test_where_no_pager_is_wanted_there_is_none(make_store, state, words, environment):
    make_store(passes=2)
    text = on_terminal(state, *words, environment=environment)
    assert "/srv" in text and "page: " not in text


def test_what_is_no_terminal_has_no_pager(make_store, dedupctl):
    make_store(passes=2)
    assert "page: " not in dedupctl("history", environment={"PAGER": PAGER}).stdout


def test_a_machine_without_a_pager_does_without(make_store, state):
    make_store(passes=2)
    text = on_terminal(state, "history", environment={"PATH": "/nonexistent", "PAGER": None})
    assert "/srv" in text


def test_who_reads_may_stop_before_the_end(make_store, state):
    make_store(passes=2000)
    text = on_terminal(state, "history", environment={"PAGER": "head -n 2"}, status=None)
    assert len(text.splitlines()) == 2


def test_less_prints_what_fits_on_the_screen_and_ends(make_store, state):
    if shutil.which("less") is None:
        pytest.skip("there is no less")
    make_store(passes=2)
    assert "/srv" in on_terminal(state, "history", environment={"PAGER": "less"})


def test_messages_wait_until_the_pager_has_ended(state):
    text = on_terminal(state, "status", "/nowhere", environment={"PAGER": "sleep 0.3; cat; echo end"},
                       status=None, has_messages=True)
    assert re.search("end\ndedupctl: .*/nowhere", text)


# Tables as they look, with a name that is not fit for terminals before other columns.


def plain(process):
    """What was printed, without blanks at the ends of lines and the size of files of SQLite."""
    assert (process.returncode, process.stderr) == (0, "")
    lines = [line.rstrip() for line in process.stdout.splitlines()]
    return re.sub(r"\d+ KiB", "### KiB", "\n".join(lines) + "\n")


@pytest.fixture
def two_stores(make_store):
    make_store(passes=3, examples=["/srv/a", "/srv/b"])
    make_store(uuid=OTHER_UUID, mount_point="/mnt/\x1bx\udcff", passes=1, kind="XFS")


def test_a_table_of_the_status(two_stores, dedupctl):
    assert plain(dedupctl("status", "--verbose")) == rf"""MOUNT        KIND  LAST PASS           OUTCOME  FREED IN ALL OBJECTS   STORE UUID
/srv         btrfs 1970-01-04 01:00:00 failed   3 MiB  6 MiB       2 ### KiB {UUID}
/mnt/\ex\xff XFS   1970-01-02 01:00:00 complete 1 MiB  1 MiB       2 ### KiB {OTHER_UUID}

The last pass over /srv skipped:
REASON COUNT   SIZE FOR EXAMPLE WHY; WHAT TO DO
leased     2 16 MiB /srv/a      a program holds a lease on them; the next pass tries again
                    /srv/b

The last pass over /mnt/\ex\xff skipped nothing.
"""


def test_a_table_of_the_history(two_stores, dedupctl):
    assert plain(dedupctl("history")) == r"""MOUNT        WHEN                  TOOK OUTCOME     FILES  READ COMPARED SHARED FREED
/srv         1970-01-04 01:00:00 3.00 s failed        103 5 MiB    4 MiB  3 MiB 3 MiB
/srv         1970-01-03 01:00:00 2.00 s interrupted   102 5 MiB    4 MiB  3 MiB 2 MiB
/srv         1970-01-02 01:00:00 1.00 s complete      101 5 MiB    4 MiB  3 MiB 1 MiB
/mnt/\ex\xff 1970-01-02 01:00:00 1.00 s complete      101 5 MiB    4 MiB  3 MiB 1 MiB
"""


def test_a_table_of_sound_stores(two_stores, dedupctl):
    assert plain(dedupctl("store", "check")) == rf"""MOUNT        UUID                                 STATE PROBLEMS
/srv         {UUID} ok
/mnt/\ex\xff {OTHER_UUID} ok
"""
