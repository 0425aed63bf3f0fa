"""Idempotency keys: one answer for each project's key."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from sqlalchemy.exc import IntegrityError

from leasehold.books.idempotency import find_key, keep_key
from tests.books.examples import NOW, ident

if TYPE_CHECKING:
    from leasehold.books.store import Books

DIGEST = "0" * 64


def keep(books: Books, project: str, key: str) -> str:
    lease_id = ident()
    books.transact(lambda connection: keep_key(connection, project, key, DIGEST, lease_id, NOW))
    return lease_id


def found(books: Books, project: str, key: str) -> tuple[str, str] | None:
    with books.reading() as connection:
        return find_key(connection, project, key)


def test_a_key_leads_to_the_request_and_the_lease_it_made(books: Books) -> None:
    assert found(books, "demo", "k") is None
    lease_id = keep(books, "demo", "k")
    assert found(books, "demo", "k") == (DIGEST, lease_id)


def test_a_key_can_be_used_once_in_a_project_and_again_in_another(books: Books) -> None:
    keep(books, "demo", "k")
    keep(books, "alt", "k")
    with pytest.raises(IntegrityError):
        keep(books, "demo", "k")


def test_keys_and_projects_are_exact(books: Books) -> None:
    ids = {(project, key): keep(books, project, key) for project in ("p", "P", "p ") for key in ("k", "K", "k ", " k")}
    assert {which: found(books, *which) for which in ids} == {which: (DIGEST, each) for which, each in ids.items()}


def test_a_key_may_be_as_long_as_a_header_of_four_byte_characters(books: Books) -> None:
    key = "\U0001f511" * 255
    lease_id = keep(books, "p" * 255, key)
    assert found(books, "p" * 255, key) == (DIGEST, lease_id)
