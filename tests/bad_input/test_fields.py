"""Every field of every request, with values of the wrong type, out of range, or missing."""

from __future__ import annotations

import copy
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from leasehold.cloud.sandbox import seed
from tests.v1.world import HOST, INSTANCE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.bad_input.conftest import Target

pytestmark = pytest.mark.slow

OBJECTS: list[Any] = [[], {}, [1], {"a": 1}, [[]], ["x"]]
NO_TEXT: list[Any] = [1, 0, -1, 1.5, True, *OBJECTS]
NO_LIST: list[Any] = [1, 1.5, True, "", "x", "[]", {}, {"a": 1}]
NO_NUMBER: list[Any] = [None, True, False, 1.5, "", "x", "1.5", "1 ", "٣", "0x1", "1e3", "9" * 20, *OBJECTS]
OUT_OF_RANGE: list[Any] = [-1, 2**31, 2**53, "-1", str(2**31), -(2**63)]
NO_EXPRESSION: list[Any] = [
    None,
    *NO_TEXT,
    "x",
    "null",
    "1",
    "{}",
    '["and"]',
    '["and", []]',
    '["or"]',
    '["==", "vcpus", "8"]',
    '["==", "$", "8"]',
    '["==", "$vcpus", ""]',
    '["==", "$vcpus", 8]',
    '["==", "$vcpus"]',
    '["~", "$vcpus", "8"]',
    '["==", ["$vcpus"], "8"]',
    '["==", "$nonsense", "8"]',
    '["==", "$__class__", "8"]',
    '["==", "$\' OR 1=1 --", "8"]',
    '["==", "$vcpus", "\\ud800"]',
    "[" * 10_000 + "]" * 10_000,
    '["not", ' * 10_000 + '["==", "$vcpus", "8"]' + "]" * 10_000,
    '["not", ' * 40 + '["==", "$vcpus", "8"]' + "]" * 40,
    json.dumps(["and", *[["==", "$vcpus", "8"]] * 1000]),
    '["==", "$vcpus", "' + "9" * 20_000 + '"]',
]
NO_AFFINITY: list[Any] = ["maybe", 2, -1, 1.5, "truefalse", *OBJECTS]
NO_IDENTIFIER: list[Any] = [None, "", True, 1.5, "x" * 256, *OBJECTS]
NO_BOOLEAN: list[Any] = [None, 0, 1, "true", "", 1.5, *OBJECTS]
NO_NAME: list[Any] = ["x" * 81, "é" * 81, "x" * 100_000, *NO_TEXT]

FLAVOR = {"resource_type": "flavor:instance", "flavor_id": "m1.small", "amount": 1, "affinity": None}
FLOATING_IP = {
    "resource_type": "virtual:floatingip",
    "network_id": seed.NETWORK_ID,
    "amount": 1,
    "required_floatingips": [],
}
LEASE = {"name": "n", "start_date": "2031-05-05 10:00", "end_date": "2031-05-05 11:00"}


@dataclass(frozen=True)
class Place:
    """A field: its request, its location in the body, and the values that must be refused."""

    method: str
    path: str
    body: dict[str, Any]
    steps: tuple[str | int, ...]
    wrong: list[Any]

    @property
    def field(self) -> str:
        text = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in self.steps)
        return text.removeprefix(".")

    def with_value(self, value: Any) -> dict[str, Any]:
        body: Any = copy.deepcopy(self.body)
        inner = body
        for step in self.steps[:-1]:
            inner = inner[step]
        inner[self.steps[-1]] = value
        return dict(body)


def reservation(asked: dict[str, Any], **fields: list[Any]) -> Iterator[Place]:
    body = {**LEASE, "reservations": [asked]}
    for name, wrong in fields.items():
        yield Place("POST", "/leases", body, ("reservations", 0, name), wrong)


def change(part: str, **fields: list[Any]) -> Iterator[Place]:
    body = {"reservations": [{"id": part}]}
    for name, wrong in fields.items():
        yield Place("PUT", "/leases/{lease}", body, ("reservations", 0, name), wrong)


