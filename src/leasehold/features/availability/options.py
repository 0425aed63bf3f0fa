"""Options about the other regions of the cloud, each of which has a reservation service of its own (feature C3)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from oslo_config import cfg, types

from leasehold.conf.errors import ConfigurationError
from leasehold.conf.options import Options
from leasehold.conf.region import GROUP

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


@dataclass(frozen=True, slots=True)
class RegionSettings:
    """The URLs of the services of other regions, by their names, up to `/v1`.

    One may take `seconds` to connect and as long again to answer.
    """

    peers: Mapping[str, str] = field(default_factory=dict)
    seconds: float = 5.0


DEFAULTS = RegionSettings()
MOST_PEERS = 50
"""Each is a thread and a connection of every request for all regions."""

_OPTIONS = [
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


def _read(group: Any) -> RegionSettings:
    """Return the other regions; raises ConfigurationError for one that cannot be asked."""
    return RegionSettings(_read_peers(group.peers, group.name), group.timeout)


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


OPTIONS = Options(GROUP, _OPTIONS, RegionSettings, _read)
