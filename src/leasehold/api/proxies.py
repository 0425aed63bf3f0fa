"""Finds the client's address and scheme behind a proxy, from the headers of trusted proxies only.

`X-Forwarded-For` and `X-Forwarded-Proto` count when the connection comes from a trusted proxy. No other header counts:
a proxy passes `Host` on, and one that does not know `Forwarded` or `X-Forwarded-Host` passes on the client's own.
"""

from __future__ import annotations

import ipaddress
from typing import TYPE_CHECKING

from leasehold.conf.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Iterable

    import falcon

Network = ipaddress.IPv4Network | ipaddress.IPv6Network
Address = ipaddress.IPv4Address | ipaddress.IPv6Address

PEER = "leasehold.peer"
"""The key in a request's environment of the connection's own address, whatever the headers say."""
FOR, PROTO = "HTTP_X_FORWARDED_FOR", "HTTP_X_FORWARDED_PROTO"
LOCAL_SOCKET = "unix"
SCHEMES = frozenset({"http", "https"})


class Proxies:
    """Middleware that sets the client's address and scheme in each request that a trusted proxy passes on."""

    def __init__(self, trusted: Iterable[str]) -> None:
        """Read addresses, networks and `unix`; raises ConfigurationError that names any other entry."""
        names = list(trusted)
        self._local = LOCAL_SOCKET in names
        self._networks = [_network(name) for name in names if name != LOCAL_SOCKET]

    def process_request(self, request: falcon.Request, _response: falcon.Response) -> None:
        """Read the headers if the connection comes from a trusted proxy; drop them otherwise."""
        environ = request.env
        peer = environ[PEER] = str(environ.get("REMOTE_ADDR") or "")
        hops, schemes = environ.pop(FOR, ""), environ.pop(PROTO, "")
        if not self._trusts(peer):
            return
        environ["REMOTE_ADDR"] = self._client(peer, hops)
        # Of several values the last one is from the nearest proxy, which is the trusted one.
        scheme = schemes.rpartition(",")[2].strip().lower()
        if scheme in SCHEMES:
            environ["wsgi.url_scheme"] = scheme

    def _client(self, peer: str, hops: str) -> str:
        """Return the last address that is not a trusted proxy's: the client may have invented those before it."""
        found = peer
        for hop in reversed([each.strip() for each in hops.split(",") if each.strip()]):
            address = read_address(hop)
            if address is None:
                break
            found = str(address)
            if not self._trusts(hop):
                break
        return found

    def _trusts(self, text: str) -> bool:
        address = read_address(text)
        if address is None:
            return self._local and not text
        return any(address in network for network in self._networks)


def read_address(text: str) -> Address | None:
    """Return the IP address in `text`, an IPv4-mapped IPv6 address as IPv4; None for any other text."""
    try:
        address = ipaddress.ip_address(text.partition("%")[0])
    except ValueError:
        return None
    mapped = getattr(address, "ipv4_mapped", None)
    return mapped or address


def named_host(text: str) -> str:
    """Return the name or address in a `Host` header, without a port, whatever that may be."""
    return text[1:].partition("]")[0] if text.startswith("[") else text.partition(":")[0]


def _network(name: str) -> Network:
    try:
        return ipaddress.ip_network(name)
    except ValueError as error:
        message = (
            f"[api] trusted_proxies: {name!r} is not an address, a network such as 192.0.2.0/28, or `{LOCAL_SOCKET}`."
        )
        raise ConfigurationError(message) from error
