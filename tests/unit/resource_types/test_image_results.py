"""Laws of the results of images: one for each server, and `done` only for what its project has."""

from __future__ import annotations

from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from leasehold.cloud.ports import COMPLETE, FAILED, SAVING, Image, Server
from leasehold.model.reservation import Reservation
from leasehold.resource_types.driver import Convergence
from leasehold.resource_types.end_actions.image_results import DONE, NOT_DONE, WAITING, results_of, shown_results

WARNED = datetime(2031, 5, 1, 9, tzinfo=UTC)
IDENTS = st.sampled_from([f"s{number}" for number in range(5)])


def job_after(facts: object = None, warned: datetime | None = WARNED) -> Convergence[object]:
    part = Reservation("r", "l", "physical:host", "x", {}, cloud=facts or {})  # type: ignore[arg-type]  # JSON
    return Convergence("demo", part, None, warned=warned)


def image_of(number: int, server_id: str, status: str, *, given: bool) -> Image:
    return Image(f"i{number}", "reserved_x", server_id, status, {}, "demo" if given else "service", "demo")


IMAGES = st.lists(st.tuples(IDENTS, st.sampled_from([SAVING, COMPLETE, FAILED]), st.booleans()), max_size=6).map(
    lambda rows: [image_of(number, *row[:2], given=row[2]) for number, row in enumerate(rows)]
)
SERVERS = st.frozensets(IDENTS).map(lambda each: [Server(i, f"name {i}", "demo", "f", "h", "ACTIVE") for i in each])


@given(servers=SERVERS, images=IMAGES, over=st.booleans())
def test_every_server_and_every_image_has_one_result(servers: list[Server], images: list[Image], *, over: bool) -> None:
    found = {each["server_id"]: each for each in shown_results(results_of(job_after(), servers, images, over=over))}
    assert found.keys() == {each.id for each in servers} | {each.server_id for each in images}
    for ident, each in found.items():
        mine = [image for image in images if image.server_id == ident]
        complete = [image for image in mine if image.status == COMPLETE]
        if each["status"] == DONE:
            assert each["image_id"] in {image.id for image in complete if image.is_handed_over}
            assert each["reason"] is None
        if each["status"] == WAITING:
            assert not over
            assert not complete
            assert any(image.status == SAVING for image in mine)
        if each["status"] == NOT_DONE:
            assert each["reason"]
            assert not (complete and all(image.is_handed_over for image in complete))


@given(SERVERS, IMAGES, IMAGES)
def test_what_was_done_stays_done_for_its_warning(servers: list[Server], first: list[Image], then: list[Image]) -> None:
    before = results_of(job_after(), servers, first)
    done = {each["server_id"] for each in shown_results(before) if each["status"] == DONE}
    gone = [image for image in then if image.server_id not in done]
    after = shown_results(results_of(job_after(before), [], gone))
    assert done <= {each["server_id"] for each in after if each["status"] == DONE}
    other = shown_results(results_of(job_after(before, WARNED.replace(hour=10)), [], []))
    assert other == []


@given(SERVERS, IMAGES)
def test_a_lease_without_a_warning_has_no_new_results(servers: list[Server], images: list[Image]) -> None:
    assert results_of(job_after(warned=None), servers, images) == {}
