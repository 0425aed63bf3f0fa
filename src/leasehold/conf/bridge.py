"""Options of leasehold-bridge, by Blazar's names; those of the bus itself are oslo.messaging's."""

from __future__ import annotations

from oslo_config import cfg

from leasehold.conf import metrics
from leasehold.conf.manager import types_of
from leasehold.conf.options import read_fields, take_defaults
from leasehold.conf.settings import BridgeSettings
from leasehold.model.resource import HOST

DEFAULTS = BridgeSettings()

NOTIFICATION_OPTIONS = [
    cfg.StrOpt(
        "publisher_id",
        help="The publisher that leasehold-bridge names in its notifications. `[oslo_messaging_notifications] driver` "
        "switches them on.",
    ),
    cfg.FloatOpt(
        "retry_most_seconds",
        min=0.01,
        max=3600.0,
        help="Longest pause, in seconds, between two tries to send a notification that the bus has not accepted.",
    ),
    cfg.ListOpt(
        "pushed_types",
        default=[],
        help="Resource types whose resources leasehold-bridge checks at once when a notification on the message bus "
        "says that they may have changed, such as `virtual:floatingip`. `[physical:host] enable_notification_monitor` "
        "says it for hosts. Polling goes on beside it, unless `[manager] unpolled_types` names the type.",
    ),
    *metrics.options_of("leasehold-bridge"),
]
HOST_OPTIONS = [
    cfg.BoolOpt(
        "enable_notification_monitor",
        default=False,
        help="Have leasehold-bridge check the hosts at once when Nova notifies of a change of a compute service. Nova "
        "does not notify of a compute that dies, so leave `enable_polling_monitor` on as well. For other types: "
        "`[notifications] pushed_types`.",
    ),
    cfg.ListOpt(
        "notification_topics",
        default=list(DEFAULTS.topics),
        help="Topics on which notifications are expected, those of all pushed types. leasehold-bridge takes what it "
        "reads away from other readers of the same topic; if there are any, give it one of its own.",
    ),
]
take_defaults(NOTIFICATION_OPTIONS, DEFAULTS)


def register(conf: cfg.ConfigOpts) -> None:
    """Add the options of this group to `conf`."""
    conf.register_opts(NOTIFICATION_OPTIONS, group="notifications")
    conf.register_opts(HOST_OPTIONS, group="physical:host")


def read(conf: cfg.ConfigOpts) -> BridgeSettings:
    """Return what leasehold-bridge sends and listens to."""
    group, host = conf.notifications, conf["physical:host"]
    return read_fields(
        BridgeSettings,
        group,
        metrics=metrics.read(group),
        pushed=frozenset(types_of(group.pushed_types)) | ({HOST} if host.enable_notification_monitor else set()),
        topics=tuple(host.notification_topics),
    )
