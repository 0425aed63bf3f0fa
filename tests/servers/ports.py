"""Free ports for servers of the tests.

They lie below those that the kernel gives to outgoing connections (32768 to 60999): of those, any connection that
somebody opens may take one between our finding it free and the server's listening there. Which one is left to chance,
so that processes that look at the same time hardly meet.
"""

from __future__ import annotations

import secrets
import socket

FIRST, LAST = 10000, 20000
"""Beside the ports of the OpenStack to test on (`tests/openstack/cloud/ports.py`)."""


def is_free(port: int) -> bool:
    """Say whether a server could listen there now, connections that have just ended notwithstanding."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def free_port() -> int:
    """Return a port on which nobody listens."""
    while True:
        port = FIRST + secrets.randbelow(LAST - FIRST)
        if is_free(port):
            return port
