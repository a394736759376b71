# SPDX-License-Identifier: GPL-2.0-or-later
"""Metrics of real passes: what is printed and written, and that Prometheus and the dashboard take it."""

import contextlib
import json
import os
import pathlib
import re
import sqlite3
import subprocess
import time

import pytest

import prometheus
from content import forget_pages, write_twins
from harness import USER, dedupctl, settle
from service import wait_until

MIB = 1 << 20
CONTRIB = pathlib.Path(__file__).resolve().parents[3] / "contrib"
DASHBOARD = CONTRIB / "grafana/dedupd.json"
RULES = CONTRIB / "prometheus/dedupd.rules.yml"


@pytest.fixture
def twins(filesystem, tree):
    """Two files with the same 8 MiB."""
    write_twins(tree, 8 * MIB)
    settle(filesystem)
    forget_pages(tree)
    return tree


@pytest.fixture
def metrics_path(service):
    return service.metrics_path


def samples(text):
    """Name -> list of (labels, value), of plain labels."""
    found = {}
    for name, labels, value in re.findall(r"^(dedupd_[a-z_]+)(?:\{(.*)\})? (\S+)$", text, re.MULTILINE):
        found.setdefault(name, []).append((dict(re.findall(r'(\w+)="((?:[^"\\]|\\.)*)"', labels)), float(value)))
    return found


def value(text, name, **labels):
    """Of the only sample with these labels; None: there is none."""
    found = [number for has, number in samples(text).get(name, []) if labels.items() <= has.items()]
    assert len(found) < 2, (name, found)
    return found[0] if found else None


def written(path):
    return path.read_text() if path.exists() else ""


def test_service_writes_what_its_passes_did(kind, twins, service, metrics_path):
    service.configure(twins, MetricsFile=metrics_path)
    service.start()
    uuid = service.wait_for_passes(str(twins), 1)["uuid"]
    wait_until(lambda: value(written(metrics_path), "dedupd_freed_bytes_total") == 8 * MIB
               and value(written(metrics_path), "dedupd_state", state="waiting") == 1, service.log)

    text = metrics_path.read_text()
    prometheus.check_metrics(text)
    assert value(text, "dedupd_service_running") == 1
    assert value(text, "dedupd_filesystem_info", uuid=uuid, mountpoint=str(twins)) == 1
    assert value(text, "dedupd_passes_total", outcome="complete") >= 1
    assert value(text, "dedupd_passes_total", outcome="failed") == 0
    assert value(text, "dedupd_last_pass_outcome", outcome="complete") == 1
    assert time.time() - value(text, "dedupd_last_success_timestamp_seconds") < 60
    assert value(text, "dedupd_disk_failing") == 0
    assert value(text, "dedupd_store_usable") == 1
    # By checksums, little is read.
    charged = sum(number for _, number in samples(text)["dedupd_disk_charged_bytes_total"])
    assert charged > 0 or kind == "btrfs"
    assert metrics_path.stat().st_mode & 0o777 == 0o644
    # Each filesystem is named once; all else has its UUID, and no name.
    assert len(samples(text)["dedupd_filesystem_info"]) == 1
    assert text.count("mountpoint=") == 1

    service.end()
    text = metrics_path.read_text()
    assert value(text, "dedupd_service_running") == 0
    assert value(text, "dedupd_freed_bytes_total", uuid=uuid) == 8 * MIB
    assert "dedupd_state{" not in text


def without_times(text):
    return re.sub(r"^(dedupd_\w+_timestamp_seconds\S*) .*", r"\1", text, flags=re.MULTILINE)


@pytest.mark.parametrize("kind", ["xfs"])
def test_dedupctl_prints_what_the_service_writes(twins, service, metrics_path):
    service.configure(twins, MetricsFile=metrics_path)
    service.start()
    service.wait_for_passes(str(twins), 1)
    wait_until(lambda: without_times(service.tell("metrics")) == without_times(written(metrics_path)), service.log)


@pytest.mark.parametrize("kind", ["xfs"])
def test_who_may_not_read_stores_sees_what_the_service_says(twins, service):
    service.configure(twins)
    service.start()
    service.wait_for_passes(str(twins), 1)
    os.chmod(service.state_directory, 0o700)
    told = service.ask("metrics", user=USER)
    assert (told.returncode, told.stderr) == (0, "")
    prometheus.check_metrics(told.stdout)
    assert value(told.stdout, "dedupd_state", state="waiting") == 1
    assert "dedupd_store_usable{" not in told.stdout


