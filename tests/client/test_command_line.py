"""Run the unmodified `blazar` and `openstack reservation` commands (contract http-api §10, clients §3)."""

from __future__ import annotations

import json
from datetime import datetime
from typing import TYPE_CHECKING, Any

import pytest

from leasehold.cloud.sandbox import seed
from tests.client.conftest import BLAZAR, OPENSTACK, Shell, Site, later
from tests.factory import floating_ips, hosts, instances

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.slow

LEASE_KEYS = {
    "created_at",
    "degraded",
    "end_date",
    "events",
    "id",
    "name",
    "project_id",
    "reservations",
    "start_date",
    "status",
    "trust_id",
    "updated_at",
    "user_id",
}
HOST_COLUMNS = ["id", "hypervisor_hostname", "vcpus", "memory_mb", "local_gb"]
NAMED_ADDRESSES = f'required_floatingips=["{seed.SUGGESTED_FLOATING_IPS[0]}","{seed.SUGGESTED_FLOATING_IPS[1]}"]'
PHYSICAL = "resource_type=physical:host,min=1,max=2"
HOST = hosts()
ROOM = "resource_type=virtual:instance,vcpus=1,memory_mb=512,disk_gb=5,amount=2"


@pytest.fixture(params=[BLAZAR, OPENSTACK])
def shell(request: pytest.FixtureRequest, open_site: Site) -> Shell:
    return Shell(request.param, open_site)


@pytest.fixture
def blazar(open_site: Site) -> Shell:
    return Shell(BLAZAR, open_site)


@pytest.fixture
def booked(open_site: Site) -> Callable[..., dict[str, Any]]:
    """Return a function that creates a lease for the day after tomorrow with the library."""
    library = open_site.client()

    def book(name: str, *reservations: dict[str, Any]) -> dict[str, Any]:
        dates = later(days=2), later(days=2, hours=4)
        lease: dict[str, Any] = library.lease.create(name, *dates, list(reservations), [])
        return lease

    return book


@pytest.fixture(autouse=True)
def _nothing_stays(open_site: Site) -> Any:
    """Delete the leases that a test leaves behind."""
    library = open_site.client()
    yield
    for lease in library.lease.list():
        library.lease.delete(lease["id"])


# ---------------------------------------------------------------- leases


def test_lease_create_list_show_set_delete(shell: Shell) -> None:
    """Every lease command once, with its messages, columns and the status 0."""
    dates = ["--start-date", later(days=1), "--end-date", later(days=1, hours=4)]
    before_end = ["--before-end-date", later(days=1, hours=3)]
    event = ["--event", f"event_type=notification,event_date={later(days=1, hours=1)}"]
    made = shell.ok("lease create", "first", *dates, *before_end, *event, "--reservation", PHYSICAL)
    assert made.out.startswith("Created a new lease:\n")
    assert made.rows[0] == ["Field", "Value"]
    assert made.fields.keys() == LEASE_KEYS
    assert list(made.fields) == sorted(made.fields)
    assert json.loads(made.fields["reservations"])["max"] == 2
    assert "notification" in made.fields["events"]
    assert (made.fields["name"], made.fields["trust_id"]) == ("first", "")

    shell.ok("lease create", "another", *dates, "--reservation", ROOM)
    listed = shell.ok("lease list", "--sort-by", "name")
    assert listed.rows[0] == ["id", "name", "start_date", "end_date"]
    assert listed.column("name") == ["another", "first"]

    shown = shell.ok("lease show", "first")
    assert shown.fields.keys() == LEASE_KEYS
    assert shown.fields["id"] == made.fields["id"]

    assert shell.ok("lease set", "first", "--name", "second", "--prolong-for", "1h").out == "Updated lease: first\n"
    assert shell.ok("lease set", "second").out == "Updated lease: second\n"
    assert shell.ok("lease delete", "second").out == "Deleted lease: second\n"
    shell.site.client().lease.delete(listed.column("id")[0])
    assert shell.ok("lease list").out.strip() == ""


