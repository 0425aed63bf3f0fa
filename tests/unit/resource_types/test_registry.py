"""Resource types as plugins: they load by entry point; a missing or broken one stops the start with a message."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from leasehold.conf.settings import Settings
from leasehold.model.errors import InvalidInputError, MissingPluginError
from leasehold.resource_types.host.kind import HostRequest
from leasehold.resource_types.registry import PluginError, ResourceTypes, load_types
from tests.unit.resource_types.pool import reservation

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

pytestmark = pytest.mark.slow

ALL = "flavor:instance, physical:host, virtual:floatingip, virtual:instance"
SLEEPS_ONLY = "its resources are enrolled only so that their machines can sleep"
NONE = "no type is switched on: ask an operator."
BROKEN = """
class Broken:
    def __init__(self, options):
        raise RuntimeError("no licence for this cloud")


def unsaid(options):
    from leasehold.resource_types.driver import Driver
    from leasehold.resource_types.host.kind import HostKind
    from leasehold.resource_types.registry import ResourceType

    class Reports(Driver):
        def converge(self, cloud, job, wanted):
            return {}

        def reports(self, cloud, resources, records):
            return {}

    return ResourceType(HostKind(), Reports())
"""
START = """
import sys
from leasehold.resource_types.registry import PluginError, load_types
try:
    load_types(sys.argv[1:])
except PluginError as error:
    print(error)
"""
USE = """
import sys
from leasehold.model.errors import MissingPluginError
from leasehold.resource_types.registry import load_types
try:
    load_types(["physical:host"]).get(sys.argv[1])
except MissingPluginError as error:
    print(error.reason)
"""
POINTS = """
[leasehold.resource_types]
test:absent = broken_resource_types:Absent
test:broken = broken_resource_types:Broken
test:unsaid = broken_resource_types:unsaid
"""


@pytest.fixture(scope="module")
def types() -> ResourceTypes:
    return load_types(Settings().plugins)


@pytest.fixture
def start_with(tmp_path: Path) -> Callable[..., str]:
    """Return a function that loads a type in a process with two broken plugins, and returns its output."""
    (tmp_path / "broken_resource_types.py").write_text(BROKEN)
    info = tmp_path / "broken_resource_types-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: broken-resource-types\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(POINTS)
    environment = {**os.environ, "PYTHONPATH": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path / "cache")}

    def start(name: str, program: str = START) -> str:
        command = [sys.executable, "-c", program, name]
        return subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout.strip()

    return start


def test_the_types_of_a_new_installation_are_found_by_their_names(types: ResourceTypes) -> None:
    assert set(types.by_name) == {"physical:host", "virtual:instance", "flavor:instance", "virtual:floatingip"}
    assert all(types.get(name).name == name for name in types.by_name)
    assert types.pools() == {"hosts", "floatingips", "storage"}
    assert set(types.schemas()) == set(types.by_name)


def test_only_the_types_that_are_asked_for_are_loaded() -> None:
    assert set(load_types(["physical:host"]).by_name) == {"physical:host"}
    assert not load_types([]).by_name


@pytest.mark.parametrize(
    ("switched_on", "name", "said"),
    [
        (Settings().plugins, "virtual:machine", f"'virtual:machine' is not supported; use one of {ALL}."),
        pytest.param(Settings().plugins, "x" * 100_000, f"'{'x' * 80}' is not supported; use one of {ALL}.", id="long"),
        (["virtual:floatingip"], "physical:host", "'physical:host' is switched off; use one of virtual:floatingip."),
        ([], "physical:host", f"'physical:host' is switched off; {NONE}"),
        ([], "virtual:machine", f"'virtual:machine' is not supported; {NONE}"),
        *(
            (names, "storage:host", f"'storage:host' is not leased: {SLEEPS_ONLY}; use one of physical:host.")
            for names in (["physical:host"], ["physical:host", "storage:host"])
        ),
    ],
)
def test_a_type_that_is_not_offered_is_refused_with_what_to_do(
    switched_on: Sequence[str], name: str, said: str
) -> None:
    with pytest.raises(InvalidInputError) as caught:
        load_types(switched_on).offered(name)
    assert caught.value.field == "resource_type"
    assert caught.value.message == f"The resource type {said}"


def test_a_type_that_is_switched_off_serves_the_reservations_it_has(types: ResourceTypes) -> None:
    part = reservation(types.get("physical:host").kind, HostRequest(1, 1, "", ""))
    shown = {"min": 1, "max": 1, "hypervisor_properties": "", "resource_properties": "", "before_end": "default"}
    without = load_types(["virtual:floatingip"])
    assert types.view(part) == without.view(part) == shown
    assert without.get("physical:host") is without.get("physical:host")
    assert without.pools() == types.pools()
    assert set(without.schemas()) == {"virtual:floatingip"}


def test_a_type_that_is_not_installed_is_an_error_of_its_own(types: ResourceTypes) -> None:
    for _ in range(2):
        with pytest.raises(MissingPluginError, match="'site:gone' is not installed") as caught:
            types.get("site:gone")
        assert caught.value.under("reservations[0]").field == "reservations[0]"
    assert types.find("site:gone") is None
    part = replace(reservation(types.get("physical:host").kind, HostRequest(1, 1, "", "")), resource_type="site:gone")
    assert types.view(part) == {}


def test_a_type_that_leases_use_and_that_does_not_load_is_an_error_of_its_own(start_with: Callable[..., str]) -> None:
    said = start_with("test:broken", USE)
    assert said.endswith("The plugin of the resource type 'test:broken' does not load")


def test_a_plugin_that_is_missing_stops_the_start() -> None:
    with pytest.raises(PluginError) as caught:
        load_types(["virtual:quantum", "physical:host", "virtual:abacus"])
    assert str(caught.value) == (
        "No plugin provides virtual:abacus, virtual:quantum; install it or remove it from the list of plugins."
    )


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("test:broken", "no licence for this cloud"),
        ("test:absent", "has no attribute 'Absent'"),
        ("test:unsaid", "Reports has reports of Reporting, from which it does not derive"),
    ],
)
def test_a_plugin_that_does_not_load_stops_the_start(start_with: Callable[..., str], name: str, reason: str) -> None:
    said = start_with(name)
    assert name in said
    assert reason in said
    assert said.endswith("Fix it, or remove it from the list of plugins.")
