"""The example distribution of devices, installed beside the service as an operator installs it, and used for real."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import pytest
import requests

from tests.processes import BIN, Program, running, wait_for
from tests.test_house import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

pytestmark = pytest.mark.slow

DEVICES = ROOT / "examples" / "devices"
MOST_LINES = 400
TYPE = "site:device"
NEWEST = {"OpenStack-API-Version": "reservation latest"}
MODEL = json.dumps(["==", "$model", "zcu102"])
HOOK = """#!/bin/sh
[ -e {folder}/slow ] && sleep 60
[ -e {folder}/broken ] && echo "no power" && exit 3
echo {which} "$@" >> {folder}/journal
"""


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Install the distribution into a folder, without a line of the service changed."""
    folder: Path = tmp_path_factory.mktemp("packages")
    options = ["--quiet", "--no-deps", "--no-build-isolation", "--disable-pip-version-check", "--target", str(folder)]
    subprocess.run([sys.executable, "-m", "pip", "install", *options, str(DEVICES)], check=True, timeout=120)
    return folder


@dataclass(frozen=True)
class Site:
    """A running service with devices, and the folder with what they do."""

    program: Program
    folder: Path
    packages: Path

    def call(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] = MappingProxyType({}),
    ) -> tuple[int, Any]:
        url = f"{self.program.url}/{path}"
        answer = requests.request(method, url, json=body, headers={**NEWEST, **headers}, timeout=60)
        return answer.status_code, answer.json() if answer.content else None

    def describe(self, **devices: Mapping[str, Any]) -> None:
        """Write the inventory: devices by name with their fields; JSON is YAML."""
        found = [{"name": name, "attributes": {"model": "zcu102"}, **fields} for name, fields in devices.items()]
        (self.folder / "devices.yaml").write_text(json.dumps({"devices": found}))

    def enrol(self, name: str, **properties: str) -> str:
        status, answer = self.call("POST", f"resources/{TYPE}", {"name": name, "properties": properties})
        assert status == 201, answer
        return str(answer["resource"]["id"])

    def lease(
        self, amount: int = 1, expression: str = MODEL, headers: Mapping[str, str] | None = None, start: str = "now"
    ) -> tuple[int, Any]:
        end = (datetime.now(UTC) + timedelta(days=1)).strftime("%Y-%m-%d %H:%M")
        asked = {"resource_type": TYPE, "amount": amount, "resource_properties": expression}
        body = {"name": "lab", "start_date": start, "end_date": end, "reservations": [asked]}
        return self.call("POST", "leases", body, headers or {})

    def leased(self, amount: int = 1) -> str:
        status, answer = self.lease(amount)
        assert status == 201, answer
        return str(answer["lease"]["id"])

    def show(self, lease_id: str) -> Any:
        return self.call("GET", f"leases/{lease_id}")[1]["lease"]

    def journal(self, *words: str) -> bool:
        """Say whether a hook has written a line that begins so."""
        file = self.folder / "journal"
        return file.exists() and any(line.split()[: len(words)] == [*words] for line in file.read_text().splitlines())

    def audit(self, *options: str) -> str:
        """Return what the audit says."""
        config = self.program.log.parent / "leasehold.conf"
        environment = {"PATH": f"{BIN}:/usr/bin:/bin", "PYTHONPATH": str(self.packages)}
        environment["LEASEHOLD_STATE"] = str(self.program.log.parent)
        command = [str(BIN / "leasehold-manage"), "--config-file", str(config), "audit", *options]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=120)
        assert done.returncode in (0, 1), done.stderr
        return done.stdout


@pytest.fixture
def site(packages: Path, tmp_path: Path) -> Iterator[Site]:
    """Run the service with three devices, none of them enrolled."""
    for which in ("start", "end"):
        hook = tmp_path / which
        hook.write_text(HOOK.format(which=which, folder=tmp_path))
        hook.chmod(0o755)
    devices = {"inventory": tmp_path / "devices.yaml", "start_hook": tmp_path / "start", "end_hook": tmp_path / "end"}
    options: dict[str, dict[str, object]] = {
        "DEFAULT": {"lead_time_by_type": f"{TYPE}=600"},
        "manager": {"plugins": f"physical:host,{TYPE}", "retry_first_seconds": 0.1, "retry_most_seconds": 0.5},
        "physical:host": {"polling_interval": 1, "failure_grace": 0},
        "devices": {**devices, "hook_seconds": 1},
    }
    environment = {"PYTHONPATH": str(packages)}
    with running("leasehold-standalone", options=options, environment=environment) as program:
        made = Site(program, tmp_path, packages)
        made.describe(**{"fpga-1": {}, "fpga-2": {}, "fpga-3": {"attributes": {"model": "u280"}}})
        yield made


