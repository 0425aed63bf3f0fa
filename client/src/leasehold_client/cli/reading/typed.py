"""Types of options: what cannot be read is an error of the option, with a sentence that says what can be."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from leasehold_client.cli.reading import pairs
from leasehold_client.cli.reading.conditions import read_condition, with_conditions
from leasehold_client.cli.reading.times import BadTimeError, read_duration, read_end, read_moment, read_past, read_utc

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from leasehold_client.cli.reading.zone import Clock

T = TypeVar("T")


def _typed(read: Callable[[str], T]) -> Callable[[str], T]:
    def convert(text: str) -> T:
        try:
            return read(text)
        except (BadTimeError, pairs.BadPairsError) as error:
            raise argparse.ArgumentTypeError(str(error)) from None

    return convert


def moment_of(clock: Clock) -> Callable[[str], datetime]:
    """Return the type of a time as people write it, in the user's zone."""
    return _typed(lambda text: read_moment(text, clock.now(), clock.zone))


class End(NamedTuple):
    """An end as a person writes it: which time that is depends on the start."""

    text: str


def end_of(clock: Clock) -> Callable[[str], End]:
    """Return the type of a time that ends something, as people write it; `settle_ends` reads it."""

    def check(text: str) -> End:
        read_moment(text, clock.now(), clock.zone)
        return End(text)

    return _typed(check)


def settle_ends(options: argparse.Namespace, clock: Clock) -> None:
    """Read the ends of the options, after the start if they say one. Raises BadTimeError."""
    start = getattr(options, "start", None) or getattr(options, "start_date", None) or clock.now()
    for name, value in [*vars(options).items()]:
        if isinstance(value, End):
            setattr(options, name, read_end(value.text, start, clock.now(), clock.zone))


def past_of(clock: Clock) -> Callable[[str], datetime]:
    """Return the type of a time that is over, as people write it, in the user's zone."""
    return _typed(lambda text: read_past(text, clock.now(), clock.zone))


def utc_of(clock: Clock) -> Callable[[str], datetime]:
    """Return the type of a time in Blazar's form, in UTC; `now` is the current time."""
    return _typed(lambda text: read_utc(text) or clock.now())


def name(text: str) -> str:
    """Return the name of something new; a variable of a shell that is not set would make one without a name."""
    if not text.strip():
        message = "a name is empty; give it one, by which it can be found again"
        raise argparse.ArgumentTypeError(message)
    return text


def wanted(text: str) -> str:
    """Return what a list is asked for; an empty text would ask for everything."""
    if not text:
        message = "it is empty; give it a value, or leave the option out"
        raise argparse.ArgumentTypeError(message)
    return text


duration = _typed(read_duration)
reservation = _typed(lambda text: with_conditions(pairs.read_reservation(text)))
hosts = _typed(lambda text: with_conditions(pairs.read_hosts(text)))
alternative = _typed(lambda text: with_conditions(pairs.read_alternative(text)))
change = _typed(pairs.read_change)
condition = _typed(read_condition)
event = _typed(pairs.read_event)
values = _typed(pairs.read_values)
key_value = _typed(pairs.read_property)
