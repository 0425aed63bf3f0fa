"""`leasehold-manager`: claims due work and makes the cloud match; any number of them may share one database."""

from __future__ import annotations

import sys
from threading import Event

from leasehold.cmd.compose import build_service, managing
from leasehold.cmd.options import configure, explained
from leasehold.cmd.signals import heard

PROG = "leasehold-manager"
ABOUT = "Start and end leases: claim due work and make the cloud match."


def main() -> None:
    """Run tasks until SIGINT or SIGTERM; tasks under way are finished first."""
    config = configure(PROG, sys.argv[1:], ABOUT)
    wake = Event()
    with explained(PROG):
        service = build_service(config, wake)
    with explained(PROG), heard() as told, managing(service, wake):
        told()
