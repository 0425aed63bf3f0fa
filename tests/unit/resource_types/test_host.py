"""Whole hosts: what `test_kinds.py` does not say of every type, and the end actions that a request may name."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest

from leasehold.cloud.ports import CloudTransientError
from leasehold.conf.settings import CloudSettings
from leasehold.model.errors import InUseError, InvalidInputError
from leasehold.model.terms.end_action import CHAINS, DEFAULT, EndAction, as_text
from leasehold.resource_types.end_actions.chain import ACTIONS, chain_of
from leasehold.resource_types.host.kind import HostKind, HostRequest
from tests.unit.resource_types.kinds import HOSTS
from tests.unit.resource_types.pool import host, hours, numbers, pool_of, search

KIND = HostKind()
THREE = [host(1), host(2), host(3)]
BOTH = ("hypervisor_properties", "resource_properties")
LARGER = '["==", "$vcpus", "16"]'


def request(least: int = 1, most: int = 1, **more: Any) -> HostRequest:
    return KIND.parse({**HOSTS.sent, "min": least, "max": most, **more})


def test_max_is_not_below_min() -> None:
    with pytest.raises(InvalidInputError) as caught:
        request(3, 2)
    assert caught.value.field == "max"
    assert caught.value.message == "The value of max (2) must not be less than min (3)."


def test_max_is_filled_as_far_as_there_are_hosts() -> None:
    assert numbers(KIND.allocate(request(2, 9), search(pool_of(THREE)))) == [1, 2, 3]


@pytest.mark.parametrize("fields", [BOTH, BOTH[::-1]])
def test_both_property_fields_count_and_share_one_namespace(fields: tuple[str, str]) -> None:
    hosts = [host(n, vcpus=vcpus, properties={"rack": rack}) for n, vcpus, rack in [(1, 8, "a"), (2, 16, "b")]]
    pool = pool_of([*hosts, host(3, vcpus=16, properties={"rack": "a"})])
    texts: dict[str, Any] = dict(zip(fields, ('[">", "$vcpus", "9"]', '["==", "$rack", "a"]'), strict=True))
    assert numbers(KIND.allocate(request(1, 3, **texts), search(pool))) == [3]


# ---------------------------------------------------------------- amendments


@pytest.mark.parametrize("firm", [False, True])
def test_an_amendment_of_something_else_does_not_grow(*, firm: bool) -> None:
    there = search(pool_of(THREE), hours(1, 9), held=HOSTS.held(2), firm=firm, before=request(1, 3))
    assert numbers(KIND.allocate(request(1, 3, before_end="snapshot"), there)) == [2]


def test_an_amendment_of_something_else_makes_up_for_what_is_missing() -> None:
    there = search(pool_of(THREE), held=HOSTS.held(2), before=request(2, 3))
    assert numbers(KIND.allocate(request(2, 3), there)) == [2, 1]


def test_a_new_max_fills_up() -> None:
    there = search(pool_of(THREE), held=HOSTS.held(2), before=request(1, 1))
    assert numbers(KIND.allocate(request(1, 3), there)) == [2, 1, 3]


def test_a_host_that_does_not_match_the_new_properties_is_exchanged_only_while_pending() -> None:
    pool, wanted = pool_of([host(1), host(2, vcpus=16)]), request(resource_properties=LARGER)
    assert numbers(KIND.allocate(wanted, search(pool, held=HOSTS.held(1), before=request()))) == [2]
    with pytest.raises(InUseError):
        KIND.allocate(wanted, search(pool, held=HOSTS.held(1), firm=True, before=request()))


# ---------------------------------------------------------------- end actions


def test_a_request_takes_the_words_and_no_other() -> None:
    for word in (*EndAction, DEFAULT):
        assert request(before_end=word).before_end == word
    for wrong in (
        "freeze",
        None,
        1,
        "suspend,shelve",
        "snapshot,",
        ["freeze"],
        [DEFAULT],
        [""],
        [None],
        [["snapshot"]],
    ):
        with pytest.raises(InvalidInputError) as caught:
            request(before_end=wrong)
        assert caught.value.field == "before_end"
    with pytest.raises(InvalidInputError, match="'snapshot'"):
        request(before_end="freeze")


ANY = [list(each) for number in range(5) for each in product([word for word in EndAction if word], repeat=number)]


@pytest.mark.parametrize("asked", ANY, ids=" ".join)
def test_a_list_names_actions_that_go_together_once_each_in_any_order(asked: list[EndAction]) -> None:
    if frozenset(asked) in map(frozenset, CHAINS) and len(set(asked)) == len(asked):
        chain = next(each for each in CHAINS if set(each) == set(asked))
        assert request(before_end=asked).before_end == as_text(chain)
        # It is stored as text, and an amendment of something else reads the text.
        assert request(before_end=as_text(chain)).before_end == as_text(chain)
    else:
        with pytest.raises(InvalidInputError) as caught:
            request(before_end=asked)
        assert caught.value.field == "before_end"


def test_every_word_has_an_entry_in_its_order_and_only_nothing_does_nothing() -> None:
    assert [EndAction.NOTHING, *ACTIONS] == list(EndAction)


@pytest.mark.parametrize("words", CHAINS, ids=as_text)
def test_default_is_what_the_operator_has_configured(words: tuple[EndAction, ...]) -> None:
    for chain in (
        chain_of(as_text(words), CloudSettings()),
        chain_of(DEFAULT, CloudSettings(default_before_end=as_text(words))),
    ):
        assert chain.actions == {word: ACTIONS[word] for word in words}
        assert bool(chain) == bool(words)


def test_a_word_of_a_newer_version_is_left_to_its_manager() -> None:
    """An unknown word must not mean NOTHING: the servers would be deleted without the requested action."""
    for words in ("freeze", "snapshot,freeze"):
        with pytest.raises(CloudTransientError, match="'freeze'"):
            chain_of(words, CloudSettings())
