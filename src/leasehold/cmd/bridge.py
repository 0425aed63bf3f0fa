"""`leasehold-bridge`: sends events to the message bus, and listens to Nova's notifications; any number may run."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from threading import Event

from leasehold.cmd.compose import build_service
from leasehold.cmd.options import configure, explained
from leasehold.cmd.signals import heard
from leasehold.conf import ConfigurationError

PROG = "leasehold-bridge"
ABOUT = "Send events to the cloud's message bus, and listen to Nova's notifications."
MISSING = "oslo.messaging is not installed. Install it with pip install --require-hashes -r requirements/bridge.txt."


def main() -> None:
    """Run until SIGINT or SIGTERM."""
    config = configure(PROG, sys.argv[1:], ABOUT)
    with explained(PROG):
        if find_spec("oslo_messaging") is None:
            raise ConfigurationError(MISSING)
        from leasehold.bridge.running import bridging  # noqa: PLC0415 - it imports what an operator may not have.

        service = build_service(config, Event())
    with explained(PROG), heard() as told, bridging(service, config.raw):
        told()
