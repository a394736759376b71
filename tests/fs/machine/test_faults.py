# SPDX-License-Identifier: GPL-2.0-or-later
"""One call of a pass fails: it ends as documented, nothing is lost, and the next pass frees what was left."""

import os

import pytest

import faults
from harness import FIND

# tests/bench/faults has all calls fail, one after the other.
SAMPLES = int(os.environ.get("DEDUPD_FAULT_SAMPLES", "60"))


@pytest.fixture
def injected(filesystem, dedupd, kind):
    if "FAILING_CALLS" not in os.environ:
        pytest.skip("FAILING_CALLS does not name the library that has calls fail")
    return faults.Faults(dedupd, os.environ["FAILING_CALLS"], FIND[kind])


@pytest.mark.parametrize("calls", faults.SETS)
def test_a_call_that_fails_loses_nothing(injected, calls):
    n_calls = injected.count(calls)
    assert n_calls > SAMPLES
    done = [injected.inject(calls, 1 + sample * n_calls // SAMPLES, sample) for sample in range(SAMPLES)]

    assert not [fault for fault in done if fault.complaint]
    # The last of them may be made in some passes only.
    assert sum(bool(fault.failed) for fault in done) > SAMPLES // 2


@pytest.mark.parametrize("kind", ["xfs"])
@pytest.mark.parametrize("call", ["eventfd", "pthread_create"])
def test_a_pass_that_cannot_start_says_so_in_its_report(injected, call):
    fault = injected.inject(call, 1)

    assert fault.failed
    assert fault.status == 1
    assert not fault.complaint
