"""The cache of validated tokens: every entry expires, and the size is limited."""

from __future__ import annotations

import pytest

from leasehold.api.auth.token_cache import TokenCache


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def cache(clock: Clock) -> TokenCache:
    return TokenCache(most_bytes=10, now=clock)


def test_what_was_kept_is_found_until_its_time_is_over(cache: TokenCache, clock: Clock) -> None:
    assert cache.get("a") is None
    cache.set("a", b"one", time=5)
    clock.now += 4.9
    assert cache.get("a") == b"one"
    clock.now += 0.1
    assert cache.get("a") is None


def test_the_last_value_counts(cache: TokenCache) -> None:
    cache.set("a", b"12345", time=5)
    cache.set("a", b"67890", time=5)
    cache.set("b", b"12345", time=5)
    assert (cache.get("a"), cache.get("b")) == (b"67890", b"12345")


@pytest.mark.parametrize("time", [0, -1])
def test_no_time_means_nothing_is_kept(cache: TokenCache, time: int) -> None:
    assert not cache.set("a", b"one", time=time)
    assert cache.get("a") is None


def test_the_oldest_goes_when_it_is_full(cache: TokenCache) -> None:
    for name in "abc":
        cache.set(name, b"1234", time=5)
    assert [cache.get(name) for name in "abc"] == [None, b"1234", b"1234"]


def test_what_is_too_large_for_it_is_not_kept(cache: TokenCache) -> None:
    cache.set("a", b"x" * 11, time=5)
    assert cache.get("a") is None
    cache.set("b", b"x" * 10, time=5)
    assert cache.get("b") == b"x" * 10


def test_expired_entries_make_room(cache: TokenCache, clock: Clock) -> None:
    cache.set("a", b"12345", time=5)
    clock.now += 3
    cache.set("b", b"12345", time=5)
    clock.now += 3
    cache.set("c", b"12345", time=5)
    assert [cache.get(name) for name in "abc"] == [None, b"12345", b"12345"]
