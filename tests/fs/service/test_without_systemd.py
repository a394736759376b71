# SPDX-License-Identifier: GPL-2.0-or-later
"""A build without systemd: passes, and the service under another supervisor, which nobody can call."""

import pytest

from content import write_twins
from harness import check_pass, dedupctl, settle
from service import END_SECONDS, PATIENCE_SECONDS, wait_until

MIB = 1 << 20


@pytest.fixture
def twins(filesystem, tree):
    """Two files with the same 8 MiB."""
    write_twins(tree, 8 * MIB)
    settle(filesystem)
    return tree


def are_shared(tree):
    return dedupctl("shared", tree / "one", tree / "two", status=None).returncode == 0


def test_one_pass_frees_what_equal_files_take(dedupd, twins):
    assert check_pass(dedupd, twins).first.freed_bytes == 8 * MIB


def test_service_makes_a_pass_and_obeys_signals(twins, service):
    service.can_be_asked = False
    service.configure()
    service.start()
    assert not are_shared(twins)

    service.configure(twins)
    service.reload()
    wait_until(lambda: are_shared(twins), service.log)
    assert service.end() < END_SECONDS


@pytest.mark.parametrize("words", [["start", "/"], ["pause", "--all"], ["reload"], ["budget", "sda", "1M"],
                                   ["log"], ["status", "--watch"]])
def test_verbs_that_need_the_service_say_why_there_is_none(words):
    asked = dedupctl(*words, status=None, timeout=PATIENCE_SECONDS)

    assert asked.returncode == 3, asked.stderr
    assert "built without systemd" in asked.stderr


def test_verbs_that_look_show_stores_and_mounts(dedupd, twins):
    dedupd.run()

    assert str(twins) in dedupctl("status", dedupd=dedupd).stdout
    listed = dedupctl("list", status=3)
    assert "built without systemd" in listed.stderr
    assert str(twins) in listed.stdout


def test_doctor_does_not_claim_that_the_service_does_not_run(tree):
    assert "cannot see whether it runs" in dedupctl("doctor", tree, status=None).stdout


def test_root_holds_a_filesystem_without_the_service(dedupd, filesystem, tree):
    held = dedupctl("hold", tree, "--", *dedupd.command(tree, json=False), status=None)

    assert held.returncode == 5, held.stderr
