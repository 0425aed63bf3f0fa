"""What holds for every resource type: its requests, its choice of resources, its amendments and its refusals."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leasehold.model.errors import InUseError, InvalidInputError, MalformedExpressionError, MissingParameterError
from leasehold.model.refusal import NoWindow, Refusal
from leasehold.resource_types.fields import MOST
from leasehold.resource_types.flavor.kind import FlavorKind
from tests.unit.resource_types.kinds import CLOUD, cases, each, flavors
from tests.unit.resource_types.pool import (
    active,
    from_database,
    host,
    hours,
    numbers,
    pool_of,
    refused,
    reservation,
    search,
    steps,
)

if TYPE_CHECKING:
    from leasehold.resource_types.kind import Search
    from tests.unit.resource_types.kinds import Example

AGAIN = pytest.mark.parametrize("firm", [False, True], ids=["pending", "active"])
MARGIN = timedelta(minutes=30)
of_busy = cases("by", lambda ex: ex.busy)
of_expressions = cases("field", lambda ex: ex.kind.expressions(ex.parsed))


def picked(ex: Example, amount: int, there: Search[Any]) -> list[int]:
    """Return the resources that a request for exactly `amount` gets."""
    return numbers(ex.kind.allocate(ex.request(amount), there))


# ---------------------------------------------------------------- requests


@each
def test_a_request_is_kept_with_its_defaults_and_without_unknown_keys(ex: Example) -> None:
    parsed = ex.kind.parse({**ex.sent, "colour": "red"})
    assert parsed == ex.parsed
    assert ex.kind.store(parsed) == ex.stored


@each
def test_required_keys_are_named_together_when_missing(ex: Example) -> None:
    assert set(ex.required) == set(ex.sent)
    for missing in (ex.required, *([key] for key in ex.required)):
        with pytest.raises(MissingParameterError, match=f"Missing parameter {', '.join(missing)}") as caught:
            ex.kind.parse({key: value for key, value in ex.sent.items() if key not in missing})
        assert caught.value.details == {"missing": missing}


@cases("field", lambda ex: ex.numbers)
def test_amounts_and_sizes_are_whole_numbers_from_their_least(ex: Example, field: str) -> None:
    assert ex.kind.parse({**ex.sent, field: str(ex.numbers[field])})
    for value in (ex.numbers[field] - 1, -1, "", "two", None, 1.5, True, MOST + 1):
        with pytest.raises(InvalidInputError, match=field) as caught:
            ex.kind.parse({**ex.sent, field: value})
        assert caught.value.field == field


@of_expressions
def test_expressions_are_well_formed_texts(ex: Example, field: str) -> None:
    for text in ("x", "8", "null", '["==", "$vcpus", 8]', '["~", "$vcpus", "8"]', '["and", []]'):
        with pytest.raises(MalformedExpressionError) as malformed:
            ex.kind.parse({**ex.sent, field: text})
        assert malformed.value.field == field
    for value in (None, ["==", "$vcpus", "8"], 8):
        with pytest.raises(InvalidInputError) as caught:
            ex.kind.parse({**ex.sent, field: value})
        assert caught.value.field == field


@of_expressions
def test_an_unknown_property_is_answered_with_where_they_are_listed(ex: Example, field: str) -> None:
    request = ex.kind.parse({**ex.sent, field: '["==", "$rak", "a"]'})
    with pytest.raises(InvalidInputError) as caught:
        ex.kind.allocate(request, search(pool_of([ex.resource(1, properties={"rack": "a"})])))
    assert (caught.value.status, caught.value.field) == (400, field)
    path = f"/v1/availability/properties?resource_type={ex.kind.name}"
    assert caught.value.message == f"No host has a property $rak. GET {path} lists those that can be asked for."
    assert caught.value.details == {"unknown_property": "rak"}


@each
@given(st.data())
def test_a_request_comes_back_from_the_database_as_it_was(ex: Example, data: st.DataObject) -> None:
    request = data.draw(ex.requests)
    assert ex.kind.load(from_database(ex.kind, request)) == request


@each
def test_a_request_of_another_version_is_read_and_kept_as_it_is(ex: Example) -> None:
    for stored, request in ((ex.stored, ex.parsed), *ex.older):
        assert ex.kind.load(stored) == ex.kind.load({**stored, "colour": "red"}) == request
        assert from_database(ex.kind, request) == stored


@each
def test_exactly_asks_for_neither_more_nor_less(ex: Example) -> None:
    assert ex.kind.exactly(ex.picky, 3) == ex.kind.amend(reservation(ex.kind, ex.picky), ex.sized(3))
    assert ex.kind.amount(ex.request(3)) == 3


@each
def test_the_view_is_the_request_and_what_leads_to_its_cloud_objects(ex: Example) -> None:
    assert ex.kind.view(reservation(ex.kind, ex.request(2), cloud=CLOUD)) == ex.view


# ---------------------------------------------------------------- choice of resources


@each
def test_the_lowest_numbers_come_first_whatever_their_order_of_arrival(ex: Example) -> None:
    pool = pool_of([ex.resource(number) for number in (9, 2, 5)])
    assert ex.kind.allocate(ex.request(2), search(pool)) == list(ex.held(2, 5))


@of_busy
def test_what_has_anything_allocated_in_the_window_is_passed_over(ex: Example, by: str) -> None:
    busy = ex.busy[by]
    there = search(pool_of(ex.pool, [busy(1, hours(0, 1.5)), busy(2, hours(1.5, 9))]))
    assert picked(ex, 1, there) == [3]
    assert refused(ex.kind.allocate(ex.request(2), there)).largest == 1


@of_busy
def test_windows_that_only_meet_do_not_collide(ex: Example, by: str) -> None:
    around = [ex.busy[by](1, hours(0, 1)), ex.busy[by](1, hours(2, 3))]
    assert picked(ex, 1, search(pool_of([ex.resource(1)], around), hours(1, 2))) == [1]


@of_busy
def test_the_cleaning_margin_stays_free_on_both_sides(ex: Example, by: str) -> None:
    busy = ex.busy[by]
    pool = pool_of(ex.pool, [busy(1, hours(0, 0.75)), busy(2, hours(2.25, 3)), busy(3, hours(2.5, 3))])
    assert picked(ex, 3, search(pool)) == [1, 2, 3]
    assert picked(ex, 1, search(pool, margin=MARGIN)) == [3]
    assert refused(ex.kind.allocate(ex.request(2), search(pool, margin=MARGIN))).largest == 1


@each
def test_failed_and_removed_resources_are_not_picked(ex: Example) -> None:
    gone = ex.resource(2, deleted_at=hours(0, 1).start)
    there = search(pool_of([ex.resource(1, admitted=False), gone, ex.resource(3)]))
    assert picked(ex, 1, there) == [3]
    assert refused(ex.kind.allocate(ex.request(2), there)).largest == 1


# ---------------------------------------------------------------- amendments


@each
def test_an_amendment_changes_the_keys_it_names_and_is_read_like_a_request(ex: Example) -> None:
    part = reservation(ex.kind, ex.request(2))
    for amount in (1, 3):
        assert ex.kind.amend(part, ex.sized(str(amount))) == ex.request(amount)
    with pytest.raises(InvalidInputError) as caught:
        ex.kind.amend(part, {ex.amounts[-1]: 0})
    assert caught.value.field == ex.amounts[-1]


@each
def test_an_active_reservation_gets_more_and_never_less(ex: Example) -> None:
    part, there = active(ex.kind, ex.request(2)), search(pool_of(ex.pool), held=ex.held(1, 2), firm=True)
    assert ex.kind.amend(part, ex.sized("3")) == ex.request(3)
    assert ex.kind.amend(part, ex.sized(2)) == ex.request(2)
    status, message = ex.no_less
    with pytest.raises((InvalidInputError, InUseError), match=message) as caught:
        ex.kind.allocate(ex.kind.amend(part, ex.sized(1)), there)
    assert (caught.value.status, caught.value.field) == (status, ex.amounts[-1])


@cases("field", lambda ex: ex.fixed)
def test_an_active_reservation_keeps_what_it_was_made_for(ex: Example, field: str) -> None:
    with pytest.raises(InvalidInputError, match=ex.stays.format(field)) as caught:
        ex.kind.amend(active(ex.kind, ex.request(2)), {**ex.sized(3), field: ex.fixed[field]})
    assert caught.value.field == field


@each
@AGAIN
def test_what_is_held_is_kept_when_more_is_added(ex: Example, *, firm: bool) -> None:
    there = search(pool_of(ex.pool), held=ex.held(3, 2), firm=firm, before=ex.request(2))
    assert set(picked(ex, 2, there)) == {2, 3}
    assert picked(ex, 3, there)[-1] == 1


@each
def test_a_lower_amount_gives_up_the_surplus_while_pending(ex: Example) -> None:
    there = search(pool_of(ex.pool), held=ex.held(3, 2, 1), before=ex.request(3))
    assert len(picked(ex, 2, there)) == 2


@of_busy
def test_what_is_taken_in_the_new_window_is_exchanged_while_pending(ex: Example, by: str) -> None:
    pool = pool_of(ex.pool, [ex.busy[by](2, hours(2, 3))])
    there = search(pool, hours(1, 3), held=ex.held(1, 2), before=ex.request(2))
    assert picked(ex, 2, there) == [1, 3]


@of_busy
def test_what_is_in_use_never_moves(ex: Example, by: str) -> None:
    pool = pool_of(ex.pool, [ex.busy[by](2, hours(2, 3))])
    there = search(pool, hours(1, 3), held=ex.held(1, 2), firm=True, before=ex.request(2))
    for amount in (2, 3):
        with pytest.raises(InUseError, match=ex.kept) as caught:
            ex.kind.allocate(ex.request(amount), there)
        assert (caught.value.status, caught.value.field) == (409, "end_date")


@each
@AGAIN
def test_a_failed_resource_is_kept_and_no_other_failed_one_is_added(ex: Example, *, firm: bool) -> None:
    pool = pool_of([ex.resource(1, admitted=False), ex.resource(2, admitted=False), ex.resource(3)])
    there = search(pool, held=ex.held(2), firm=firm, before=ex.request(1))
    assert picked(ex, 2, there) == [2, 3]
    assert refused(ex.kind.allocate(ex.request(3), there)).largest == 2


# ---------------------------------------------------------------- refusals


@each
def test_a_refusal_counts_what_every_filter_leaves(ex: Example) -> None:
    gone = ex.resource(5, deleted_at=hours(0, 1).start)
    pool = [ex.resource(1), ex.resource(2), ex.resource(3, admitted=False), ex.misfit, gone]
    there = search(pool_of(pool, [next(iter(ex.busy.values()))(1, hours(0, 5))]))
    refusal = refused(ex.kind.allocate(ex.picky, there))
    assert (refusal.resource_type, refusal.asked, refusal.largest) == (ex.kind.name, 2, 1)
    assert {step.name: step.remaining for step in refusal.steps} == ex.left
    assert steps(refusal) == list(ex.left.values())
    counted = ", ".join(f"{count} {name}" for name, count in ex.left.items())
    assert refusal.sentence == (
        f"Not enough {refusal.noun} available: 2 asked, 1 free ({counted}). "
        "The nearest window in which 2 fit starts at 2031-05-01 05:00:00 UTC."
    )
    assert numbers(ex.kind.allocate(ex.kind.exactly(ex.picky, 1), there)) == [2]


@of_busy
def test_what_a_refusal_offers_is_granted(ex: Example, by: str) -> None:
    busy, margin = ex.busy[by], timedelta(minutes=15)
    pool = pool_of(ex.pool, [busy(1, hours(0, 4)), busy(2, hours(3, 6)), busy(3, hours(0, 5))])
    there = search(pool, hours(1, 2.5), margin=margin)
    refusal = refused(ex.kind.allocate(ex.request(2), there))
    assert (refusal.largest, picked(ex, 1, there)) == (1, [2])
    assert refusal.nearest == hours(5.25, 6.75)
    assert picked(ex, 2, search(pool, refusal.nearest, margin=margin)) == [1, 3]


@each
def test_the_window_offered_has_the_whole_length_although_only_the_rest_was_searched(ex: Example) -> None:
    pool = pool_of([ex.resource(1)], [next(iter(ex.busy.values()))(1, hours(1.5, 3))])
    refusal = refused(ex.kind.allocate(ex.request(1), search(pool, hours(1, 2), length=timedelta(hours=4))))
    assert refusal.nearest == hours(3, 7)


@each
def test_a_refusal_says_when_waiting_does_not_help(ex: Example) -> None:
    for pool, amount, largest, advice in ((ex.pool, 4, 3, "Ask for at most 3."), ([], 1, 0, "waiting does not help.")):
        refusal = refused(ex.kind.allocate(ex.request(amount), search(pool_of(pool))))
        assert (refusal.largest, refusal.nearest) == (largest, None)
        assert "waiting" not in refusal.sentence
        assert replace(refusal, no_window=NoWindow.NEVER).sentence.endswith(advice)


# ---------------------------------------------------------------- what a resource that changed is compared with


@each
def test_what_fits_is_what_would_be_chosen(ex: Example) -> None:
    fits, there = [ex.resource(1), ex.resource(2)], search(pool_of([ex.resource(1), ex.resource(2), ex.misfit]))
    assert numbers(ex.kind.allocate(ex.kind.exactly(ex.picky, 2), there)) == [1, 2]
    assert isinstance(ex.kind.allocate(ex.kind.exactly(ex.picky, 3), there), Refusal)
    assert [each for each in (*fits, ex.misfit) if ex.kind.fits(ex.picky, each)] == fits


LETTERS = st.frozensets(st.sampled_from(["HW_A", "HW_B", "HW_C"]))


@given(LETTERS, LETTERS, LETTERS)
def test_the_traits_of_a_flavor_are_compared_as_they_were_chosen(
    required: frozenset[str], forbidden: frozenset[str], there: frozenset[str]
) -> None:
    request = flavors(1, required=tuple(required), forbidden=tuple(forbidden))
    changed = host(1, traits=there)
    chosen = not isinstance(FlavorKind().allocate(request, search(pool_of([changed]))), Refusal)
    assert FlavorKind().fits(request, changed) is chosen
