"""The servers of these tests have the settings that the guide gives."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from leasehold.conf.database import DatabaseSettings
from tests.cluster import guide
from tests.cluster.scenes import GALERA, POSTGRESQL
from tests.servers.standby import PrimaryAndStandby

if TYPE_CHECKING:
    from tests.servers.galera import GaleraCluster


@pytest.mark.slow
@pytest.mark.servers
def test_every_node_is_set_as_the_guide_says(galera: GaleraCluster) -> None:
    settings = guide.of_server(GALERA)
    assert len(settings) > 3
    for node in galera.nodes:
        assert {name: node.variable(name) for name in settings} == settings


@pytest.mark.slow
@pytest.mark.servers
def test_the_primary_is_set_as_the_guide_says() -> None:
    settings = {name: value.strip("'") for name, value in guide.of_server(POSTGRESQL).items()}
    assert len(settings) > 1
    with PrimaryAndStandby() as pair:
        assert {name: pair.primary.setting(name) for name in settings} == settings


@pytest.mark.parametrize("title", [GALERA, POSTGRESQL])
def test_the_guide_shows_the_defaults(title: str) -> None:
    shown = {name.removeprefix("mysql_"): float(str(value)) for name, value in guide.of_leasehold(title).items()}
    assert shown.items() <= {name: getattr(DatabaseSettings(), name) for name in shown}.items()
    assert shown
