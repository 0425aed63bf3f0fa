"""Fixtures: a console on a real service, and browsers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from leasehold.cmd.web import make_app
from tests.features.console.browser import Browser
from tests.web import LocalClient

if TYPE_CHECKING:
    from leasehold.conf.settings import ApiSettings
    from leasehold.leasing.service import Service


@pytest.fixture
def browser(service: Service, settings: ApiSettings) -> Browser:
    """Return a browser at the console of the strategy `none`."""
    return Browser(LocalClient(make_app(service, settings)))
