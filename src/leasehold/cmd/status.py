"""`leasehold-status`: whether this version can be started (`upgrade check`), and the cloud be used (`cloud check`).

Output and exit codes are those of OpenStack's upgrade checks: 0 for success, 1 for a warning, 2 for a failure that has
to be repaired first, 255 when the check itself failed. Without `cloud check` a wrong password is noticed when the first
host is enrolled, and a scheduler without the filter not at all.
"""

from __future__ import annotations

import sys
import traceback
from argparse import ArgumentParser
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

from oslo_config import cfg
from oslo_upgradecheck.upgradecheck import Code, Result, UpgradeCommands

from leasehold import conf
from leasehold.cloud.openstack.cloud import openstack_cloud
from leasehold.cloud.ports import CloudError
from leasehold.cmd import database
from leasehold.cmd.database import OperatorError
from leasehold.conf import ConfigurationError
from leasehold.conf.load import FILE_NAME
from leasehold.db import schema

if TYPE_CHECKING:
    from argparse import Namespace, _SubParsersAction
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from leasehold.conf import Config

PROG = "leasehold-status"
UNEXPECTED = 255
FILTER = "LeaseholdFilter"
PATH = "leasehold_nova.filter.LeaseholdFilter"
SCHEDULER, OURS = "filter_scheduler", "blazar:physical:host"
NOT_KNOWN = "Nova does not say which filters its scheduler has: give --nova-config the nova.conf of nova-scheduler."


def cloud_results(config: Config, nova_config: str | None) -> Iterator[tuple[str, Result]]:
    """Yield a result for each service, and one for the filter in the nova.conf of the scheduler, if that is named."""
    if config.settings.cloud.driver == "sandbox":
        yield ("Cloud", Result(Code.SUCCESS, "The sandbox cloud needs no account."))
        return
    try:
        cloud = openstack_cloud(config.raw)
    except ConfigurationError as error:
        yield ("Account", Result(Code.FAILURE, str(error)))
        return
    questions: dict[str, Callable[[], object]] = {
        "Nova": cloud.hypervisors.list,
        "Placement": cloud.providers.names,
        "Neutron": partial(cloud.networks.list_floating_ips, "leasehold"),
    }
    for name, ask in questions.items():
        try:
            ask()
            yield (name, Result(Code.SUCCESS, f"{name} answers the account of the service."))
        except CloudError as error:
            yield (name, Result(Code.FAILURE, f"{error}."))
    yield ("Filter", Result(Code.WARNING, NOT_KNOWN) if nova_config is None else _filter(config, nova_config))


def _filter(config: Config, nova_config: str) -> Result:
    """Return whether a nova.conf switches the filter on, with the names that this service uses."""
    theirs, raw = cfg.ConfigOpts(), config.raw
    names = {
        "aggregate_freepool_name": ("freepool", raw.nova.aggregate_freepool_name),
        "blazar_owner": ("blazar:owner", raw.nova.blazar_owner),
        "blazar_az_prefix": ("blazar_", raw["physical:host"].blazar_az_prefix),
    }
    theirs.register_opts([cfg.MultiStrOpt("available_filters"), cfg.ListOpt("enabled_filters")], group=SCHEDULER)
    theirs.register_opts([cfg.StrOpt(name, default=default) for name, (default, _) in names.items()], group=OURS)
    try:
        theirs(["--config-file", nova_config], project="nova")
    except cfg.Error as error:
        return Result(Code.FAILURE, f"{nova_config} cannot be read: {error}.")
    scheduler = theirs[SCHEDULER]
    if FILTER not in (scheduler.enabled_filters or ()):
        return Result(Code.FAILURE, f"Leases are not enforced: add {FILTER} to [{SCHEDULER}] enabled_filters.")
    if PATH not in (scheduler.available_filters or ()):
        return Result(Code.FAILURE, f"nova-scheduler cannot start: add {PATH} to [{SCHEDULER}] available_filters.")
    for name, (_, ours) in names.items():
        if theirs[OURS][name] != ours:
            return Result(Code.FAILURE, f"[{OURS}] {name} is {theirs[OURS][name]!r}: set it to {ours!r}, as here.")
    return Result(Code.SUCCESS, f"{nova_config} switches the filter on.")


class Checks(UpgradeCommands):
    """Shows results that are known already, each with its name."""

    def __init__(self, results: Iterable[tuple[str, Result]]) -> None:
        self._upgrade_checks = tuple((name, partial(_known, result=result)) for name, result in results)


def _known(_checks: Checks, result: Result) -> Result:
    return result


def main() -> None:
    """Run the checks and end with the worst result as exit code."""
    raise SystemExit(run(sys.argv[1:]))


def run(arguments: Sequence[str]) -> int:
    """Print the table of checks and return the exit code."""
    parser = ArgumentParser(PROG, description="Tell whether this installation is ready.")
    parser.add_argument("--version", action="version", version=conf.version())
    groups = parser.add_subparsers(required=True, metavar="upgrade | cloud")
    upgrade = _add_check(groups, "upgrade", "whether this version can be started", _results)
    database.add_options(upgrade)
    cloud = _add_check(groups, "cloud", "whether the cloud answers the account of the service", _of_cloud)
    cloud.add_argument("--config-file", metavar="FILE", help="default: ./leasehold.conf, else /etc/leasehold")
    cloud.add_argument("--nova-config", metavar="FILE", help="the nova.conf of nova-scheduler, which names its filters")
    args = parser.parse_args(arguments)
    args.prog = PROG
    try:
        return int(Checks(args.results(args)).check())
    except Exception:  # noqa: BLE001 - Python would end with 1, which here means only a warning.
        traceback.print_exc()
        return UNEXPECTED


def _add_check(
    groups: _SubParsersAction[ArgumentParser],
    name: str,
    text: str,
    results: Callable[[Namespace], Iterator[tuple[str, Result]]],
) -> ArgumentParser:
    verbs = groups.add_parser(name, help=text, description=text).add_subparsers(required=True, metavar="check")
    check: ArgumentParser = verbs.add_parser("check", help=text, description=text)
    check.set_defaults(results=results)
    return check


def _of_cloud(args: Namespace) -> Iterator[tuple[str, Result]]:
    yield _configuration(args)
    with suppress(conf.ConfigurationError):
        yield from cloud_results(database.load_config(args), args.nova_config)


def _results(args: Namespace) -> Iterator[tuple[str, Result]]:
    yield _configuration(args)
    try:
        url = database.database_url(args)
        engine = database.open_database(url)
    except (OperatorError, conf.ConfigurationError) as error:
        yield ("Database", Result(Code.FAILURE, str(error)))
        return
    try:
        with database.explained(url), engine.connect():
            yield ("Database", Result(Code.SUCCESS, f"{database.hidden(url)} answers."))
    except OperatorError as error:
        yield ("Database", Result(Code.FAILURE, str(error)))
        return
    try:
        with database.explained(url):
            yield ("Schema", Result(Code.SUCCESS, schema.check(engine)))
    except OperatorError as error:
        yield ("Schema", Result(Code.FAILURE, str(error)))
    finally:
        engine.dispose()


def _configuration(args: Namespace) -> tuple[str, Result]:
    try:
        config = database.load_config(args)
    except conf.ConfigurationError as error:
        return ("Configuration", Result(Code.FAILURE, str(error)))
    files = ", ".join(config.raw.config_file)
    if files:
        return ("Configuration", Result(Code.SUCCESS, f"{files} can be used."))
    missing = f"There is no {FILE_NAME} here or in /etc/leasehold, so defaults are used."
    return ("Configuration", Result(Code.WARNING, missing))