def test_the_distribution_is_small_enough_to_be_read() -> None:
    files = [path for path in DEVICES.rglob("*") if path.is_file() and "__pycache__" not in path.parts]
    assert sum(len(path.read_text().splitlines()) for path in files) <= MOST_LINES


def test_devices_are_enrolled_described_and_removed(site: Site) -> None:
    ident = site.enrol("fpga-1", room="r2")
    _, answer = site.call("GET", f"resources/{TYPE}/{ident}")
    resource = answer["resource"]
    assert (resource["name"], resource["health"], resource["properties"]) == ("fpga-1", "healthy", {"room": "r2"})
    assert resource["attributes"]["model"] == "zcu102"
    _, answer = site.call("GET", f"resources/{TYPE}/candidates")
    assert [(each["name"], each["attributes"]["model"]) for each in answer["candidates"]] == [
        ("fpga-2", "zcu102"),
        ("fpga-3", "u280"),
    ]
    assert site.call("POST", f"resources/{TYPE}", {"name": "fpga-1"})[0] == 409
    status, answer = site.call("POST", f"resources/{TYPE}", {"name": "fpga-9"})
    assert (status, "fpga-9" in answer["error_message"]) == (404, True)
    assert site.call("POST", f"resources/{TYPE}", {})[1]["field"] == "name"
    site.call("PUT", f"resources/{TYPE}/{ident}", {"properties": {"room": None, "desk": "7"}})
    _, answer = site.call("GET", f"resources/{TYPE}")
    assert [each["properties"] for each in answer["resources"]] == [{"desk": "7"}]
    assert site.call("DELETE", f"resources/{TYPE}/{ident}")[0] == 204
    assert site.call("GET", f"resources/{TYPE}")[1] == {"resources": []}


def test_the_type_has_its_place_in_the_description_of_the_api(site: Site) -> None:
    _, document = site.call("GET", "openapi.json")
    schemas = document["components"]["schemas"]
    assert {"DeviceBody", "DeviceDescription"} <= schemas.keys()
    assert TYPE in json.dumps(schemas["ReservationRequest"])
    assert "DeviceDescription" in json.dumps(schemas["ResourceCreation"])
    _, answer = site.call("GET", "resources")
    assert {"resource_type": TYPE, "noun": "devices", "enrolled": True} in answer["resource_types"]


def test_a_lease_prepares_its_devices_and_its_end_cleans_them(site: Site) -> None:
    ident = site.enrol("fpga-1")
    site.enrol("fpga-3")
    lease_id = site.leased()
    wait_for(lambda: site.show(lease_id)["status"] == "ACTIVE")
    part = site.show(lease_id)["reservations"][0]["id"]
    assert site.journal("start", "fpga-1", part)
    assert "No differences" in site.audit()
    status, answer = site.lease()
    assert (status, "1 matching" in answer["error_message"]) == (409, True), answer
    assert site.call("DELETE", f"resources/{TYPE}/{ident}")[0] == 409
    _, answer = site.call("GET", f"resources/{TYPE}/{ident}/allocation")
    assert [each["lease_id"] for each in answer["allocation"]["reservations"]] == [lease_id]
    _, answer = site.call("GET", f"leases/{lease_id}/resources")
    (held,) = answer["reservations"][0]["resources"]
    assert (held["id"], held["name"], held["attributes"]["model"]) == (ident, "fpga-1", "zcu102")
    assert site.call("DELETE", f"leases/{lease_id}")[0] == 204
    wait_for(lambda: site.journal("end", "fpga-1", part))
    assert not site.journal("start", "fpga-3")


def test_devices_are_prepared_by_their_lead_time_before_the_start(site: Site) -> None:
    site.enrol("fpga-1")
    soon, later = (datetime.now(UTC) + timedelta(minutes=each) for each in (5, 25))
    status, answer = site.lease(start=f"{soon:%Y-%m-%d %H:%M}")
    assert status == 201, answer
    lease = answer["lease"]
    wait_for(lambda: site.show(lease["id"])["status"] == "ACTIVE")
    assert site.journal("start", "fpga-1", lease["reservations"][0]["id"])
    assert datetime.now(UTC) < soon.replace(second=0)
    site.enrol("fpga-2")
    status, answer = site.lease(start=f"{later:%Y-%m-%d %H:%M}")
    assert (status, site.show(answer["lease"]["id"])["status"]) == (201, "PENDING")
    assert not site.journal("start", "fpga-2")
    assert "No differences" in site.audit()


