"""Feature L2: every list is filtered, sorted and paged by the same keys, from 1.3 on (decision 0072)."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from leasehold.cloud.sandbox.seed import NETWORK_ID, SUGGESTED_FLOATING_IPS
from tests.db.examples import statements

if TYPE_CHECKING:
    from leasehold.leasing.service import Service
    from tests.api.conftest import Client, Clock

pytestmark = pytest.mark.slow

TYPED = "/v1/resources/physical:host"
LISTS: dict[str, tuple[str, str, str]] = {
    "/v1/leases": ("leases", "id", "name"),
    "/v1/os-hosts": ("hosts", "id", "hypervisor_hostname"),
    "/v1/os-hosts/allocations": ("allocations", "resource_id", ""),
    "/v1/floatingips": ("floatingips", "id", "floating_ip_address"),
    TYPED: ("resources", "id", "name"),
    f"{TYPED}/allocations": ("allocations", "resource_id", ""),
    "/v1/maintenances": ("maintenances", "id", "name"),
    "/v1/subscriptions": ("subscriptions", "id", "target"),
    "/v1/alarms": ("alarms", "id", "name"),
    "/v1/series": ("series", "id", "name"),
    "/v1/feeds": ("feeds", "id", "name"),
    "/v1/lease-templates": ("templates", "id", "name"),
    "/v1/flexible-leases": ("flexible_leases", "id", ""),
    "/v1/offers": ("offers", "id", ""),
}
"""The path of each list: its key in the answer, the key of an item's id, and a text to filter and to sort by."""
NEWEST = {"/v1/feeds", "/v1/lease-templates", "/v1/offers", "/v1/flexible-leases"}
"""Lists that came with 1.3 itself."""
HOSTS = ("cmp-01", "cmp-02", "cmp-05")
DATES = {"start_date": "2031-05-02 10:00", "end_date": "2031-05-02 12:00"}
ANY_HOST = {
    "resource_type": "physical:host",
    "min": 1,
    "max": 1,
    "hypervisor_properties": "",
    "resource_properties": "",
}


@pytest.fixture
def reader(admin: Client, clock: Clock) -> Client:
    """Make three items of each list, a second apart; return an administrator at 1.3."""
    latest = admin.but(version="1.3")

    def made(path: str, body: dict[str, Any]) -> Any:
        answer = latest.ask("POST", path, body)
        assert answer.status_code == 201, (path, answer.text)
        return answer.json

    for number, host in enumerate(HOSTS):
        clock.now += timedelta(seconds=1)
        ident = made("/v1/os-hosts", {"name": host})["host"]["id"]
        address = {"floating_network_id": NETWORK_ID, "floating_ip_address": SUGGESTED_FLOATING_IPS[number]}
        made("/v1/floatingips", address)
        name = f"n{(number + 1) % 3}"
        made("/v1/leases", {"name": name, **DATES})
        window = {"start_date": f"2031-06-0{number + 1} 10:00", "end_date": f"2031-06-0{number + 1} 12:00"}
        made("/v1/maintenances", {"name": name, **window, "hosts": [ident]})
        made("/v1/subscriptions", {"channel": "webhook", "target": f"https://{name}.example/"})
        made("/v1/alarms", {"name": name, "reservation": ANY_HOST, "below": 1})
        made("/v1/feeds", {"name": name})
        made("/v1/lease-templates", {"name": name})
        made("/v1/offers", {"name": name, **DATES})
        made("/v1/flexible-leases", {"name": name, "latest": DATES["end_date"], "duration_seconds": 60})
        made("/v1/series", {"name": name, **DATES, "rule": "FREQ=DAILY;COUNT=1", "reservations": []})
    return latest


def listed(reader: Client, path: str, **query: object) -> list[dict[str, Any]]:
    answer = reader.ask("GET", path, params=query)
    assert answer.status_code == 200, answer.text
    items: list[dict[str, Any]] = answer.json[LISTS[path][0]]
    return items


def test_pages_one_after_the_other_are_the_whole_list(reader: Client) -> None:
    for path, (_, ident, _) in LISTS.items():
        whole = listed(reader, path)
        pages = [listed(reader, path, limit=2)]
        while len(pages[-1]) == 2:
            pages.append(listed(reader, path, limit=2, marker=pages[-1][-1][ident]))
        assert [item for page in pages for item in page] == whole, path


