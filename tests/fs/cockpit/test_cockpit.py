# SPDX-License-Identifier: GPL-2.0-or-later
"""The page of Cockpit in a browser, with the running service on real filesystems."""

import contextlib
import json
import os
import pathlib
import shutil
import subprocess
import sys
import time

import pytest

import harness
import session
from content import forget_pages, noise, write, write_twins
from filesystem import FilesystemUnavailable, LoopFilesystem
from harness import dedupctl_program, settle, working_pass
from service import Service, wait_until
from session import Browser, Session
from subvolumes import make_subvolume, snapshot
from system_bus import SystemBus

pytestmark = pytest.mark.true_clock

MIB = 1 << 20
NOBODY = 65534
SCREENS = ["", "disks", "history", "duplicates", "why", "snapshots", "doctor", "configuration", "journal"]
HOSTILE = "<img src=x onerror=alert(1)>&amp;"
FIRST_SCREEN_SECONDS = 1
MANY = 1000


class RealService(Service):
    """The service with the configuration of the machine, which `dedupctl enable` and the page change."""

    def __init__(self, program, dedupctl, directory, bus_address):
        super().__init__(program, dedupctl, directory, bus_address)
        self.config_path = pathlib.Path("/etc/dedupd/dedupd.conf")
        self.wrapper = ["/bin/sh", "-c", 'program=$1; shift 2; exec "$program" "$@"', "sh"]  # drops --config

    def environment(self):
        return super().environment() | {"PATH": f"{pathlib.Path(self._dedupctl).parent}:{os.environ['PATH']}"}


class World:
    """Two filesystems, of which one is enabled, their service on a bus, and a browser."""

    def __init__(self, directory, stack):
        self.directory = directory
        self.packages = session.bundle()
        subprocess.run(["mount", "-t", "tmpfs", "none", "/srv"], check=True)
        stack.callback(subprocess.run, ["umount", "-l", "/srv"], check=True)
        self._use_own_etc(stack)
        self.photos = self._filesystem("btrfs", "/srv/photos", stack)
        self.archive = self._filesystem("xfs", "/srv/archive", stack)
        self._fill()
        self.bus = SystemBus(directory / "bus")
        stack.callback(self.bus.close)
        self.bus.start()
        self.bus.start_polkit()
        self.service = RealService(os.environ["DEDUPD"], dedupctl_program(), directory, self.bus.address)
        stack.callback(self.service.close)
        self.service.configure("/srv/photos", WakeInterval="6h")
        self.service.start()
        self.service.wait_for_passes("/srv/photos", 1)
        self.service.tell("start", "--wait", "/srv/photos")
        self.uuid = self.service.shows("/srv/photos")["uuid"]
        self.browser = Browser(self.packages, directory)
        stack.callback(self.browser.close)
        self.root = self.new_session("root", stack)
        self.nobody = self.new_session("nobody", stack, NOBODY)

    def _use_own_etc(self, stack):
        for name in ("upper", "work"):
            (pathlib.Path("/srv") / name).mkdir()
        subprocess.run(["mount", "-t", "overlay", "-o", "lowerdir=/etc,upperdir=/srv/upper,workdir=/srv/work", "none", "/etc"],
                       check=True)
        stack.callback(subprocess.run, ["umount", "-l", "/etc"], check=True)
        shutil.rmtree("/etc/dedupd", ignore_errors=True)
        os.makedirs("/etc/dedupd")

    @staticmethod
    def _filesystem(kind, place, stack):
        filesystem = stack.enter_context(LoopFilesystem(kind))
        os.mkdir(place)
        subprocess.run(["mount", "--move", filesystem.mount_point, place], check=True)
        filesystem.mount_point = place
        return filesystem

    def _fill(self):
        tree = pathlib.Path("/srv/photos")
        make_subvolume(tree / "2025")
        for folder in ("2025/summer", "2025/winter", "backup/2025/summer", "backup/2025/winter", "phone"):
            (tree / folder).mkdir(parents=True, exist_ok=True)
        seed = 0
        for folder, count in (("summer", 9), ("winter", 5)):
            for number in range(count):
                seed += 1
                data = noise(seed, (seed % 3 + 1) * MIB)
                write(tree / f"2025/{folder}/IMG_{1000 + number}.jpg", data)
                write(tree / f"backup/2025/{folder}/IMG_{1000 + number}.jpg", data)
        write(tree / "2025/panorama.tif", noise(97, 12 * MIB))
        write(tree / "2025/draft.tif", noise(98, 7 * MIB))
        snapshot(tree / "2025", tree / "monday")
        (tree / "2025/draft.tif").unlink()
        write(tree / "2025/summer/IMG_1000.jpg", noise(99, 5 * MIB))
        snapshot(tree / "2025", tree / "tuesday")
        (tree / "2025/panorama.tif").unlink()
        archive = pathlib.Path("/srv/archive")
        for name in ("one", "two"):
            write(archive / name, noise(7, 8 * MIB))
        settle(self.photos)
        settle(self.archive)

    def write_duplicates(self):
        """Equal files that no pass has shared: with a hostile name, and one of bytes that are no text."""
        tree = pathlib.Path("/srv/photos")
        for name in (HOSTILE, "IMG_2000.jpg", b"\xff\n".decode("utf-8", "surrogateescape")):
            write(tree / "phone" / name, noise(1234, 6 * MIB))
        for number, (folder, size) in enumerate({"phone": 4, "phone/camera": 9, "phone/messages": 2, "backup/phone": 7,
                                                 "backup/laptop/downloads": 3, "backup/laptop": 5}.items()):
            (tree / folder).mkdir(parents=True, exist_ok=True)
            for name in ("original", "copy"):
                write(tree / folder / f"{name}.mp4", noise(2000 + number, size * MIB))
        settle(self.photos)

    @staticmethod
    def remove_duplicates():
        shutil.rmtree("/srv/photos/backup/laptop")
        shutil.rmtree("/srv/photos/backup/phone")
        shutil.rmtree("/srv/photos/phone")
        os.mkdir("/srv/photos/phone")

    def new_session(self, name, stack, user=None):
        directory = self.directory / name
        directory.mkdir()
        made = Session(directory, self.packages, dedupctl_program(), self.service.environment(), user)
        stack.callback(made.close)
        return made.start()

    def open(self, screen="", user="root"):
        self.browser.open(getattr(self, user).url(screen))
        return self.browser


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    if "DEDUPD" not in os.environ:
        pytest.skip("DEDUPD does not name the program to test")
    if os.geteuid() != 0 or not harness.own_mounts():
        pytest.skip("mounts of its own take root")
    with contextlib.ExitStack() as stack:
        # Paths of sockets are short.
        directory = pathlib.Path(f"/run/dedupd-cockpit-{os.getpid()}")
        directory.mkdir(mode=0o755)
        stack.callback(shutil.rmtree, directory, ignore_errors=True)
        try:
            yield World(directory, stack)
        except FilesystemUnavailable as unavailable:
            pytest.skip(str(unavailable))


