"""A member cannot learn the identity of hosts or their private properties from answers to lease requests."""

from __future__ import annotations

import json
import string
from typing import TYPE_CHECKING, Any

import pytest

from tests.v1.world import HOST, INSTANCE, MEMBER, plant, world

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.v1.world import World

pytestmark = pytest.mark.slow

SECRET = "b7"
NEWER = {"OpenStack-API-Version": "reservation 1.1"}
DATES = {"start_date": "2031-05-05 10:00", "end_date": "2031-05-05 11:00"}
IDENTIFYING = ("id", "hypervisor_hostname", "service_name", "created_at", "updated_at", "trust_id")
FIELDS = ("hypervisor_properties", "resource_properties")


@pytest.fixture
def target(tmp_path: Path) -> Iterator[World]:
    """Yield a service with two hosts that have a private property and a public one."""
    with world(plant(tmp_path)) as made:
        made.enrol("cmp-01", vault=SECRET, rack="r1")
        made.enrol("cmp-02", vault=SECRET, rack="r2")
        assert made.ask("PATCH", "/os-hosts/properties/vault", {"private": True}).status_code == 200
        yield made


def asking(expression: Any, field: str = "resource_properties", many: int = 9) -> dict[str, Any]:
    """Return a request for more hosts than exist; a refusal for lack of hosts would tell how many match."""
    text = expression if isinstance(expression, str) else json.dumps(expression)
    return {"name": "n", **DATES, "reservations": [{**HOST, "min": many, "max": many, field: text}]}


def answer_to(target: World, body: dict[str, Any], who: dict[str, str]) -> dict[str, Any]:
    answer = target.ask("POST", "/leases", body, headers=who)
    assert answer.status_code >= 400, answer.text
    found: dict[str, Any] = answer.json
    return found


SHAPES = (
    '["==", "$NAME", "x"]',
    '["not", ["<", "$NAME", "5"]]',
    '["or", ["==", "$vcpus", "8"], ["in", "$NAME", "a", "b"]]',
)
OTHER_ERRORS: tuple[dict[str, Any], ...] = (
    {"end_date": "2031-05-05 09:00"},
    {"reservations": [{**HOST, "min": 1}, {"resource_type": "none"}]},
    {"before_end_date": "2031-05-06 10:00"},
)


def test_a_private_property_is_refused_in_the_words_and_in_the_place_of_one_that_does_not_exist(target: World) -> None:
    """Any other error of the request is reported before both, or after both."""
    plain = [asking(shape, field) for field in FIELDS for shape in SHAPES]
    for body in (*plain, *({**plain[-1], **change} for change in OTHER_ERRORS)):
        private, unknown = (
            answer_to(target, json.loads(json.dumps(body).replace("NAME", name)), MEMBER) for name in ("vault", "vaulx")
        )
        assert json.loads(json.dumps(private).replace("vault", "vaulx")) == unknown
        assert body not in plain or private["field"] == f"reservations[0].{FIELDS[plain.index(body) // len(SHAPES)]}"


def test_no_character_of_a_private_value_is_learnt_by_comparing(target: World) -> None:
    answers = {
        json.dumps(answer_to(target, asking([op, "$vault", guess]), MEMBER))
        for op in ("<", ">=")
        for guess in string.ascii_lowercase
    }
    assert len(answers) == 1
    granted = [target.ask("POST", "/leases", asking([op, "$vault", "m"], many=1), headers=MEMBER) for op in ("<", ">")]
    assert {answer.status_code for answer in granted} == {400}


@pytest.mark.parametrize("name", IDENTIFYING)
def test_who_may_not_list_hosts_may_not_ask_which_one_is_which(target: World, name: str) -> None:
    for op in ("==", "!=", "<", ">=", "in"):
        for field in FIELDS:
            refused = answer_to(target, asking([op, f"${name}", "cmp-01"], field), MEMBER)
            assert refused["field"] == f"reservations[0].{field}"
            assert "matching" not in refused["error_message"]
    instance = {**INSTANCE, "resource_properties": json.dumps(["==", f"${name}", "cmp-01"])}
    refused = answer_to(target, {"name": "n", **DATES, "reservations": [instance]}, MEMBER)
    assert refused["field"] == "reservations[0].resource_properties"


@pytest.mark.parametrize(
    ("expression", "who"),
    [
        (["and", [">=", "$vcpus", "1"], ["==", "$rack", "r2"], ["!=", "$hypervisor_type", "x"]], MEMBER),
        (["and", ["==", "$vault", SECRET], ["==", "$hypervisor_hostname", "cmp-02"]], {}),
    ],
    ids=["everybody", "administrators"],
)
def test_everybody_asks_what_hosts_have_and_administrators_ask_everything(
    target: World, expression: list[Any], who: dict[str, str]
) -> None:
    answer = target.ask("POST", "/leases", asking(expression, many=1), headers=who)
    assert answer.status_code == 201, answer.text


def test_an_amendment_keeps_an_expression_that_an_administrator_wrote(target: World) -> None:
    """The owner may amend the rest or resend the expression, but not write a new one with the same properties."""
    expression = json.dumps(["and", ["==", "$vault", SECRET], ["==", "$hypervisor_hostname", "cmp-02"]])
    lease = target.ask("POST", "/leases", asking(expression, many=1)).json["lease"]
    part = lease["reservations"][0]["id"]

    def amend(**changes: Any) -> Any:
        reservations = [{"id": part, **changes}]
        return target.ask("PUT", f"/leases/{lease['id']}", {"reservations": reservations}, headers=MEMBER)

    later = target.ask("PUT", f"/leases/{lease['id']}", {"end_date": "2031-05-05 12:00"}, headers=MEMBER)
    assert later.status_code == 200
    assert amend(resource_properties=expression, before_end="snapshot").status_code == 200
    assert amend(hypervisor_properties='[">=", "$vcpus", "1"]').status_code == 200
    for name in ("vault", "vaulx", "hypervisor_hostname"):
        for field in FIELDS:
            answer = amend(**{field: json.dumps(["==", f"${name}", SECRET])})
            assert (answer.status_code, answer.json["field"]) == (400, f"reservations[0].{field}")


def test_a_reason_names_no_host_to_who_may_not_list_them(target: World) -> None:
    border = target.date(minutes=5)
    first = target.lease({**HOST, "min": 2, "max": 2}, end_date=border)
    second = target.lease(HOST, start_date=border, end_date=target.date(minutes=20))
    target.wait(seconds=1)
    target.boot("m1.small", first["reservations"][0]["id"])
    target.cloud.servers.take_to("delete", 180)
    target.wait(minutes=6)
    seen = 0
    for lease in (first, second):
        path = f"/leases/{lease['id']}"
        whole = target.ask("GET", path, headers=NEWER).json["lease"]["status_reason"]
        listed = target.ask("GET", "/leases", headers={**MEMBER, **NEWER}).json["leases"]
        alone = target.ask("GET", path, headers={**MEMBER, **NEWER}).json["lease"]
        for answer in (alone, *(each for each in listed if each["id"] == lease["id"])):
            assert (answer["status_reason"] is None) == (whole is None)
            assert "cmp-" not in json.dumps(answer)
        seen += whole is not None and "cmp-" in whole
    assert seen