@pytest.mark.parametrize(
    "asked",
    [
        "resource_type=physical:host,min=1,max=1",
        'min=1,max=3,resource_type=physical:host,hypervisor_properties=[">=","$vcpus","16"]',
        'resource_type=physical:host,min=1,max=1,resource_properties=["==","$rack","a1"],before_end=snapshot',
        ROOM,
        f"{ROOM},affinity=True",
        f"{ROOM},affinity=False",
        f"{ROOM},affinity=None",
        f'{ROOM},resource_properties=["==","$rack","a1"]',
        "resource_type=flavor:instance,flavor_id=m1.small,amount=2",
        f"resource_type=virtual:floatingip,network_id={seed.NETWORK_ID}",
        f"resource_type=virtual:floatingip,network_id={seed.NETWORK_ID},amount=2,{NAMED_ADDRESSES}",
    ],
)
def test_lease_create_takes_every_kind_of_reservation(blazar: Shell, asked: str) -> None:
    made = blazar.ok("lease create", "kind", "--start-date", later(hours=1), "--reservation", asked)
    wanted = dict(part.split("=", 1) for part in asked.split(",") if part.count("=") == 1)
    shown = json.loads(made.fields["reservations"])
    for key in ("resource_type", "min", "max", "amount", "before_end"):
        if key in wanted:
            assert str(shown[key]) == wanted[key]
    if "affinity" in wanted:
        assert str(shown["affinity"]) == wanted["affinity"]
    if "required_floatingips" in asked:
        assert sorted(shown["required_floatingips"]) == sorted(seed.SUGGESTED_FLOATING_IPS[:2])


def test_lease_create_with_several_reservations(blazar: Shell) -> None:
    words = ["--physical-reservation", "min=1,max=1", "--reservation", ROOM, "--reservation", PHYSICAL]
    blazar.ok("lease create", "several", "--start-date", later(hours=1), *words)
    (lease,) = blazar.site.client().lease.list()
    assert [each["resource_type"] for each in lease["reservations"]] == [
        "physical:host",
        "virtual:instance",
        "physical:host",
    ]


def test_a_flavor_id_that_looks_like_a_number(blazar: Shell) -> None:
    """flavor_id=3 arrives as a number; the answer must say that there is no flavor "3"."""
    asked = "resource_type=flavor:instance,flavor_id=3,amount=1"
    said = blazar("lease create", "three", "--reservation", asked)
    assert said.status == 1
    assert said.err == "ERROR: Object with {'flavor_id': '3'} not found"


