"""Options of the cloud and the names shared with it: `[nova]`, `[physical:host]` as in Blazar (lifecycle §11)."""

from __future__ import annotations

from datetime import timedelta

from oslo_config import cfg

from leasehold.conf.options import YEAR, read_fields, take_defaults
from leasehold.conf.settings import CloudSettings
from leasehold.model.terms.end_action import CHAINS, WAITS, as_text

DRIVER = cfg.StrOpt(
    "driver",
    default="openstack",
    choices=["openstack", "sandbox"],
    help="The cloud whose resources are leased: openstack, or the built-in sandbox for trials.",
)
CALLS = cfg.IntOpt(
    "calls_at_once",
    default=24,
    min=1,
    help="Calls to one service, such as Nova, that one process makes at the same time. If one more waits for its turn "
    "longer than 5 seconds, what needs it is tried again later, so a service that hangs does not hold all workers.",
)

NOVA_OPTIONS = [
    cfg.StrOpt(
        "aggregate_freepool_name",
        default="freepool",
        help="Aggregate of the enrolled hosts that no host reservation uses.",
    ),
    cfg.StrOpt("blazar_owner", default="blazar:owner", help="Metadata key that names the project of an aggregate."),
    cfg.StrOpt("image_prefix", default="reserved_", help="Prefix of the snapshots taken before a lease ends."),
    cfg.BoolOpt("az_aware", default=True, help="Record the availability zone of a host when it is enrolled."),
]

HOST_OPTIONS = [
    cfg.StrOpt("blazar_az_prefix", default="blazar_", help="Prefix of the availability zones of host reservations."),
    cfg.StrOpt(
        "before_end",
        default="",
        choices=[as_text(each) for each in CHAINS],
        help="What the before_end action `default` does: nothing, or one or several actions in this order.",
    ),
    *(
        cfg.IntOpt(f"{word}_wait_seconds", default=int(wait.usual.total_seconds()), min=0, max=YEAR, help=wait.text)
        for word, wait in WAITS.items()
    ),
    cfg.BoolOpt(
        "expect_preemptibles",
        help="Whether there may be preemptible servers on free hosts. If so, a shared host is drawn with those that "
        "are on it, and the start of a lease ends them. If not, they are moved like others, and starts of leases save "
        "the calls which make sure that none is left on a host or lands there. The same for APIs and managers.",
    ),
    cfg.IntOpt(
        "lead_seconds",
        default=0,
        min=0,
        max=YEAR,
        help="The lead time of hosts, as `[DEFAULT] lead_time_by_type` has it: `lead_seconds = 600` means the same as "
        "`lead_time_by_type = physical:host=600`. One of them is enough.",
    ),
    cfg.StrOpt(
        "displacement_strategy",
        help="Which servers go where leases need their room, if there is a choice: from which shared hosts they are "
        "moved when hosts are drawn, and which preemptible servers are ended where slots need only some of their room. "
        "`fewest_servers`; or `newest_first`, which spares the oldest; or what a package provides by this name in the "
        "entry points `leasehold.displacement_strategies`. It is the same for all APIs and managers.",
    ),
    cfg.IntOpt(
        "draw_seconds",
        default=int(CloudSettings().draw_limit.total_seconds()),
        min=0,
        max=YEAR,
        help="Seconds after which a shared host that is drawn into the reservation pool, and is not empty, goes back "
        "as it was.",
    ),
]
take_defaults(HOST_OPTIONS, CloudSettings())


def register(conf: cfg.ConfigOpts) -> None:
    """Add the options of this group to `conf`."""
    conf.register_opts([DRIVER, CALLS], group="cloud")
    conf.register_opts(NOVA_OPTIONS, group="nova")
    conf.register_opts(HOST_OPTIONS, group="physical:host")


def read(conf: cfg.ConfigOpts) -> CloudSettings:
    """Return the names shared with the cloud."""
    host = conf["physical:host"]
    return read_fields(
        CloudSettings,
        host,
        driver=conf.cloud.driver,
        freepool=conf.nova.aggregate_freepool_name,
        zone_prefix=host.blazar_az_prefix,
        owner_key=conf.nova.blazar_owner,
        image_prefix=conf.nova.image_prefix,
        default_before_end=host.before_end,
        end_waits={word: timedelta(seconds=host[f"{word}_wait_seconds"]) for word in WAITS},
        draw_limit=timedelta(seconds=host.draw_seconds),
        zones=conf.nova.az_aware,
    )
