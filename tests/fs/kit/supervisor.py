# SPDX-License-Identifier: GPL-2.0-or-later
"""What a service tells its supervisor by sd_notify(3).

    with supervisor(directory) as told:
        …the service starts, works and ends…
    assert "READY=1" in told
"""

import contextlib
import os
import socket
import threading
import unittest.mock


@contextlib.contextmanager
def supervisor(directory):
    """A list of the lines that programs told that were started meanwhile.  All are there when the context has ended."""
    told = []

    def take():
        # A service waits for a supervisor that does not read.
        while message := receiver.recv(4096):
            told.extend(message.decode().splitlines())

    path = os.path.join(directory, "notify")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as receiver:
        receiver.bind(path)
        taking = threading.Thread(target=take)
        taking.start()
        try:
            with unittest.mock.patch.dict(os.environ, NOTIFY_SOCKET=path):
                yield told
        finally:
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
                sender.sendto(b"", path)
            taking.join()
