"""Which addresses may be reached on behalf of a user. The oracle is the list of networks in the RFCs."""

from __future__ import annotations

from ipaddress import ip_address, ip_network

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from leasehold.features.subscription.addresses import may_be_reached

PRIVATE = [
    *("0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.0.2.0/24"),
    *("192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4"),
    *("::/8", "2001:db8::/32", "fc00::/7", "fe80::/10", "fec0::/10", "ff00::/8", "2001::/32", "64:ff9b:1::/48"),
    *("192.0.0.0/24", "3fff::/20"),
]
PUBLIC = ["8.8.8.8", "1.1.1.1", "172.15.255.255", "172.32.0.0", "100.128.0.0", "2606:4700::1111", "2a00:1450::1"]
NO_ADDRESS = ["", "localhost", "127.1", "0x7f.0.0.1", "2130706433", "8.8.8.8/32", "::1%", "x"]


def inside(network: str) -> st.SearchStrategy[str]:
    found = ip_network(network)
    return st.integers(int(found[0]), int(found[-1])).map(lambda each: str(type(found[0])(each)))


@given(st.sampled_from(PRIVATE).flatmap(inside))
def test_what_is_not_public_is_not_reached(address: str) -> None:
    assume(getattr(ip_address(address), "ipv4_mapped", None) is None)
    assert not may_be_reached(address)
    assert may_be_reached(address, [ip_network("::/0" if ":" in address else "0.0.0.0/0")])


@given(st.sampled_from([each for each in PRIVATE if ":" not in each]).flatmap(inside))
def test_what_stands_for_an_address_of_ipv4_counts_as_that(address: str) -> None:
    for word in (f"::ffff:{address}", str(ip_address((0x2002 << 112) + (int(ip_address(address)) << 80)))):
        assert not may_be_reached(word)
        assert may_be_reached(word, [ip_network(f"{address}/32")])


@pytest.mark.parametrize("address", PUBLIC)
def test_what_is_public_is_reached(address: str) -> None:
    assert may_be_reached(address)
    everywhere = [ip_network("::/0" if ":" in address else "0.0.0.0/0")]
    assert not may_be_reached(address, everywhere, everywhere)
    if ":" not in address:
        assert may_be_reached(f"::ffff:{address}")
        assert not may_be_reached(f"::ffff:{address}", refused=[ip_network(f"{address}/32")])


@pytest.mark.parametrize("text", NO_ADDRESS)
def test_what_is_no_address_is_not_reached(text: str) -> None:
    assert not may_be_reached(text)