def test_a_disabled_device_is_leased_to_administrators_alone(site: Site) -> None:
    ident, member = site.enrol("fpga-1"), {"X-User-Id": "eve", "X-Project-Id": "demo", "X-Roles": "member,reader"}
    status, answer = site.call("PUT", f"resources/{TYPE}/{ident}", {"disabled": True, "disabled_reason": "loud"})
    assert (status, answer["resource"]["reservable"], answer["resource"]["disabled_reason"]) == (200, False, "loud")
    status, answer = site.lease(headers=member)
    assert (status, "0 free" in answer["error_message"], "fits_on_disabled" in answer["details"]) == (409, True, False)
    site.describe(**{"fpga-1": {"up": False}})
    wait_for(lambda: site.call("GET", f"resources/{TYPE}/{ident}")[1]["resource"]["health"] == "failed")
    site.describe(**{"fpga-1": {}})
    wait_for(lambda: site.call("GET", f"resources/{TYPE}/{ident}")[1]["resource"]["health"] == "healthy")
    wait_for(lambda: site.lease()[0] == 201)
    assert site.call("GET", f"resources/{TYPE}/{ident}")[1]["resource"]["disabled"] is True
    assert site.lease(headers=member)[0] == 409


@pytest.mark.parametrize("trouble", ["broken", "slow"])
def test_a_hook_that_fails_or_hangs_is_tried_again(site: Site, trouble: str) -> None:
    site.enrol("fpga-1")
    (site.folder / trouble).touch()
    lease_id = site.leased()
    wait_for(lambda: "device fpga-1" in (site.show(lease_id)["status_reason"] or ""))
    (site.folder / trouble).unlink()
    wait_for(lambda: site.show(lease_id)["status"] == "ACTIVE")


def test_a_device_that_fails_is_replaced_and_cleaned_when_it_is_back(site: Site) -> None:
    site.enrol("fpga-1")
    site.enrol("fpga-2")
    lease_id = site.leased()
    wait_for(lambda: site.show(lease_id)["status"] == "ACTIVE")
    site.describe(**{"fpga-1": {"up": False}, "fpga-2": {}})
    wait_for(lambda: site.journal("start", "fpga-2"))
    wait_for(lambda: site.journal("end", "fpga-1"))
    assert site.show(lease_id)["reservations"][0]["resources_changed"]


def test_the_audit_finds_devices_that_are_gone_or_left_over_and_cleans_the_latter(site: Site) -> None:
    site.enrol("fpga-1")
    lease_id = site.leased()
    wait_for(lambda: site.show(lease_id)["status"] == "ACTIVE")
    part = site.show(lease_id)["reservations"][0]["id"]
    site.describe(**{"fpga-2": {}})
    assert "Device fpga-1 is enrolled, but not in the inventory." in site.audit()
    site.describe(**{"fpga-1": {}})
    site.call("DELETE", f"leases/{lease_id}")
    wait_for(lambda: site.journal("end", "fpga-1", part))
    (site.folder / "journal").unlink()
    site.describe(**{"fpga-1": {"reservation": part}})
    assert f"The reservation {part}" in site.audit()
    site.audit("--repair")
    assert site.journal("end", "fpga-1", part)


def test_what_a_hook_writes_is_not_kept_in_memory(site: Site) -> None:
    """A hook that writes 100 MiB and fails adds nothing like that to the service, and the end of it is logged."""
    (site.folder / "start").write_text('#!/bin/sh\nhead -c 100M /dev/zero\necho "no power" && exit 3\n')
    site.enrol("fpga-1")
    before = peak_memory(site.program)
    lease_id = site.leased()
    wait_for(lambda: "ended with code 3" in (site.show(lease_id)["status_reason"] or ""))
    assert peak_memory(site.program) - before < 50
    assert "no power" in site.program.log.read_text()


def peak_memory(program: Program) -> float:
    """Return the most memory that the process has had so far, in MiB."""
    status = Path(f"/proc/{program.process.pid}/status").read_text()
    return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM")) / 1024
