"""Free ports for servers of the tests.

They lie below the kernel's range for outgoing connections (32768 to 60999), because any new connection may take a port
of that range after we found it free and before the server binds it. Each process of the tests takes its ports from a
block of its own, so that two of them never get the same port between finding it free and binding it.
"""

from __future__ import annotations

import os
import secrets
import socket
import threading
from dataclasses import dataclass, field

FIRST, LAST = 10000, 20000
"""Separate from the ports of the test OpenStack (`tests/openstack/cloud/ports.py`)."""
BLOCK = 200
"""Ports of a process; whoever listens on the first of them has the block, until the process ends."""


@dataclass
class _Block:
    """The ports of this process, handed out in turn."""

    first: int
    process: int = field(default_factory=os.getpid)
    given: int = 0

    def next(self) -> int:
        """Return the port that was handed out longest ago, or never."""
        self.given = self.given % (BLOCK - 1) + 1
        return self.first + self.given


def _take_block() -> _Block:
    """Take a block that no process has."""
    while True:
        first = FIRST + BLOCK * secrets.randbelow((LAST - FIRST) // BLOCK)
        holder = socket.socket()
        try:
            holder.bind(("127.0.0.1", first))
            holder.listen()
        except OSError:
            holder.close()
        else:
            holder.detach()  # It stays open without an owner, so that nothing closes it before the process ends.
            return _Block(first)


_block: _Block | None = None
_handing_out = threading.Lock()


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
    """Return a port on which no process listens, and that no other process of the tests is given."""
    global _block  # noqa: PLW0603 - one block for each process; a forked one takes its own
    with _handing_out:
        if _block is None or _block.process != os.getpid():
            _block = _take_block()
        while not is_free(port := _block.next()):
            continue
        return port
