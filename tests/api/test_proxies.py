"""Proxy headers are accepted from trusted proxies only."""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from leasehold.cmd.web import make_app
from leasehold.conf import ConfigurationError
from tests.web import LocalClient

if TYPE_CHECKING:
    from collections.abc import Mapping

    from falcon import testing

    from leasehold.conf.settings import ApiSettings
    from leasehold.leasing.service import Service


@pytest.fixture
def web(service: Service, settings: ApiSettings) -> testing.TestClient:
    """Return an API with trusted proxies."""
    trusted = ("192.0.2.0/28", "2001:db8::1", "unix")
    return LocalClient(make_app(service, replace(settings, trusted_proxies=trusted)))


@pytest.mark.parametrize(
    ("peer", "headers", "scheme"),
    [
        ("", {"X-Forwarded-Proto": "https"}, "https"),
        ("", {"X-Forwarded-Proto": "HTTPS"}, "https"),
        ("", {"X-Forwarded-Proto": "http, https"}, "https"),
        ("", {"X-Forwarded-Proto": "https, http"}, "http"),
        ("", {"X-Forwarded-Proto": "gopher"}, "http"),
        ("", {}, "http"),
        ("", {"X-Forwarded-Host": "evil.example"}, "http"),
        ("", {"X-Forwarded-Port": "1"}, "http"),
        ("", {"Forwarded": "for=198.51.100.1;proto=https;host=evil.example"}, "http"),
        ("", {"X-Forwarded-Ssl": "on"}, "http"),
        ("", {"X-Forwarded-Prefix": "/evil"}, "http"),
        ("", {"X-Url-Scheme": "https"}, "http"),
        ("127.0.0.1", {"X-Forwarded-Proto": "https"}, "http"),
    ],
)
def test_links_lead_back_the_way_that_the_client_came(
    web: testing.TestClient, peer: str, headers: Mapping[str, str], scheme: str
) -> None:
    """Of all headers only the scheme counts, and only that of the nearest proxy, if the API trusts it."""
    sent = {"Host": "api.example:8443", **headers}
    answer = web.simulate_get("/versions", headers=sent, extras={"REMOTE_ADDR": peer})
    assert answer.json["versions"][0]["links"][0]["href"] == f"{scheme}://api.example:8443/v1"


@pytest.mark.parametrize(
    ("peer", "hops", "client"),
    [
        ("192.0.2.1", "198.51.100.7", "198.51.100.7"),
        ("192.0.2.1", "10.9.9.9, 198.51.100.7", "198.51.100.7"),
        ("192.0.2.1", "10.9.9.9, 198.51.100.7, 192.0.2.15", "198.51.100.7"),
        ("192.0.2.1", "192.0.2.3", "192.0.2.3"),
        ("192.0.2.1", "", "192.0.2.1"),
        ("192.0.2.1", "nonsense", "192.0.2.1"),
        ("192.0.2.1", "198.51.100.7, nonsense", "192.0.2.1"),
        ("2001:db8::1", "2001:db8:1::7", "2001:db8:1::7"),
        ("::ffff:192.0.2.1", "198.51.100.7", "198.51.100.7"),
        ("", "198.51.100.7", "198.51.100.7"),
        ("192.0.2.16", "198.51.100.7", "192.0.2.16"),
        ("198.51.100.1", "192.0.2.1", "198.51.100.1"),
        ("2001:db8::2", "198.51.100.7", "2001:db8::2"),
    ],
)
def test_the_log_names_the_address_of_the_client(
    web: testing.TestClient, caplog: pytest.LogCaptureFixture, peer: str, hops: str, client: str
) -> None:
    """The client is the last address in the header that is not a trusted proxy; a client can forge those before it."""
    headers = {"X-Forwarded-For": hops, "X-User-Id": "x" * 256}
    with caplog.at_level(logging.INFO, "leasehold"):
        assert web.simulate_get("/v1/leases", headers=headers, extras={"REMOTE_ADDR": peer}).status_code == 401
    assert [each for each in caplog.messages if "login" in each] == [f"A login from {client} failed."]


@pytest.mark.parametrize("name", ["proxy.example", "*", "192.0.2.1/24", "", "127.0.0.1:80"])
def test_a_proxy_is_an_address(service: Service, settings: ApiSettings, name: str) -> None:
    with pytest.raises(ConfigurationError, match="trusted_proxies"):
        make_app(service, replace(settings, trusted_proxies=(name,)))
