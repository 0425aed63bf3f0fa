"""`leasehold-status cloud check`: logs in as the service does, and asks each service of the cloud that leases need.

Without it a wrong password is noticed when the first host is enrolled, and a scheduler without the filter not at all.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from oslo_config import cfg
from oslo_upgradecheck.upgradecheck import Code, Result

from leasehold.cloud.openstack.cloud import openstack_cloud
from leasehold.cloud.ports import CloudError
from leasehold.conf import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from leasehold.conf import Config

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
