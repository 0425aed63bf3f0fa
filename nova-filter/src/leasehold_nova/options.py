"""The options in nova.conf: Blazar's group, names and defaults, so that a nova.conf made for Blazar needs no change."""

from __future__ import annotations

from typing import Any

from oslo_config import cfg

from leasehold_nova.decision import FilterOptions

GROUP = "blazar:physical:host"

OPTIONS = (
    cfg.StrOpt(
        "aggregate_freepool_name",
        default="freepool",
        help="Name of the aggregate that holds the hosts which can be leased and are not leased as a whole now. "
        "Configure the service with the same name.",
    ),
    cfg.StrOpt(
        "preemptible_aggregate",
        default="freepool",
        help="Name of the aggregate whose hosts may run preemptible servers.",
    ),
    cfg.BoolOpt(
        "allow_preemptibles",
        default=False,
        help="Let servers whose flavor has the extra spec blazar:preemptible=true run on the hosts of "
        "preemptible_aggregate. They are deleted when a lease takes their host.",
    ),
    cfg.StrOpt(
        "blazar_az_prefix",
        default="blazar_",
        # With an empty prefix, every aggregate would count as a reservation.
        regex=r"\S",
        help="Prefix of the availability zones of leased hosts. Configure the service with the same prefix.",
    ),
    cfg.StrOpt(
        "blazar_owner",
        default="blazar:owner",
        help="Aggregate metadata key that holds the id of the project which owns the reservation.",
    ),
    cfg.BoolOpt(
        "strict_flavors",
        default=True,
        help="Allow a reservation's flavor only on the hosts of that reservation and only for its project. "
        "When false, such a flavor passes on every host, as it does with Blazar's filter.",
    ),
)


def read(conf: Any) -> FilterOptions:
    """Register the options in Nova's configuration and return their values.

    An option that is already registered is used as it is: while both filters are in `available_filters`, Blazar's
    registers the same names, and oslo.config refuses a second definition.
    """
    conf.register_group(cfg.OptGroup(GROUP))
    conf.register_opts([option for option in OPTIONS if option.dest not in conf[GROUP]], group=GROUP)
    values = conf[GROUP]
    return FilterOptions(
        aggregate_freepool_name=values.aggregate_freepool_name,
        preemptible_aggregate=values.preemptible_aggregate,
        allow_preemptibles=values.allow_preemptibles,
        az_prefix=values.blazar_az_prefix,
        owner_key=values.blazar_owner,
        strict_flavors=values.strict_flavors,
    )
