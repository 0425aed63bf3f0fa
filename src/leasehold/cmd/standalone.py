"""`leasehold-standalone`: API, manager and a sandbox cloud in one process, on SQLite; the first thing to run."""

from __future__ import annotations

import sys
from sysconfig import get_path
from threading import Event
from typing import TYPE_CHECKING

from leasehold.api.limits.admission_control import AdmissionControl
from leasehold.cloud.sandbox import seed
from leasehold.cmd.compose import build_service, load_calendars, managing
from leasehold.cmd.options import configure, explained
from leasehold.cmd.serve import listen, serve, stopped_by_signal
from leasehold.cmd.state import state_database
from leasehold.cmd.web import make_app
from leasehold.db import schema
from leasehold.db.engine import open_engine
from leasehold.features.registry import FEATURES
from leasehold.leasing.reading.queries import list_resources
from leasehold.leasing.refusals import counted_until_exit
from leasehold.leasing.resources.enrol import enrol
from leasehold.model.resource import FLOATING_IP, HOST

if TYPE_CHECKING:
    from pathlib import Path

    from leasehold.leasing.service import Service

PROG = "leasehold-standalone"
ABOUT = "Run API, manager and a sandbox cloud in one process, to try Leasehold; the state is kept in ./.state."

WELCOME = """
Leasehold listens on http://{host}:{port}/v1  (state: {state}; Ctrl-C stops it, the next start keeps the state)
{features}A sandbox cloud with {hosts} hosts and {addresses} floating IPs is enrolled. In another terminal, in this
folder:

  export OS_ENDPOINT=http://{host}:{port}/v1 PATH="{programs}:$PATH"
  leasehold host list
  leasehold lease create trial --hosts 1 --properties '[">=", "$vcpus", "16"]' --for 3h --wait
  leasehold calendar --for 12h
  leasehold-manage sandbox aggregates
  leasehold-manage sandbox boot my-server --project demo --flavor m1.small --reservation RESERVATION_ID

You are user admin of project demo, with role admin. OS_PROJECT_ID=alt OS_USERNAME=bob OS_ROLES=member, or the headers
X-Project-Id, X-User-Id and X-Roles, make you somebody else. The API describes itself at http://{host}:{port}/v1/openapi.json.

"""


def main() -> None:
    """Start everything, say what to type next, and run until Ctrl-C."""
    database = state_database()
    config = configure(PROG, sys.argv[1:], ABOUT, _defaults(database))
    database.parent.mkdir(parents=True, exist_ok=True)
    with explained(PROG):
        _prepare(config.database_url)
        wake = Event()
        service = build_service(config, wake)
        _enrol(service)
        load_calendars(service)
        admission = AdmissionControl(config.api)
        app = make_app(service, config.api, config.raw, admission, counted_until_exit(service.db))
        server = listen(app, config.api, admission)
    # The handlers are set before the manager starts, because a signal must not interrupt its tasks.
    stopping = stopped_by_signal(server)
    with explained(PROG), managing(service, wake):
        url = f"http://{config.api.host}:{config.api.port}"
        sys.stdout.write(
            WELCOME.format(
                host=config.api.host,
                port=config.api.port,
                state=database.parent,
                programs=get_path("scripts"),
                hosts=len(list_resources(service, HOST)),
                addresses=len(list_resources(service, FLOATING_IP)),
                features="".join(each.welcome(config.settings, url) for each in FEATURES),
            )
        )
        sys.stdout.flush()
        serve(server, stopping)
    sys.stdout.write("\nLeasehold stopped.\n")


def _defaults(database: Path) -> dict[tuple[str, str], object]:
    """Return what differs from the defaults of a real deployment: it needs no other service, and polls often."""
    return {
        ("DEFAULT", "host"): "127.0.0.1",
        ("api", "auth_strategy"): "none",
        ("cloud", "driver"): "sandbox",
        ("database", "connection"): f"sqlite:///{database}",
        ("physical:host", "polling_interval"): 2,
    }


def _prepare(url: str) -> None:
    engine = open_engine(url)
    schema.upgrade(engine)
    seed.plant(engine)
    engine.dispose()


def _enrol(service: Service) -> None:
    """Enrol the sandbox's hosts and addresses at the first start; later starts keep the user's changes."""
    if list_resources(service, HOST) or list_resources(service, FLOATING_IP):
        return
    for hostname, properties in seed.SUGGESTED_HOSTS:
        enrol(service, HOST, {"name": hostname}, properties)
    for address in seed.SUGGESTED_FLOATING_IPS:
        where = {"floating_network_id": seed.NETWORK_ID, "floating_ip_address": address}
        enrol(service, FLOATING_IP, where)
