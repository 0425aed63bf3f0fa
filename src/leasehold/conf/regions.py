"""Options about the other regions of the cloud, each of which has a reservation service of its own (feature C3)."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from oslo_config import cfg, types

from leasehold.conf import keystone
from leasehold.conf.errors import ConfigurationError
from leasehold.conf.settings import RegionSettings

if TYPE_CHECKING:
    from collections.abc import Iterable

DEFAULTS = RegionSettings()
GROUP = "regions"
MOST_PEERS = 50
"""Each is a thread and a connection of every request for all regions."""

OPTIONS = [
    cfg.StrOpt(
        "name",
        help="Name of this service's own region, which `$region` in property expressions is; by default `[nova] "
        "region_name`, else `os_region_name`, else RegionOne.",
    ),
    cfg.Opt(
        "peers",
        type=types.List(types.String()),
        default=[],
        help="The reservation services of other regions: `REGION=URL`, such as "
        "`RegionTwo=https://two.example.org/reservation/v1`. They are asked how much is free there, with the Keystone "
        "token of the caller: name only services that may have it.",
    ),
    cfg.FloatOpt(
        "timeout",
        default=DEFAULTS.seconds,
        min=0.1,
        max=60.0,
        help="Seconds that the service of another region may take to accept a connection, and again to answer.",
    ),
]


def register(conf: cfg.ConfigOpts) -> None:
    """Add the options of this group to `conf`."""
    conf.register_opts(OPTIONS, group=GROUP)


def read(conf: cfg.ConfigOpts) -> RegionSettings:
    """Return the regions; raises ConfigurationError for one that cannot be asked."""
    group = conf[GROUP]
    name = group.name or conf.nova.region_name or conf.os_region_name or DEFAULTS.name
    return RegionSettings(
        name=name,
        peers=_read_peers(group.peers, name),
        seconds=group.timeout,
        cafile=conf[keystone.GROUP].cafile or conf.cafile,
    )


def _read_peers(texts: Iterable[str], own: str) -> dict[str, str]:
    peers: dict[str, str] = {}
    for text in texts:
        region, found, url = (part.strip() for part in text.partition("="))
        if not (found and region and region.isprintable() and _usable(url)):
            message = f"[regions] peers has {text!r}: write REGION=URL, such as RegionTwo=https://two.example.org/v1."
            raise ConfigurationError(message)
        if region in {own, "all", *peers} or "," in region:
            message = (
                f"[regions] peers names {region} twice, or this region, or all: give each region a name of its own."
            )
            raise ConfigurationError(message)
        peers[region] = f"{url.rstrip('/').removesuffix('/v1')}/v1"
    if len(peers) > MOST_PEERS:
        message = f"[regions] peers names {len(peers)} regions; at most {MOST_PEERS} can be asked at once."
        raise ConfigurationError(message)
    return peers


def _usable(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False
