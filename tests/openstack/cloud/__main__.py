"""python -m tests.openstack.cloud start [--fresh] | status | env [USER] | stop | wipe."""

from __future__ import annotations

import argparse
import logging
import shlex
import sys
import time
from typing import TYPE_CHECKING

from tests.openstack.cloud import CloudError, RunningCloud, find_home, running, start, stop, wipe
from tests.openstack.cloud.accounts import MEMBERS
from tests.servers import ServerMissingError

if TYPE_CHECKING:
    from tests.openstack.cloud.home import Home

_USERS = ("admin", *MEMBERS, "leasehold")


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.openstack.cloud", description="An OpenStack to test on.")
    commands = parser.add_subparsers(dest="command", required=True)
    starting = commands.add_parser("start", help="install what is missing, start it, and wait until it works")
    starting.add_argument("--fresh", action="store_true", help="with new data, as if it had never run")
    commands.add_parser("status", help="list the services, with their addresses and logs")
    environment = commands.add_parser("env", help="print the variables for OpenStack's clients, for `eval`")
    environment.add_argument("user", nargs="?", default="admin", choices=_USERS)
    commands.add_parser("stop", help="stop it; its data stays")
    commands.add_parser("wipe", help="stop it and remove its data; what is installed stays")
    arguments = parser.parse_args()
    logging.basicConfig(level=logging.WARNING, format="%(message)s")
    logging.getLogger("tests").setLevel(logging.INFO)
    try:
        return _run(find_home(), arguments)
    except (CloudError, ServerMissingError) as error:
        sys.stderr.write(f"{error}\n")
        return 1


def _run(home: Home, arguments: argparse.Namespace) -> int:
    match arguments.command:
        case "start":
            began = time.monotonic()
            cloud = start(home, fresh=arguments.fresh)
            _say(f"The cloud runs, after {time.monotonic() - began:.0f} s. Keystone is at {cloud.auth_url}")
            _say('Next: eval "$(.venv/bin/python -m tests.openstack.cloud env)"; .venv/bin/openstack hypervisor list')
        case "stop":
            stop(home)
        case "wipe":
            wipe(home)
        case _:
            return _about(running(home), arguments)
    return 0


def _about(cloud: RunningCloud | None, arguments: argparse.Namespace) -> int:
    if cloud is None:
        sys.stderr.write("The cloud does not run, or not all of it. `make cloud` starts it.\n")
        return 1
    if arguments.command == "env":
        user: str = arguments.user
        for name, value in cloud.variables(user, "service" if user == "leasehold" else user).items():
            _say(f"export {name}={shlex.quote(value)}")
        return 0
    for name in cloud.services():
        port = cloud.ports.get(name)
        _say(f"{name:<15} {f'127.0.0.1:{port}' if port else '-':<16} {cloud.log(name)}")
    return 0


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")


sys.exit(main())
