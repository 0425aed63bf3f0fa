"""What a lease template adds to a request (decision 0083)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hypothesis import given
from hypothesis import strategies as st

from leasehold.api.models.base import read
from leasehold.api.models.from_template import OF_LEASE, OF_OFFER, OF_SEARCH, OF_SERIES
from leasehold.api.models.lease import LeaseCreation
from leasehold.api.once import fingerprint
from leasehold.api.versions import V1_3
from leasehold.features.availability.bodies import WindowSearch
from leasehold.features.held_offer.api import OfferCreation
from leasehold.features.series.bodies import SeriesCreation
from leasehold.features.template.bodies import TemplateAmendment, TemplateCreation
from leasehold.features.template.model import KEYS, added_keys

if TYPE_CHECKING:
    from leasehold.api.models.base import RequestModel

ENDS = {"end_date", "duration_seconds", "open_ended"}
SENT = st.sets(st.sampled_from([*KEYS, "name", "start_date", "end_date", "deadline", "template", "alternatives"]))
LEASE = OF_LEASE["template"]
KEPT = st.dictionaries(st.sampled_from(KEYS), st.integers(), max_size=len(KEYS))


@given(KEPT, SENT)
def test_a_request_wins_key_by_key(kept: dict[str, Any], sent: set[str]) -> None:
    added = added_keys(kept, sent, LEASE)
    assert not added.keys() & sent
    assert added.items() <= kept.items()
    # Nothing is left out without a reason.
    for key in kept.keys() - added.keys() - sent:
        assert sent & (ENDS if key in ENDS else {"type"})
    if not sent & (ENDS | {"type"}):
        assert added == {key: value for key, value in kept.items() if key not in sent}


@given(KEPT, SENT)
def test_there_is_one_end_and_one_way_to_wait(kept: dict[str, Any], sent: set[str]) -> None:
    added = added_keys(kept, sent, LEASE)
    assert not (sent & ENDS and added.keys() & ENDS)
    assert not ("type" in sent and added.keys() & {"type", "retries", "retry_seconds"})


def test_the_models_have_the_keys_that_a_template_may_add() -> None:
    models: tuple[type[RequestModel], ...] = (LeaseCreation, OfferCreation, SeriesCreation, WindowSearch)
    for model, wanted in zip(models, (OF_LEASE, OF_OFFER, OF_SERIES, OF_SEARCH), strict=True):
        assert model.filled is wanted
        assert wanted["template"].keys() <= model.model_fields.keys() & set(KEYS)
        assert {one for others in wanted["template"].values() for one in others} <= model.model_fields.keys()
    assert LEASE.keys() == set(KEYS)
    for kept in (TemplateCreation.model_fields, TemplateAmendment.model_fields):
        assert kept.keys() - {"name", "description", "public"} == set(KEYS)


@given(st.sets(st.sampled_from(sorted(LEASE))), st.integers(1, 9), st.integers(1, 9))
def test_a_repeated_request_is_the_same_whatever_its_template_says(keys: set[str], one: int, other: int) -> None:
    """The digest that belongs to an idempotency key is that of what the client has sent."""
    sent = {"name": "n", "start_date": "now", "template": "course"}

    def digest(number: int) -> str:
        kept = {key: value for key, value in _kept(number).items() if key in keys | {"duration_seconds"}}
        added = added_keys(kept, sent, LEASE)
        asked = read(LeaseCreation, dict(sent), V1_3, strict=True, added=added)
        assert all(getattr(asked, key) is not None for key in kept)
        return fingerprint(asked)

    assert digest(one) == digest(other)
    assert digest(one) != fingerprint(read(LeaseCreation, {**sent, "duration_seconds": one}, V1_3))


def _kept(number: int) -> dict[str, Any]:
    return {
        "duration_seconds": number,
        "open_ended": True,
        "reservations": [{"resource_type": "physical:host", "min": number}],
        "events": [{"event_type": str(number)}],
        "heal_policy": "never",
        "reminder_seconds": [number],
        "type": "retry",
        "retries": number,
        "retry_seconds": number,
    }
