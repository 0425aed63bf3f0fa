"""The token of a calendar feed: only the one that was given opens it."""

from __future__ import annotations

from datetime import UTC, datetime
from uuid import UUID, uuid4

from hypothesis import assume, given
from hypothesis import strategies as st

from leasehold.features.feed.model import Feed, Token, digest_of, new_secret, read_token, write_token

SECRET = new_secret()
FEED = Feed(str(uuid4()), "demo", "alice", "lab", False, digest_of(SECRET), datetime(2031, 5, 1, tzinfo=UTC))


@given(st.uuids())
def test_what_is_written_is_read(ident: UUID) -> None:
    assert read_token(write_token(str(ident), SECRET)) == Token(str(ident), SECRET)


def test_the_token_opens_its_feed_and_no_other() -> None:
    token = read_token(write_token(FEED.id, SECRET))
    assert token is not None
    assert token.opens(FEED)
    assert not token.opens(None)
    assert SECRET not in repr(token)


@given(st.text())
def test_no_other_secret_opens_it(secret: str) -> None:
    assume(secret != SECRET)
    token = read_token(write_token(FEED.id, secret))
    assert token is None or not token.opens(FEED)


@given(st.text())
def test_no_text_is_an_error(text: str) -> None:
    token = read_token(text)
    assert token is None or not token.opens(FEED)


def test_without_a_feed_nothing_opens_not_even_no_secret() -> None:
    assert not Token(FEED.id, "").opens(None)


def test_secrets_are_long_and_differ() -> None:
    assert len({new_secret() for _ in range(100)}) == 100
    assert len(SECRET) == 43
