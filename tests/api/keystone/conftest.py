"""Fixtures for `auth_strategy = keystone`: the real middleware, with a fake Keystone over real HTTP."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from falcon import testing

from leasehold import conf
from leasehold.api.auth.strategies import open_authenticator
from leasehold.cmd.web import make_app
from leasehold.conf.settings import ApiSettings
from tests.api.keystone.server import Keystone, running_keystone

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from oslo_config import cfg

    from leasehold.api.auth.base import Authenticator
    from leasehold.leasing.service import Service
    from leasehold.model.caller import Caller

    Configured = Callable[..., cfg.ConfigOpts]
    Served = Callable[..., testing.TestClient]

# keystonemiddleware uses WebOb, which parses headers with the deprecated module `cgi`.
WARNS = "ignore:'cgi' is deprecated:DeprecationWarning"


def pytest_itemcollected(item: pytest.Item) -> None:
    item.add_marker(pytest.mark.filterwarnings(WARNS))


@pytest.fixture
def keystone() -> Iterator[Keystone]:
    with running_keystone() as keystone:
        yield keystone


@pytest.fixture
def configured(tmp_path: Path, keystone: Keystone) -> Configured:
    """Return a function that loads a configuration with the service's credentials and with additional lines."""

    def load(*lines: str, **changes: str | None) -> cfg.ConfigOpts:
        options = {
            "auth_type": "password",
            "auth_url": keystone.url,
            "username": "leasehold",
            "password": "secret-of-the-service",
            "project_name": "service",
            "user_domain_name": "Default",
            "project_domain_name": "Default",
            **changes,
        }
        path = tmp_path / "leasehold.conf"
        text = "\n".join(["[keystone_authtoken]", *(f"{k} = {v}" for k, v in options.items() if v is not None), *lines])
        path.write_text(text, encoding="utf-8")
        return conf.load(["--config-file", str(path)]).raw

    return load


@pytest.fixture
def serve(service: Service, settings: ApiSettings, configured: Configured) -> Served:
    """Return a function that opens the API with a configuration such as `configured` loads."""

    def make(*lines: str, **changes: str | None) -> testing.TestClient:
        raw = configured(*lines, **changes)
        return testing.TestClient(make_app(service, replace(settings, auth_strategy="keystone"), raw))

    return make


@pytest.fixture
def web(serve: Served) -> testing.TestClient:
    return serve()


def ask(web: testing.TestClient, token: str | None, path: str = "/v1/leases", **headers: str) -> testing.Result:
    return web.simulate_get(path, headers=named(X_Auth_Token=token, **headers))


def authenticator(raw: cfg.ConfigOpts) -> Authenticator:
    return open_authenticator(ApiSettings(auth_strategy="keystone"), raw)


def identify(authentication: Authenticator, **headers: str) -> Caller:
    return authentication.identify(testing.create_req(path="/v1/leases", headers=named(**headers)))


def named(**headers: str | None) -> dict[str, str]:
    """Return headers whose names are written with underscores; None leaves one out."""
    return {name.replace("_", "-"): text for name, text in headers.items() if text is not None}
