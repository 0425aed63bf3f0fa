"""Long lists are complete whatever their length; a failure gives an error, never a partial list."""

from __future__ import annotations

import json
import tracemalloc
from os import urandom
from typing import TYPE_CHECKING, Any

import pytest

from leasehold.api import listing
from leasehold.api.listing import Listing
from leasehold.db.leases import listed
from leasehold.leasing.reading.queries import each_lease
from leasehold.model.lease import Lease
from tests.objects import counting_at_statements

if TYPE_CHECKING:
    from collections.abc import Iterator

    from leasehold.leasing.service import Service
    from tests.api.conftest import Client

pytestmark = pytest.mark.slow

MAKE: dict[str, Any] = {"name": "n", "start_date": "2031-05-01 10:00", "end_date": "2031-05-01 12:00"}


@pytest.mark.parametrize("count", [0, 1, 2, 1_000, 40_000])
def test_a_listing_is_the_object_that_it_says(count: int) -> None:
    items = [{"id": number, "name": f"ü{number}" * 10} for number in range(count)]
    made = Listing("things", iter(items))
    short = made.content
    text = short if short is not None else b"".join(made)
    assert json.loads(text) == {"things": items}
    assert len(text) == made.length
    assert (short is None) == (made.length >= listing.PIECE)


@pytest.mark.parametrize("count", [1_000, 4_000])
def test_however_long_a_listing_is_it_takes_the_same_memory_and_is_sent_in_pieces(count: int) -> None:
    tracemalloc.start()
    try:
        made = Listing("things", ({"id": urandom(5_000).hex(), "number": number} for number in range(count)))
        sizes = list(map(len, made))
        _, highest = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert max(sizes) <= 2 * listing.PIECE
    assert sum(sizes) == made.length
    assert highest < 8 * listing.PIECE


def test_lists_longer_than_a_piece_and_a_chunk_are_whole(
    client: Client, admin: Client, host: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = [client.ask("POST", "/v1/leases", {**MAKE, "name": str(number)}).json["lease"] for number in range(7)]
    whole = {path: admin.ask("GET", path) for path in ("/v1/leases", "/v1/os-hosts", "/v1/os-hosts/allocations")}
    monkeypatch.setattr(listing, "PIECE", 100)
    monkeypatch.setattr(listed, "CHUNK", 2)
    for path, before in whole.items():
        answer = admin.ask("GET", path)
        assert answer.json == before.json
        assert int(answer.headers["content-length"]) == len(before.content)
        assert answer.headers["content-type"] == "application/json"
        head = admin.ask("HEAD", path)
        assert (head.status_code, head.content) == (200, b"")
    assert {each["id"] for each in admin.ask("GET", "/v1/leases").json["leases"]} == {each["id"] for each in made}
    assert host


def test_a_list_of_leases_holds_few_of_them_at_a_time(
    client: Client, service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(20):
        client.ask("POST", "/v1/leases", {**MAKE, "name": str(number)})
    monkeypatch.setattr(listed, "CHUNK", 2)
    with counting_at_statements(service.db.engine, Lease) as counts:
        assert len(client.ask("GET", "/v1/leases").json["leases"]) == 20
    assert max(counts) <= 6
    with counting_at_statements(service.db.engine, Lease) as counts:
        assert len(list(each_lease(service, None))) == 20
    assert max(counts) >= 18  # What is kept is counted.


def test_what_goes_wrong_in_the_middle_is_an_error_and_not_half_a_list() -> None:
    def broken() -> Iterator[dict[str, str]]:
        yield {"name": "x" * listing.PIECE}
        message = "The database went away."
        raise ConnectionError(message)

    with pytest.raises(ConnectionError):
        Listing("things", broken())
