"""python-blazarclient as a library, unmodified: every call (contract http-api §10.2), with each authentication."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest
from blazarclient.client import Client
from blazarclient.exception import BlazarClientException, ResourcePropertyNotFound
from blazarclient.utils import LEASE_DATE_FORMAT
from keystoneauth1.discover import Discover
from keystoneauth1.loading import get_plugin_loader
from keystoneauth1.session import Session

from leasehold.cloud.sandbox import seed
from tests.client.conftest import Site, later

if TYPE_CHECKING:
    from collections.abc import Callable

    Make = Callable[..., dict[str, Any]]

pytestmark = pytest.mark.slow

HOST = {"resource_type": "physical:host", "min": 1, "max": 1, "hypervisor_properties": "", "resource_properties": ""}
INSTANCE = {
    "resource_type": "virtual:instance",
    "vcpus": 1,
    "memory_mb": 512,
    "disk_gb": 5,
    "amount": 2,
    "affinity": "None",
    "resource_properties": "",
}
FLAVOR = {"resource_type": "flavor:instance", "flavor_id": "m1.small", "amount": 1, "affinity": "None"}
FLOATING_IP = {
    "resource_type": "virtual:floatingip",
    "network_id": seed.NETWORK_ID,
    "amount": 1,
    "required_floatingips": [],
}


@pytest.fixture
def library(site: Site) -> Any:
    return site.client()


@pytest.fixture
def make(library: Any, leftovers: list[tuple[Any, str]]) -> Make:
    """Return a function that creates a lease for tomorrow, which is deleted after the test."""

    def create(*reservations: dict[str, Any], **changes: Any) -> dict[str, Any]:
        wanted = {"name": "lease", "start": later(days=1), "end": later(days=1, hours=4), "events": [], **changes}
        lease: dict[str, Any] = library.lease.create(reservations=list(reservations), **wanted)
        leftovers.append((library.lease, lease["id"]))
        return lease

    return create


def date(text: str) -> datetime:
    return datetime.strptime(text, LEASE_DATE_FORMAT)  # noqa: DTZ007 - exactly what the client does with it


# ---------------------------------------------------------------- reaching the service


@pytest.mark.parametrize("version", [1, "1", "1a0"])
def test_http_api_10_2_versions_of_the_client(site: Site, version: object) -> None:
    assert isinstance(site.client(version).lease.list(), list)


def test_http_api_1_an_unversioned_endpoint_leads_to_v1(site: Site) -> None:
    """If the catalog names the root, keystoneauth follows the link to v1 in the version document."""
    plugin: Any = get_plugin_loader(site.auth_type).load_from_options(**site.options)
    found = Discover(Session(auth=plugin), site.url.removesuffix("/v1")).url_for("1")
    assert found == site.url
    assert len(site.client(endpoint=found).host.list()) == len(seed.HOSTS)


def test_the_deprecated_way_with_a_url_and_a_token(open_site: Site) -> None:
    library = Client(1, blazar_url=open_site.url, auth_token="any")
    assert len(library.host.list()) == len(seed.HOSTS)
    with pytest.raises(BlazarClientException, match=r"^ERROR: Object with .* not found$"):
        library.lease.get("none-such")


def test_a_wrong_password_is_said_so(closed_site: Site) -> None:
    with pytest.raises(BlazarClientException, match=r"^ERROR: The user name or the password is wrong") as refused:
        closed_site.client(password="wrong").lease.list()
    assert refused.value.kwargs["code"] == 401


def test_another_project_sees_and_changes_nothing(closed_site: Site, leftovers: list[tuple[Any, str]]) -> None:
    admin, bob = closed_site.client(), Site(closed_site.url, "http_basic", "", user="bob").client()
    lease = admin.lease.create("admin's", later(days=1), later(days=2), [], [])
    leftovers.append((admin.lease, lease["id"]))
    assert bob.lease.list() == []
    calls: tuple[Callable[[], object], ...] = (
        lambda: bob.lease.get(lease["id"]),
        lambda: bob.lease.update(lease["id"], name="bob's"),
        lambda: bob.lease.delete(lease["id"]),
        bob.host.list,
    )
    for call in calls:
        with pytest.raises(BlazarClientException, match=r"^ERROR: Policy") as refused:
            call()
        assert refused.value.kwargs["code"] == 403
    assert admin.lease.get(lease["id"])["name"] == "admin's"


# ---------------------------------------------------------------- leases


@pytest.mark.parametrize("reservation", [HOST, INSTANCE, FLAVOR, FLOATING_IP], ids=lambda each: each["resource_type"])
def test_create_get_and_delete(library: Any, make: Make, reservation: dict[str, Any]) -> None:
    lease = make(reservation, name="made", before_end=later(days=1, hours=2))
    assert library.lease.get(lease["id"]).keys() == lease.keys()
    assert lease["name"] == "made"
    (shown,) = lease["reservations"]
    assert shown["resource_type"] == reservation["resource_type"]
    (warning,) = [each for each in lease["events"] if each["event_type"] == "before_end_lease"]
    assert date(lease["start_date"]) < date(warning["time"]) < date(lease["end_date"])
    library.lease.delete(lease["id"])
    with pytest.raises(BlazarClientException, match=f"^ERROR: Object with {{'lease_id': '{lease['id']}'}} not found$"):
        library.lease.get(lease["id"])


def test_events_of_a_client_are_shown(make: Make) -> None:
    lease = make(HOST, events=[{"event_type": "notification", "event_date": later(days=1)}])
    assert "notification" in {each["event_type"] for each in lease["events"]}


def test_list_is_sorted_by_the_client(library: Any, make: Make) -> None:
    ids = {make(name=name)["id"] for name in ("b", "c", "a")}
    leases = [each for each in library.lease.list(sort_by="name") if each["id"] in ids]
    assert [each["name"] for each in leases] == ["a", "b", "c"]
    assert leases[0] == library.lease.get(leases[0]["id"])


@pytest.mark.parametrize(
    ("change", "starts", "ends"),
    [
        ({"prolong_for": "2h"}, timedelta(0), timedelta(hours=2)),
        ({"reduce_by": "30m"}, timedelta(0), timedelta(minutes=-30)),
        ({"defer_by": "1h"}, timedelta(hours=1), timedelta(0)),
        ({"advance_by": "7200s"}, timedelta(hours=-2), timedelta(0)),
        ({"prolong_for": "1d", "defer_by": "1d"}, timedelta(days=1), timedelta(days=1)),
        ({"reduce_by": "1h", "advance_by": "1h"}, timedelta(hours=-1), timedelta(hours=-1)),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, dict) else None,
)
def test_update_of_the_dates(
    library: Any, make: Make, change: dict[str, str], starts: timedelta, ends: timedelta
) -> None:
    lease = make(HOST)
    library.lease.update(lease["id"], **change)
    changed = library.lease.get(lease["id"])
    assert date(changed["start_date"]) - date(lease["start_date"]) == starts
    assert date(changed["end_date"]) - date(lease["end_date"]) == ends


def test_update_to_given_dates(library: Any, make: Make) -> None:
    lease, start, end = make(HOST), later(days=2), later(days=3)
    library.lease.update(lease["id"], start_date=start, end_date=end)
    changed = library.lease.get(lease["id"])
    assert changed["start_date"] == f"{start.replace(' ', 'T')}:00.000000"
    assert changed["end_date"] == f"{end.replace(' ', 'T')}:00.000000"


def test_update_of_name_and_reservations(library: Any, make: Make) -> None:
    lease = make(HOST, INSTANCE)
    host, instance = (each["id"] for each in lease["reservations"])
    changes = [{"id": host, "min": 2, "max": 3}, {"id": instance, "amount": 5, "affinity": "False"}]
    answer = library.lease.update(lease["id"], name="new name", reservations=changes)
    assert answer["name"] == "new name"
    shown = {each["id"]: each for each in library.lease.get(lease["id"])["reservations"]}
    assert (shown[host]["min"], shown[host]["max"]) == (2, 3)
    assert (shown[instance]["amount"], shown[instance]["affinity"]) == (5, False)


def test_update_of_nothing_asks_nothing(library: Any) -> None:
    assert library.lease.update("none-such") == "No values to update passed."


@pytest.mark.parametrize(
    ("reservation", "code", "message"),
    [
        ({**HOST, "min": 99, "max": 99}, 409, "Not enough hosts available: 99 asked"),
        ({**HOST, "min": "x"}, 400, "min"),
        ({**HOST, "resource_properties": "nonsense"}, 400, "expression"),
        ({**FLAVOR, "flavor_id": "none-such"}, 404, "not found"),
        ({**FLOATING_IP, "amount": 99}, 400, "Not enough floating IPs available"),
        ({"resource_type": "nonsense"}, 400, "nonsense"),
    ],
    ids=["not enough", "no number", "no expression", "no flavor", "no addresses", "no type"],
)
def test_refusals_reach_the_user(
    library: Any, make: Make, reservation: dict[str, Any], code: int, message: str
) -> None:
    with pytest.raises(BlazarClientException, match=rf"^ERROR: .*{message}") as refused:
        make(reservation)
    assert refused.value.kwargs["code"] == code
    assert library.lease.list() == []


# ---------------------------------------------------------------- hosts


def test_hosts_are_listed_and_shown(library: Any) -> None:
    hosts = library.host.list(sort_by="hypervisor_hostname")
    assert [each["hypervisor_hostname"] for each in hosts] == sorted(name for name, _ in seed.SUGGESTED_HOSTS)
    assert library.host.get(hosts[0]["id"]) == hosts[0]
    assert json.loads(hosts[0]["cpu_info"])["arch"] == "x86_64"


def test_a_host_is_removed_enrolled_and_changed(library: Any) -> None:
    (old,) = [each for each in library.host.list() if each["hypervisor_hostname"] == "cmp-07"]
    library.host.delete(old["id"])
    assert old["id"] not in {each["id"] for each in library.host.list()}
    new = library.host.create("cmp-07", rack="b1", colour="red")
    assert (new["id"], new["rack"], new["colour"]) == (old["id"], "b1", "red")
    assert library.host.update(new["id"], {"colour": "blue", "ssd": "True"})["colour"] == "blue"
    assert library.host.get(new["id"])["ssd"] == "True"
    assert library.host.update(new["id"], {}) == "No values to update passed."
    with pytest.raises(BlazarClientException, match=r"^ERROR: .*enrolled already"):
        library.host.create("cmp-07")


def test_properties_are_listed_shown_hidden_and_shown_again(library: Any) -> None:
    names = [each["property"] for each in library.host.list_properties(sort_by="property")]
    assert {"rack", "gpu_model", "gpu_count"} <= set(names)
    assert names == sorted(names)
    detailed = {each["property"]: each for each in library.host.list_properties(detail=True)}
    assert sorted(detailed["gpu_model"]["property_values"]) == ["A100", "H100", "L40S"]
    assert library.host.get_property("gpu_model")["private"] is False
    assert library.host.set_property("gpu_model", private=True)["private"] is True
    assert "gpu_model" not in {each["property"] for each in library.host.list_properties()}
    assert "gpu_model" in {each["property"] for each in library.host.list_properties(all=True)}
    with pytest.raises(ResourcePropertyNotFound):
        library.host.get_property("gpu_model")
    assert library.host.set_property("gpu_model", private=False)["property_name"] == "gpu_model"
    assert library.host.get_property("gpu_model")["private"] is False


# ---------------------------------------------------------------- floating IPs and allocations


def test_floating_ips_are_listed_shown_enrolled_and_removed(library: Any) -> None:
    assert len(library.floatingip.list(sort_by="floating_ip_address")) == len(seed.SUGGESTED_FLOATING_IPS)
    new = library.floatingip.create(seed.NETWORK_ID, "203.0.113.150")
    shown = library.floatingip.get(new["id"])
    assert (shown["floating_ip_address"], shown["floating_network_id"]) == ("203.0.113.150", seed.NETWORK_ID)
    library.floatingip.delete(new["id"])
    with pytest.raises(BlazarClientException, match=r"^ERROR: Object with .* not found$"):
        library.floatingip.get(new["id"])


@pytest.mark.parametrize("address", ["203.0.113.50", "203.0.113.1", "nonsense"], ids=["in a pool", "gateway", "none"])
def test_addresses_that_cannot_be_enrolled(library: Any, address: str) -> None:
    with pytest.raises(BlazarClientException, match=r"^ERROR: ") as refused:
        library.floatingip.create(seed.NETWORK_ID, address)
    assert refused.value.kwargs["code"] == 400


def test_allocations_are_listed_and_shown(library: Any, make: Make) -> None:
    lease = make(HOST)
    allocations = library.allocation.list("os-hosts", sort_by="resource_id")
    assert len(allocations) == len(seed.HOSTS)
    (mine,) = [each for each in allocations if each["reservations"]]
    assert mine == library.allocation.get("os-hosts", mine["resource_id"])
    assert mine["reservations"] == [
        {
            "id": lease["reservations"][0]["id"],
            "lease_id": lease["id"],
            "start_date": lease["start_date"],
            "end_date": lease["end_date"],
        }
    ]


# ---------------------------------------------------------------- the life cycle of a lease


def test_a_lease_starts_holds_servers_and_ends(site: Site, library: Any, make: Make) -> None:
    """A lease from now on becomes active and admits only servers with the hint; an end set to now removes them."""
    lease = make(HOST, INSTANCE, FLOATING_IP, start="now", end=later(hours=2))
    shown = site.wait_for_status(lease, "ACTIVE")
    host, instance, _ = shown["reservations"]
    assert {each["status"] for each in shown["reservations"]} == {"active"}
    inside = site.sandbox("boot", "inside", "--project", "demo", "--flavor", "m1.small", "--reservation", host["id"])
    assert inside.status == 0, inside.err
    assert site.sandbox("boot", "room", "--project", "demo", "--flavor", instance["flavor_id"]).status == 0
    outside = site.sandbox("boot", "outside", "--project", "demo", "--flavor", "m1.small")
    assert (outside.status, "No valid host" in outside.out) == (1, True)
    assert site.sandbox("boot", "other", "--project", "alt", "--flavor", "m1.small", "--reservation", host["id"]).status
    library.lease.update(lease["id"], end_date=later())
    ended = site.wait_for_status(lease, "TERMINATED")
    assert {each["status"] for each in ended["reservations"]} == {"deleted"}
    (end,) = [each for each in ended["events"] if each["event_type"] == "end_lease"]
    assert end["status"] == "DONE"
    servers = site.sandbox("servers").out
    assert "inside" not in servers
    assert "room" not in servers
