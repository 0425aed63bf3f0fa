"""Unknown keys: refused by name from 1.2 on, in every request and query; ignored at 1.0 and 1.1."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from leasehold.api.versions import STRICT_KEYS, V1_2, V1_3
from leasehold.cmd.web import ROUTES
from tests.bad_input.refusal import (
    ADDRESS_TYPE,
    ALARMS,
    HOSTS,
    LEASE,
    LEASES,
    RESOURCE,
    VALID,
    VERSION,
    Refusal,
    check_shape,
    one_quick,
)
from tests.factory import flavors, floating_ips, hosts, instances

if TYPE_CHECKING:
    from leasehold.api.route import Route
    from tests.bad_input.conftest import Target

STRICT = {VERSION: f"reservation {V1_2}"}
LENIENT = ("1.0", "1.1")
UNKNOWN: dict[str, Any] = {"code": "input.unknown", "headers": STRICT}
ASKING = [route for route in ROUTES if not route.public and not route.open_query]
"""What has an open query is asked in `tests/features/availability/test_api.py`."""
CLOSED = [
    route
    for route in ROUTES
    if route.request is not None and route.request.model_config.get("extra") != "allow" and route.since < STRICT_KEYS
]
"""The routes whose model names every key of the body, and that v1 clients use."""
KINDS = {"hosts": hosts(), "instances": instances(), "flavors": flavors(), "addresses": floating_ips()}
EVENT = {"event_type": "notify", "colour": "red"}
BODIES = [
    Refusal("POST", LEASES, {**VALID, "colour": "red"}, field="colour", **UNKNOWN),
    Refusal(
        "POST", LEASES, {"nam\u00e9": "n"}, field="nam\u00e9", words="before_end_date, deadline, end_date", **UNKNOWN
    ),
    Refusal("POST", LEASES, {**VALID, "events": [{}, EVENT]}, field="events[1].colour", **UNKNOWN),
    Refusal("POST", LEASES, {**VALID, **dict.fromkeys(["x" * 100_000, "y"])}, field="x" * 64, words="'y'", **UNKNOWN),
    Refusal("POST", LEASES, {**VALID, **dict.fromkeys(map(str, range(5_000)))}, field="0", **UNKNOWN),
    Refusal("PUT", LEASE, {"events": []}, field="events", **UNKNOWN),
    Refusal("PUT", LEASE, {"project_id": "alt"}, field="project_id", **UNKNOWN),
    *(
        Refusal(
            "POST",
            LEASES,
            {**VALID, "reservations": [part, {**part, "colour": 1}]},
            field="reservations[1].colour",
            words="resource_type",
            **UNKNOWN,
        )
        for part in KINDS.values()
    ),
    *(
        Refusal(
            "PUT",
            LEASE,
            {"reservations": [{"id": f"{{{name}}}", **part, "colour": 1}]},
            field="reservations[0].colour",
            words="id, ",
            **UNKNOWN,
        )
        for name, part in KINDS.items()
    ),
    *(
        Refusal(
            "POST",
            ALARMS,
            {"reservation": {**part, "colour": 1}, "below": 1},
            field="reservation.colour",
            words="resource_type",
            **UNKNOWN,
        )
        for part in KINDS.values()
    ),
    Refusal("POST", ALARMS, {"reservation": hosts(), "below": 1, "above": 9}, field="above", **UNKNOWN),
    Refusal("POST", HOSTS, {"name": "gpu-03", "vcpus": "8"}, field="vcpus", headers=STRICT),
    Refusal("POST", ADDRESS_TYPE, {"address": "x"}, field="address", words="floating_ip_address", **UNKNOWN),
    Refusal("PUT", RESOURCE, {"rack": "b"}, field="rack", words="properties", **UNKNOWN),
]


@pytest.mark.parametrize("row", one_quick(BODIES), ids=str)
def test_an_unknown_key_of_a_body_is_named_with_those_that_are_known(target: Target, row: Refusal) -> None:
    target.refuses(row)


@pytest.mark.parametrize("route", CLOSED, ids=lambda route: f"{route.method} {route.path}")
def test_every_body_may_have_unknown_keys_before_1_2_and_not_later(target: Target, route: Route) -> None:
    body = {"colour": "red"}
    target.refuses(Refusal(route.method, route.path, body, field="colour", **UNKNOWN))
    for version in LENIENT:
        answer = target.ask(route.method, route.path, body, headers={VERSION: f"reservation {version}"})
        assert answer.status_code == 200 or answer.json["code"] == "leasehold.input.missing", answer.text


@pytest.mark.parametrize("route", ASKING, ids=lambda route: f"{route.method} {route.path}")
def test_every_query_may_have_unknown_keys_before_1_2_and_not_later(target: Target, route: Route) -> None:
    strict = max(V1_2, route.since)
    known = ", ".join(sorted(route.query_at(strict))) or "none"
    query = "colour=red&&" + "&".join(f"{key}=" for key in route.query)
    unknown = {**UNKNOWN, "headers": {VERSION: f"reservation {strict}"}}
    target.refuses(Refusal(route.method, route.path, query=query, field="colour", words=f"are: {known}.", **unknown))
    if route.method != "GET" or route.since >= STRICT_KEYS:
        return
    for version in LENIENT:
        answer = target.ask("GET", route.path, query_string=query, headers={VERSION: f"reservation {version}"})
        assert answer.status_code == route.success, answer.text


@pytest.mark.parametrize(
    "route", [each for each in ROUTES if each.query_at(V1_3)], ids=lambda route: f"{route.method} {route.path}"
)
def test_every_key_of_a_query_has_one_value_from_1_3_on(target: Target, route: Route) -> None:
    newest = {VERSION: f"reservation {V1_3}"}
    for key in () if route.public else route.query_at(V1_3):
        for query in (f"{key}=", key, f"{key}=true&{key}=false"):
            target.refuses(Refusal(route.method, route.path, query=query, field=key, headers=newest))


def test_what_is_known_is_accepted(own_target: Target) -> None:
    """A lease with every key that there is, of every type, is granted and amended at 1.2."""
    events = [{"event_type": "notify"}]
    asked = {**VALID, "before_end_date": None, "events": events, "reservations": [floating_ips()]}
    made = own_target.ask("POST", LEASES, asked, headers=STRICT)
    assert made.status_code == 201, made.text
    part = made.json["lease"]["reservations"][0]
    change = {"name": "x", "reservations": [{"id": part["id"], "resource_type": part["resource_type"], "amount": 1}]}
    amended = own_target.ask("PUT", f"{LEASES}/{part['lease_id']}", change, headers=STRICT)
    assert (amended.status_code, amended.json["lease"]["name"]) == (200, "x")


def test_hostile_query_keys(target: Target) -> None:
    """Any bytes may be the name of a key; the error repeats only its beginning."""
    for key in ("%00", "%ff", "%ED%A0%80", "x" * 10_000, "%F0%9F%98%80", "a%0d%0ab"):
        answer = target.ask("GET", LEASES, query_string=f"{key}=1", headers=STRICT)
        check_shape(answer)
        assert answer.json["code"] == "leasehold.input.unknown"
