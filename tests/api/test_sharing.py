"""A lease is shared with other projects, from 1.3 on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.api.test_leases import HOST, made

if TYPE_CHECKING:
    from falcon import testing

    from tests.api.conftest import Client


@pytest.fixture
def new(client: Client, host: str) -> Client:
    assert host
    return client.but(version="1.3")


def share(who: Client, lease: dict[str, Any], *projects: str) -> testing.Result:
    return who.ask("PUT", f"/v1/leases/{lease['id']}", {"shared_with": list(projects)})


def test_the_lease_says_with_whom_it_is_shared(new: Client) -> None:
    lease = made(new, reservations=[HOST])
    assert lease["shared_with"] == []
    assert share(new, lease, "b", "a", "b").json["lease"]["shared_with"] == ["a", "b"]
    path = f"/v1/leases/{lease['id']}"
    assert "shared_with" not in new.but(version="1.2").ask("GET", path).json["lease"]
    assert new.ask("PUT", path, {"name": "n"}).json["lease"]["shared_with"] == ["a", "b"]
    assert share(new, lease).json["lease"]["shared_with"] == []


def test_others_use_it_and_neither_see_nor_change_it(new: Client) -> None:
    lease = made(new, reservations=[HOST])
    share(new, lease, "other")
    theirs, path = new.but(project="other"), f"/v1/leases/{lease['id']}"
    assert theirs.ask("GET", "/v1/leases").json["leases"] == []
    assert theirs.ask("GET", path).status_code == 403
    assert share(theirs, lease, "third").status_code == 403
    assert theirs.ask("DELETE", path).status_code == 403


def test_whoever_is_in_the_project_sees_it_and_its_members_change_it(new: Client) -> None:
    lease = made(new, reservations=[HOST])
    path = f"/v1/leases/{lease['id']}"
    reader, member = (new.but(user="bob", roles=roles) for roles in ("reader", "member,reader"))
    assert reader.ask("GET", path).status_code == 200
    assert reader.ask("PUT", path, {"name": "n"}).status_code == 403
    assert member.ask("PUT", path, {"name": "n"}).status_code == 200
    assert share(member, lease, "other").status_code == 200
    assert member.ask("DELETE", path).status_code == 204


@pytest.mark.parametrize("wrong", ["demo", "reservation"])
def test_what_is_no_other_project_is_refused(new: Client, wrong: str) -> None:
    answer = share(new, made(new), wrong)
    assert (answer.status_code, answer.json["field"]) == (400, "shared_with")


def test_ids_that_nova_cannot_keep_are_refused(new: Client) -> None:
    lease, ids = made(new), [f"{number}" * 36 for number in range(7)]
    assert share(new, lease, *(each[:32] for each in ids[:6])).status_code == 200
    longer = new.but(project=ids[6])
    answer = share(longer, made(longer), *ids[:6])
    assert (answer.status_code, answer.json["field"]) == (400, "shared_with")
    assert "255 characters" in answer.json["error_message"]


def test_who_may_not_use_what_it_has_is_named(new: Client, admin: Client, host: str) -> None:
    closed = admin.but(version="1.3").ask("PUT", f"/v1/os-hosts/{host}", {"projects": ["demo", "other"]})
    assert closed.status_code == 200
    lease = made(new, reservations=[HOST])
    answer = share(new, lease, "other", "third")
    assert (answer.status_code, answer.json["code"]) == (409, "leasehold.lease.closed_to")
    assert (answer.json["field"], answer.json["details"]) == ("shared_with", {"projects": ["third"]})
    assert share(new, lease, "other").json["lease"]["shared_with"] == ["other"]


def test_1_2_does_not_have_it(new: Client) -> None:
    answer = share(new.but(version="1.2"), made(new), "other")
    assert (answer.status_code, answer.json["code"]) == (400, "leasehold.input.unknown")
