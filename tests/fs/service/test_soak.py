# SPDX-License-Identifier: GPL-2.0-or-later
"""Hours of snapshots, reloads, holds, suspends and upgrades leave the service as it was, and all files."""

import contextlib
import os

import pytest

from content import KIB, MIB
from soak import Soak
from soak_samples import Sample, judge

# tests/bench/soak goes on for weeks.
HOURS = int(os.environ.get("DEDUPD_SOAK_HOURS", "9"))
EVENTS = 8


@pytest.fixture(name="soak")
def soak_fixture(quick_disks, filesystem, service):
    with contextlib.closing(Soak(service, filesystem, seed=1, event_hours=1, sample_hours=3)) as soak:
        yield soak


def test_hours_of_all_that_happens_leave_nothing_behind(soak):
    assert list(soak.hours(HOURS))[-1] == HOURS
    soak.end()

    assert not soak.complaints
    assert not [target for target in judge(soak.samples) if not target.is_met], soak.samples
    assert len(soak.events) == EVENTS, soak.events
    assert sum(sample.freed_bytes for sample in soak.samples) > MIB
    assert sum(sample.interrupted for sample in soak.samples) > 0 and soak.met_passes > 0


def days_of(**leaks):
    """Samples of 30 days in which a field grows by so much each day."""
    first = Sample(1, 0, 9 * MIB, 3 * MIB, 11, 2, 400 * KIB, 12 * KIB, 1400, 24, 1, 0, 4 * MIB)
    return [first._replace(day=day + 1, **{name: getattr(first, name) + round(more * day)
                                           for name, more in leaks.items()}) for day in range(30)]


def missed(samples):
    return [target.what for target in judge(samples) if not target.is_met]


def test_a_service_that_does_not_grow_meets_all_targets():
    assert not missed(days_of())
    # By a page a day.
    assert not missed(days_of(history_bytes=4 * KIB, store_bytes=4 * KIB))


@pytest.mark.parametrize("leak", [
    {"descriptors": 1}, {"threads": 1},
    {"own_bytes": 160 * KIB, "resident_bytes": 160 * KIB},
    {"store_bytes": 40 * KIB}, {"failed": 0.04},
], ids=lambda leak: min(leak))
def test_a_leak_of_a_little_with_each_pass_is_noticed(leak):
    assert missed(days_of(**leak))


def test_an_upgrade_hides_no_leak_of_descriptors():
    samples = days_of()[:2]
    assert missed([samples[0], samples[1]._replace(life=1, descriptors=14)])
