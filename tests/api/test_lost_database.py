"""A database that is lost while a request is answered: the answer says whether something may have been changed."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import pytest
from sqlalchemy.exc import OperationalError

from leasehold.cmd.web import make_app
from leasehold.db.store import Database
from tests.factory import hosts
from tests.web import LocalClient

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from sqlalchemy import Connection

    from leasehold.conf.settings import ApiSettings
    from leasehold.leasing.service import Service
    from tests.api.conftest import Client

V1_3 = {"OpenStack-API-Version": "reservation 1.3"}
LATER: dict[str, Any] = {
    "name": "l",
    "start_date": "2031-05-02 10:00",
    "end_date": "2031-05-02 11:00",
    "reservations": [hosts()],
}


@dataclass(frozen=True)
class Losing(Database):
    """A database that is gone after the first commit, or with `at_once` when a request reads it the second time."""

    at_once: bool = False
    seen: list[str] = field(default_factory=list)

    def reading(self) -> AbstractContextManager[Connection]:
        if "commit" in self.seen or (self.at_once and "read" in self.seen):
            raise OperationalError("SELECT 1", {}, Exception("server closed the connection"))
        self.seen.append("read")
        return super().reading()

    def transact(self, work: Any) -> Any:
        result = super().transact(work)
        self.seen.append("commit")
        return result


@pytest.fixture
def losing(service: Service, settings: ApiSettings, client: Client, host: str) -> Client:
    """Return the client of a service whose database has one host and is lost after the first commit."""
    return replace(client, web=LocalClient(make_app(replace(service, db=Losing(service.db.engine)), settings)))


def test_what_was_committed_is_not_said_to_be_unchanged(losing: Client, client: Client) -> None:
    answer = losing.ask("POST", "/v1/offers", LATER, headers=V1_3)
    assert (answer.status_code, answer.json["code"]) == (503, "leasehold.database.unavailable")
    assert "look whether the change is there" in answer.json["error_message"]
    (made,) = client.ask("GET", "/v1/offers", headers=V1_3).json["offers"]
    assert made["lease"]["name"] == "l"


def test_a_lease_is_answered_from_what_was_decided(losing: Client, client: Client) -> None:
    answer = losing.ask("POST", "/v1/leases", LATER, headers=V1_3)
    assert answer.status_code == 201, answer.text
    assert [each["id"] for each in client.ask("GET", "/v1/leases").json["leases"]] == [answer.json["lease"]["id"]]


def test_a_request_that_committed_nothing_says_so(
    service: Service, settings: ApiSettings, client: Client, host: str
) -> None:
    db = Losing(service.db.engine, at_once=True)
    losing = replace(client, web=LocalClient(make_app(replace(service, db=db), settings)))
    lease = client.ask("POST", "/v1/leases", LATER).json["lease"]
    answer = losing.ask("GET", f"/v1/leases/{lease['id']}/resources", headers=V1_3)
    assert (answer.status_code, "nothing was changed" in answer.text) == (503, True), answer.text
