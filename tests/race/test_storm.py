"""A storm on every database: accepted changes are there, refused ones left no trace, and the cloud matches."""

from __future__ import annotations

import pytest

from tests.harness.storm import storm

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

SECONDS = 6.0


def test_after_a_storm_the_books_hold_exactly_what_was_answered(database_url: str) -> None:
    report = storm([database_url], apis=3, managers=2, seconds=SECONDS)
    report.check(database_url)
    assert report.verbs() >= {("create", 201), ("create", 409), ("amend", 200), ("delete", 204)}, report.table()
