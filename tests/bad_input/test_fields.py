"""Contract http-api §3.1, §5 to §7: every field of every request, with values that are wrong, too many, or missing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from leasehold.cmd.web import ROUTES
from tests.bad_input.refusal import (
    ADDRESS_TYPE,
    ADDRESSES,
    ALARMS,
    HOST,
    HOSTS,
    LEASE,
    LEASES,
    PROPERTIES,
    RESOURCE,
    TYPE,
    VALID,
    VERSION,
    WRITES,
    Refusal,
    check_shape,
)
from tests.bad_input.values import NETWORK, PLACES, Place
from tests.factory import flavors, floating_ips, hosts, instances

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.bad_input.conftest import Target

ACTIVE = "/v1/leases/{active}"
HOST_FIELDS = {
    *("id", "hypervisor_hostname", "hypervisor_type", "hypervisor_version", "vcpus", "cpu_info", "memory_mb"),
    *("local_gb", "service_name", "availability_zone", "reservable", "status", "trust_id", "created_at", "updated_at"),
}


def test_every_field_of_every_request_has_a_row() -> None:
    """A new writing route, or a new field of a request, needs wrong values."""
    found = {(place.method, place.path, str(place.steps[0])) for place in PLACES}
    assert {(method, path) for method, path, _ in found} >= set(WRITES)
    for route in ROUTES:
        fields = route.request.model_fields if route.request is not None else ()
        assert {(route.method, route.path, name) for name in fields} <= found


@pytest.mark.parametrize("some", [slice(1), pytest.param(slice(1, None), marks=pytest.mark.slow)], ids=["one", "all"])
@pytest.mark.parametrize("place", PLACES, ids=str)
def test_wrong_values(target: Target, place: Place, some: slice) -> None:
    """Every wrong value is refused with the name of its field, and nothing is stored."""
    accepted = []
    for value in place.wrong[some]:
        answer = target.ask(place.method, place.path, place.with_value(value))
        try:
            check_shape(answer)
            assert answer.status_code in {400, 404, 409}
            found = answer.json.get("field") or ""
            assert found == place.field or found.startswith((f"{place.field}.", f"{place.field}["))
        except AssertionError:
            accepted.append((repr(value)[:60], answer.status_code, answer.text[:200]))
    assert accepted == []


# ---------------------------------------------------------------- what is absent


def absent(method: str, path: str, body: Any, *names: str, field: str = "") -> Refusal:
    """Return the refusal that names all absent fields at once."""
    words, details = f"Missing parameter {', '.join(names)}", {"missing": list(names)}
    return Refusal(method, path, body, code="input.missing", field=field or names[0], words=words, details=details)


MISSING = [
    absent("POST", LEASES, {"name": "n", "start_date": "2050-01-01 10:00"}, "end_date"),
    absent("POST", LEASES, {"start_date": "now"}, "name", "end_date"),
    absent("POST", LEASES, {"reservations": [{}]}, "name", "start_date", "end_date"),
    absent("POST", LEASES, {"name": "n", "end_date": "now"}, "start_date"),
    *(
        absent(
            *("POST", LEASES, {**VALID, "reservations": [{key: asked[key] for key in asked if key != left_out}]}),
            *(left_out,),
            field=f"reservations[0].{left_out}",
        )
        for asked in (hosts(), instances(), flavors(), floating_ips())
        for left_out in asked
    ),
    absent(
        *("POST", LEASES, {**VALID, "start_date": "nonsense", "reservations": [{"min": 1}]}, "resource_type"),
        field="reservations[0].resource_type",
    ),
    absent("PUT", LEASE, {"reservations": [{}]}, "reservation ID"),
    absent("PUT", LEASE, {"reservations": [{"min": 1}]}, "reservation ID"),
    absent("POST", ADDRESSES, {}, "floating_network_id", "floating_ip_address"),
    absent("POST", ADDRESSES, NETWORK, "floating_ip_address"),
    absent("POST", ADDRESS_TYPE, NETWORK, "floating_ip_address"),
    absent("POST", TYPE, {}, "name"),
    absent("PUT", RESOURCE, {}, "properties"),
    absent("POST", ALARMS, {}, "reservation", "below"),
    absent("POST", ALARMS, {"reservation": {}, "below": 1}, "resource_type", field="reservation.resource_type"),
    *(
        absent(
            *("POST", ALARMS, {"below": 1, "reservation": {key: asked[key] for key in asked if key != left_out}}),
            *(left_out,),
            field=f"reservation.{left_out}",
        )
        for asked in (hosts(), instances(), flavors(), floating_ips())
        for left_out in asked
        # All that say how many may be left out, not one of two.
        if left_out not in ("resource_type", "amount")
    ),
    absent("PATCH", f"{PROPERTIES}/rack", {}, "private"),
    absent("PATCH", f"{TYPE}/properties/rack", {}, "private"),
]

# ---------------------------------------------------------------- dates in the wrong order, and other rules


def order(path: str, status: int, field: str, changes: Sequence[dict[str, str]], words: str = "") -> list[Refusal]:
    """Return rows of dates that are well-formed, and not where they have to be."""
    method, base = ("POST", {**VALID, "end_date": "2031-05-05 12:00"}) if path == LEASES else ("PUT", {})
    code = "lease.before_end_date" if status == 403 else "input.date" if path == LEASES else "input.invalid"
    return [Refusal(method, path, base | each, status, code, field, words) for each in changes]


def before_end(*dates: str) -> list[dict[str, str]]:
    return [{"before_end_date": date} for date in dates]


BOGUS = "Bogus-date 13:13 is an invalid date. Required format: %Y-%m-%d %H:%M"
BACKWARDS = [
    {"start_date": "2050-01-01 10:00", "end_date": "2050-01-01 09:00"},
    *({"start_date": "2031-05-05 12:00"}, {"start_date": "2031-05-05 12:01"}, {"start_date": "now", "end_date": "now"}),
]
OUTSIDE = before_end("2031-05-05 10:00", "2031-05-05 12:00", "2031-05-06 12:00", "now")
ORDER = [
    *order(LEASES, 400, "start_date", [{"start_date": "2031-05-01 09:30"}], "must be later than the current date"),
    *order(LEASES, 400, "end_date", BACKWARDS, "End date must be later than start date."),
    *order(LEASES, 403, "before_end_date", OUTSIDE),
    *order(ACTIVE, 400, "start_date", [{"start_date": "2031-05-01 09:31"}, {"start_date": "now"}]),
    *order(ACTIVE, 400, "end_date", [{"end_date": "2031-05-01 09:30"}]),
    *order(ACTIVE, 403, "before_end_date", before_end("2031-06-01 09:30")),
    *order(LEASE, 400, "start_date", [{"start_date": "2031-05-01 09:30"}]),
    *order(LEASE, 400, "end_date", [{"end_date": "2031-05-02 09:29"}]),
    *order(LEASE, 403, "before_end_date", before_end("2031-05-02 09:30", "2031-06-01 09:30")),
]
NO_HOST: dict[str, Any] = {"status": 403, "code": "auth.forbidden", "field": "name"}
NOT_ENOUGH: dict[str, Any] = {"status": 409, "code": "resources.not_enough", "field": "reservations[0]"}
OTHER_TYPE: dict[str, Any] = {"status": 409, "code": "conflict", "field": "reservations[0].resource_type"}
NOT_ACCEPTABLE = "is not acceptable: "
VALID_ADDRESS = {**NETWORK, "floating_ip_address": "203.0.113.210"}
RULES = [
    Refusal("POST", LEASES, {**VALID, "start_date": "Bogus-date 13:13"}, 400, "input.date", "start_date", BOGUS),
    Refusal("POST", LEASES, {**VALID, "reservations": [hosts(99)]}, **NOT_ENOUGH, details={"asked": 99, "largest": 11}),
    Refusal("PUT", LEASE, {"reservations": [{"id": "{hosts}", "min": 99, "max": 99}]}, **NOT_ENOUGH),
    *(
        Refusal("PUT", LEASE, {"reservations": [first, *more, {"id": "{hosts}", "max": 2}]}, field=where, words="twice")
        for first in ({"id": "{hosts}", "min": 2, "max": 2},)
        for more, where in (
            ([], "reservations[1].id"),
            ([{"id": each} for each in ("{instances}", "{flavors}", "{addresses}")], "reservations[4].id"),
        )
    ),
    Refusal("PUT", ACTIVE, {"reservations": [{"id": "{running}", "min": 99, "max": 99}]}, **NOT_ENOUGH),
    Refusal("PUT", ACTIVE, {"reservations": [{"id": "{running}", "resource_type": "virtual:instance"}]}, **OTHER_TYPE),
    Refusal("PATCH", f"{PROPERTIES}/rack", {"private": "yes"}, field="private", words=f"private {NOT_ACCEPTABLE}"),
    *(
        Refusal("POST", ADDRESSES, {**VALID_ADDRESS, name: value}, field=name, words=words)
        for name, value, words in (
            ("floating_ip_address", 7, f"The value of floating_ip_address {NOT_ACCEPTABLE}"),
            ("floating_ip_address", "nonsense", "nonsense"),
            ("floating_network_id", "", f"The value of floating_network_id {NOT_ACCEPTABLE}"),
            ("floating_network_id", "none-such", "none-such"),
        )
    ),
    *(Refusal("POST", HOSTS, body, **NO_HOST) for body in ({}, {"rack": "a"}, {"name": ""}, {"name": None})),
    Refusal("POST", HOSTS, {"name": "gpu"}, 404, "not_found"),
    Refusal("PUT", HOST, {}),
    Refusal("PUT", RESOURCE, {"properties": {}}),
    Refusal("POST", "/v1/resources/virtual:instance", {"name": "gpu-03"}, field="resource_type"),
    Refusal("DELETE", HOST, status=409, code="resource.in_use"),
    Refusal("DELETE", RESOURCE, status=409, code="resource.in_use"),
    *(Refusal("PUT", HOST, {key: "x", "rack": "b"}, field=key) for key in sorted(HOST_FIELDS | {"name"})),
    *(
        Refusal(*write, {**NEW, "properties": {key: "x", "rack": "b"}}, field=key)
        for write, NEW in ((("POST", TYPE), {"name": "gpu-03"}), (("PUT", RESOURCE), {}))
        for key in ("hypervisor_hostname", "id", "vcpus")
    ),
]
LONG = "Extra capability key too long"
KEYS = [
    *(("", ""), ("a/b", ""), ("a\nb", ""), ("tab\there", ""), ("a\x7fb", ""), ("\x85", "")),
    *(("k" * 65, LONG), ("k" * 2000, LONG), ("k" * 100_000, LONG)),
]
NAMES = [
    Refusal(method, path, inside({**named, "rack": "changed", key: "v"}), field=key[:64], words=words)
    for method, path, named, inside in (
        ("POST", HOSTS, {"name": "gpu-03"}, dict),
        ("PUT", HOST, {}, dict),
        ("POST", TYPE, {}, lambda sent: {"name": "gpu-03", "properties": sent}),
        ("PUT", RESOURCE, {}, lambda sent: {"properties": sent}),
    )
    for key, words in KEYS
]


@pytest.mark.parametrize("row", [*MISSING, *ORDER, *RULES], ids=str)
def test_requests_with_a_field_that_is_refused(target: Target, row: Refusal) -> None:
    """Contract http-api §3.1, §5.3, §5.4, §6: the status, the field and, where clients compare it, the message."""
    target.refuses(row)


@pytest.mark.parametrize("row", NAMES, ids=str)
def test_keys_that_cannot_name_a_property(target: Target, row: Refusal) -> None:
    """Keys appear in paths and expressions, so control characters, slashes, empty and overlong keys are refused.

    An overlong one has the message of contract http-api §3.1: "Extra capability key too long".
    """
    target.refuses(row)


UNCHANGED: list[dict[str, Any]] = [
    {"id": "x", "project_id": "alt", "user_id": "x", "trust_id": "x", "degraded": True, "before_end_date": None},
    {"status": "ACTIVE", "generation": 99, "deleted_at": "now", "__class__": "x"},
    {"events": [{"event_type": "end_lease", "time": "now"}]},
    {"events": []},
    {},
]


@pytest.mark.parametrize("body", UNCHANGED, ids=str)
def test_unknown_fields_are_ignored(target: Target, body: dict[str, Any]) -> None:
    """Unknown keys change nothing; they are no error, because v1 clients send keys that the service does not read."""
    before = target.ask("GET", LEASE).json
    answer = target.ask("PUT", LEASE, body, headers={VERSION: "reservation 1.0"})
    assert (answer.status_code, answer.json) == (200, before)
