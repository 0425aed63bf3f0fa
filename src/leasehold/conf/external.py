"""Options of the service that decides about leases; names and defaults are Blazar's (contract lifecycle §11)."""

from __future__ import annotations

from oslo_config import cfg

from leasehold.conf import keystone
from leasehold.conf.settings import ExternalSettings

DENY = "deny"
ALLOW = "allow"
_CALLS = {
    "check_create": "asked about each new lease",
    "check_update": "asked about each amendment that changes more than a name",
    "on_end": "told of the end of each lease",
}

OPTIONS = [
    cfg.StrOpt(
        "external_service_base_endpoint",
        help="URL of the service that ExternalServiceFilter asks. The last part of its path is replaced by the name of "
        "the call, check-create, check-update or on-end, so it usually ends with a slash.",
    ),
    *(
        cfg.StrOpt(
            f"external_service_{name}_endpoint",
            help=f"URL that is {what}, instead of the one below external_service_base_endpoint.",
        )
        for name, what in _CALLS.items()
    ),
    cfg.StrOpt(
        "external_service_token",
        default="",
        secret=True,
        help="Token that the calls carry as X-Auth-Token; none if empty.",
    ),
    cfg.FloatOpt(
        "external_service_timeout",
        default=10.0,
        min=0.1,
        max=60.0,
        help="Seconds that the service may take to accept a connection, and again to answer. The request waits that "
        "long, and holds no lock meanwhile.",
    ),
    cfg.StrOpt(
        "external_service_on_failure",
        default=DENY,
        choices=[DENY, ALLOW],
        help="What becomes of a request about which the service gives no decision, because it does not answer, or "
        "answers neither 204 nor 403: `deny` refuses it with 503, `allow` goes on and logs a warning.",
    ),
]


def register(conf: cfg.ConfigOpts) -> None:
    """Add the options of this group to `conf`."""
    conf.register_opts(OPTIONS, group="enforcement")


def read(conf: cfg.ConfigOpts) -> ExternalSettings:
    """Return how the service is asked. The certificates are those of the cloud: `[cloud] cafile`, else `cafile`."""
    group = conf.enforcement
    return ExternalSettings(
        base=group.external_service_base_endpoint,
        **{name: group[f"external_service_{name}_endpoint"] for name in _CALLS},
        token=group.external_service_token,
        seconds=group.external_service_timeout,
        allows_on_failure=group.external_service_on_failure == ALLOW,
        cafile=conf[keystone.GROUP].cafile or conf.cafile or None,
        auth_url=keystone.identity_url(conf),
        region=conf.os_region_name,
    )
