"""Clients of an OpenStack whose answers the test scripts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.unit.cloud.scripted import Script, service, serving

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from leasehold.cloud.openstack.rest import ServiceClient


@pytest.fixture
def script() -> Script:
    return Script()


@pytest.fixture
def url(script: Script) -> Iterator[str]:
    """Yield the URL where the answers of the script are served."""
    with serving(script) as where:
        yield where


@pytest.fixture
def nova(tmp_path: Path, url: str) -> ServiceClient:
    return service(tmp_path, url)


@pytest.fixture
def neutron(tmp_path: Path, url: str) -> ServiceClient:
    return service(tmp_path, url, "neutron")
