# SPDX-License-Identifier: GPL-2.0-or-later
"""A system bus of a test's own, with the policy that dedupd ships and a polkitd that does as it is told."""

import contextlib
import os
import pathlib
import shutil
import subprocess
import sys

SYSTEMD_DIRECTORY = pathlib.Path(__file__).resolve().parents[3] / "systemd"

CONFIGURATION = """<busconfig>
  <type>system</type>
  <listen>unix:path={directory}/bus</listen>
  <auth>EXTERNAL</auth>
  <policy context="default">
    <allow user="*"/>
    <deny own="*"/><deny send_type="method_call"/>
    <allow send_type="signal"/>
    <allow send_requested_reply="true" send_type="method_return"/>
    <allow send_requested_reply="true" send_type="error"/>
    <allow receive_type="method_call"/><allow receive_type="method_return"/>
    <allow receive_type="error"/><allow receive_type="signal"/>
    <allow send_destination="org.freedesktop.DBus"/>
  </policy>
  <policy user="root">
    <allow own="org.freedesktop.PolicyKit1"/><allow send_destination="*"/>
  </policy>
  <includedir>{directory}/system.d</includedir>
{limits}</busconfig>
"""


# Owns polkit's name, and answers nothing.
SILENT_POLKIT = """
import dbus, dbus.mainloop.glib, dbus.service
from gi.repository import GLib
dbus.mainloop.glib.DBusGMainLoop(set_as_default=True)
class Silent(dbus.service.Object):
    @dbus.service.method("org.freedesktop.PolicyKit1.Authority", in_signature="(sa{sv})sa{ss}us",
                         out_signature="(bba{ss})", async_callbacks=("answer", "fail"))
    def CheckAuthorization(self, subject, action, details, flags, cancel, answer, fail):
        pass
name = dbus.service.BusName("org.freedesktop.PolicyKit1", dbus.SystemBus())
silent = Silent(name, "/org/freedesktop/PolicyKit1/Authority")
print("there", flush=True)
GLib.MainLoop().run()
"""


# Owns polkit's name, and allows all when a file is there; until then a password would be needed.
CHALLENGING_POLKIT = SILENT_POLKIT.replace("import dbus,", "import os, sys, dbus,").replace(
    "        pass\n",
    "        is_allowed = os.path.exists(sys.argv[1])\n"
    "        answer((is_allowed, not is_allowed, dbus.Dictionary(signature='ss')))\n")


class SystemBus:
    """dbus-daemon, with limits of it by their names, and dbusmock's polkitd when it is asked for."""

    def __init__(self, directory, **limits):
        self._limits = "".join(f'  <limit name="{name}">{value}</limit>\n' for name, value in limits.items())
        self.directory = pathlib.Path(directory)
        self.address = f"unix:path={self.directory}/bus"
        self._stack = contextlib.ExitStack()
        self._daemon = None

    def environment(self):
        return os.environ | {"DBUS_SYSTEM_BUS_ADDRESS": self.address}

    def start(self):
        policies = self.directory / "system.d"
        policies.mkdir(parents=True)
        self.directory.chmod(0o755)
        shutil.copy(SYSTEMD_DIRECTORY / "org.dedupd1.conf", policies)
        configuration = self.directory / "bus.conf"
        configuration.write_text(CONFIGURATION.format(directory=self.directory, limits=self._limits))
        self._stack.callback(self.end_daemon)
        self.start_daemon()
        return self

    def start_daemon(self):
        """At the same address each time."""
        self._daemon = subprocess.Popen(
            ["dbus-daemon", f"--config-file={self.directory / 'bus.conf'}", "--nofork", "--nopidfile",
             "--print-address=1"], stdout=subprocess.PIPE)
        assert self._daemon.stdout.readline(), "the bus did not start"

    def end_daemon(self):
        """All connections are lost, those of the polkitd here too."""
        if self._daemon:
            _end(self._daemon)
        self._daemon = None

    def start_polkit(self, *allowed):
        """Have polkit allow these actions to all, and nothing else to anybody."""
        process = subprocess.Popen(
            [sys.executable, "-m", "dbusmock", "--system", "--template", "polkitd"],
            stdout=subprocess.DEVNULL, env=self.environment())
        self._stack.callback(_end, process)
        for _ in range(100):
            done = self.call("org.freedesktop.PolicyKit1", "/org/freedesktop/PolicyKit1/Authority",
                             "org.freedesktop.DBus.Mock", "SetAllowed", "as", len(allowed), *allowed)
            if done.returncode == 0:
                return
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(0.05)
        raise AssertionError(done.stderr)

    def start_silent_polkit(self):
        """Have polkit answer nobody, as while it asks somebody for a password."""
        self._start_polkit_of(SILENT_POLKIT)

    def start_challenging_polkit(self, allowed_path):
        """Have polkit want a password until this file is there."""
        self._start_polkit_of(CHALLENGING_POLKIT, allowed_path)

    def _start_polkit_of(self, program, *words):
        process = subprocess.Popen([sys.executable, "-c", program, *words], stdout=subprocess.PIPE,
                                   env=self.environment())
        self._stack.callback(_end, process)
        assert process.stdout.readline(), "it did not start"

    def call(self, *words, user=None):
        command = ["busctl", "--system", "call", *map(str, words)]
        return self.run(*command, user=user)

    def run(self, *command, user=None):
        if user is not None:
            command = ["setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups", *command]
        return subprocess.run(command, capture_output=True, text=True, check=False, timeout=30,
                              env=self.environment())

    def close(self):
        self._stack.close()


def _end(process):
    process.terminate()
    process.wait()
