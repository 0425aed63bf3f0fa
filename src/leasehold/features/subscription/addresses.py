"""Which addresses the service may connect to on behalf of a user: those that are public (decision 0040)."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

NOT_PUBLIC = (IPv4Network("192.0.0.0/24"), IPv6Network("3fff::/20"))
"""Of the networks that are not public those that `is_global` of an older Python, such as 3.11.7, takes for public."""
Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network


def may_be_reached(text: str, allowed: Sequence[Network] = (), refused: Sequence[Network] = ()) -> bool:
    """Say whether an address, as the resolver returns it, is public or in an allowed network, and in no refused one.

    An address of IPv6 that stands for one of IPv4 (mapped, 6to4) counts as that one.
    """
    try:
        address = ip_address(text)
    except ValueError:
        return False
    meant = _meant(address)
    if any(meant in network for network in refused):
        return False
    return any(meant in network for network in allowed) or _is_public(meant)


def _meant(address: Address) -> Address:
    if isinstance(address, IPv6Address):
        return address.ipv4_mapped or address.sixtofour or address
    return address


def _is_public(address: Address) -> bool:
    if any(address in network for network in NOT_PUBLIC):
        return False
    # `is_reserved` has, among others, the networks that translate to IPv4 (NAT64) and old IPv4-compatible addresses.
    local = isinstance(address, IPv6Address) and address.is_site_local
    return address.is_global and not (address.is_multicast or address.is_reserved or local)
