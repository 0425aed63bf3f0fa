"""Strategy `none`: trusts the identity that a request claims. For trials, and behind a proxy on the same machine.

The identity comes in the headers that keystonemiddleware would set: `X-User-Id`, `X-Project-Id` and `X-Roles`.

A web page in a browser on this machine reaches this API, too: by a form or a script that posts to a loopback address,
or under its own host name, made to resolve to loopback (DNS rebinding). So `Host`, `Origin` and `Sec-Fetch-Site` are
checked.
"""

from __future__ import annotations

import socket
from dataclasses import dataclass
from typing import TYPE_CHECKING

from leasehold.api.auth.base import LONGEST_ID
from leasehold.api.proxies import PEER, named_host, read_address
from leasehold.conf.errors import ConfigurationError
from leasehold.model.caller import Caller
from leasehold.model.errors import ForeignPageError, UnauthorizedError

if TYPE_CHECKING:
    import falcon

    from leasehold.conf.settings import ApiSettings

DEFAULT_USER = "admin"
DEFAULT_PROJECT = "demo"
DEFAULT_ROLES = "admin,member,reader"
OWN_SITES = frozenset({"", "none", "same-origin"})
"""Values of `Sec-Fetch-Site` from no browser, from a browser's user, and from a page of this API."""
IMPLIED = ("admin", "manager", "member", "reader")
"""Each role implies those after it. Keystone's tokens list all of them; the other strategies have to add them."""


@dataclass(frozen=True, slots=True)
class NoAuthentication:
    """Trusts the headers of every connection from this machine.

    Another server than ours may listen on any address, so the address of each connection is checked as well.
    """

    allowed_hosts: frozenset[str] = frozenset()
    challenge: str | None = None

    def identify(self, request: falcon.Request) -> Caller:
        """Return the caller that the headers name, by default an administrator of the project `demo`.

        Raises UnauthorizedError for a connection from another machine, and ForeignPageError for a request that a web
        page may have sent.
        """
        peer = request.env.get(PEER, request.env.get("REMOTE_ADDR", ""))
        if peer and not _is_loopback(peer):
            raise UnauthorizedError(
                "This API does not authenticate callers, so it answers only its own machine. "
                "Its administrator can set [api] auth_strategy to keystone or http_basic."
            )
        self._refuse_pages(request, local_socket=not peer)
        return Caller(
            user_id=_identity(request, "X-User-Id", DEFAULT_USER),
            project_id=_identity(request, "X-Project-Id", DEFAULT_PROJECT),
            roles=with_implied(read_roles(request.get_header("X-Roles", default=DEFAULT_ROLES))),
        )

    def _refuse_pages(self, request: falcon.Request, *, local_socket: bool) -> None:
        """Raise ForeignPageError unless the headers show that a program or a page of this API sent the request.

        Every browser sends `Host`. No page can reach a socket file, so a proxy may send any `Host` through one.
        """
        host = (request.get_header("Host") or "").lower()
        if host and not local_socket and not self._is_own(host):
            raise ForeignPageError(
                f"This API does not authenticate callers, so it answers only under names of its own machine, such as "
                f"localhost, and not as {host[:80]!r}. Its administrator can name more in [api] allowed_hosts.",
                field="Host",
            )
        named = _foreign_header(request, host)
        if named is not None:
            raise ForeignPageError(
                "This API does not authenticate callers, so it answers no web page of another site. Call it from a "
                "program, or have its administrator set [api] auth_strategy to keystone or http_basic.",
                field=named,
            )

    def _is_own(self, host: str) -> bool:
        """Say whether a `Host` header, with or without a port, names this machine's loopback or an allowed name."""
        name = named_host(host)
        address = read_address(name)
        return name == "localhost" or name in self.allowed_hosts or (address is not None and address.is_loopback)


def _foreign_header(request: falcon.Request, host: str) -> str | None:
    """Return the header that shows a page of another site, None if there is none."""
    origin = request.get_header("Origin")
    if origin is not None and (not host or origin.lower().partition("://")[2] != host):
        return "Origin"
    return None if (request.get_header("Sec-Fetch-Site") or "").lower() in OWN_SITES else "Sec-Fetch-Site"


def read_roles(text: str) -> frozenset[str]:
    """Return the role names in a comma-separated list, in lower case, as policies compare them."""
    return frozenset(role.strip().lower() for role in text.split(",") if role.strip())


def with_implied(roles: frozenset[str]) -> frozenset[str]:
    """Return the roles and those that they imply in Keystone's bootstrap, so that a member may also read."""
    highest = next((place for place, role in enumerate(IMPLIED) if role in roles), len(IMPLIED))
    return roles.union(IMPLIED[highest:])


def _identity(request: falcon.Request, header: str, default: str) -> str:
    value = request.get_header(header) or default
    if len(value) > LONGEST_ID or not value.isascii() or not value.isprintable():
        raise UnauthorizedError(f"{header} is not an id. Send at most {LONGEST_ID} printable ASCII characters.")
    return value


def open_none(settings: ApiSettings) -> NoAuthentication:
    """Return the strategy; raises `ConfigurationError` unless the API listens on a loopback address only."""
    if not _is_loopback(settings.host):
        message = (
            f"auth_strategy 'none' lets everybody do everything, so the API will not listen on {settings.host}. "
            "Set [DEFAULT] host to 127.0.0.1, or [api] auth_strategy to http_basic."
        )
        raise ConfigurationError(message)
    return NoAuthentication(frozenset(name.lower() for name in settings.allowed_hosts))


def _is_loopback(host: str) -> bool:
    """Say whether `host` is a loopback address, or is localhost and resolves to loopback addresses only."""
    address = read_address(host)
    if address is not None:
        return address.is_loopback
    if host != "localhost":
        return False
    try:
        found = socket.getaddrinfo(host, None)
    except OSError:
        return False
    return all(_is_loopback(str(entry[4][0])) for entry in found)
