# SPDX-License-Identifier: GPL-2.0-or-later
"""Random arrangements that one ordinary user can make in 5 s: the limits of attack_limits.py hold.

Each run has seeds of its own, which are in the names of the cases.  DEDUPD_ATTACK_SEED chooses the
first; DEDUPD_ATTACK_SECONDS is how long no new one of a kind is begun after, of at most DEDUPD_ATTACK_SEEDS.
tests/bench/attack makes many more, and says how near to the limits they came.
"""

import os
import secrets
import time

import pytest

from attack_campaign import attack_at_random

SEEDS = int(os.environ.get("DEDUPD_ATTACK_SEEDS", "2"))
FIRST_SEED = int(os.environ.get("DEDUPD_ATTACK_SEED", secrets.randbelow(1 << 24)))
SECONDS = float(os.environ.get("DEDUPD_ATTACK_SECONDS", "30"))


@pytest.fixture(scope="module")
def seconds_used():
    return {"btrfs": 0, "xfs": 0}


@pytest.mark.parametrize("seed", range(FIRST_SEED, FIRST_SEED + SEEDS))
def test_no_random_arrangement_harms_anybody(make_filesystem, quick_disks, make_dedupd, kind, seed, seconds_used):
    """At least one of each kind, however slow the machine is."""
    if seconds_used[kind] > SECONDS:
        pytest.skip(f"{SECONDS:.0f} s are over")
    begun = time.monotonic()
    attack_at_random(make_filesystem, make_dedupd, kind, seed)
    seconds_used[kind] += time.monotonic() - begun
