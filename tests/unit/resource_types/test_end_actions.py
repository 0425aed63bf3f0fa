"""The values of `before_end`, and the end action of each."""

from __future__ import annotations

import json
from typing import Any

import pytest

from leasehold.cloud.ports import CloudTransientError
from leasehold.conf.settings import CloudSettings
from leasehold.model.end_action import DEFAULT, EndAction
from leasehold.model.errors import InvalidInputError
from leasehold.resource_types.driver import Job
from leasehold.resource_types.host.end_actions import ACTIONS, action_of
from leasehold.resource_types.host.kind import HostKind, HostRequest
from tests.unit.resource_types.pool import reservation

KIND = HostKind()
REQUEST: dict[str, Any] = {"min": 1, "max": 1, "hypervisor_properties": "", "resource_properties": ""}


def job(word: str, default: str = "") -> Job[HostRequest]:
    part = reservation(KIND, HostRequest(**{**REQUEST, "before_end": word}))
    return Job("demo", part, KIND, settings=CloudSettings(default_before_end=default))


def test_every_word_has_an_entry_and_only_nothing_does_nothing() -> None:
    assert set(ACTIONS) == set(EndAction)
    assert [word for word, action in ACTIONS.items() if action is None] == [EndAction.NOTHING]


@pytest.mark.parametrize("word", EndAction)
def test_default_is_what_the_operator_has_configured(word: EndAction) -> None:
    assert action_of(job(word)) is ACTIONS[word]
    assert action_of(job(DEFAULT, default=word)) is ACTIONS[word]


def test_a_word_of_a_newer_version_is_left_to_its_manager() -> None:
    """An unknown word must not mean NOTHING: the servers would be deleted without the requested action."""
    with pytest.raises(CloudTransientError, match="'shelve'"):
        action_of(job("shelve"))


def test_a_request_takes_the_words_and_no_other() -> None:
    for word in (*EndAction, DEFAULT):
        assert KIND.parse({**REQUEST, "before_end": word}).before_end == word
    with pytest.raises(InvalidInputError, match="'snapshot'") as caught:
        KIND.parse({**REQUEST, "before_end": "shelve"})
    assert caught.value.field == "before_end"


def test_the_word_is_kept_as_text() -> None:
    request = KIND.parse({**REQUEST, "before_end": "snapshot"})
    stored = json.loads(json.dumps(KIND.store(request)))
    assert stored["before_end"] == "snapshot"
    assert KIND.load(stored) == request
