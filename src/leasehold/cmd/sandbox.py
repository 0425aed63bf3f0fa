"""`leasehold-manage sandbox …`: look at the sandbox cloud, boot servers in it, and make it fail.

`add_commands` adds the commands to any argparse sub-parsers. Each one sets `run`, a function that takes the parsed
arguments and the engine of the database, and returns the exit code.
"""

from __future__ import annotations

import sys
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

from sqlalchemy import inspect

from leasehold.cloud.ports import CloudError
from leasehold.cloud.sandbox import seed
from leasehold.cloud.sandbox.cloud import VERBS, SandboxCloud, sandbox
from leasehold.cloud.sandbox.faults import ERRORS, Fault
from leasehold.cloud.sandbox.tables import state

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace, _SubParsersAction
    from collections.abc import Callable, Iterable, Sequence

    from sqlalchemy import Engine

    Command = Callable[[Namespace, SandboxCloud], int]


def add_commands(subparsers: _SubParsersAction[ArgumentParser]) -> None:
    """Add the sandbox's commands; each parser sets `run=callable(args, engine) -> exit code`."""
    plant = subparsers.add_parser("plant", help="make the sandbox with its first contents, unless it is there")
    plant.set_defaults(run=_plant)
    _add(subparsers, "hosts", _hosts, "list the hosts")
    for name, command, text in (
        ("fail", _fail, "make a host go down"),
        ("recover", _recover, "bring a host back, up and enabled"),
    ):
        _add(subparsers, name, command, text).add_argument("host", metavar="HOST", help="id, hostname or service host")
    boot = _add(subparsers, "boot", _boot, "boot a server as a user would")
    boot.add_argument("name", metavar="NAME")
    boot.add_argument("--project", required=True, help=f"the sandbox knows {' and '.join(seed.PROJECTS)}")
    boot.add_argument("--flavor", required=True, help="a flavor's id, see `flavors`")
    boot.add_argument("--reservation", action="append", default=[], metavar="ID", help="may be given several times")
    boot.add_argument(
        "--preemptible", action="store_true", help="as if the flavor said blazar:preemptible; see `preemptibles`"
    )
    _add(subparsers, "servers", _servers, "list the servers of all projects")
    _add(subparsers, "delete", _delete, "delete a server").add_argument("server", metavar="SERVER", help="id or name")
    _add(subparsers, "flavors", _flavors, "list the flavors")
    _add(subparsers, "aggregates", _aggregates, "list the host aggregates")
    slow = _add(subparsers, "slow-delete", _slow_delete, "set how long the deletion of a server takes")
    slow.add_argument("seconds", type=float, metavar="SECONDS", help="0 means no time")
    preemptibles = _add(subparsers, "preemptibles", _preemptibles, "let preemptible servers run on free hosts, or not")
    preemptibles.add_argument("allowed", choices=("on", "off"), help="as allow_preemptibles of nova.conf; off at first")
    fault = _add(subparsers, "fault", _fault, "make calls to the cloud slow or wrong")
    fault.add_argument("verb", metavar="VERB", help="a call such as aggregates.add_host, or a pattern such as '*'")
    fault.add_argument(
        "--error",
        choices=ERRORS,
        default="none",
        help="fail before, after or half-way through it, or lose the connection",
    )
    fault.add_argument("--permanent", action="store_true", help="fail with an error that a retry does not help")
    fault.add_argument("--latency-ms", type=int, default=0, metavar="N")
    fault.add_argument("--times", type=int, default=None, metavar="N", help="how many calls; default: until cleared")
    _add(subparsers, "faults", _faults, "list the faults that are set")
    _add(subparsers, "clear-faults", _clear_faults, "end all faults")


def _add(subparsers: _SubParsersAction[ArgumentParser], name: str, command: Command, text: str) -> ArgumentParser:
    parser = subparsers.add_parser(name, help=text, description=text[0].upper() + text[1:] + ".")
    parser.set_defaults(run=lambda args, engine: _run(command, args, engine))
    return parser


def _run(command: Command, args: Namespace, engine: Engine) -> int:
    """Run a command on the sandbox; an error of the cloud is a sentence and exit code 1."""
    if not inspect(engine).has_table(state.name):
        return _sorry("This database holds no sandbox yet. Make one with: leasehold-manage sandbox plant")
    try:
        return command(args, sandbox(engine, faults_in_force=False))
    except CloudError as error:
        return _sorry(f"{error}. See what exists with: leasehold-manage sandbox hosts, flavors, servers or faults")


def _plant(_args: Namespace, engine: Engine) -> int:
    seed.plant(engine)
    _say("The sandbox is ready. See its hosts with: leasehold-manage sandbox hosts")
    return 0


def _hosts(_args: Namespace, cloud: SandboxCloud) -> int:
    aggregates = cloud.aggregates.list()
    servers = cloud.servers.all()
    rows = [
        (
            host.id,
            host.hypervisor_hostname,
            host.service_host,
            host.zone,
            _yes(host.up),
            _yes(host.enabled),
            ", ".join(a.name for a in aggregates if host.service_host in a.hosts),
            sum(server.service_host == host.service_host for server in servers),
        )
        for host in cloud.hypervisors.list()
    ]
    return _table(("ID", "HOSTNAME", "SERVICE HOST", "ZONE", "UP", "ENABLED", "AGGREGATES", "SERVERS"), rows)


