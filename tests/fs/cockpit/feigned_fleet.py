# SPDX-License-Identifier: GPL-2.0-or-later
"""A stand-in for the service on the system bus, with many filesystems.

    feigned_fleet.py COUNT LOG

It writes a line to LOG for each call that it gets.
"""

import sys

import dbus
import dbus.lowlevel
import dbus.mainloop.glib
from gi.repository import GLib

NAME, ROOT = "org.dedupd1", "/org/dedupd1"
FILESYSTEM = "org.dedupd1.Filesystem"
TEXTS = ("Refusal", "WaitsFor", "WaitReason", "Stage", "LastOutcome", "LastError", "StateDirectory")
NUMBERS = ("WaitsUntil", "Deadline", "PassStarted", "StageStarted", "StageFiles", "StageBytes", "StageTotalBytes",
           "PassFreedBytes", "LastStarted", "LastFreedBytes", "FreedBytes", "Passes")


def uuid_of(number):
    return f"00000000-0000-4000-8000-{number:012}"


def path_of(number):
    return f"{ROOT}/filesystem/" + uuid_of(number).replace("-", "_")


def properties(number):
    texts = {"UUID": uuid_of(number), "Kind": "btrfs", "MountPoint": f"/mnt/disk{number}", "State": "waiting"}
    return {**{name: dbus.String(text) for name, text in texts.items()},
            **{name: dbus.String("") for name in TEXTS}, **{name: dbus.UInt64(0) for name in NUMBERS},
            "Disks": dbus.Array([], signature="s"), "Paused": dbus.Boolean(False), "Asked": dbus.Boolean(False)}


def main():
    count, log = int(sys.argv[1]), open(sys.argv[2], "a", encoding="ascii", buffering=1)
    dbus.mainloop.glib.DBusGMainLoop(set_as_default=True)
    connection = dbus.SystemBus()
    objects = {path_of(number): {FILESYSTEM: properties(number)} for number in range(count)}

    def signal(path, face, member, signature, *words):
        message = dbus.lowlevel.SignalMessage(path, face, member)
        message.append(*words, signature=signature)
        connection.send_message(message)

    def change(words):
        """The mount point of a filesystem; one more; one less."""
        number, text = words.split(":")
        number = int(number)
        if text == "gone":
            signal(ROOT, "org.freedesktop.DBus.ObjectManager", "InterfacesRemoved", "oas", path_of(number), [FILESYSTEM])
        elif text == "new":
            signal(ROOT, "org.freedesktop.DBus.ObjectManager", "InterfacesAdded", "oa{sa{sv}}", path_of(number),
                   {FILESYSTEM: properties(number)})
        else:
            signal(path_of(number), "org.freedesktop.DBus.Properties", "PropertiesChanged", "sa{sv}as", FILESYSTEM,
                   {"MountPoint": dbus.String(text)}, [])

    def on_message(_connection, message):
        if message.get_type() != 1 or message.get_interface() == "org.freedesktop.DBus.Peer":
            return dbus.lowlevel.HANDLER_RESULT_NOT_YET_HANDLED
        member = message.get_member()
        log.write(member + "\n")
        reply = dbus.lowlevel.MethodReturnMessage(message)
        if member == "GetManagedObjects":
            reply.append(objects, signature="a{oa{sa{sv}}}")
        elif member == "ListDisks":
            reply.append([], signature="a(sttbbbt)")
        elif member == "Change":
            change(message.get_args_list()[0])
        else:
            reply = dbus.lowlevel.ErrorMessage(message, "org.freedesktop.DBus.Error.UnknownMethod", member)
        connection.send_message(reply)
        return dbus.lowlevel.HANDLER_RESULT_HANDLED

    connection.add_message_filter(on_message)
    connection.request_name(NAME)
    print("there", flush=True)
    GLib.MainLoop().run()


if __name__ == "__main__":
    main()
