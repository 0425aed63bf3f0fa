"""What would work instead of what the service refused: from `details` of the refusal, as exact commands. Pure."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from leasehold_client.calls.wire import read_time, write_time
from leasehold_client.cli.output.shown import show_moment, show_span
from leasehold_client.cli.reading.pairs import write_reservation
from leasehold_client.cli.reading.times import BadTimeError, read_moment
from leasehold_client.lease import HOST

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from datetime import datetime, tzinfo

    from leasehold_client.errors import ApiError
    from leasehold_client.lease import Lease, LeaseRequest

Wish = TypeVar("Wish")


@dataclass(frozen=True, slots=True)
class CounterOffer(Generic[Wish]):
    """Something that would work: `wish` is what to ask for, `words` the command without the program's name."""

    sentence: str
    wish: Wish
    words: tuple[str, ...]


def offers_for_lease(error: ApiError, request: LeaseRequest, zone: tzinfo) -> list[CounterOffer[LeaseRequest]]:
    """Return what the refusal of a new lease offers: the same later, and less at the same time."""
    return [*_later(error, request, zone), *_less(error, request, zone)]


def offers_for_end(error: ApiError, lease: Lease, zone: tzinfo) -> list[CounterOffer[datetime | timedelta]]:
    """Return what the refusal of a later end offers: an end that is less late, if it is later than now."""
    text = error.details.get("latest_end")
    latest = None if text is None else read_time(text)
    if latest is None or latest <= lease.end:
        return []
    words = ("lease", "extend", lease.name, "--until", moment_word(latest, zone))
    sentence = f"Until {show_moment(latest, zone)} it can be extended{_cost(error, 'latest_end')}."
    return [CounterOffer(sentence, latest, words)]


def _cost(error: ApiError, offer: str) -> str:
    """Return what a counter-offer costs, to go on with in a sentence; nothing where nothing has a price."""
    cost = error.details.get("estimates", {}).get(offer, {}).get("cost")
    if cost is None:
        return ""
    more = cost.get("more")
    return f", for {cost['total'] if more is None else more} {cost['unit']}{'' if more is None else ' more'}"


def _later(error: ApiError, request: LeaseRequest, zone: tzinfo) -> Iterator[CounterOffer[LeaseRequest]]:
    nearest, within = error.details.get("nearest"), error.details.get("ready_within_seconds")
    if within:
        # What sleeps is ready so long after it is asked for, so that the window of now would be gone.
        waits = replace(request, more={**request.more, "ready_within_seconds": within})
        sentence = f"All of it is ready within {show_span(timedelta(seconds=within))}, and then yours."
        yield CounterOffer(sentence, waits, _create_words(waits, zone))
    elif nearest:
        start, end = read_time(nearest["start"]), read_time(nearest["end"])
        moved = replace(request, start=start, end=None if request.end is None else end, before_end=None)
        until = "" if moved.end is None else f" until {show_moment(moved.end, zone)}"
        sentence = f"All of it is free from {show_moment(start, zone)}{until}{_cost(error, 'nearest')}."
        yield CounterOffer(sentence, moved, _create_words(moved, zone))


def _less(error: ApiError, request: LeaseRequest, zone: tzinfo) -> Iterator[CounterOffer[LeaseRequest]]:
    largest, kind = error.details.get("largest"), error.details.get("resource_type")
    places = [place for place, each in enumerate(request.reservations) if each["resource_type"] == kind]
    # Which one of several was refused is not said, so nothing is offered for them.
    if not largest or len(places) != 1:
        return
    parts = list(request.reservations)
    parts[places[0]] = _with_amount(parts[places[0]], largest)
    smaller = replace(request, reservations=parts)
    are, cost = "is" if largest == 1 else "are", _cost(error, "largest")
    sentence = f"{largest} of them {are} free at the time that you asked for{cost}."
    yield CounterOffer(sentence, smaller, _create_words(smaller, zone))


def _with_amount(part: Mapping[str, Any], amount: int) -> dict[str, Any]:
    if part["resource_type"] == HOST:
        return {**part, "min": amount, "max": amount}
    return {**part, "amount": amount}


def _create_words(request: LeaseRequest, zone: tzinfo) -> tuple[str, ...]:
    start = () if request.start is None else ("--from", moment_word(request.start, zone))
    parts = [word for each in request.reservations for word in _part_words(each, alone=len(request.reservations) == 1)]
    more = [word for key, value in request.more.items() for word in _option(key, value)]
    template = () if request.template is None else ("--template", request.template)
    if request.end is not None:
        end: tuple[str, ...] = ("--until", moment_word(request.end, zone))
    else:
        end = () if request.template else ("--open-ended",)
    return ("lease", "create", request.name, *start, *end, *template, *parts, *more)


def _option(key: str, value: Any) -> tuple[str, ...]:
    """Return the option of a further key of the API, with its value."""
    if key == "ready_within_seconds":
        return "--ready-within", f"{value}s"
    return f"--{key.removesuffix('_id').replace('_', '-')}", str(value)


def _part_words(part: Mapping[str, Any], *, alone: bool) -> Iterator[str]:
    """Yield the option of a reservation: as `--hosts` where that says all of it, and it is the only one."""
    conditions = part.get("resource_properties")
    layout = {key: part[key] for key in ("together", "apart") if key in part}
    hosts = {"resource_type": HOST, "min": part.get("max"), "max": part.get("max"), "hypervisor_properties": ""}
    if not alone or part != {**hosts, "resource_properties": conditions, **layout}:
        yield from ("--reservation", write_reservation(part))
        return
    yield from ("--hosts", str(part["max"]))
    if conditions:
        yield from ("--properties", str(conditions))
    for key, name in layout.items():
        yield from (f"--{key}", str(name))


def moment_word(moment: datetime, zone: tzinfo) -> str:
    """Return a time as an option takes it: in the user's zone where that means one time only, otherwise in UTC."""
    local = moment.astimezone(zone)
    text = f"{local:%Y-%m-%d %H:%M:%S}".removesuffix(":00")
    try:
        exact = read_moment(text, moment, zone) == moment
    except BadTimeError:
        exact = False
    return text if exact else write_time(moment)
