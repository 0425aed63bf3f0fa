"""Free ports for servers of the tests.

They lie below the kernel's range for outgoing connections (32768 to 60999), because any new connection may take a port
of that range after we found it free and before the server binds it. The choice is random, so that processes that
search at the same time rarely collide.
"""

from __future__ import annotations

import secrets
import socket

FIRST, LAST = 10000, 20000
"""Separate from the ports of the test OpenStack (`tests/openstack/cloud/ports.py`)."""


def is_free(port: int) -> bool:
    """Return whether a server could listen there now; connections in TIME_WAIT do not matter."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def free_port() -> int:
    """Return a port on which no process listens."""
    while True:
        port = FIRST + secrets.randbelow(LAST - FIRST)
        if is_free(port):
            return port
