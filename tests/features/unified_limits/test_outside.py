"""What another service says is never used for longer than it may be, and is asked for no more often than it has to."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leasehold.cloud.ports import CloudTransientError
from leasehold.enforcement.outside import PAUSE, OnFailure, Outside
from leasehold.model.errors import NotKnownNowError

LONGEST = 60


class Service:
    """A service that says when it was asked, or fails; and a monotonic clock."""

    def __init__(self) -> None:
        self.now, self.fails, self.asked = 0.0, False, 0

    def read(self, project: str) -> tuple[str, float]:
        self.asked += 1
        if self.fails:
            raise CloudTransientError("keystone is away")
        return project, self.now

    def outside(self, on_failure: OnFailure) -> Outside[tuple[str, float]]:
        return Outside("Limits", self.read, timedelta(seconds=LONGEST), on_failure, lambda: self.now)


def used(outside: Outside[tuple[str, float]], project: str) -> tuple[str, float] | None:
    """Return what a decision begins with, as `approved` asks for it, or None if it is refused."""
    if outside.due(project):
        outside.look(project)
    try:
        return outside.of(project)
    except NotKnownNowError:
        return None


STEPS = st.lists(
    st.tuples(st.integers(0, 90), st.booleans(), st.sampled_from(["demo", "alt"])), min_size=1, max_size=40
)


@given(STEPS, st.sampled_from(OnFailure))
def test_what_is_used_is_the_services_own_and_not_too_old(
    steps: list[tuple[int, bool, str]], on_failure: OnFailure
) -> None:
    service = Service()
    outside = service.outside(on_failure)
    said: dict[str, float] = {}
    """When the service has last said something about each project."""
    for seconds, fails, project in steps:
        service.now, service.fails = service.now + seconds, fails
        before, was_due = service.asked, outside.due(project)
        found = used(outside, project)
        assert service.asked == before + was_due
        if was_due and not fails:
            said[project] = service.now
        last = said.get(project)
        if last is None:
            assert found is None
        elif on_failure is OnFailure.REFUSE:
            assert found == ((project, last) if service.now <= last + LONGEST else None)
        else:
            assert found == (project, last)
        # Half of the time is left at least for the decision that begins, unless nobody answers.
        if found is not None and not fails:
            assert service.now - found[1] < LONGEST / 2 or not was_due


def test_a_service_that_fails_is_left_alone_for_a_moment() -> None:
    service = Service()
    outside, service.fails = service.outside(OnFailure.REFUSE), True
    for _ in range(5):
        assert used(outside, "demo") is None
    assert service.asked == 1
    service.now, service.fails = PAUSE, False
    assert used(outside, "demo") == ("demo", PAUSE)


@pytest.mark.parametrize("on_failure", list(OnFailure))
def test_an_answer_that_comes_meanwhile_is_not_lost_by_a_failure(on_failure: OnFailure) -> None:
    service = Service()
    outside = service.outside(on_failure)

    def read(project: str) -> tuple[str, float]:
        # Another thread has an answer while this one waits for its own.
        if service.asked == 0:
            service.asked = 1
            outside.look(project)
            raise CloudTransientError("late")
        return service.read(project)

    outside._read = read
    assert used(outside, "demo") == ("demo", 0.0)