PLACES: list[Place] = [
    Place("POST", "/leases", LEASE, ("name",), [None, *NO_NAME]),
    Place("POST", "/leases", LEASE, ("start_date",), [None, *NO_TEXT]),
    Place("POST", "/leases", LEASE, ("end_date",), [None, *NO_TEXT]),
    Place("POST", "/leases", LEASE, ("before_end_date",), NO_TEXT),
    Place("POST", "/leases", LEASE, ("reservations",), NO_LIST),
    Place("POST", "/leases", {**LEASE, "reservations": [HOST]}, ("reservations", 0), [None, 1, "x", True, []]),
    Place("POST", "/leases", LEASE, ("events",), NO_LIST),
    Place("POST", "/leases", {**LEASE, "events": [{}]}, ("events", 0), [None, 1, "x", True, []]),
    Place("POST", "/leases", {**LEASE, "events": [{}]}, ("events", 0, "event_type"), ["x" * 67, *NO_TEXT]),
    *reservation(HOST, resource_type=[None, "", "x", "physical", "x" * 67, *NO_TEXT]),
    *reservation(
        HOST,
        min=[*NO_NUMBER, *OUT_OF_RANGE, 0, "0"],
        max=[*NO_NUMBER, *OUT_OF_RANGE, 0, "0"],
        hypervisor_properties=NO_EXPRESSION,
        resource_properties=NO_EXPRESSION,
        before_end=[None, "email", "x" * 10_000, *NO_TEXT],
    ),
    *reservation(
        INSTANCE,
        amount=[*NO_NUMBER, *OUT_OF_RANGE, 0],
        vcpus=[*NO_NUMBER, *OUT_OF_RANGE],
        memory_mb=[*NO_NUMBER, *OUT_OF_RANGE],
        disk_gb=[*NO_NUMBER, *OUT_OF_RANGE],
        affinity=NO_AFFINITY,
        resource_properties=NO_EXPRESSION,
    ),
    *reservation(
        FLAVOR, flavor_id=NO_IDENTIFIER, amount=[*NO_NUMBER, *OUT_OF_RANGE, 0], affinity=[*NO_AFFINITY, True, "False"]
    ),
    *reservation(
        FLOATING_IP,
        network_id=NO_IDENTIFIER,
        amount=[*NO_NUMBER, *OUT_OF_RANGE, 0],
        required_floatingips=[None, *NO_LIST],
    ),
    Place("PUT", "/leases/{lease}", {}, ("name",), NO_NAME),
    Place("PUT", "/leases/{lease}", {}, ("start_date",), NO_TEXT),
    Place("PUT", "/leases/{lease}", {}, ("end_date",), NO_TEXT),
    Place("PUT", "/leases/{lease}", {}, ("before_end_date",), NO_TEXT),
    Place("PUT", "/leases/{lease}", {}, ("reservations",), NO_LIST),
    Place("PUT", "/leases/{lease}", {"reservations": [{}]}, ("reservations", 0), [None, 1, "x", True, []]),
    Place("PUT", "/leases/{lease}", {"reservations": [{}]}, ("reservations", 0, "id"), ["", "x", *NO_TEXT]),
    *change(
        "{hosts}",
        min=[*NO_NUMBER, *OUT_OF_RANGE, 0],
        max=[*NO_NUMBER, *OUT_OF_RANGE, 0],
        hypervisor_properties=NO_EXPRESSION,
        resource_properties=NO_EXPRESSION,
    ),
    *change(
        "{instances}",
        amount=[*NO_NUMBER, *OUT_OF_RANGE, 0],
        vcpus=[*NO_NUMBER, *OUT_OF_RANGE],
        memory_mb=[*NO_NUMBER, *OUT_OF_RANGE],
        disk_gb=[*NO_NUMBER, *OUT_OF_RANGE],
        affinity=NO_AFFINITY,
        resource_properties=NO_EXPRESSION,
    ),
    *change("{flavors}", flavor_id=NO_IDENTIFIER, amount=[*NO_NUMBER, *OUT_OF_RANGE, 0], affinity=NO_AFFINITY),
    *change(
        "{addresses}",
        amount=[*NO_NUMBER, *OUT_OF_RANGE, 0],
        network_id=["x", *NO_IDENTIFIER],
        required_floatingips=[None, *NO_LIST, ["203.0.113.200"]],
    ),
    Place("POST", "/os-hosts", {"name": "gpu-03"}, ("name",), ["x" * 256, *NO_TEXT]),
    Place("POST", "/os-hosts", {}, ("id",), [1.5, True, "x" * 256, *OBJECTS]),
    Place("POST", "/os-hosts", {"name": "gpu-03"}, ("rack",), [None, "x" * 16_001, *OBJECTS]),
    Place("PUT", "/os-hosts/{host}", {}, ("rack",), ["x" * 16_001, *OBJECTS]),
    Place("PUT", "/os-hosts/{host}", {}, ("name",), ["x"]),
    Place("PUT", "/os-hosts/{host}", {}, ("vcpus",), ["1", 1]),
    Place("PUT", "/os-hosts/{host}", {}, ("trust_id",), ["1"]),
    Place("PATCH", "/os-hosts/properties/rack", {}, ("private",), NO_BOOLEAN),
    Place(
        "POST",
        "/floatingips",
        {"floating_ip_address": "203.0.113.210"},
        ("floating_network_id",),
        [None, "", "x", "x" * 256, *NO_TEXT],
    ),
    Place(
        "POST",
        "/floatingips",
        {"floating_network_id": seed.NETWORK_ID},
        ("floating_ip_address",),
        [
            None,
            "",
            "x",
            "203.0.113.256",
            "203.0.113.0/24",
            "203.0.113.210\n",
            "::g",
            "x" * 65,
            "٢٠٣.0.113.210",
            *NO_TEXT,
        ],
    ),
]


