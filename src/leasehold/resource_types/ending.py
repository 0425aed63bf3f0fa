"""Read how a reservation ends: the keys that every resource type with servers has, from microversion 1.2 on."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import BeforeValidator, Field, WithJsonSchema

from leasehold.model.errors import InvalidInputError, MissingParameterError
from leasehold.model.terms.end_action import DEFAULT, EMAIL, EndAction, read_chain, words_of
from leasehold.model.terms.ending import Ending, OnEnd
from leasehold.resource_types.end_actions.chain import ACTIONS, asked_of
from leasehold.resource_types.fields import RequestBody, Size, read

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from leasehold.conf.settings import LeaseSettings


def _chain(value: object) -> str:
    return read_chain(value)


def _chain_of_hosts(value: object) -> str:
    return read_chain(value, (DEFAULT,))


def _schema(*words: str) -> WithJsonSchema:
    """Return what can be asked for: a word, or a list of actions."""
    actions = [each.value for each in EndAction if each]
    many = {"type": "array", "items": {"type": "string", "enum": actions}, "uniqueItems": True}
    return WithJsonSchema({"anyOf": [{"type": "string", "enum": ["", *actions, EMAIL, *words]}, many]})


BeforeEnd = Annotated[str, BeforeValidator(_chain), _schema()]
BeforeEndOfHosts = Annotated[str, BeforeValidator(_chain_of_hosts), _schema(DEFAULT)]
"""What is done before the end, as it is stored (`model/terms/end_action.py`)."""


class EndingBody(RequestBody):
    """What happens to the servers of a reservation when its lease ends; from 1.2 on."""

    on_end: Annotated[
        OnEnd | None,
        Field(
            description="`delete`, the default: servers are deleted. `recycle`: they live on, and no new ones can be "
            "booted, until they are gone or `recycle_seconds` have passed. `give_back`, for hosts only: they live on "
            "for good, and a host that has servers serves everybody from then on"
        ),
    ] = None
    grace_seconds: Annotated[
        Size | None, Field(description="Time after the end in which no server is deleted and none can be booted")
    ] = None
    recycle_seconds: Annotated[
        Size | None, Field(description="How long servers may live on after the grace period; only with `recycle`")
    ] = None
    before_end: Annotated[
        BeforeEnd | None,
        Field(
            description=f"What is done before the end: nothing; {'; '.join(each.text for each in ACTIONS.values())}; "
            "from 1.3 on lists of these; `email` is nothing but an e-mail of the warning, by a subscription that the "
            "owner has"
        ),
    ] = None


KEYS = frozenset(EndingBody.model_fields)


def read_ending(
    raw: Mapping[str, Any], before: Ending, settings: LeaseSettings, *, can: Collection[OnEnd], noun: str
) -> Ending:
    """Return how a reservation ends, by the keys of a request; what it does not mention stays as `before`.

    `can` are the ways in which reservations of this type may end; none if they have no servers. Raises
    InvalidInputError, and MissingParameterError for `recycle` without its time.
    """
    if KEYS.isdisjoint(raw):
        return before
    if not can:
        name = min(KEYS & raw.keys())
        message = f"Reservations of {noun} have no servers that could outlive the lease; leave {name} out."
        raise InvalidInputError(message, field=name)
    asked = read(EndingBody, raw)
    for action in asked_of(words_of(asked.before_end or "")).values():
        if action.needs_flavor is not None:
            raise InvalidInputError(action.needs_flavor.format(noun=noun), field="before_end")
    on_end = before.on_end if asked.on_end is None else asked.on_end
    if on_end not in can:
        message = (
            f"Reservations of {noun} cannot end with '{on_end}', only with {' or '.join(map(repr, map(str, can)))}."
        )
        raise InvalidInputError(message, field="on_end")
    grace = _time(asked.grace_seconds, before.grace)
    limit = _time(asked.recycle_seconds, before.limit if on_end is OnEnd.RECYCLE else timedelta(0))
    _check(grace, settings.longest_grace, "grace_seconds", "longest_grace_seconds")
    _check(limit, settings.longest_recycling, "recycle_seconds", "longest_recycle_seconds")
    if on_end is OnEnd.RECYCLE and not limit:
        raise MissingParameterError("recycle_seconds")
    if on_end is not OnEnd.RECYCLE and limit:
        message = "Only servers that are recycled live on: set on_end to 'recycle', or leave recycle_seconds out."
        raise InvalidInputError(message, field="recycle_seconds")
    if on_end is OnEnd.GIVE_BACK and grace:
        message = "No server is deleted when its host is given back: set grace_seconds to 0, or leave it out."
        raise InvalidInputError(message, field="grace_seconds")
    before_end = before.before_end if asked.before_end is None else asked.before_end
    ending = replace(before, on_end=on_end, grace=grace, limit=limit, before_end=before_end)
    check_fit(ending.before_end, ending)
    return ending


def check_fit(before_end: str, ending: Ending) -> None:
    """Raise InvalidInputError for an end action that a reservation which ends so cannot have."""
    for action in asked_of(words_of(before_end)).values():
        if message := action.unfit(ending):
            raise InvalidInputError(message, field="before_end")


def _time(seconds: int | None, before: timedelta) -> timedelta:
    return before if seconds is None else timedelta(seconds=seconds)


def _check(asked: timedelta, most: timedelta, field: str, option: str) -> None:
    if asked > most:
        message = (
            f"The value of {field} is {asked.total_seconds():.0f}, and this cloud allows {most.total_seconds():.0f} at "
            f"most ({option}); ask for less, or for a later end_date."
        )
        raise InvalidInputError(message, field=field)
