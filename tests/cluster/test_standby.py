"""PostgreSQL with a standby: the primary dies in a storm, the standby takes over, no granted lease is lost."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.cluster.scenes import Seen, check_standby, fail_over, standby_storm, standby_url
from tests.servers.standby import PrimaryAndStandby

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = [pytest.mark.slow, pytest.mark.servers, pytest.mark.timeout(600)]


@pytest.fixture
def pair() -> Iterator[PrimaryAndStandby]:
    with PrimaryAndStandby() as both:
        yield both


def test_a_standby_takes_over_with_everything_that_was_promised(pair: PrimaryAndStandby) -> None:
    seen, url = Seen(), standby_url(pair)
    report = standby_storm(url, seconds=8, meanwhile=fail_over(pair, seen))
    assert seen.answers[:2] == [("health, no primary", 503, None), ("create, no primary", 503, "5")]
    check_standby(report, seen, url)
    assert any(answer.kind == "create, new primary" and answer.status == 201 for answer in seen.creations), seen
