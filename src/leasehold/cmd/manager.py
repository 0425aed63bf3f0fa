"""`leasehold-manager`: claims due work and makes the cloud match; run as many as you like on one database."""

from __future__ import annotations

import signal
import sys
from threading import Event

from leasehold.cmd.compose import build_service, managing
from leasehold.cmd.options import configure, explained

PROG = "leasehold-manager"
SIGNALS = (signal.SIGINT, signal.SIGTERM)


def main() -> None:
    """Work until SIGINT or SIGTERM; what is under way is finished first."""
    config = configure(PROG, sys.argv[1:])
    wake = Event()
    # Waited for instead of handled: the kernel may give a signal to any thread, as it does in a process that stood
    # still, and a handler runs only once the main thread does something, which sleeps.
    signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
    with explained(PROG):
        service = build_service(config, wake)
    with explained(PROG), managing(service, wake):
        signal.sigwait(SIGNALS)