@pytest.mark.parametrize("kind", ["xfs"])
def test_changes_of_a_state_are_written(twins, service, metrics_path):
    service.configure(twins, MetricsFile=metrics_path)
    service.start()
    service.wait_for_passes(str(twins), 1)
    service.tell("pause", twins, "1h")
    wait_until(lambda: value(written(metrics_path), "dedupd_wait_reason", reason="paused") == 1, service.log)
    until = value(metrics_path.read_text(), "dedupd_next_pass_timestamp_seconds")
    assert 3500 < until - time.time() < 3700
    service.tell("resume", twins)
    wait_until(lambda: value(written(metrics_path), "dedupd_wait_reason", reason="paused") == 0, service.log)


@pytest.mark.parametrize("kind", ["xfs"])
def test_another_file_replaces_the_one_before(twins, service, tmp_path):
    service.configure(twins, MetricsFile=tmp_path / "one.prom")
    service.start()
    wait_until((tmp_path / "one.prom").exists, service.log)
    service.configure(twins, MetricsFile=tmp_path / "other.prom")
    service.tell("reload")
    wait_until((tmp_path / "other.prom").exists, service.log)
    assert not (tmp_path / "one.prom").exists()
    service.configure(twins)
    service.tell("reload")
    wait_until(lambda: not (tmp_path / "other.prom").exists(), service.log)


@pytest.mark.parametrize("kind", ["xfs"])
def test_passes_go_on_if_the_file_cannot_be_written(twins, service, tmp_path):
    service.configure(twins, MetricsFile=tmp_path / "none/metrics.prom")
    service.start()
    assert service.wait_for_passes(str(twins), 1)["last_freed_bytes"] == 8 * MIB
    wait_until(lambda: "cannot write metrics" in service.log(), service.log)
    service.tell("pause", twins)
    service.tell("resume", twins)
    service.wait_for_passes(str(twins), 1)
    # The journal is not filled with it.
    assert service.log().count("cannot write metrics") == 1


def configure(path, tree, metrics, state):
    path.write_text(f"[Dedupd]\nMetricsFile={metrics}\nStateDirectory={state}\n[Filesystem {tree}]\n")
    return {"config": path, "state_dir": state, "json": False}


def test_one_pass_writes_metrics_without_a_service(dedupd, twins, tmp_path):
    path = tmp_path / "metrics.prom"
    options = configure(tmp_path / "dedupd.conf", twins, path, dedupd.state_directory)
    dedupd.run(dry_run=True, **options)
    assert not path.exists()

    assert dedupd.run(**options).status == 0
    text = path.read_text()
    prometheus.check_metrics(text)
    assert value(text, "dedupd_service_running") == 0
    assert value(text, "dedupd_freed_bytes_total") == 8 * MIB
    assert value(text, "dedupd_last_pass_outcome", outcome="complete") == 1
    assert "dedupd_state{" not in text
    first = value(text, "dedupd_last_success_timestamp_seconds")
    dedupd.run(**options)
    assert value(path.read_text(), "dedupd_last_success_timestamp_seconds") > first


@pytest.fixture
def path_of_failure(dedupd, twins, tmp_path):
    """The metrics of a pass that failed, because its store cannot be used."""
    path = tmp_path / "metrics.prom"
    options = configure(tmp_path / "dedupd.conf", twins, path, dedupd.state_directory)
    dedupd.run(**options)
    dedupd.store_path.write_bytes(b"no store at all" * 1000)
    assert dedupd.run(**options).status == 1
    return path


@pytest.mark.parametrize("kind", ["xfs"])
def test_a_store_that_cannot_be_used_is_told(dedupd, path_of_failure):
    text = path_of_failure.read_text()
    prometheus.check_metrics(text)
    assert value(text, "dedupd_store_usable") == 0
    assert value(text, "dedupd_last_pass_outcome", outcome="failed") == 1
    assert "dedupd_freed_bytes_total{" not in text
    printed = dedupctl("metrics", dedupd=dedupd, status=1)
    assert value(printed.stdout, "dedupd_store_usable") == 0
    assert dedupd.store_path.name in printed.stderr


