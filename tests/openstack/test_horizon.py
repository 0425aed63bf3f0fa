"""Blazar's dashboard, unmodified, in a real Horizon on the cloud: its pages, its forms and what they do.

Two pages do nothing without scripts, the calendar and the dialog that launches a server; a browser opens these.
Contract clients §2 has what the dashboard itself does wrong, whatever service it asks.
"""

from __future__ import annotations

import json
import subprocess
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest

from tests.openstack.cloud.home import CHECKOUT
from tests.openstack.dashboard.browser import Browser
from tests.openstack.dashboard.horizon import running_horizon
from tests.openstack.dashboard.visitor import Visitor
from tests.openstack.leasehold import running_leasehold
from tests.openstack.person import BOOT_WITHIN, GONE_WITHIN, LEASE_WITHIN, V1, Person, nothing_left
from tests.processes import wait_for

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.openstack.cloud import RunningCloud

LEASES, CREATE, CALENDAR = "/project/leases/", "/project/leases/create/", "/project/leases/calendar/host/"
HOSTS, ADD_HOSTS = "/admin/hosts/", "/admin/hosts/create/"
SHOWN = "%Y-%m-%d %H:%M UTC"
METADEF = CHECKOUT / "etc" / "glance" / "reservation.json"
DIALOG = '//div[contains(@class, "modal-dialog")]'
HINT = f'{DIALOG}//input[@name="property"]'
LAUNCH = f'{DIALOG}//button[contains(@class, "finish")]'


@dataclass(frozen=True)
class Site:
    """A cloud with a new Leasehold, two enrolled hosts, and Horizon."""

    cloud: RunningCloud
    url: str

    def visitor(self, name: str) -> Visitor:
        """Return a user of the cloud who is signed in to Horizon."""
        return Visitor(self.url, name, self.cloud.password)

    def person(self, name: str) -> Person:
        return Person(self.cloud, name)


@pytest.fixture(scope="module")
def site(cloud: RunningCloud) -> Iterator[Site]:
    with running_leasehold(cloud, "horizon"), running_horizon(cloud) as url:
        admin = Person(cloud, "admin")
        with nothing_left(admin), ExitStack() as undo:
            for name in cloud.computes[:2]:
                undo.callback(admin.blazar.host.delete, admin.blazar.host.create(name=name)["id"])
            yield Site(cloud, url)


@pytest.fixture(autouse=True)
def _only_its_own_leases(site: Site) -> Iterator[None]:
    """Delete what a failed test has left, which the next one would find."""
    yield
    admin = site.person("admin")
    for lease in admin.blazar.lease.list():
        admin.delete(lease)


@pytest.fixture(scope="module")
def demo(site: Site) -> Visitor:
    return site.visitor("demo")


@pytest.fixture(scope="module")
def admin(site: Site) -> Visitor:
    return site.visitor("admin")


@pytest.fixture(scope="module")
def metadef(cloud: RunningCloud) -> Iterator[dict[str, Any]]:
    """Give Glance our definition, with the command of the operators' guide, and yield it."""
    definition: dict[str, Any] = json.loads(METADEF.read_text())
    _glance(cloud, "md-namespace-import", "--file", str(METADEF))
    yield definition
    _glance(cloud, "md-namespace-delete", definition["namespace"])


def _glance(cloud: RunningCloud, *words: str) -> None:
    subprocess.run([cloud.venv("dashboard") / "bin" / "glance", *words], env=cloud.variables(), timeout=60, check=True)


def create(visitor: Visitor, name: str, **fields: str) -> str:
    """Create a lease with the form and return its id, once the list shows it."""
    page = visitor.fill_in(CREATE, name=name, **fields)
    assert (page.path, page.said("success")) == (LEASES, [f"Success: Lease {name} was successfully created."])
    (made,) = [ident for ident, cells in page.rows("leases").items() if cells[1] == name]
    return made


def until_active(visitor: Visitor, lease: str) -> dict[str, str]:
    """Reload the list until it shows the lease as active, and return what the page of the lease says."""
    wait_for(lambda: visitor.open(LEASES).rows("leases")[lease][4] == "ACTIVE", within=LEASE_WITHIN)
    return visitor.open(f"{LEASES}{lease}/").facts()


def delete(visitor: Visitor, lease: str) -> None:
    """Press the button that deletes the lease, and reload the list until it is gone: its servers go first."""
    assert visitor.click(LEASES, "leases", "delete", lease).said("success")
    wait_for(lambda: lease not in visitor.open(LEASES).rows("leases"), within=GONE_WITHIN)


