"""Options of the metrics for Prometheus: a page of the API, and a port of the manager."""

from __future__ import annotations

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

MANAGER_OPTIONS = [
    cfg.HostAddressOpt(
        "metrics_host",
        default="127.0.0.1",
        help="Address on which the manager answers Prometheus, without a token.",
    ),
    cfg.PortOpt("metrics_port", default=0, help="Port on which the manager answers Prometheus; 0 means none."),
]


def register(conf: cfg.ConfigOpts) -> None:
    """Add the options of this group to `conf`."""
    conf.register_opts(API_OPTIONS, group="api")
    conf.register_opts(MANAGER_OPTIONS, group="manager")


def read(conf: cfg.ConfigOpts) -> MetricsSettings:
    """Return where the manager answers Prometheus; the option of the API is in `ApiSettings`."""
    return MetricsSettings(host=conf.manager.metrics_host, port=conf.manager.metrics_port)
