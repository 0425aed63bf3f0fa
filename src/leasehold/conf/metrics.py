"""Options of the metrics for Prometheus: a page of the API, and a port of the manager."""

from __future__ import annotations

from typing import Any

from oslo_config import cfg

from leasehold.conf.settings import MetricsSettings

API_OPTIONS = [
    cfg.BoolOpt(
        "metrics",
        default=False,
        help="Answer GET /metrics with metrics for Prometheus, without a token. They hold counts and no names or ids, "
        "but have the proxy in front of the API block the path for clients from outside.",
    ),
]


def options_of(program: str) -> list[cfg.Opt]:
    """Return the options of a program that answers Prometheus on a port of its own, in its group."""
    default = MetricsSettings()
    address = f"Address on which {program} answers Prometheus, without a token."
    port = f"Port on which {program} answers Prometheus; 0 means none."
    return [
        cfg.HostAddressOpt("metrics_host", default=default.host, help=address),
        cfg.PortOpt("metrics_port", default=default.port, help=port),
    ]


MANAGER_OPTIONS = options_of("the manager")


def register(conf: cfg.ConfigOpts) -> None:
    """Add the options of this group to `conf`."""
    conf.register_opts(API_OPTIONS, group="api")
    conf.register_opts(MANAGER_OPTIONS, group="manager")


def read(group: Any) -> MetricsSettings:
    """Return where the program of a group answers Prometheus; the option of the API is in `ApiSettings`."""
    return MetricsSettings(host=group.metrics_host, port=group.metrics_port)