@pytest.fixture(autouse=True)
def no_problems(world):
    """No script fails, no dialog opens, nothing is refused by the policy of the page."""
    yield
    assert world.browser.run("return problems;") == []


@pytest.fixture
def running(world):
    """The service, which runs again after the test."""
    yield world.service
    if not world.service.is_running():
        world.service.start()


@pytest.fixture
def slow_pass(world):
    """A pass that takes long, since its disk may do little."""
    disks = [row["disk"] for row in json.loads(world.service.tell("budget", "--json"))["disks"]]
    world.service.tell("budget", "--rate=1M", *disks)
    twins = [path for number in range(15) for path in write_twins(
        pathlib.Path("/srv/photos/phone"), 2 * MIB, seed=time.time_ns(), names=(f"a{number}", f"b{number}"))]
    settle(world.photos)
    forget_pages("/srv/photos/phone")  # what is in memory is not charged
    yield
    world.service.tell("budget", "--rate=none", *disks)
    world.service.tell("resume", "--all")
    wait_until(lambda: world.service.shows("/srv/photos")["state"] == "waiting")
    for path in twins:
        path.unlink()


def status(world, name="/srv/photos"):
    rows = json.loads(world.service.tell("status", "--json"))["filesystems"]
    return next(row for row in rows if row["mount_point"] == name)


def picture(world, name, dark=False):
    """Keep a picture of the page, where somebody asked for it."""
    if "COCKPIT_PICTURES" in os.environ:
        path = pathlib.Path(os.environ["COCKPIT_PICTURES"]) / f"{name}{'-dark' if dark else ''}.png"
        world.browser.run(f"await page.waitForTimeout(300); await page.screenshot({{ path: {json.dumps(str(path))} }});")


