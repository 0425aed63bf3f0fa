"""The forecast by the API: its columns, its window, and who may see it (feature G10)."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from sqlalchemy import insert

from leasehold.db.engine import writing
from leasehold.db.tables import segments
from leasehold.model.windows import from_seconds, to_seconds
from tests.api.conftest import LEASE, NOW
from tests.factory import hosts

if TYPE_CHECKING:
    from leasehold.leasing.service import Service
    from tests.api.conftest import Client

pytestmark = pytest.mark.slow

PATH = "/v1/forecast"
HOUR = 3600
WEEK = 168 * HOUR
BEGIN = to_seconds(NOW) // HOUR * HOUR
COLUMNS = {"promised", "backlog", "capacity", "shortfall"}
EXPECTED = {f"{name}_{which}" for name in ("expected", "additional", "shortfall") for which in ("median", "high")}


@pytest.fixture
def operator(admin: Client, host: str) -> Client:
    """Return an administrator, where there is one host."""
    assert host
    return admin.but(version="1.3")


def shown(operator: Client, query: str = "") -> dict[str, Any]:
    answer = operator.ask("GET", PATH + query)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json["forecast"]
    return found


def held(service: Service, begin: int, end: int) -> None:
    """Record that a host was held, in seconds since the epoch."""
    names = {"lease_id": "l", "reservation_id": "r", "project_id": "p", "user_id": "u", "resource": "h", "slots": 1}
    what = {"resource_type": "physical:host", "resource_number": 1, "written_at": NOW}
    with writing(service.db.engine) as connection:
        connection.execute(insert(segments), {**names, **what, "starts_at": begin, "ends_at": end})


def test_without_history_nothing_is_expected(operator: Client, client: Client) -> None:
    member = client.but(version="1.3")
    assert member.ask("POST", "/v1/leases", LEASE).status_code == 201
    waiting = {**LEASE, "type": "waitlist", "deadline": "2031-05-01T10:30Z", "end_date": "2031-05-01 12:00"}
    assert member.ask("POST", "/v1/leases", waiting).json["lease"]["status"] == "IN_PROGRESS"
    found = shown(operator, "?to=2031-05-01T11:10:00Z")
    about = {key: value for key, value in found.items() if key != "steps"}
    assert about == {
        "resource_type": "physical:host",
        "unit": "hosts",
        "from": "2031-05-01T09:00:00+00:00",
        "to": "2031-05-01T12:00:00+00:00",
        "step_seconds": HOUR,
        "weeks": 0,
        "least_weeks": 4,
        "high_quantile": 0.9,
        "waiting_uncounted": False,
        "coming": [],
    }
    assert found["steps"] == {
        "from": [f"2031-05-01T{hour}:00:00Z" for hour in ("09", "10", "11")],
        "capacity": [1, 1, 1],
        "promised": [0, 1, 0],
        "backlog": [0, 1, 1],
        "shortfall": [0, 1, 0],
        **dict.fromkeys(EXPECTED),
    }


def test_what_was_held_and_refused_is_expected_again(operator: Client, client: Client, service: Service) -> None:
    for week in range(1, 6):
        held(service, BEGIN - week * WEEK, BEGIN - week * WEEK + 2 * HOUR)
    later = NOW + timedelta(hours=1)
    many = {**LEASE, "reservations": [hosts(3, 3)]}
    assert client.but(version="1.3").ask("POST", "/v1/leases", many).status_code == 409
    found = shown(operator, f"?to={later:%Y-%m-%dT%H}:00:00Z&weeks=4")
    assert (found["weeks"], found["steps"].keys()) == (4, {"from", *COLUMNS, *EXPECTED})
    values = {key: column[0] for key, column in found["steps"].items()}
    # What was refused in this hour is known in full only when it is over.
    assert {key: values[key] for key in EXPECTED} == {
        **{f"expected_{which}": 1 for which in ("median", "high")},
        **{f"additional_{which}": 1 for which in ("median", "high")},
        **{f"shortfall_{which}": 0 for which in ("median", "high")},
    }


def test_the_refusals_of_a_past_hour_count(operator: Client, client: Client, service: Service, clock: Any) -> None:
    held(service, BEGIN - 5 * WEEK, BEGIN - 4 * WEEK)
    many = {**LEASE, "reservations": [hosts(3, 3)]}
    assert client.but(version="1.3").ask("POST", "/v1/leases", many).status_code == 409
    clock.now = from_seconds(BEGIN + WEEK)
    found = shown(operator)["steps"]
    # Two were missing in one of six weeks, and one was held in another.
    assert (found["expected_median"][0], found["expected_high"][0], found["shortfall_high"][0]) == (0, 2, 1)


def test_a_window_is_of_whole_steps_and_a_week_long_unless_asked_otherwise(operator: Client) -> None:
    found = shown(operator)
    assert (found["from"], found["to"]) == ("2031-05-01T09:00:00+00:00", "2031-05-08T10:00:00+00:00")
    assert len(found["steps"]["from"]) == 169
    days = shown(operator, "?from=2001-01-01T00:00:00Z&to=2031-05-03T00:00:00Z&step_seconds=86400")
    assert days["steps"]["from"] == ["2031-05-01T00:00:00Z", "2031-05-02T00:00:00Z"]
    assert shown(operator, "?resource_type=virtual:floatingip")["unit"] == "floating IPs"


def test_members_learn_nothing_of_it(client: Client) -> None:
    assert client.but(version="1.3").ask("GET", PATH).status_code == 403
