"""What is asked of both systems, from one seed: the same reservations, in the same order.

All begin and end at whole minutes, as the windows do that Leasehold finds.
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import Final

from bench.peers.peer import Booking, Held

HOSTS: Final = 1_000
DAY: Final = 86_400
DAYS: Final = 30
MOST_HOSTS: Final = 4
HOURS: Final = (1, 24)
MINUTE: Final = 60
QUARTER: Final = 900
HOUR: Final = 3_600


def existing(seed: int, count: int, begin: int) -> dict[str, Held]:
    """Return reservations of one host each: on each host some after the other, in the days from `begin` on."""
    dice = Random(f"{seed} existing {count}")
    turn = DAYS * DAY // -(-count // HOSTS)
    found = {}
    for number in range(count):
        first = begin + number // HOSTS * turn
        start = first + dice.randrange(0, turn // 2, MINUTE)
        end = start + dice.randrange(HOUR, turn // 2, MINUTE)
        found[f"filled-{number}"] = Held(frozenset([number % HOSTS]), start, end)
    return found


def bookings(seed: int, what: str, count: int, begin: int) -> list[Booking]:
    """Return small reservations in the same days, all of which can be granted beside the existing ones."""
    dice = Random(f"{seed} {what}")
    found = []
    for number in range(count):
        length = dice.randint(*HOURS) * HOUR
        start = begin + dice.randrange(0, DAYS * DAY - length, MINUTE)
        found.append(Booking(f"{what}-{number}", dice.randint(1, MOST_HOSTS), start, start + length))
    return found


@dataclass(frozen=True, slots=True)
class Creation:
    """Somebody asks for a reservation."""

    booking: Booking


@dataclass(frozen=True, slots=True)
class Amendment:
    """Somebody asks for another end."""

    name: str
    end: int


@dataclass(frozen=True, slots=True)
class Deletion:
    """Somebody deletes a reservation."""

    name: str


Change = Creation | Amendment | Deletion


def changes(seed: int, count: int, hosts: int, begin: int) -> list[Change]:
    """Return changes of one day of a few hosts that are asked for too often; later ones name earlier reservations.

    Whether a reservation that is named was granted, and is still there, depends on the system.
    """
    dice = Random(f"{seed} changes")
    asked: list[Booking] = []
    found: list[Change] = []
    for number in range(count):
        way = dice.random() if asked else 0.0
        if way < 0.5:
            start = begin + dice.randrange(72) * QUARTER
            end = start + dice.randint(4, 24) * QUARTER
            asked.append(Booking(f"change-{number}", dice.choice([1, 1, 1, 2, 3, hosts]), start, end))
            found.append(Creation(asked[-1]))
        elif way < 0.75:
            one = dice.choice(asked)
            found.append(Amendment(one.name, one.start + dice.randint(1, 32) * QUARTER))
        else:
            found.append(Deletion(dice.choice(asked).name))
    return found
