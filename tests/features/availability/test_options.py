"""The other regions in the configuration file."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from leasehold import conf
from leasehold.features.availability.options import RegionSettings
from leasehold.features.registry import load

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def written(folder: Path, text: str) -> None:
    (folder / "leasehold.conf").write_text(text)


def test_regions_have_names_and_urls(tmp_path: Path) -> None:
    written(tmp_path, "[regions]\npeers = Two=https://two.example/v1/, Three = http://three.example:8000\n")
    peers = load().settings.of(RegionSettings).peers
    assert peers == {"Two": "https://two.example/v1", "Three": "http://three.example:8000/v1"}


WRONG_PEERS = (
    "Two",
    "Two=two.example",
    "=http://two.example",
    "Two=http://a, Two=http://b",
    "RegionOne=http://a",
    "all=http://a",
)


@pytest.mark.parametrize("peers", WRONG_PEERS)
def test_a_region_that_cannot_be_asked_is_refused_at_the_start(tmp_path: Path, peers: str) -> None:
    written(tmp_path, f"[regions]\npeers = {peers}\n")
    with pytest.raises(conf.ConfigurationError, match=r"\[regions\] peers"):
        load()
