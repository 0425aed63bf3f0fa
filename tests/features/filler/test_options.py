"""The options of fillers, with a group for each class of hosts that has other times."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from leasehold.conf.errors import ConfigurationError
from leasehold.features import registry
from leasehold.features.filler.options import FillerSettings
from tests.unit.calendar.strategies import resource

if TYPE_CHECKING:
    from pathlib import Path

GPU = 'hosts = ["==", "$$gpu", "A100"]\n'


def read(folder: Path, text: str) -> FillerSettings:
    path = folder / "leasehold.conf"
    path.write_text(f"[database]\nconnection = sqlite://\n[filler]\n{text}")
    return registry.load(["--config-file", str(path)]).settings.of(FillerSettings)


def test_there_are_none_by_default(tmp_path: Path) -> None:
    assert read(tmp_path, "") == FillerSettings()


def test_a_host_has_the_times_of_the_first_class_that_it_is_of(tmp_path: Path) -> None:
    found = read(
        tmp_path,
        f"classes = gpu, all\nnotice_seconds = 60\n[filler:gpu]\n{GPU}notice_seconds = 600\n"
        '[filler:all]\nhosts = ["!=", "$$gpu", "else"]\nevict_seconds = 100\n',
    )
    gpu, none, other = (found.of(resource(1, properties={"gpu": each})) for each in ("A100", "none", "else"))
    assert (gpu.notice, gpu.evict) == (timedelta(minutes=10), timedelta(minutes=5))
    assert (none.notice, none.evict) == (timedelta(minutes=2), timedelta(seconds=100))
    assert (other.notice, other.evict) == (timedelta(minutes=1), timedelta(minutes=5))
    assert found.longest_leaving == other.leaving


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("classes = a/b\n", "[filler] classes: 'a/b' is no name"),
        ("classes = gpu\n", "[filler:gpu] hosts: say which hosts are of the class"),
        ("classes = gpu\n[filler:gpu]\nhosts = A100\n", "[filler:gpu] hosts: "),
        (f"classes = gpu\n[filler:gpu]\n{GPU}notice_seconds = -1\n", "notice_seconds"),
    ],
)
def test_what_cannot_be_is_refused_with_its_option(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(ConfigurationError) as found:
        read(tmp_path, text)
    assert said in str(found.value)