def test_the_database_cuts_a_page(reader: Client, service: Service) -> None:
    for path in LISTS:
        with statements(service.db.engine) as seen:
            assert len(listed(reader, path, limit=1)) == 1, path
        # No statement without a limit reads the whole list before: those that follow are for what was chosen.
        assert "LIMIT" in next(each for each in seen if "FROM" in each), path


def test_sorted_lists_have_the_order_and_the_pages_that_are_asked_for(reader: Client) -> None:
    for path, (_, ident, key) in LISTS.items():
        whole = listed(reader, path)
        if not key:
            continue
        for sort in (key, f"{key}:asc", f"{key}:desc", "created_at:desc"):
            name = sort.partition(":")[0]
            found = listed(reader, path, sort=sort)
            assert [item[name] for item in found] == sorted(
                (item[name] for item in whole), reverse=sort.endswith(":desc")
            ), (path, sort)
            assert sorted(item[ident] for item in found) == sorted(item[ident] for item in whole)
            after = listed(reader, path, sort=sort, marker=found[0][ident]) if found else []
            assert after == found[1:], (path, sort)


def test_what_has_nothing_to_sort_by_comes_last(reader: Client) -> None:
    first, second, third = listed(reader, "/v1/os-hosts")
    for host in (third, first):
        assert reader.ask("PUT", f"/v1/os-hosts/{host['id']}", {"rack": "a1"}).status_code == 200
    for direction in ("asc", "desc"):
        found = [each["id"] for each in listed(reader, "/v1/os-hosts", sort=f"updated_at:{direction}")]
        assert (found[-1], len(found)) == (second["id"], 3), direction


def test_filters_show_what_has_the_value(reader: Client) -> None:
    for path, (_, _, key) in LISTS.items():
        whole = listed(reader, path)
        for item in whole if key else ():
            assert listed(reader, path, **{key: item[key]}) == [each for each in whole if each[key] == item[key]], path
        if key:
            assert listed(reader, path, **{key: "none such"}) == []


def test_several_values_and_switches(reader: Client) -> None:
    hosts = listed(reader, "/v1/os-hosts")
    assert listed(reader, "/v1/os-hosts", hypervisor_hostname=", ".join(HOSTS[1:])) == hosts[1:]
    reader.ask("PUT", f"/v1/os-hosts/{hosts[0]['id']}", {"disabled": True, "disabled_reason": "broken"})
    assert [item["id"] for item in listed(reader, "/v1/os-hosts", disabled="true")] == [hosts[0]["id"]]
    assert [item["id"] for item in listed(reader, TYPED, disabled="false")] == [each["id"] for each in hosts[1:]]


@pytest.mark.parametrize(
    ("key", "wrong"),
    [("limit", "0"), ("limit", "x"), ("marker", "none-such"), ("sort", "secret"), ("sort", "created_at:down")],
)
def test_a_wrong_value_is_refused_with_its_key(reader: Client, key: str, wrong: str) -> None:
    for path, (_, _, sorts) in LISTS.items():
        if key == "sort" and not sorts:
            continue
        answer = reader.ask("GET", path, params={key: wrong})
        assert (answer.status_code, answer.json["field"]) == (400, key), path


def test_a_switch_is_true_or_false_and_a_text_is_printable(reader: Client) -> None:
    for key, wrong in (("disabled", "maybe"), ("hypervisor_hostname", "a\x00b"), ("pool", "x" * 256)):
        answer = reader.ask("GET", "/v1/os-hosts", params={key: wrong})
        assert (answer.status_code, answer.json["field"]) == (400, key)


def test_older_versions_refuse_or_ignore_the_keys(reader: Client) -> None:
    for path in LISTS.keys() - NEWEST:
        key = "sort" if path == "/v1/leases" else "limit"
        refused = reader.but(version="1.2").ask("GET", path, params={key: "1"})
        assert (refused.status_code, refused.json["field"]) == (400, key), path
    hosts = listed(reader, "/v1/os-hosts")
    assert len(listed(reader.but(version="1.1"), "/v1/os-hosts", limit="1")) == len(hosts)
