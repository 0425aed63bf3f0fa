"""Options of the HTTP API: `[DEFAULT]` host and port as in Blazar, `[api]` for the rest, `[oslo_policy]` as usual."""

from __future__ import annotations

from typing import TYPE_CHECKING

from oslo_config import cfg
from oslo_policy import opts as policy_opts

from leasehold.conf import keystone, region
from leasehold.conf.errors import ConfigurationError
from leasehold.conf.options import read_fields, take_defaults
from leasehold.conf.settings import ApiSettings, PolicySettings, RateSettings

if TYPE_CHECKING:
    from pathlib import Path

DEFAULT_OPTIONS = [
    cfg.HostAddressOpt("host", default="0.0.0.0", help="Address on which the API listens."),  # noqa: S104 - Blazar's.
    cfg.PortOpt("port", default=1234, help="Port on which the API listens."),
]

API_OPTIONS = [
    cfg.StrOpt(
        "auth_strategy",
        default="keystone",
        deprecated_group="DEFAULT",
        help="How callers authenticate: keystone, http_basic, or none (loopback addresses only).",
    ),
    cfg.ListOpt(
        "allowed_hosts",
        help="Names, without a port, that the API accepts in the Host header under auth_strategy none, in addition to "
        "localhost and loopback addresses: for instance that of a proxy on the same machine.",
    ),
    cfg.StrOpt(
        "users_file", help="Users of the http_basic strategy, one `user:bcrypt-hash:project:role,role` in each line."
    ),
    cfg.FloatOpt(
        "delete_wait_seconds",
        min=0.0,
        help="Seconds that a delete waits for the servers of the lease to be gone before it answers. As many deletes "
        "as a quarter of `threads` wait at the same time in one process, half of them for one project; further ones "
        "are answered at once.",
    ),
    cfg.IntOpt(
        "max_event_waits",
        default=ApiSettings().event_waits,
        min=2,
        max=10_000,
        help="Requests that wait for an event (`GET /v1/events?wait=`) at the same time in one process, half of them "
        "for one project. Each has a connection, and no thread. Under another WSGI server than ours each has a thread, "
        "so there at most four times `threads` wait. Further ones are answered at once, with Retry-After.",
    ),
    cfg.FloatOpt(
        "cloud_seconds",
        min=0.1,
        help="Seconds that all calls to the cloud of one request may take together when a lease is created or changed. "
        "Set it below the time that the load balancer waits for an answer. As many requests as `threads` and "
        "`max_waiting` together wait for the cloud at the same time in one process, half of them for one project; "
        "further ones get a 503 at once.",
    ),
    cfg.IntOpt("threads", min=1, max=1024, help="Requests that one process works on at the same time."),
    cfg.BoolOpt(
        "one_cpu",
        help="Keep the threads of a process on one processor, the one with the least other work. Of the threads of an "
        "interpreter one runs at a time, and waking them on several takes a third of the processor time. More "
        "processes use more processors.",
    ),
    cfg.IntOpt(
        "max_waiting",
        default=64,
        min=0,
        max=1024,
        help="Requests that may wait in one process for one of its `threads`; further ones get a 503 at once.",
    ),
    cfg.FloatOpt(
        "max_wait_seconds",
        default=10.0,
        min=0.0,
        help="Seconds after which a waiting request gets a 503, because its client is about to give up.",
    ),
    cfg.FloatOpt(
        "shutdown_notice_seconds",
        min=0.0,
        help="Seconds for which a process that was told to stop still serves, while its health check answers 503: as "
        "many as the load balancer needs to notice.",
    ),
    cfg.FloatOpt(
        "shutdown_seconds",
        min=0.0,
        help="Seconds, after those of the notice, for which a stopping process finishes the requests under way.",
    ),
    cfg.IntOpt("max_body", min=1024, help="Largest request body accepted, in bytes."),
    cfg.IntOpt(
        "max_requests_per_minute",
        default=0,
        min=0,
        help="Requests of one project that each API process answers in a minute; further ones get a 429. 0 means no "
        "limit.",
    ),
    cfg.IntOpt(
        "max_failed_logins_per_minute",
        default=0,
        min=0,
        help="Failed logins in a minute from one address after which each API process answers 429 to it. 0 means no "
        "limit.",
    ),
    cfg.ListOpt(
        "trusted_proxies",
        help="Addresses and networks of proxies whose X-Forwarded-For and X-Forwarded-Proto are trusted; `unix` for "
        "one that connects through a socket file.",
    ),
]
take_defaults(API_OPTIONS, ApiSettings())

DEFAULT_POLICY_FILE = "policy.yaml"


def register(conf: cfg.ConfigOpts) -> None:
    """Add the options of this group to `conf`."""
    conf.register_opts(DEFAULT_OPTIONS)
    conf.register_opts(API_OPTIONS, group="api")
    for group, options in policy_opts.list_opts():
        conf.register_opts(options, group=group)


def read(conf: cfg.ConfigOpts) -> ApiSettings:
    """Return the settings of the API; raises `ConfigurationError` for a policy file that does not exist."""
    return read_fields(
        ApiSettings,
        conf.api,
        host=conf.host,
        port=conf.port,
        waiting=conf.api.max_waiting,
        wait_seconds=conf.api.max_wait_seconds,
        event_waits=conf.api.max_event_waits,
        rates=RateSettings(requests=conf.api.max_requests_per_minute, failures=conf.api.max_failed_logins_per_minute),
        policy=_read_policy(conf),
        region=conf[region.GROUP].name,
        cafile=conf[keystone.GROUP].cafile or conf.cafile,
    )


def _read_policy(conf: cfg.ConfigOpts) -> PolicySettings:
    wanted: str = conf.oslo_policy.policy_file
    found: Path | str | None = conf.find_file(wanted)
    if found is None and wanted != DEFAULT_POLICY_FILE:
        message = (
            f"The policy file {wanted!r} of [oslo_policy] policy_file does not exist. "
            "Create it, or remove the option to use the default rules."
        )
        raise ConfigurationError(message)
    directories = (conf.find_file(directory) for directory in conf.oslo_policy.policy_dirs)
    return PolicySettings(
        file=None if found is None else str(found),
        directories=tuple(str(directory) for directory in directories if directory is not None),
        new_defaults=conf.oslo_policy.enforce_new_defaults,
    )
