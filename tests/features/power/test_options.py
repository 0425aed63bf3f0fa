"""The options of sleeping hosts, with a group for each class of machines."""

from __future__ import annotations

from datetime import time, timedelta
from typing import TYPE_CHECKING

import pytest

from leasehold.conf.errors import ConfigurationError
from leasehold.features import registry
from leasehold.features.power.options import PowerSettings
from leasehold.model.hours import Hours

if TYPE_CHECKING:
    from pathlib import Path


def read(folder: Path, text: str) -> PowerSettings:
    path = folder / "leasehold.conf"
    path.write_text(f"[database]\nconnection = sqlite://\n{text}")
    return registry.load(["--config-file", str(path)]).settings.of(PowerSettings)


def test_nothing_sleeps_by_default(tmp_path: Path) -> None:
    assert read(tmp_path, "") == PowerSettings()


def test_each_class_has_a_group(tmp_path: Path) -> None:
    found = read(
        tmp_path,
        "[power]\nclasses = new, old\nidle_seconds = 60\nspares_by = rack, gpu_model\n"
        "awake_hours = mon-fri 08:00-18:00, sat 22:00-06:30\nawake_zone = Europe/Berlin\n"
        'keep_on = ["==", "$$rack", "a"]\n'
        "[power:new]\ndriver = redfish\nusername = me\npassword = secret$$1\nshut_down_seconds = 90\nwatts_on = 110.5\n"
        "[power:old]\ncommand = /bin/switch, --all\n",
    )
    new, old = found.classes
    assert (new.name, new.driver, new.username, new.password) == ("new", "redfish", "me", "secret$1")
    assert (new.shut_down, new.watts_on, new.timeout) == (timedelta(seconds=90), 110.5, timedelta(seconds=30))
    assert (old.name, old.driver, old.command) == ("old", "hook", ("/bin/switch", "--all"))
    assert found.named("new") == new
    assert found.named("none") is None
    assert (found.idle, found.spares_by) == (timedelta(minutes=1), ("rack", "gpu_model"))
    days, night = Hours(frozenset(range(5)), time(8), time(18)), Hours(frozenset({5}), time(22), time(6, 30))
    assert found.awake_hours == (days, night)
    assert found.keep_on is not None
    assert "secret" not in repr(found)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("classes = a/b", "classes: 'a/b' is no name"),
        ("awake_zone = Mars/Olympus", "awake_zone: there is no time zone 'Mars/Olympus'"),
        ("awake_hours = always", "awake_hours: 'always' is no time like 'mon-fri 08:00-18:00'"),
        ("awake_hours = mon-xyz 08:00-18:00", "awake_hours"),
        ("awake_hours = 25:00-26:00", "awake_hours"),
        ("keep_on = rack", "keep_on"),
        ("spares = -1", "spares"),
    ],
)
def test_what_cannot_be_is_refused_with_its_option(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(ConfigurationError) as found:
        read(tmp_path, f"[power]\n{text}\n")
    assert said in str(found.value)
