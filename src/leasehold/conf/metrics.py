"""Where Prometheus finds what the service counts: a page of the API, and a port of the manager's own."""

from __future__ import annotations

from oslo_config import cfg

from leasehold.conf.settings import MetricsSettings

API_OPTIONS = [
    cfg.BoolOpt(
        "metrics",
        default=False,
        help="Answer GET /metrics with figures for Prometheus. It asks for no token: they are counts without names or "
        "ids, but let the proxy in front of the API keep the path from the outside.",
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
    """Return where the manager answers Prometheus; the API's own option stands with its settings."""
    return MetricsSettings(host=conf.manager.metrics_host, port=conf.manager.metrics_port)
