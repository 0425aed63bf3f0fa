"""A body's key that names what adds further keys is unknown where no feature adds any."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from leasehold.api import app
from leasehold.api.routes.core import ROUTES
from tests.api.conftest import Client
from tests.web import LocalClient

if TYPE_CHECKING:
    from leasehold.conf.settings import ApiSettings
    from leasehold.leasing.service import Service


BODY = {"name": "l", "start_date": "2031-05-02 10:00", "end_date": "2031-05-02 11:00", "template": "course"}


@pytest.fixture
def core(service: Service, settings: ApiSettings) -> Client:
    """Return a client of an API without features."""
    parts = app.Parts(ROUTES, {}, ())
    return Client(LocalClient(app.make_app(service, settings, parts)))


@pytest.mark.parametrize("version", ["1.2", "1.3"])
def test_a_key_that_no_feature_fills_is_unknown(core: Client, version: str) -> None:
    answer = core.but(version=version).ask("POST", "/v1/leases", BODY)
    assert (answer.status_code, answer.json["code"]) == (400, "leasehold.input.unknown")
    assert answer.json["details"]["unknown"] == ["template"]
    assert "template" not in answer.json["details"]["known"]


def test_before_keys_are_refused_it_is_ignored(core: Client) -> None:
    assert core.but(version="1.0").ask("POST", "/v1/leases", BODY).status_code == 201