@pytest.mark.parametrize(
    ("words", "starts", "ends"),
    [
        (["--prolong-for", "2h"], 0, 120),
        (["--prolong_for", "2h"], 0, 120),
        (["--reduce-by", "30m"], 0, -30),
        (["--defer-by", "1h"], 60, 0),
        (["--advance-by", "86400s"], -1440, 0),
        (["--reduce-by", "1h", "--advance-by", "1h"], -60, -60),
        (["--defer-by", "90m", "--prolong-for", "1d"], 90, 1440),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
def test_lease_set_by_elapsed_time(
    blazar: Shell, booked: Callable[..., dict[str, Any]], words: list[str], starts: int, ends: int
) -> None:
    lease = booked("moved", HOST)
    assert blazar.ok("lease set", "moved", *words).out == "Updated lease: moved\n"
    changed = blazar.ok("lease show", "moved").fields
    assert minutes(changed["start_date"]) - minutes(lease["start_date"]) == starts
    assert minutes(changed["end_date"]) - minutes(lease["end_date"]) == ends


def minutes(text: str) -> int:
    return int(datetime.fromisoformat(f"{text}+00:00").timestamp()) // 60


def test_lease_set_of_dates_and_reservations(shell: Shell, booked: Callable[..., dict[str, Any]]) -> None:
    lease = booked("changed", HOST, instances(affinity="None"))
    host, instance = (each["id"] for each in lease["reservations"])
    shell.ok(
        "lease set",
        lease["id"],
        *("--start-date", later(days=3), "--end-date", later(days=4)),
        *("--reservation", f'id={host},min=2,max=3,hypervisor_properties=[">=","$vcpus","8"]'),
        *("--reservation", f"amount=4,affinity=False,id={instance}"),
    )
    shown = {each["id"]: each for each in shell.site.client().lease.get(lease["id"])["reservations"]}
    assert (shown[host]["min"], shown[host]["max"]) == (2, 3)
    assert shown[host]["hypervisor_properties"] == '[">=","$vcpus","8"]'
    assert (shown[instance]["amount"], shown[instance]["affinity"]) == (4, False)


def test_lease_set_of_floating_ips(blazar: Shell, booked: Callable[..., dict[str, Any]]) -> None:
    lease = booked("addresses", floating_ips(required_floatingips=[seed.SUGGESTED_FLOATING_IPS[3]]))
    ident = lease["reservations"][0]["id"]
    blazar.ok("lease set", "addresses", "--reservation", f"id={ident},amount=3,required_floatingips=[]")
    (shown,) = blazar.site.client().lease.get(lease["id"])["reservations"]
    assert (shown["amount"], shown["required_floatingips"]) == (3, [])


def test_names_that_do_not_lead_to_one_lease(shell: Shell, booked: Callable[..., dict[str, Any]]) -> None:
    booked("twin")
    booked("twin")
    twin = shell("lease show", "twin")
    assert twin.status == 1
    assert "There are more than one appropriate resources for the name 'twin'" in twin.err
    nobody = shell("lease delete", "nobody")
    assert (nobody.status, nobody.err) == (1, "Unable to find resource with name 'nobody'")


# ---------------------------------------------------------------- hosts


def test_host_list_show_delete_create_set(shell: Shell) -> None:
    """Every host command once; names and ids lead to the same host."""
    listed = shell.ok("host list")
    assert listed.rows[0] == HOST_COLUMNS
    assert listed.column("hypervisor_hostname") == sorted(name for name, _ in seed.SUGGESTED_HOSTS)
    shown = shell.ok("host show", "cmp-06")
    assert shown.fields == shell.ok("host show", shown.fields["id"]).fields
    assert (shown.fields["vcpus"], shown.fields["rack"], shown.fields["reservable"]) == ("4", "b1", "True")
    assert json.loads(shown.fields["cpu_info"])["vendor"] == "Intel"
    assert shell.ok("host delete", "cmp-06").out == "Deleted host: cmp-06\n"
    made = shell.ok("host create", "cmp-06", "--extra", "rack=b1", "--extra", "colour=red")
    assert made.out.startswith("Created a new host:\n")
    assert (made.fields["colour"], made.fields["id"]) == ("red", shown.fields["id"])
    changed = shell.ok("host set", "cmp-06", "--extra", "colour=blue", "--extra", "note=a=b")
    assert changed.out == "Updated host: cmp-06\n"
    again = shell.site.client().host.get(made.fields["id"])
    assert (again["colour"], again["note"], again["rack"]) == ("blue", "a=b", "b1")
    assert shell.ok("host list", "--sort-by", "vcpus").column("hypervisor_hostname")[-1] == "cmp-09"


def test_host_unset(blazar: Shell) -> None:
    """The newest client can remove properties; its `openstack` command does not load, by a defect of the client."""
    blazar.ok("host set", "cmp-07", "--extra", "note=x")
    assert blazar.ok("host unset", "--extra", "note", "cmp-07").out == "Updated host: cmp-07\n"
    assert "note" not in blazar.ok("host show", "cmp-07").fields


def test_host_property_list_show_set(shell: Shell) -> None:
    """Every property command once; a private property is listed only with --all."""
    plain = shell.ok("host property list")
    assert plain.rows[0] == ["property"]
    assert {"gpu_count", "gpu_model", "rack"} <= set(plain.column("property"))
    shown = shell.ok("host property show", "gpu_count").fields
    assert (shown["property"], shown["private"]) == ("gpu_count", "False")
    assert sorted(shown["property_values"].split()) == ["2", "4", "8"]
    assert shell.ok("host property set", "gpu_count", "--private").out == "Updated host property: gpu_count\n"
    assert "gpu_count" not in {each["property"] for each in shell.site.client().host.list_properties()}
    detailed = shell.ok("host property list", "--detail", "--all")
    assert detailed.rows[0] == ["property", "private", "property_values"]
    assert [row[1] for row in detailed.rows if row[0] == "gpu_count"] == ["True"]
    hidden = shell("host property show", "gpu_count")
    assert (hidden.status, hidden.err) == (1, "The resource property does not exist.")
    assert shell.ok("host property set", "gpu_count", "--public").out == "Updated host property: gpu_count\n"
    assert "gpu_count" in {each["property"] for each in shell.site.client().host.list_properties()}


# ---------------------------------------------------------------- floating IPs and allocations


def test_floatingip_list_show_create_delete(shell: Shell) -> None:
    """Every floating IP command once; the commands take ids, not names."""
    made = shell.ok("floatingip create", seed.NETWORK_ID, "203.0.113.160")
    assert made.out.startswith("Created a new floatingip:\n")
    ident = made.fields["id"]
    shown = shell.ok("floatingip show", ident).fields
    assert (shown["floating_ip_address"], shown["reservable"]) == ("203.0.113.160", "True")
    listed = shell.ok("floatingip list", "--sort-by", "floating_ip_address")
    assert listed.rows[0] == ["id", "floating_ip_address", "floating_network_id"]
    assert listed.column("floating_ip_address")[0] == "203.0.113.160"
    assert shell.ok("floatingip delete", ident).out == f"Deleted floatingip: {ident}\n"
    gone = shell("floatingip show", ident)
    assert (gone.status, gone.err) == (1, f"ERROR: Object with {{'floatingip_id': '{ident}'}} not found")


def test_allocation_list_show(shell: Shell, booked: Callable[..., dict[str, Any]]) -> None:
    """Both allocation commands, plain and with the filters, which the client applies itself."""
    here, there = booked("here", HOST), booked("there", HOST)
    listed = shell.ok("allocation list", "host")
    assert listed.rows[0] == ["resource_id", "reservations"]
    assert len(listed.column("resource_id")) == len(seed.HOSTS)
    assert (here["id"] in listed.out, there["id"] in listed.out) == (True, True)
    narrowed = shell.ok("allocation list", "host", "--lease-id", here["id"])
    assert (here["id"] in narrowed.out, there["id"] in narrowed.out) == (True, False)
    by_reservation = shell.ok("allocation list", "host", "--reservation-id", there["reservations"][0]["id"])
    assert (here["id"] in by_reservation.out, there["id"] in by_reservation.out) == (False, True)
    shown = shell.ok("allocation show", "host", "cmp-01").fields
    assert shown["resource_id"] == "1"
    assert json.loads(shown["reservations"])["lease_id"] == here["id"]
    assert shell.ok("allocation show", "host", "1", "--lease-id", there["id"]).fields["reservations"] == ""


# ---------------------------------------------------------------- errors


@pytest.mark.parametrize(
    ("command", "words", "message"),
    [
        ("lease show", ["056e5c14-1338-443c-985e-49b20650b242"], "ERROR: Object with"),
        (
            "lease create",
            ["many", "--reservation", "resource_type=physical:host,min=99,max=99"],
            "ERROR: Not enough hosts available",
        ),
        (
            "lease create",
            ["past", "--start-date", "2001-01-01 10:00", "--reservation", PHYSICAL],
            "ERROR: Start date must be later",
        ),
        ("host show", ["99"], "ERROR: Object with {'host_id': '99'} not found"),
        ("host create", ["cmp-01"], "ERROR: The host cmp-01 is enrolled already"),
        ("host create", ["none-such"], "ERROR: Object with {'host': 'none-such'} not found"),
        ("host delete", ["none-such"], "Unable to find resource with name 'none-such'"),
        ("floatingip create", ["none-such", "203.0.113.170"], "ERROR: There is no network"),
        (
            "host property set",
            ["none-such", "--private"],
            "ERROR: Object with {'property_name': 'none-such'} not found",
        ),
        ("lease list", ["--sort-by", "nonsense"], "Invalid sort option nonsense"),
    ],
    ids=lambda value: value if isinstance(value, str) and " " in value and ":" not in value else None,
)
def test_errors_are_sentences_and_status_1(blazar: Shell, command: str, words: list[str], message: str) -> None:
    said = blazar(command, *words)
    assert said.status == 1
    assert said.err.startswith(message)
    assert said.out.strip() == ""


def test_errors_of_the_server_reach_users_of_openstack(open_site: Site) -> None:
    said = Shell(OPENSTACK, open_site)("lease show", "056e5c14-1338-443c-985e-49b20650b242")
    assert (said.status, said.out) == (1, "")
    assert said.err.startswith("ERROR: Object with {'lease_id': '056e5c14-1338-443c-985e-49b20650b242'} not found")


def test_a_host_in_use_is_not_removed(blazar: Shell, booked: Callable[..., dict[str, Any]]) -> None:
    booked("uses it", {**HOST, "hypervisor_properties": '["==", "$hypervisor_hostname", "cmp-05"]'})
    said = blazar("host delete", "cmp-05")
    assert said.status == 1
    assert said.err.startswith("ERROR: The host cmp-05 is allocated to leases")


# ---------------------------------------------------------------- with a password


@pytest.mark.parametrize("program", [BLAZAR, OPENSTACK])
def test_commands_with_a_password(closed_site: Site, program: str) -> None:
    """Some commands as `admin`, and as `bob`, who is in another project and no administrator."""
    admin = Shell(program, closed_site)
    assert len(admin.ok("host list").column("id")) == len(seed.HOSTS)
    made = admin.ok(
        "lease create", "secret", "--start-date", later(days=1), "--end-date", later(days=2), "--reservation", PHYSICAL
    )
    assert (made.fields["user_id"], made.fields["project_id"]) == ("admin", "demo")
    bob = Shell(program, Site(closed_site.url, closed_site.auth_type, closed_site.database, user="bob"))
    assert bob.ok("lease list").out.strip() == ""
    refused = bob("lease show", made.fields["id"])
    assert refused.status == 1
    assert refused.err.startswith("ERROR: Policy blazar:leases:get does not allow this")
    assert admin.ok("lease delete", "secret").out == "Deleted lease: secret\n"
