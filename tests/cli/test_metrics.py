# SPDX-License-Identifier: GPL-2.0-or-later
"""What dedupctl prints for Prometheus of stores alone, and what is shipped for Prometheus."""

import os
import pathlib
import re
import subprocess
import sys

import pytest

SOURCE = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(SOURCE / "tests/fs/kit"))
import prometheus  # noqa: E402 (the path is set above)

DEDUPCTL = os.environ.get("DEDUPCTL")
MAKE_STORE = os.environ.get("MAKE_STORE")
pytestmark = pytest.mark.skipif(not (DEDUPCTL and MAKE_STORE),
                                reason="DEDUPCTL and MAKE_STORE do not name the programs")
UUID = "0d8a5e5c-36c5-4d7b-9c50-3f0f0a3c8a01"
PAGE = SOURCE / "docs/metrics.md"
MIB = 1 << 20


@pytest.fixture
def state(tmp_path):
    return tmp_path / "state"


def make_store(state, passes, *examples):
    subprocess.run([MAKE_STORE, state, UUID, "btrfs", "/srv", str(passes), *examples], check=True)
    return state / f"{UUID}.sqlite"


def run(state):
    return subprocess.run([DEDUPCTL, f"--state-dir={state}", "metrics"], capture_output=True, text=True, check=False)


def lines_of(state):
    """Without comments."""
    done = run(state)
    assert (done.returncode, done.stderr) == (0, "")
    return [line for line in done.stdout.splitlines() if not line.startswith("#")]


def test_figures_are_those_of_the_stores(state):
    make_store(state, 5, "/srv/one", "/srv/two")
    lines = lines_of(state)
    own = f'{{uuid="{UUID}"'
    for line in ["dedupd_service_running 0",
                 f'dedupd_filesystem_info{own},mountpoint="/srv",fstype="btrfs"}} 1',
                 # Their outcomes go through all.
                 f'dedupd_passes_total{own},outcome="complete"}} 2',
                 f'dedupd_passes_total{own},outcome="interrupted"}} 2',
                 f'dedupd_passes_total{own},outcome="failed"}} 1',
                 f'dedupd_last_pass_outcome{own},outcome="interrupted"}} 1',
                 f'dedupd_last_success_timestamp_seconds{own}}} {4 * 86401}',
                 f'dedupd_last_pass_end_timestamp_seconds{own}}} {5 * 86401}',
                 f'dedupd_last_pass_duration_seconds{own}}} 5',
                 f'dedupd_freed_bytes_total{own}}} {15 * MIB}',
                 f'dedupd_finding_read_bytes_total{own}}} {25 * MIB}',
                 f'dedupd_compare_read_bytes_total{own}}} {20 * MIB}',
                 f'dedupd_store_usable{own}}} 1']:
        assert line in lines
    assert not [line for line in lines if line.startswith(("dedupd_state", "dedupd_disk_failing"))]
    assert len(set(lines)) == len(lines)


def test_counters_never_decrease_as_the_history_is_pruned(state):
    make_store(state, 5)
    before = lines_of(state)
    subprocess.run([DEDUPCTL, f"--state-dir={state}", "store", "prune", "--keep=1d"], check=True, capture_output=True)
    after = lines_of(state)
    assert [line for line in after if "_total" in line] == [line for line in before if "_total" in line]


def test_no_store_is_no_error(state):
    assert lines_of(state) == ['dedupd_build_info{version="' + version() + '"} 1', "dedupd_service_running 0"]


def version():
    return subprocess.run([DEDUPCTL, "--version"], capture_output=True, text=True, check=True).stdout.split()[1]


def test_a_store_that_is_none_is_told(state):
    make_store(state, 1).write_bytes(b"\0" * 5000)
    done = run(state)
    assert done.returncode == 1
    assert f'dedupd_store_usable{{uuid="{UUID}"}} 0\n' in done.stdout
    assert UUID in done.stderr


def test_page_has_all_metrics_with_what_is_said_of_them(state):
    make_store(state, 1, "/srv/one")
    text = run(state).stdout
    printed = {name: (dict(re.findall(r"^# TYPE (\S+) (\S+)$", text, re.MULTILINE))[name], help_text)
               for name, help_text in re.findall(r"^# HELP (\S+) (.*)$", text, re.MULTILINE)}
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in PAGE.read_text().splitlines()
            if line.startswith("| `dedupd_")]
    assert {name.strip("`"): (kind, meaning) for name, kind, _, _, _, meaning in rows} == printed
    for name, _, unit, labels, *_ in rows:
        assert ("seconds" in name, "bytes" in name) == (unit.startswith("s"), unit == "bytes")
        has = re.search(rf"^{name.strip('`')}(?:\{{(.*)\}})? ", text, re.MULTILINE)
        if has:
            assert re.findall(r'(\w+)="', has[1] or "") == [label for label in labels.split(", ") if label]


def test_promtool_accepts_the_output(state):
    make_store(state, 3, "/srv/one")
    prometheus.check_metrics(run(state).stdout)


def test_rules_raise_alerts_when_they_should():
    tested = subprocess.run([prometheus.tool("promtool"), "test", "rules", SOURCE / "contrib/prometheus/dedupd.test.yml"],
                            capture_output=True, text=True, check=False)
    assert tested.returncode == 0, tested.stdout + tested.stderr
    rules = (SOURCE / "contrib/prometheus/dedupd.rules.yml").read_text()
    tests = (SOURCE / "contrib/prometheus/dedupd.test.yml").read_text()
    for alert in re.findall(r"- alert: (\w+)", rules):
        assert re.search(rf"alertname: {alert}\n\s+exp_alerts:\n", tests), f"no test raises {alert}"


def test_rules_and_dashboard_use_metrics_that_there_are(state):
    known = set(re.findall(r"^# HELP (\S+) ", run(state).stdout, re.MULTILINE))
    for path in ("grafana/dedupd.json", "prometheus/dedupd.rules.yml", "prometheus/dedupd.test.yml"):
        used = set(re.findall(r"\bdedupd_[a-z_]+", (SOURCE / "contrib" / path).read_text()))
        assert used, path
        assert used <= known, path