def test_a_lease_of_a_host_from_the_form_to_its_deletion(site: Site, demo: Visitor) -> None:
    before = datetime.now(UTC).replace(second=0, microsecond=0)
    lease = create(demo, "mine")
    _, name, start, end, _, degraded, *_ = demo.open(LEASES).rows("leases")[lease]
    starts = datetime.strptime(start, SHOWN).replace(tzinfo=UTC)
    assert before <= starts <= datetime.now(UTC)
    assert datetime.strptime(end, SHOWN).replace(tzinfo=UTC) - starts == timedelta(days=1)
    assert (name, degraded) == ("mine", "No")
    facts = until_active(demo, lease)
    project = site.person("demo").sdk.current_project_id
    assert (facts["Id"], facts["Project Id"], facts["Status"]) == (lease, project, "ACTIVE")
    assert (facts["resource type"], facts["status"], facts["min"]) == ("physical:host", "active", "1")
    assert facts["start_lease"] == f"Status: Done Time: {start}"
    assert facts["end_lease"] == f"Status: Undone Time: {end}"
    delete(demo, lease)


@pytest.mark.parametrize(("chosen", "shown"), [("None", "-"), ("True", "Yes")])
def test_a_lease_of_instances_with_and_without_affinity(demo: Visitor, chosen: str, shown: str) -> None:
    lease = create(demo, "small", resource_type="instance", amount="2", memory_mb="512", affinity=chosen)
    facts = until_active(demo, lease)
    assert (facts["resource type"], facts["amount"], facts["memory_mb"]) == ("virtual:instance", "2", "512")
    assert facts["affinity"] == shown
    # The dashboard offers nothing else of such a lease.
    assert set(demo.open(f"{LEASES}{lease}/update").form().fields) == {
        "csrfmiddlewaretoken",
        "lease_id",
        "lease_name",
    }
    page = demo.fill_in(f"{LEASES}{lease}/update", lease_name="renamed")
    assert page.rows("leases")[lease][1] == "renamed"
    delete(demo, lease)


def test_a_lease_is_deferred_extended_shortened_and_grows(site: Site, demo: Visitor) -> None:
    start = datetime.now(UTC).replace(second=0, microsecond=0) + timedelta(hours=2)
    lease = create(demo, "later", start_date=start.strftime(V1), end_date=(start + timedelta(hours=1)).strftime(V1))
    (reservation,) = site.person("demo").blazar.lease.get(lease)["reservations"]
    wanted = json.dumps([{"id": reservation["id"], "min": 1, "max": 2}])
    page = demo.fill_in(
        f"{LEASES}{lease}/update", lease_name="grown", start_time="+30m", end_time="+2h", reservations=wanted
    )
    assert page.said("success") == ["Success: Lease update started."]
    assert page.rows("leases")[lease][1:4] == [
        "grown",
        (start + timedelta(minutes=30)).strftime(SHOWN),
        (start + timedelta(hours=3)).strftime(SHOWN),
    ]
    assert demo.open(f"{LEASES}{lease}/").facts()["max"] == "2"
    page = demo.fill_in(f"{LEASES}{lease}/update", start_time="-10m", end_time="-1h")
    assert page.rows("leases")[lease][2:4] == [
        (start + timedelta(minutes=20)).strftime(SHOWN),
        (start + timedelta(hours=2)).strftime(SHOWN),
    ]
    delete(demo, lease)


def test_a_refusal_is_shown_with_its_reason(demo: Visitor) -> None:
    page = demo.fill_in(CREATE, name="all of it", min_hosts="3", max_hosts="3")
    (said,) = page.said("danger")
    assert "Not enough hosts available: 3 asked, 2 free" in said
    assert demo.open(LEASES).rows("leases") == {}


def test_leases_are_shown_to_their_project_alone(site: Site, demo: Visitor) -> None:
    lease = create(demo, "mine")
    alt = site.visitor("alt")
    assert alt.open(LEASES).rows("leases") == {}
    page = alt.open(f"{LEASES}{lease}/")
    assert (page.path, page.said("danger")) == (LEASES, ["Error: Unable to retrieve lease details."])
    assert "mine" not in page.answer.text
    delete(demo, lease)


def test_hosts_are_enrolled_described_and_removed(site: Site, admin: Visitor) -> None:
    name = site.cloud.computes[2]
    page = admin.fill_in(ADD_HOSTS, select_hosts_role_member=[name], extra_caps='{"colour": "red"}')
    assert f"Success: Host {name} was successfully created." in page.said("success")
    (host,) = [ident for ident, cells in page.rows("hosts").items() if cells[1] == name]
    facts = admin.open(f"{HOSTS}{host}/").facts()
    assert (facts["Host name"], facts["Id"], facts["Reservable"], facts["colour"]) == (name, host, "Yes", "red")
    assert facts["Hypervisor type"] == "fake"
    page = admin.fill_in(f"{HOSTS}{host}/update", values='{"colour": "blue"}')
    assert page.said("success") == ["Success: Host was successfully updated."]
    assert admin.open(f"{HOSTS}{host}/").facts()["colour"] == "blue"
    page = admin.click(HOSTS, "hosts", "delete", host)
    assert page.said("success")
    assert {cells[1] for cells in page.rows("hosts").values()} == set(site.cloud.computes[:2])