def _fail(args: Namespace, cloud: SandboxCloud) -> int:
    host = cloud.hypervisors.fail(args.host)
    _say(f"Host {host.hypervisor_hostname} is down. Bring it back with: leasehold-manage sandbox recover {args.host}")
    return 0


def _recover(args: Namespace, cloud: SandboxCloud) -> int:
    host = cloud.hypervisors.recover(args.host)
    _say(f"Host {host.hypervisor_hostname} is up and enabled.")
    return 0


def _boot(args: Namespace, cloud: SandboxCloud) -> int:
    server = cloud.servers.boot(args.name, args.project, args.flavor, args.reservation, preemptible=args.preemptible)
    why = cloud.servers.fault(server.id)
    _say(f"Server {server.id} is {server.status}" + (f" on {server.service_host}." if why is None else f". {why}"))
    return 0 if why is None else 1


def _servers(_args: Namespace, cloud: SandboxCloud) -> int:
    rows = [
        (s.id, s.name, s.project_id, s.flavor_id, s.service_host or "-", s.status, _yes(s.preemptible))
        for s in cloud.servers.all()
    ]
    return _table(("ID", "NAME", "PROJECT", "FLAVOR", "HOST", "STATUS", "PREEMPTIBLE"), rows)


def _delete(args: Namespace, cloud: SandboxCloud) -> int:
    found = cloud.servers.find(args.server)
    if len(found) != 1:
        problem = "There is no server" if not found else f"{len(found)} servers are named"
        return _sorry(f"{problem} {args.server}. Take an id from: leasehold-manage sandbox servers")
    cloud.servers.delete(found[0].id)
    left = cloud.servers.find(found[0].id)
    _say(f"Server {found[0].id} is {'being deleted' if left else 'deleted'}.")
    return 0


def _flavors(_args: Namespace, cloud: SandboxCloud) -> int:
    rows = [
        (
            f.id,
            f.name,
            f.vcpus,
            f.memory_mb,
            f.disk_gb + f.ephemeral_gb,
            "everybody" if f.public else ", ".join(sorted(f.projects)) or "nobody",
            ", ".join(f"{key}={value}" for key, value in sorted(f.extra_specs.items())),
        )
        for f in cloud.flavors.list()
    ]
    return _table(("ID", "NAME", "VCPUS", "MEMORY MB", "DISK GB", "FOR", "EXTRA SPECS"), rows)


def _aggregates(_args: Namespace, cloud: SandboxCloud) -> int:
    rows = [
        (
            a.id,
            a.name,
            a.zone or "-",
            ", ".join(sorted(a.hosts)) or "-",
            ", ".join(f"{key}={value}" for key, value in sorted(a.metadata.items())),
        )
        for a in cloud.aggregates.list()
    ]
    return _table(("ID", "NAME", "ZONE", "HOSTS", "METADATA"), rows)


def _slow_delete(args: Namespace, cloud: SandboxCloud) -> int:
    if args.seconds < 0:
        return _sorry("SECONDS has to be 0 or more")
    cloud.servers.take_to("delete", args.seconds)
    _say(f"Deleting a server takes {args.seconds:g} seconds from now on.")
    return 0


def _preemptibles(args: Namespace, cloud: SandboxCloud) -> int:
    cloud.servers.allow_preemptibles(args.allowed == "on")
    _say(f"Preemptible servers may {'run on free hosts' if args.allowed == 'on' else 'not run'} from now on.")
    return 0


def _fault(args: Namespace, cloud: SandboxCloud) -> int:
    matching = [verb for verb in VERBS if fnmatchcase(verb, args.verb)]
    if not matching:
        return _sorry(f"No call is named {args.verb}. There are: {', '.join(VERBS)}")
    if args.latency_ms < 0 or (args.times is not None and args.times < 1):
        return _sorry("--latency-ms has to be 0 or more, and --times 1 or more")
    if args.error == "none" and not args.latency_ms:
        return _sorry("A fault needs --error before, --error after or --latency-ms; to end faults: clear-faults")
    cloud.faults.set(Fault(args.verb, args.latency_ms, args.error, args.permanent, args.times))
    _say(f"Set for {len(matching)} calls, within a second. End it with: leasehold-manage sandbox clear-faults")
    return 0


def _faults(_args: Namespace, cloud: SandboxCloud) -> int:
    rows = [
        (f.verb, f.latency_ms, f.error, _yes(f.permanent), "until cleared" if f.remaining is None else f.remaining)
        for f in cloud.faults.all()
    ]
    return _table(("VERB", "LATENCY MS", "ERROR", "PERMANENT", "CALLS LEFT"), rows)


def _clear_faults(_args: Namespace, cloud: SandboxCloud) -> int:
    cloud.faults.clear()
    _say("No faults are set; running services notice within a second.")
    return 0


def _yes(value: bool) -> str:  # noqa: FBT001 - the value to show, not a switch
    return "yes" if value else "no"


def _table(titles: Sequence[str], rows: Iterable[Sequence[Any]]) -> int:
    """Print columns as wide as their longest cell, without trailing blanks."""
    lines = [titles, *([str(cell) for cell in row] for row in rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(titles))]
    for line in lines:
        _say("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip())
    return 0


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")


def _sorry(text: str) -> int:
    sys.stderr.write(f"{text.rstrip('.')}.\n")
    return 1