def name_of(value: object) -> str:
    return f"{value.method} {value.path} {value.field}" if isinstance(value, Place) else str(value)[:50]


def filled(target: Target, body: dict[str, Any]) -> dict[str, Any]:
    """Replace the placeholders of reservations in the body with the target's ids."""
    parts = body.get("reservations")
    for part in parts if isinstance(parts, list) else ():
        if isinstance(part, dict) and isinstance(part.get("id"), str):
            part["id"] = target.path(part["id"])
    return body


@pytest.mark.parametrize("place", PLACES, ids=name_of)
def test_wrong_values(target: Target, place: Place) -> None:
    """Every wrong value is refused with the name of its field, and nothing is stored."""
    accepted = []
    for value in place.wrong:
        answer = target.ask(place.method, place.path, filled(target, place.with_value(value)))
        try:
            target.refuses(answer, 400, 404, 409)
            found = answer.json.get("field") or ""
            assert found == place.field or found.startswith((f"{place.field}.", f"{place.field}["))
        except AssertionError:
            accepted.append((repr(value)[:60], answer.status_code, answer.text[:200]))
    assert accepted == []


MISSING: list[tuple[str, str, dict[str, Any], tuple[str, ...]]] = [
    ("POST", "/leases", {}, ("name", "start_date", "end_date")),
    ("POST", "/leases", {"name": "n", "end_date": "now"}, ("start_date",)),
    ("POST", "/leases", {**LEASE, "reservations": [{}]}, ("resource_type",)),
    *(
        (
            "POST",
            "/leases",
            {**LEASE, "reservations": [{key: asked[key] for key in asked if key != left_out}]},
            (left_out,),
        )
        for asked in (HOST, INSTANCE, FLAVOR, FLOATING_IP)
        for left_out in asked
        if left_out != "required_floatingips"
    ),
    ("PUT", "/leases/{lease}", {"reservations": [{}]}, ("reservation ID",)),
    ("PUT", "/leases/{lease}", {"reservations": [{"min": 1}]}, ("reservation ID",)),
    ("POST", "/floatingips", {}, ("floating_network_id", "floating_ip_address")),
    ("PATCH", "/os-hosts/properties/rack", {}, ("private",)),
]


@pytest.mark.parametrize(("method", "path", "body", "absent"), MISSING, ids=name_of)
def test_missing_fields(target: Target, method: str, path: str, body: dict[str, Any], absent: tuple[str, ...]) -> None:
    """One answer names all missing fields."""
    answer = target.ask(method, path, body)
    target.refuses(answer, 400)
    assert answer.json["error_message"].startswith("Missing parameter ")
    assert all(name in answer.json["error_message"] for name in absent)


@pytest.mark.parametrize(
    ("body", "status"), [({}, 403), ({"rack": "a"}, 403), ({"name": ""}, 403), ({"name": None}, 403)]
)
def test_a_host_without_a_name_is_403(target: Target, body: dict[str, Any], status: int) -> None:
    """The contract requires 403 for an enrolment without a host name."""
    target.refuses(target.ask("POST", "/os-hosts", body), status)


def test_an_empty_change_of_a_host_is_400(target: Target) -> None:
    target.refuses(target.ask("PUT", "/os-hosts/{host}", {}), 400)


@pytest.mark.parametrize("key", ["", "a/b", "k" * 65, "k" * 100_000, "a\nb", "a\x7fb", "\x85"])
@pytest.mark.parametrize(("method", "path"), [("POST", "/os-hosts"), ("PUT", "/os-hosts/{host}")])
def test_keys_that_cannot_name_a_property(target: Target, method: str, path: str, key: str) -> None:
    """Keys appear in paths and expressions, so control characters, slashes, empty and overlong keys are refused."""
    target.refuses(target.ask(method, path, {"name": "gpu-03", key: "v"} if method == "POST" else {key: "v"}), 400)


UNCHANGED: list[tuple[str, dict[str, Any]]] = [
    ("/leases/{lease}", {"id": "x", "project_id": "alt", "user_id": "x", "trust_id": "x", "degraded": True}),
    ("/leases/{lease}", {"status": "ACTIVE", "generation": 99, "deleted_at": "now", "__class__": "x"}),
    ("/leases/{lease}", {"events": [{"event_type": "end_lease", "time": "now"}]}),
]


@pytest.mark.parametrize(("path", "body"), UNCHANGED, ids=name_of)
def test_unknown_fields_are_ignored(target: Target, path: str, body: dict[str, Any]) -> None:
    """Unknown keys change nothing; they are no error, because v1 clients send keys that the service does not read."""
    assert target.ask("PUT", path, body).status_code == 200
