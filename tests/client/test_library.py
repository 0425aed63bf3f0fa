"""python-blazarclient as a library, unmodified: every call (contract http-api §10.2), with each authentication."""

from __future__ import annotations

import json
from datetime import datetime
from typing import TYPE_CHECKING, Any

import pytest
from blazarclient.client import Client
from blazarclient.exception import BlazarClientException
from blazarclient.utils import LEASE_DATE_FORMAT
from keystoneauth1.discover import Discover
from keystoneauth1.loading import get_plugin_loader
from keystoneauth1.session import Session

from leasehold.cloud.sandbox import seed
from tests.client.conftest import Site, later
from tests.factory import flavors, floating_ips, hosts, instances

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Make = Callable[..., dict[str, Any]]

pytestmark = pytest.mark.slow

HOST = hosts()
INSTANCE = instances(2, affinity="None")
FLAVOR = flavors(affinity="None")
FLOATING_IP = floating_ips(required_floatingips=[])


@pytest.fixture
def library(site: Site) -> Any:
    return site.client()


@pytest.fixture
def make(library: Any) -> Iterator[Make]:
    """Yield a function that creates a lease for tomorrow; delete all leases after the test."""

    def create(*reservations: dict[str, Any], **changes: Any) -> dict[str, Any]:
        wanted = {"name": "lease", "start": later(days=1), "end": later(days=1, hours=4), "events": [], **changes}
        lease: dict[str, Any] = library.lease.create(reservations=list(reservations), **wanted)
        return lease

    yield create
    for lease in library.lease.list():
        library.lease.delete(lease["id"])


def moment(text: str) -> datetime:
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


# ---------------------------------------------------------------- leases


@pytest.mark.parametrize("reservation", [HOST, INSTANCE, FLAVOR, FLOATING_IP], ids=lambda each: each["resource_type"])
def test_create_get_and_delete(library: Any, make: Make, reservation: dict[str, Any]) -> None:
    lease = make(reservation, name="made", before_end=later(days=1, hours=2))
    assert library.lease.get(lease["id"]).keys() == lease.keys()
    assert lease["name"] == "made"
    (shown,) = lease["reservations"]
    assert shown["resource_type"] == reservation["resource_type"]
    (warning,) = [each for each in lease["events"] if each["event_type"] == "before_end_lease"]
    assert moment(lease["start_date"]) < moment(warning["time"]) < moment(lease["end_date"])
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


def test_update_of_name_dates_and_reservations(library: Any, make: Make) -> None:
    lease, start, end = make(HOST, INSTANCE), later(days=2), later(days=3)
    host, instance = (each["id"] for each in lease["reservations"])
    changes = [{"id": host, "min": 2, "max": 3}, {"id": instance, "amount": 5, "affinity": "False"}]
    answer = library.lease.update(lease["id"], "new name", start_date=start, end_date=end, reservations=changes)
    assert answer["name"] == "new name"
    changed = library.lease.get(lease["id"])
    for key, date in (("start_date", start), ("end_date", end)):
        assert changed[key] == f"{date.replace(' ', 'T')}:00.000000"
    shown = {each["id"]: each for each in changed["reservations"]}
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


# ---------------------------------------------------------------- what is enrolled, and what is allocated


def test_what_is_listed_is_what_is_shown(library: Any, make: Make) -> None:
    """The command line's tests make every other call of these managers."""
    enrolled = library.host.list(sort_by="hypervisor_hostname")
    assert [each["hypervisor_hostname"] for each in enrolled] == sorted(name for name, _ in seed.SUGGESTED_HOSTS)
    assert library.host.get(enrolled[0]["id"]) == enrolled[0]
    assert json.loads(enrolled[0]["cpu_info"])["arch"] == "x86_64"
    addresses = library.floatingip.list(sort_by="floating_ip_address")
    assert [each["floating_ip_address"] for each in addresses] == sorted(seed.SUGGESTED_FLOATING_IPS)
    assert library.floatingip.get(addresses[0]["id"]) == addresses[0]
    names = [each["property"] for each in library.host.list_properties(sort_by="property")]
    assert names == sorted(names)
    lease = make(HOST)
    (mine,) = [each for each in library.allocation.list("os-hosts", sort_by="resource_id") if each["reservations"]]
    assert mine == library.allocation.get("os-hosts", mine["resource_id"])
    dates = {key: lease[key] for key in ("start_date", "end_date")}
    assert mine["reservations"] == [{"id": lease["reservations"][0]["id"], "lease_id": lease["id"], **dates}]


@pytest.mark.parametrize("address", ["203.0.113.50", "203.0.113.1", "nonsense"], ids=["in a pool", "gateway", "none"])
def test_addresses_that_cannot_be_enrolled(library: Any, address: str) -> None:
    with pytest.raises(BlazarClientException, match=r"^ERROR: ") as refused:
        library.floatingip.create(seed.NETWORK_ID, address)
    assert refused.value.kwargs["code"] == 400


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
