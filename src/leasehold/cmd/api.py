"""`leasehold-api`: the HTTP API in a separate process; any number of them may share one database."""

from __future__ import annotations

import sys
from threading import Event

from leasehold.api.limits.admission_control import AdmissionControl
from leasehold.cmd.compose import build_service, load_calendars
from leasehold.cmd.options import configure, explained
from leasehold.cmd.serve import listen, serve, stopped_by_signal
from leasehold.cmd.web import make_app
from leasehold.leasing.refusals import counted_until_exit

PROG = "leasehold-api"
ABOUT = "Serve the HTTP API."


def main() -> None:
    """Serve the API until SIGINT or SIGTERM."""
    config = configure(PROG, sys.argv[1:], ABOUT)
    with explained(PROG):
        service = build_service(config, Event())
        load_calendars(service)
        admission = AdmissionControl(config.api)
        app = make_app(service, config.api, config.raw, admission, counted_until_exit(service.db))
        server = listen(app, config.api, admission)
    serve(server, stopped_by_signal(server))
