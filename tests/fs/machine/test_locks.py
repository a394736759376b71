# SPDX-License-Identifier: GPL-2.0-or-later
"""Where locks lie: no other user can keep a pass from its lock, and every user has a pass."""

import os
import pathlib
import subprocess

import pytest

import content
import harness
from content import MIB
from harness import USER

OTHER = 65532
LOCKS = pathlib.Path("/run/dedupd-lock")

# As after boot: nothing is in /run but what any distribution has there; then USER makes whatever it can.
AS_AFTER_BOOT = r"""
mount -t tmpfs -o mode=0755 none /run
mkdir -m 1777 /run/lock
mkdir -m 0755 /run/user
setpriv --reuid=$1 --regid=$1 --clear-groups sh -c '
for directory in /run/lock/dedupd /run/dedupd /run/dedupd-lock /run/user/0 /run/user/0/dedupd; do
    mkdir -m 0777 "$directory" 2>/dev/null && echo "made $directory"
done' >&2
shift
exec "$@"
"""


def run_after_boot(dedupd, **options):
    command = [*harness.own_mounts(), "sh", "-c", AS_AFTER_BOOT, "sh", str(USER),
               *dedupd.command(**options)]
    return dedupd.finish(subprocess.Popen(command, stdin=subprocess.DEVNULL, env=dedupd.environment(),
                                          stdout=subprocess.PIPE, stderr=subprocess.PIPE))


def test_no_user_can_take_the_place_of_roots_locks(tree, filesystem, dedupd):
    content.write_twins(tree, MIB)
    harness.settle(filesystem)

    run = run_after_boot(dedupd)

    assert "made /run/lock/dedupd" in run.stderr, "nothing was attacked"
    assert run.status == 0, run.stderr
    assert run.freed_bytes == MIB


def test_a_lock_outlives_the_runtime_directory_of_the_service(tree, filesystem, dedupd):
    """systemd removes it when the service stops, which must not end the lock of another process."""
    unit = pathlib.Path(__file__).parents[3] / "systemd" / "dedupd.service.in"
    removed = [pathlib.Path("/run", line.split("=")[1]) for line in unit.read_text().splitlines()
               if line.startswith("RuntimeDirectory=")]
    dedupd.run()

    (lock,) = LOCKS.glob(dedupd.store_path.stem)

    assert removed
    assert not any(directory in lock.parents for directory in removed)


def test_the_lock_of_a_pass_is_where_nobody_else_can_write(tree, filesystem, dedupd):
    dedupd.run()
    for directory in (LOCKS, *LOCKS.parents):
        status = directory.lstat()
        assert status.st_uid == 0
        assert not status.st_mode & 0o022, directory


@pytest.mark.parametrize("environment", [
    {},
    {"HOME": "/root"},
    {"HOME": "/nonexistent"},
    {"HOME": "/"},
    {"HOME": "/tmp", "XDG_CACHE_HOME": "/tmp"},
    {"XDG_RUNTIME_DIR": "/tmp", "HOME": "/tmp"},
    {"XDG_RUNTIME_DIR": "/nonexistent", "HOME": "/nonexistent"},
    {"XDG_RUNTIME_DIR": "relative", "HOME": "relative"},
    {"XDG_RUNTIME_DIR": "", "HOME": ""},
], ids=lambda environment: " ".join(f"{name}={value}" for name, value in environment.items()) or "none")
def test_every_user_has_a_pass_whatever_is_in_the_environment(tree, filesystem, users_dedupd, environment):
    filesystem.remount("noatime")
    for path in content.write_twins(tree, MIB):
        os.chown(path, USER, USER)
    users_dedupd.feigned = environment

    done = harness.check_pass(users_dedupd, user=USER)

    assert done.freed_bytes == MIB


def test_a_user_who_has_no_home_has_a_pass(tree, filesystem, users_dedupd):
    """As from a cron job that clears the environment."""
    filesystem.remount("noatime")
    for path in content.write_twins(tree, MIB):
        os.chown(path, USER, USER)
    harness.settle(filesystem)
    kept = {name: value for name, value in users_dedupd.environment().items()
            if name in ("LD_PRELOAD", "FEIGNED_CLOCK_FILE")}

    run = users_dedupd.finish(subprocess.Popen(users_dedupd.command(user=USER), env=kept,
                                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                               stderr=subprocess.PIPE))

    assert run.status == 0, run.stderr
    assert run.freed_bytes == MIB


def test_two_passes_of_a_user_exclude_each_other(tree, filesystem, users_dedupd, tmp_path):
    os.chmod(tmp_path, 0o755)
    runtime = tmp_path / "runtime"
    runtime.mkdir(mode=0o700)
    os.chown(runtime, USER, USER)
    users_dedupd.feigned = {"XDG_RUNTIME_DIR": str(runtime)}
    if not all(parent.stat().st_mode & 0o001 for parent in runtime.parents):
        pytest.skip(f"{runtime} cannot be reached by others")
    users_dedupd.run(user=USER)

    assert (runtime / "dedupd" / users_dedupd.store_path.stem).stat().st_uid == USER


@pytest.mark.parametrize("owner, mode", [(OTHER, 0o755), (OTHER, 0o700), (0, 0o777), (0, 0o1777), (0, 0o770)])
def test_a_state_directory_that_others_can_change_is_refused(tree, filesystem, dedupd, tmp_path, owner, mode):
    content.write_twins(tree, MIB)
    harness.settle(filesystem)
    victim = tmp_path / "victim"
    victim.touch()
    state = tmp_path / "state"
    state.mkdir(exist_ok=True)
    uuid = subprocess.run(["findmnt", "-no", "UUID", tree], check=True, capture_output=True,
                          text=True).stdout.strip()
    # An empty file is a new store to SQLite.
    (state / f"{uuid}.sqlite").symlink_to(victim)
    os.chown(state, owner, OTHER)
    os.chmod(state, mode)

    run = dedupd.run(state_dir=state)

    assert run.status == 1
    assert f"the state directory {state} is not safe" in run.stderr
    assert victim.stat().st_size == 0


def test_the_own_group_of_a_user_may_write_the_state_directory(tree, filesystem, dedupd):
    content.write_twins(tree, MIB)
    os.chmod(dedupd.state_directory, 0o775)
    harness.check_pass(dedupd)