@pytest.mark.parametrize("kind", ["xfs"])
def test_once_leaves_the_file_of_the_service_alone(dedupd, twins, service, metrics_path, tmp_path):
    service.configure(MetricsFile=metrics_path)
    service.start()
    wait_until(metrics_path.exists, service.log)
    options = configure(tmp_path / "other.conf", twins, metrics_path, dedupd.state_directory)
    assert dedupd.run(**options).status == 0
    assert value(metrics_path.read_text(), "dedupd_service_running") == 1
    service.end()
    assert dedupd.run(**options).status == 0
    assert value(metrics_path.read_text(), "dedupd_freed_bytes_total") == 8 * MIB


@pytest.mark.parametrize("kind", ["xfs"])
@pytest.mark.parametrize("name", ['quote"d\\name\nand more', "ä ü", "\x1b[2Jred", b"bytes\xff"], ids=repr)
def test_hostile_mount_points_reach_prometheus_as_they_are(dedupd, filesystem, twins, tmp_path, name):
    place = os.path.join(os.fsencode(tmp_path), os.fsencode(name))
    os.mkdir(place)
    subprocess.run([b"mount", b"--bind", os.fsencode(filesystem.mount_point), place], check=True)
    try:
        path = tmp_path / "metrics.prom"
        options = configure(tmp_path / "dedupd.conf", "/none", path, dedupd.state_directory)
        assert dedupd.run(place, **options).status == 0
    finally:
        subprocess.run([b"umount", place], check=True)
    text = path.read_text(encoding="utf-8")
    prometheus.check_metrics(text)
    with prometheus.running(tmp_path, lambda: text, RULES) as server:
        ((labels, _),) = server.wait_for("dedupd_filesystem_info")
    shown = labels["mountpoint"]
    if isinstance(name, bytes) or "\x1b" in name:
        assert shown.endswith(("bytes\\xff", "\\e[2Jred"))
    else:
        assert shown == os.fsdecode(place)
    assert "\x1b" not in text


def expressions_of_dashboard():
    board = json.loads(DASHBOARD.read_text())
    for panel in board["panels"]:
        for target in panel["targets"]:
            yield panel["title"], target["expr"]
    for variable in board["templating"]["list"]:
        if variable["type"] == "query":
            yield variable["name"], re.fullmatch(r"label_values\((.*), \w+\)", variable["query"]["query"])[1]


def plain(expression):
    """As Grafana asks it."""
    for variable, text in [("$instance", ".*"), ("$uuid", ".*"), ("$__rate_interval", "10s"), ("$__range", "1m")]:
        expression = expression.replace(variable, text)
    assert "$" not in expression, expression
    return expression


@pytest.mark.parametrize("kind", ["btrfs"])
def test_each_query_of_the_dashboard_has_an_answer(twins, service, tmp_path):
    service.configure(twins)
    service.start()
    uuid = service.wait_for_passes(str(twins), 1)["uuid"]
    # The pass had nothing to skip.
    with contextlib.closing(sqlite3.connect(service.state_directory / f"{uuid}.sqlite")) as store, store:
        store.execute("INSERT INTO skipped VALUES ('leased', 1, 4096, x'')")
    # Time decides when the next pass begins.
    service.tell("pause", twins, "1h")
    with prometheus.running(tmp_path, lambda: service.tell("metrics"), RULES) as server:
        server.wait_for('count_over_time(dedupd_build_info[10s]) > 3')
        found = {expression: server.query(plain(expression)) for _, expression in expressions_of_dashboard()}
        assert not [expression for expression, answer in found.items() if not answer]
        # And the rules are evaluated without an error.
        (group,) = server.get("rules")["groups"]
        assert {rule["health"] for rule in group["rules"]} == {"ok"}
        assert not server.get("alerts")["alerts"]


@pytest.mark.parametrize("kind", ["xfs"])
def test_prometheus_raises_an_alert_when_passes_fail(twins, path_of_failure, tmp_path):
    with prometheus.running(tmp_path, path_of_failure.read_text, RULES) as server:
        ((labels, _),) = server.wait_for('ALERTS{alertname="DedupdPassFailed", alertstate="firing"}')
    assert labels["severity"] == "warning"
    assert labels["mountpoint"] == str(twins)
