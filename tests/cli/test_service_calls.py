# SPDX-License-Identifier: GPL-2.0-or-later
"""What dedupctl asks the service, and what it makes of answers of any kind."""

import collections
import contextlib
import json
import os
import random
import subprocess
import uuid

import pytest

from feigned_service import FeignedService, filesystem, no_disks, objects

DEDUPCTL = os.environ.get("DEDUPCTL")
pytestmark = pytest.mark.skipif(not DEDUPCTL, reason="DEDUPCTL does not name the program")

VERBS = ["list", "status", "metrics"]
REFUSAL = ["org.freedesktop.DBus.Error.AccessDenied", "not you"]
CROWDED = ["org.freedesktop.DBus.Error.LimitsExceeded", "ask again"]


def uuids(count):
    chance = random.Random(count)
    return [str(uuid.UUID(int=chance.getrandbits(128))) for _ in range(count)]


@pytest.fixture
def feign(tmp_path):
    """Begin a service, which ends with the test, and ask it with dedupctl."""
    with contextlib.ExitStack() as stack:
        def feign(**answers):
            path = tmp_path / "socket"
            service = FeignedService(path, {"ListDisks": lambda _: no_disks()} | answers)
            stack.callback(service.close)

            def ask(*words):
                return subprocess.run(
                    [DEDUPCTL, *words], capture_output=True, check=False, timeout=60,
                    env={"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8", "DEDUPD_SOCKET": str(path),
                         "DBUS_SYSTEM_BUS_ADDRESS": "unix:path=/nonexistent"})
            service.ask = ask
            return service
        yield feign


@pytest.mark.parametrize("verb", VERBS)
def test_any_number_of_filesystems_is_one_call(feign, verb):
    known = [filesystem(name, f"/srv/{name}") for name in uuids(300)]
    service = feign(GetManagedObjects=lambda _: objects(known))
    done = service.ask(verb)
    assert done.returncode == 0, done.stderr
    assert all(name in done.stdout.decode() for name in uuids(300))
    assert collections.Counter(service.calls) == {"GetManagedObjects": 1, "ListDisks": 1}


@pytest.mark.parametrize("verb", VERBS[:2])
def test_the_order_is_that_of_the_service(feign, verb):
    known = [filesystem(name, f"/srv/{name}") for name in uuids(50)]
    service = feign(GetManagedObjects=lambda _: objects(known))
    rows = json.loads(service.ask(verb, "--json").stdout)["filesystems"]
    assert [row["uuid"] for row in rows if row["uuid"] in uuids(50)] == uuids(50)


def test_what_the_service_of_another_version_says_is_left_out(feign):
    (name,) = uuids(1)
    path, interfaces = filesystem(name, "/srv", Future=("u", 7), Passes=("s", "many"))
    known = [("/org/dedupd1/other", {"org.dedupd1.Other": {"UUID": ("s", "no")}}),
             (path, {"org.freedesktop.DBus.Peer": {}} | interfaces | {"org.dedupd1.More": {"A": ("t", 1)}})]
    service = feign(GetManagedObjects=lambda _: objects(known))
    (row,) = json.loads(service.ask("status", "--json").stdout)["filesystems"]
    assert (row["uuid"], row["mount_point"], row["service_passes"]) == (name, "/srv", 0)


@pytest.mark.parametrize("verb", VERBS[:2])
def test_hostile_words_are_escaped(feign, verb):
    text = "\x1b[31m\n\r\x9b\x07 \u202e\""
    known = [filesystem(uuids(1)[0], "/srv/" + text, Kind=("s", text), WaitReason=("s", text), WaitsFor=("s", text),
                        Refusal=("s", text), Stage=("s", text), Disks=("as", [text]), LastError=("s", text))]
    service = feign(GetManagedObjects=lambda _: objects(known))
    done = service.ask(verb)
    assert done.returncode == 0
    assert b"\x1b" not in done.stdout + done.stderr and b"\xc2\x9b" not in done.stdout + done.stderr


@pytest.mark.parametrize("member", ["GetManagedObjects", "ListDisks"])
@pytest.mark.parametrize("verb", VERBS)
def test_a_refusal_is_told(feign, verb, member):
    service = feign(**{"GetManagedObjects": lambda _: objects([]), member: lambda _: REFUSAL})
    done = service.ask(verb)
    assert done.returncode == 1
    assert b"dedupctl: not you" in done.stderr
    assert service.calls.count(member) == 1


@pytest.mark.parametrize("member", ["GetManagedObjects", "ListDisks"])
@pytest.mark.parametrize("verb", VERBS)
def test_a_service_that_goes_away_is_told(feign, verb, member):
    service = feign(**{"GetManagedObjects": lambda _: objects([]), member: lambda _: None})
    done = service.ask(verb)
    assert done.returncode == 1
    assert b"Connection reset by peer" in done.stderr


@pytest.mark.parametrize("answer", [("a(ssso)", b"\0" * 8), ("s", b"\1\0\0\0a\0"), ("", b"")])
@pytest.mark.parametrize("verb", VERBS)
def test_an_answer_of_another_form_is_told(feign, verb, answer):
    service = feign(GetManagedObjects=lambda _: answer)
    done = service.ask(verb)
    assert done.returncode == 1
    assert done.stderr


@pytest.mark.parametrize("verb", VERBS)
def test_a_service_that_answers_others_is_asked_again(feign, verb):
    known = [filesystem(uuids(1)[0], "/srv")]
    service = feign(GetManagedObjects=lambda n: CROWDED if n < 4 else objects(known))
    done = service.ask(verb)
    assert done.returncode == 0, done.stderr
    assert service.calls.count("GetManagedObjects") == 4
