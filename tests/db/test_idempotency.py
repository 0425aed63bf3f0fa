"""Idempotency keys: one answer for each key of a project."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from sqlalchemy.exc import IntegrityError

from leasehold.db.idempotency import find_key, keep_key
from tests.db.examples import NOW, ident

if TYPE_CHECKING:
    from leasehold.db.store import Database

DIGEST = "0" * 64


def keep(db: Database, project: str, key: str) -> str:
    lease_id = ident()
    db.transact(lambda connection: keep_key(connection, project, key, DIGEST, lease_id, NOW))
    return lease_id


def found(db: Database, project: str, key: str) -> tuple[str, str] | None:
    with db.reading() as connection:
        return find_key(connection, project, key)


def test_a_key_leads_to_the_request_and_the_lease_it_made(db: Database) -> None:
    assert found(db, "demo", "k") is None
    lease_id = keep(db, "demo", "k")
    assert found(db, "demo", "k") == (DIGEST, lease_id)


def test_a_key_can_be_used_once_in_a_project_and_again_in_another(db: Database) -> None:
    keep(db, "demo", "k")
    keep(db, "alt", "k")
    with pytest.raises(IntegrityError):
        keep(db, "demo", "k")


def test_keys_and_projects_are_exact(db: Database) -> None:
    ids = {(project, key): keep(db, project, key) for project in ("p", "P", "p ") for key in ("k", "K", "k ", " k")}
    assert {which: found(db, *which) for which in ids} == {which: (DIGEST, each) for which, each in ids.items()}


def test_a_key_may_be_as_long_as_a_header_of_four_byte_characters(db: Database) -> None:
    key = "\U0001f511" * 255
    lease_id = keep(db, "p" * 255, key)
    assert found(db, "p" * 255, key) == (DIGEST, lease_id)
