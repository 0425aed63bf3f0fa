"""Usage by the API: hours of a real lease, whose a caller may see, and what is refused (feature G8)."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING, Any

import pytest

from tests.api.conftest import LEASE, NOW

if TYPE_CHECKING:
    from tests.api.conftest import Client, Clock

pytestmark = pytest.mark.slow

PATH = "/v1/usage"
DAY = "?from=2031-05-01T00:00Z&to=2031-05-02T00:00Z"
"""The leases are on this day."""


@pytest.fixture
def member(client: Client, host: str) -> Client:
    """Return a member of a project, where there is one host."""
    assert host
    return client.but(version="1.3")


@pytest.fixture
def operator(admin: Client) -> Client:
    return admin.but(version="1.3")


@pytest.fixture
def held(member: Client, clock: Clock) -> str:
    """Make a lease of a host from 10 to 11 o'clock, and let half an hour of it pass; return its id."""
    lease = member.ask("POST", "/v1/leases", LEASE).json["lease"]
    clock.now = NOW.replace(hour=10, minute=30, second=0, microsecond=0)
    ident: str = lease["id"]
    return ident


def rows(caller: Client, query: str) -> list[dict[str, Any]]:
    answer = caller.ask("GET", PATH + query)
    assert answer.status_code == 200, answer.text
    found: list[dict[str, Any]] = answer.json["usage"]["rows"]
    return found


@pytest.mark.usefixtures("held")
def test_a_project_sees_what_it_has_held_in_hours(member: Client) -> None:
    (row,) = rows(member, DAY)
    assert (row["project_id"], row["resource_type"], row["unit"]) == ("demo", "physical:host", "hosts")
    assert (row["held"], row["promised"], row["active"], row["late"]) == (0.5, 0.5, 0.5, 0.0)
    assert (row["used"], row["idle"], row["no_show"]) == (None, None, None), "nobody has looked"
    assert (row["missing"], row["given_up"], row["lent"], row["refused"]) == (0.0, 0.0, 0.0, 0)
    answer = member.ask("GET", PATH + DAY).json["usage"]
    assert (answer["from"], answer["to"]) == ("2031-05-01T00:00:00+00:00", "2031-05-01T10:30:00+00:00")
    assert (answer["group_by"], answer["precision_seconds"]) == ("project", 300.0)


@pytest.mark.parametrize(
    ("group", "named"),
    [
        ("project", {"project_id": "demo"}),
        ("user", {"project_id": "demo", "user_id": "alice"}),
        ("kind", {}),
        ("day", {"day": "2031-05-01"}),
    ],
)
@pytest.mark.usefixtures("held")
def test_rows_name_what_they_are_about(member: Client, group: str, named: dict[str, str]) -> None:
    (row,) = rows(member, f"{DAY}&group_by={group}")
    parts = ("project_id", "user_id", "lease_id", "resource", "day")
    assert {name: row[name] for name in parts if row[name] is not None} == named
    assert row["held"] == 0.5


def test_a_lease_is_named_and_a_resource_to_operators_only(member: Client, operator: Client, held: str) -> None:
    (row,) = rows(member, f"{DAY}&group_by=lease")
    assert (row["lease_id"], row["lent"], row["refused"]) == (held, None, None)
    answer = member.ask("GET", f"{PATH}{DAY}&group_by=resource")
    assert (answer.status_code, answer.json["field"]) == (403, "group_by")
    (row,) = rows(operator, f"{DAY}&group_by=resource&all_projects=true")
    assert row["resource"]
    assert (row["held"], row["promised"], row["missing"]) == (0.5, None, None)


@pytest.mark.usefixtures("held")
def test_members_see_their_project_and_administrators_all(member: Client, operator: Client) -> None:
    assert rows(member.but(project="other"), DAY) == []
    assert rows(operator.but(project="ops"), DAY) == []
    for query in ("&all_projects=true", "&project_id=demo"):
        (row,) = rows(operator.but(project="ops"), DAY + query)
        assert row["project_id"] == "demo"
    for query, field in (("&all_projects=true", "all_projects"), ("&project_id=demo", "project_id")):
        answer = member.but(project="other").ask("GET", PATH + DAY + query)
        assert (answer.status_code, answer.json["field"]) == (403, field)
    assert rows(member, f"{DAY}&project_id=demo")


@pytest.mark.usefixtures("held")
def test_csv_has_the_same_rows(member: Client) -> None:
    answer = member.ask("GET", f"{PATH}{DAY}&format=csv&group_by=user")
    assert answer.headers["content-type"] == "text/csv; charset=utf-8"
    (row,) = csv.DictReader(io.StringIO(answer.text))
    (shown,) = rows(member, f"{DAY}&group_by=user")
    assert (row["user_id"], float(row["held"]), row["used"]) == ("alice", shown["held"], "")
    assert "lease_id" not in row


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("?group_by=colour", "group_by"),
        ("?format=focus", "format"),
        ("?from=2031-06-01T00:00Z", "from"),
        ("?from=2031-04-02T00:00Z&to=2031-04-01T00:00Z", "to"),
        ("?from=2029-01-01T00:00Z", "to"),
        ("?from=yesterday", "from"),
        ("?project_id=%00", "project_id"),
        ("?all_projects=maybe", "all_projects"),
    ],
)
def test_bad_questions_name_the_field(member: Client, query: str, field: str) -> None:
    answer = member.ask("GET", PATH + query)
    assert (answer.status_code, answer.json["field"]) == (400, field)


def test_one_project_and_all_of_them_exclude_each_other(operator: Client) -> None:
    answer = operator.ask("GET", f"{PATH}?project_id=demo&all_projects=true")
    assert (answer.status_code, answer.json["field"]) == (400, "project_id")
    assert "json, csv" in operator.ask("GET", f"{PATH}?format=focus").json["error_message"]