def iec(count):
    """As the page shows a number of bytes."""
    power = 0 if count == 0 else min((count.bit_length() - 1) // 10, 6)
    value = count / 1024**power
    digits = 0 if power == 0 or value >= 100 else 1 if value >= 10 else 2
    text = f"{value:,.{digits}f}"
    if "." in text:
        text = text.rstrip("0").rstrip(".")
    return f"{text} {['B', 'KiB', 'MiB', 'GiB', 'TiB'][power]}"


def test_the_overview_shows_what_each_filesystem_freed(world):
    browser = world.open()
    begun = time.monotonic()
    browser.see("/srv/photos")
    assert time.monotonic() - begun < FIRST_SCREEN_SECONDS
    row = browser.row("/srv/photos")
    assert iec(status(world)["freed_total_bytes"]) in row
    wait_until(lambda: browser.row("/srv/photos")[3].strip() == "0 B", lambda: str(browser.row("/srv/photos")))
    assert "waiting" in row[1]
    assert "not enabled" in browser.row("/srv/archive")[1]
    picture(world, "overview")


def test_the_page_is_in_the_menu_of_the_shell(world):
    world.browser.open(world.root.shell_url())
    world.browser.run("await page.frameLocator('iframe[name=\"cockpit1:localhost/dedupd\"]').getByText('/srv/photos').first().waitFor();"
                      "await page.getByRole('link', { name: 'Deduplication' }).first().waitFor(); problems.length = 0;")
    picture(world, "shell")


def test_a_filesystem_is_estimated_and_enabled(world):
    browser = world.open()
    browser.see("/srv/archive")
    browser.click("button", "Estimate")
    wait_until(lambda: browser.row("/srv/archive")[3].strip() == "8 MiB", lambda: str(browser.row("/srv/archive")))
    browser.click("button", "Enable")
    picture(world, "enable")
    browser.run("await page.getByRole('dialog').getByRole('button', { name: 'Enable' }).click();"
                "await page.getByRole('dialog').waitFor({ state: 'hidden' });")
    world.service.wait_for_passes("/srv/archive", 1)
    wait_until(lambda: browser.row("/srv/archive")[2].strip() == "8 MiB", lambda: str(browser.row("/srv/archive")))
    browser.click("link", "/srv/archive")
    browser.click("button", "Disable")
    wait_until(lambda: world.service.shows("/srv/archive")["state"] == "disabled")


def test_a_running_pass_is_shown_and_stopped(world, slow_pass):
    browser = world.open(f"filesystem/{world.uuid}")
    browser.click("button", "Start pass")
    browser.see("Running pass")
    wait_until(lambda: "KiB/s" in browser.text(), browser.text)
    browser.run("await page.waitForTimeout(5000);")
    picture(world, "pass")
    assert "Freed so far" in browser.text()
    browser.click("button", "Stop pass")
    wait_until(lambda: status(world)["state"] == "waiting")
    browser.see("Start pass")


def test_a_filesystem_is_paused_resumed_and_held(world):
    browser = world.open(f"filesystem/{world.uuid}")
    browser.click("button", "Pause")
    browser.click("menuitem", "For 1 hour")
    browser.see("Resume")
    assert status(world)["wait_reason"] == "paused"
    browser.click("button", "Resume")
    browser.click("button", "Hold")
    wait_until(lambda: status(world)["holds"])
    assert status(world)["holds"][0]["why"] == "Cockpit"
    browser.click("button", "Release hold")
    wait_until(lambda: not status(world)["holds"])


def test_a_limit_of_a_disk_applies_at_once(world):
    def limits():
        return {row["disk"]: (row["rate_bytes"], row["iops"]) for row in json.loads(world.service.tell("budget", "--json"))["disks"]}
    (disk, *_) = limits()
    browser = world.open("disks")
    browser.fill("Bytes per second", "5M")
    browser.fill("Requests per second", "100")
    browser.click("button", "Apply now")
    wait_until(lambda: limits()[disk] == (5 * MIB, 100))
    browser.see("5 MiB/s, 100 requests/s")
    browser.fill("Bytes per second", "a lot")
    assert browser.run("return await page.getByRole('button', { name: 'Apply now' }).first().getAttribute('aria-disabled');") == "true"
    world.service.tell("budget", "--rate=none", "--iops=none", disk)


def test_the_share_of_the_disk_is_plotted(world, slow_pass):
    world.service.tell("start", "/srv/photos")
    browser = world.open("disks")
    wait_until(lambda: "KiB/s" in browser.run("return await page.locator('figure').first().innerText();"))
    browser.run("await page.waitForTimeout(6000);")
    picture(world, "disks")
    world.service.tell("stop", "/srv/photos")


def test_history_has_each_pass(world):
    browser = world.open("history")
    passes = json.loads(world.service.tell("history", "--json"))["passes"]
    browser.see("complete")
    assert browser.run("return await page.locator('tbody tr').count();") == len(passes)
    assert browser.run("return await page.locator('figure path').count();") > 0
    picture(world, "history")


def test_hostile_names_are_shown_as_text(world):
    browser = world.open("duplicates")
    world.service.tell("pause", "/srv/photos")
    try:
        world.write_duplicates()
        subprocess.run([os.environ["DEDUPD"], "--once", "--dry-run", "/srv/photos"], check=True, capture_output=True,
                       env=world.service.environment())
        browser = world.open("duplicates")
        browser.see("IMG_2000.jpg")
        browser.see(HOSTILE)
        browser.see("\\xff\\n")
        assert browser.run("return await page.locator('img').count();") == 0
        picture(world, "duplicates")
        browser.run(f"await page.locator('div', {{ hasText: {json.dumps(HOSTILE)} }}).last().getByRole('link', {{ name: 'why?' }}).click();")
        browser.see("Evidence")
        browser.run("await page.getByLabel('Path of a file').waitFor();")
        assert browser.run("return await page.getByLabel('Path of a file').inputValue();") == f"/srv/photos/phone/{HOSTILE}"
        wait_until(lambda: "equal" in browser.text() or "unsettled" in browser.text(), browser.text)
    finally:
        world.service.tell("resume", "/srv/photos")
        world.remove_duplicates()


def test_why_explains_a_file(world):
    browser = world.open("why")
    browser.fill("Path of a file", "/srv/photos/2025/winter/IMG_1000.jpg")
    browser.click("button", "Ask")
    browser.see("shared")
    picture(world, "why")
    browser.fill("Path of a file", "/srv/photos/none")
    browser.click("button", "Ask")
    browser.see("No such file")


def test_a_selection_of_snapshots_is_added_up(world):
    browser = world.open("snapshots")
    browser.see("/srv/photos/monday")
    for name in ("monday", "tuesday"):
        browser.run(f"await page.locator('tbody tr', {{ hasText: 'photos/{name}' }}).first().getByRole('checkbox').check();")
    done = world.service.tell("snapshots", "--json", "--delete", "/srv/photos/monday", "/srv/photos/tuesday")
    together = json.loads(done)["snapshots"][0]["together_bytes"]
    browser.see(f"Deleting the 2 selected subvolumes together would free {iec(together)}.")
    browser.run("await page.getByRole('textbox', { name: 'Command' }).waitFor();")
    picture(world, "snapshots")
    assert os.path.isdir("/srv/photos/monday")


def test_findings_have_remedies(world):
    browser = world.open("doctor")
    browser.see("This machine")
    findings = json.loads(world.service.ask("doctor", "--json").stdout)["findings"]
    assert browser.run("return await page.locator('tbody tr').count();") == len(findings)
    picture(world, "doctor")


def test_a_wrong_value_is_refused_and_a_right_one_in_force(world):
    browser = world.open("configuration")
    drop_in = pathlib.Path("/etc/dedupd/dedupd.conf.d/cockpit.conf")
    browser.fill("MinRun", "much")
    browser.click("button", "Save")
    browser.see("Nothing was saved.")
    assert "MinRun" in browser.text()
    assert not drop_in.exists()
    browser.fill("MinRun", "128K")
    browser.fill("Exclude", "*.part\n*.tmp")
    browser.click("button", "Save")
    browser.see("The configuration is saved.")
    picture(world, "configuration")
    rows = json.loads(world.service.tell("config", "--json"))["config"]
    assert [row["value"] for row in rows if row["key"] == "MinRun" and row["section"] == "[Dedupd]"] == ["128K"]
    assert [row["value"] for row in rows if row["key"] == "Exclude" and row["file"]][-2:] == ["*.part", "*.tmp"]
    drop_in.unlink()
    world.service.tell("reload")


def test_a_setting_of_a_filesystem_is_saved(world):
    browser = world.open("configuration")
    browser.run(f"await page.getByLabel('What to configure').selectOption({json.dumps(world.uuid)});"
                "await page.getByLabel('MinSize', { exact: true }).fill('1M');")
    browser.click("button", "Save")
    browser.see("The configuration is saved.")
    rows = json.loads(world.service.tell("config", "--json", "/srv/photos"))["config"]
    assert "1M" in [row["value"] for row in rows if row["key"] == "MinSize"]
    for path in pathlib.Path("/etc/dedupd/dedupd.conf.d").iterdir():
        path.unlink()
    world.service.tell("reload")


def test_the_journal_is_shown_or_why_not(world):
    said = world.service.ask("log", "--json", "--lines=1")
    browser = world.open("journal")
    if said.returncode != 0:
        browser.see(said.stderr.removeprefix("dedupctl: ").strip())
    elif said.stdout:
        wait_until(lambda: browser.run("return await page.locator('tbody tr').count();") > 0, browser.text)
    else:
        browser.see("Waiting for messages of dedupd…")


def test_the_stores_answer_when_the_service_is_gone(world, running):
    browser = world.open()
    browser.see("/srv/photos")
    freed = iec(status(world)["freed_total_bytes"])
    running.end()
    browser.see("The service is not running.")
    browser.see("/srv/photos")
    browser.open(world.root.url())
    browser.see("The service is not running.")
    wait_until(lambda: freed in browser.row("/srv/photos"))
    for screen in SCREENS[1:]:
        world.open(screen)
        browser.see("The service is not running")
    browser = world.open()
    browser.see("The service is not running.")
    running.start()
    wait_until(lambda: "The service is not running." not in browser.text(), browser.text)
    # The table comes after the message has gone.
    wait_until(lambda: any("waiting" in cell for cell in browser.row("/srv/photos")[1:2]))


def test_without_administrative_access_nothing_changes(world):
    browser = world.open(user="nobody")
    browser.see("Limited access")
    browser.see("/srv/photos")
    assert "waiting" in browser.row("/srv/photos")[1]
    browser = world.open(f"filesystem/{world.uuid}", user="nobody")
    browser.see("Start pass")
    assert browser.run("return await page.getByRole('button', { name: 'Start pass' }).getAttribute('aria-disabled');") == "true"
    for screen in SCREENS[1:]:
        world.open(screen, user="nobody")
        browser.see("Limited access")
        picture(world, f"nobody-{screen}")


def test_a_store_under_rebuild_is_explained(world):
    with working_pass(world.uuid):
        browser = world.open("duplicates")
        wait_until(lambda: "holds the store" in browser.text(), browser.text)
        browser = world.open()
        browser.see("/srv/photos")


def test_a_thousand_filesystems_are_searched(world, running):
    running.end()
    make_store = os.environ.get("MAKE_STORE")
    if not make_store:
        pytest.skip("MAKE_STORE does not name the program that makes stores")
    for number in range(MANY):
        subprocess.run([make_store, running.state_directory, f"00000000-0000-4000-8000-{number:012}", "btrfs",
                        f"/mnt/disk{number}", "3"], check=True)
    try:
        browser = world.open()
        begun = time.monotonic()
        browser.see("/mnt/disk0")
        print("seconds until 1000 filesystems were shown:", time.monotonic() - begun)
        browser.fill("Search filesystems", "disk777")
        wait_until(lambda: browser.run("return await page.locator('tbody tr').count();") == 1, browser.text)
        picture(world, "thousand")
    finally:
        for path in running.state_directory.glob("00000000-*"):
            path.unlink()


@pytest.fixture
def fleet(world, tmp_path):
    """A session on a bus of its own, on which the service has a thousand filesystems, and the calls that this gets."""
    with contextlib.ExitStack() as stack:
        directory = world.directory / "fleet"
        bus = SystemBus(directory)
        stack.callback(shutil.rmtree, directory, ignore_errors=True)
        stack.callback(bus.close)
        bus.start()
        log = tmp_path / "calls"
        program = subprocess.Popen([sys.executable, session.HERE / "feigned_fleet.py", str(MANY), log],
                                   stdout=subprocess.PIPE, env=bus.environment())
        stack.callback(program.wait)
        stack.callback(program.terminate)
        assert program.stdout.readline(), "the feigned service did not start"
        environment = world.service.environment() | bus.environment() | {"DEDUPD_SOCKET": "/nonexistent"}
        own = Session(directory / "session", world.packages, dedupctl_program(), environment)
        stack.callback(own.close)
        own.start()
        own.bus = bus
        own.calls = lambda: log.read_text(encoding="ascii").split()
        yield own
        world.browser.run("await page.goto('about:blank'); problems.length = 0;")


def test_a_thousand_filesystems_of_the_service_come_with_one_call(world, fleet):
    browser = world.browser
    browser.open(fleet.url())
    begun = time.monotonic()
    browser.see("/mnt/disk0")
    print("seconds until 1000 filesystems of the service were shown:", time.monotonic() - begun)
    browser.fill("Search filesystems", "disk777")
    wait_until(lambda: browser.run("return await page.locator('tbody tr').count();") == 1, browser.text)

    # The page follows what happens to them, and so does dedupctl, each with one call.
    def change(words):
        assert fleet.bus.call("org.dedupd1", "/org/dedupd1", "org.dedupd1.Manager", "Change", "s", words).returncode == 0

    change("777:/mnt/moved-disk777")
    browser.see("/mnt/moved-disk777")
    change("7777:new")
    browser.see("/mnt/disk7777")
    change("7777:gone")
    wait_until(lambda: "/mnt/disk7777" not in browser.text(), browser.text)
    # Cockpit asks for the types of some methods.
    assert set(fleet.calls()) <= {"GetManagedObjects", "ListDisks", "Change", "Introspect"}
    assert len(fleet.calls()) < 50


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("screen", [*SCREENS, "filesystem"])
def test_the_page_is_accessible_at_each_width(world, screen, dark):
    path = f"filesystem/{world.uuid}" if screen == "filesystem" else screen
    options = "?file=/srv/photos/2025/winter/IMG_1000.jpg" if screen == "why" else ""
    browser = world.browser
    browser.run(f"await page.emulateMedia({{ colorScheme: '{'dark' if dark else 'light'}' }});")
    try:
        world.open(path + options)
        browser.run("await page.locator('main').first().waitFor(); await page.waitForLoadState('networkidle');"
                    "await page.waitForTimeout(700);")
        for width in (360, 768, 1280, 2560):
            browser.run(f"await page.setViewportSize({{ width: {width}, height: 900 }}); await page.waitForTimeout(150);")
            too_wide = browser.run(
                "return await page.evaluate(() => [...document.querySelectorAll('body *')].filter(one =>"
                " one.getBoundingClientRect().right > innerWidth + 1 && !one.closest('.pf-v6-c-nav'))"
                ".map(one => one.outerHTML.slice(0, 200)));")
            assert too_wide == [], width
            if width in (360, 1280):
                picture(world, f"{screen or 'filesystems'}-{width}", dark)
            assert browser.run("return await axe();") == [], width
    finally:
        browser.run("await page.emulateMedia({ colorScheme: 'light' }); await page.setViewportSize({ width: 1280, height: 900 });")


def test_a_keyboard_is_enough(world):
    browser = world.open()
    browser.see("/srv/photos")
    browser.run("for (let i = 0; i < 60; i++) { await page.keyboard.press('Tab');"
                " if (await page.evaluate(() => document.activeElement.textContent) === '/srv/photos') break; }"
                "await page.keyboard.press('Enter'); await page.getByRole('button', { name: 'Pause' }).waitFor();"
                "await page.getByRole('button', { name: 'Pause' }).focus(); await page.keyboard.press('Enter');"
                "await page.getByRole('menuitem', { name: 'Until resumed' }).waitFor(); await page.keyboard.press('Escape');"
                "await page.getByRole('menuitem', { name: 'Until resumed' }).waitFor({ state: 'hidden' });")


def test_the_page_speaks_german(world):
    browser = world.browser
    browser.run("await page.context().addCookies([{ name: 'CockpitLang', value: 'de', domain: '127.0.0.1', path: '/' }]);")
    try:
        world.open()
        browser.see("Dateisysteme")
        browser.see("aktiviert")
    finally:
        browser.run("await page.context().clearCookies();")