def test_a_leased_host_is_not_removed(admin: Visitor, demo: Visitor) -> None:
    lease = create(demo, "both", min_hosts="2", max_hosts="2")
    hosts = admin.open(HOSTS).rows("hosts")
    page = admin.click(HOSTS, "hosts", "delete", next(iter(hosts)))
    assert page.said("danger")
    assert page.rows("hosts") == hosts
    delete(demo, lease)


def test_the_calendar_draws_who_has_which_host(site: Site, admin: Visitor, demo: Visitor) -> None:
    names = list(site.cloud.computes[:2])
    lease = create(demo, "both", min_hosts="2", max_hosts="2")
    reservation = site.person("demo").blazar.lease.get(lease)["reservations"][0]["id"]
    data = admin.open(f"{CALENDAR}resources.json").answer.json()
    assert [each["hypervisor_hostname"] for each in data["resources"]] == names
    assert {(each["reservation_id"], each["hypervisor_hostname"]) for each in data["reservations"]} == {
        (reservation, name) for name in names
    }
    with Browser.of(admin) as browser:
        browser.open(CALENDAR)
        browser.see('//*[contains(@class, "apexcharts-rangebar-area")]')
        assert len(browser.all('//*[contains(@class, "apexcharts-rangebar-area")]')) == len(names)
        rows = browser.all('//*[contains(@class, "apexcharts-yaxis-label")]/*[local-name() = "tspan"]')
        assert [row.text for row in rows] == names
    delete(demo, lease)


def test_our_metadef_is_found_among_the_scheduler_hints(cloud: RunningCloud, metadef: dict[str, Any]) -> None:
    glance = Person(cloud, "demo").sdk.image
    listed = glance.get("/metadefs/namespaces?resource_types=OS::Nova::Server").json()["namespaces"]
    (found,) = [each for each in listed if each["namespace"] == metadef["namespace"]]
    assert [(each["name"], each["properties_target"]) for each in found["resource_type_associations"]] == [
        ("OS::Nova::Server", "scheduler_hints")
    ]
    whole = glance.get(f"/metadefs/namespaces/{metadef['namespace']}").json()
    assert whole["properties"] == metadef["properties"]


@pytest.mark.usefixtures("metadef")
def test_a_server_is_launched_into_a_lease(site: Site, demo: Visitor) -> None:
    lease = create(demo, "mine")
    reservation = until_active(demo, lease)["id"]
    with Browser.of(demo) as browser:
        browser.open("/project/instances/")
        browser.click('//a[@id="instances__action_launch-ng"]')
        browser.write(f'{DIALOG}//input[@id="name"]', "inside")
        for step, row in (("Source", "cirros"), ("Flavor", "m1.nano")):
            open_step(browser, step)
            browser.click(f'{DIALOG}//tr[td[normalize-space() = "{row}"]]//button')
        open_step(browser, "Scheduler Hints")
        browser.click(f'{DIALOG}//li[contains(., "Reservation")]//a')
        browser.write(HINT, "mine")
        assert not browser.see(LAUNCH).is_enabled(), "the name of a lease is no reservation"
        browser.write(HINT, reservation)
        browser.click(LAUNCH)
        browser.see('//table[@id="instances"]//tr[contains(., "inside")]')
    cloud = site.person("admin").sdk.compute
    (server,) = site.person("demo").servers()
    wait_for(lambda: cloud.get_server(server).status != "BUILD", within=BOOT_WITHIN)
    leased = cloud.find_aggregate(reservation, ignore_missing=False)
    assert (cloud.get_server(server).status, [cloud.get_server(server).compute_host]) == ("ACTIVE", leased.hosts)
    delete(demo, lease)
    assert site.person("demo").servers() == set()


def open_step(browser: Browser, name: str) -> None:
    """Open a step of the dialog that launches a server."""
    browser.click(f'{DIALOG}//li[contains(@class, "nav-item")][contains(., "{name}")]')


def test_what_the_dashboard_itself_does_wrong(demo: Visitor) -> None:
    """Each of these is a line of contract clients §2: if one fails, the dashboard has changed, and so does the line."""
    lease = create(demo, "mine")
    assert f"{LEASES}{lease}/update" not in demo.open(LEASES).links()
    assert demo.open(f"{LEASES}{lease}/update").status == 200
    assert demo.fill_in(CREATE, name="other", start_date="tomorrow").status == 500
    assert demo.open(f"{CALENDAR}resources.json").status == 500
    delete(demo, lease)
