"""Where the resources of a reservation lie to each other: together or apart by a property (feature C4, decision 0082).

Resources with equal values of a property, such as `rack`, are a group. All that a reservation gets is in one group of
`together`, and no two of it, instances or hosts, are in one group of `apart`. Resources without a value are in no
group, and such a reservation never gets them. Pure.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Annotated, Any, Final

import numpy as np
from pydantic import BeforeValidator, Field, WithJsonSchema

from leasehold.model.errors import InUseError, InvalidInputError
from leasehold.model.windows import from_seconds, to_seconds
from leasehold.resource_types.fields import RequestBody

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from datetime import datetime

    from leasehold.calendar.arrays import Counts, Mask, Rows
    from leasehold.calendar.snapshot import Snapshot
    from leasehold.model.windows import Window
    from leasehold.resource_types.kind import Search

LONGEST_NAME: Final = 255
_SECOND: Final = timedelta(seconds=1)
_MINUTE: Final = 60
"""In seconds: windows are looked for that start on whole minutes, as in `calendar.search`."""


def _property(value: object) -> str | None:
    if value in (None, ""):
        return None
    if not isinstance(value, str) or len(value) > LONGEST_NAME or not value.isprintable() or value.startswith("$"):
        message = "it has to be the name of a property, such as rack, without a dollar sign"
        raise ValueError(message)
    return value


PropertyName = Annotated[
    str | None,
    BeforeValidator(_property),
    WithJsonSchema({"anyOf": [{"type": "string", "maxLength": LONGEST_NAME}, {"type": "null"}]}),
]
"""The name of a property as an expression has it after its dollar sign; None and "" name none."""


class LaidOut(RequestBody):
    """Base of the request shapes of types whose resources may lie together or apart, from 1.3 on."""

    together: Annotated[
        PropertyName,
        Field(
            description="From 1.3 on: a property, such as `rack`, that has one and the same value on all that it gets"
        ),
    ] = None
    apart: Annotated[
        PropertyName,
        Field(description="From 1.3 on: a property, such as `rack`, that has another value on each that it gets"),
    ] = None


KEYS: Final = frozenset(LaidOut.model_fields)


@dataclass(frozen=True, slots=True)
class Layout:
    """The properties by which resources lie together, and apart; None: they lie anywhere."""

    together: str | None = None
    apart: str | None = None

    def __bool__(self) -> bool:
        return self.together is not None or self.apart is not None

    def expressions(self) -> dict[str, str]:
        """Return by field the condition that a resource has a value of the property, as an expression in JSON."""
        names = {"together": self.together, "apart": self.apart}
        return {
            field: json.dumps(["not", ["==", f"${name}", "null"]]) for field, name in names.items() if name is not None
        }

    def check(self, affinity: bool | None = None) -> None:  # noqa: FBT001 - a tri-state of the contract
        """Raise InvalidInputError where the layout cannot be met by more than one of anything."""
        if self and self.together == self.apart:
            message = f"Nothing can lie together and apart by {self.apart!r}; leave one of the two out."
            raise InvalidInputError(message, field="apart")
        if self.apart is not None and affinity:
            message = f"With affinity true all instances are on one host, so they cannot lie apart by {self.apart!r}."
            raise InvalidInputError(f"{message} Leave one of the two out.", field="apart")

    def broken(self, noun: str) -> InUseError:
        """Return the refusal of a layout that what is in use does not have."""
        field = "apart" if self.together is None else "together"
        ways = " and ".join(f"{word} by {name!r}" for word, name in asdict(self).items() if name is not None)
        message = f"The {noun} in use do not lie {ways}; leave that out, or make another lease."
        return InUseError(message, field=field)

    def of(self, search: Search[Any], kept: Mask) -> Groups:
        """Return the groups of the resources; `kept` are the rows that the reservation keeps in any case."""
        snapshot = search.snapshot
        fixed = kept.copy()
        fixed[snapshot.rows(pick.resource_number for pick in search.beside)] = True
        return Groups(_groups(snapshot, self.together), _groups(snapshot, self.apart), fixed)


def in_store(request: Mapping[str, Any]) -> dict[str, Any]:
    """Return a request in stored form: what names no property is left out, as before there were layouts."""
    return {key: value for key, value in request.items() if key not in KEYS or value is not None}


def _groups(snapshot: Snapshot, name: str | None) -> Rows | None:
    return None if name is None else snapshot.eligible.groups(name)


@dataclass(frozen=True, slots=True)
class Groups:
    """The groups of each resource, shape (rows,), -1 for none; None where the layout has no such rule.

    `fixed` are the rows that the reservation keeps, or has besides what is chosen: they decide about the others.
    """

    together: Rows | None
    apart: Rows | None
    fixed: Mask

    @property
    def kept(self) -> bool:
        """Whether what is fixed lies as it should."""
        together, apart = (self._of_fixed(groups) for groups in (self.together, self.apart))
        return np.unique(together).size <= 1 and np.unique(apart).size == apart.size

    def narrowed(self, room: Counts, order: Rows, mine: Counts, amount: int) -> Counts:
        """Return what is left of the room on each resource, so that whatever is taken of it lies as it should.

        As much of `amount` is left as is possible, then as much as possible of `mine`, which is what the reservation
        has now; then what comes first in `order`, which has all rows with room. `apart` takes one of each row, so there
        `room` is 1 at most. Where what is fixed does not lie as it should, its rows keep what they have, and that is
        all.
        """
        rows = order[(room[order] > 0) & ~self.fixed[order]]
        kept = np.where(self.fixed, room if self.apart is None else np.minimum(room, mine), 0)
        allowed = np.unique(self._of_fixed(self.together))
        if allowed.size > 1:
            return np.where(self.fixed, np.minimum(room, mine), 0)
        ways = self._ways(rows, allowed)
        best = min(ways, key=lambda way: self._rank(way, room, kept, mine, amount), default=rows[:0])
        kept[best] = room[best]
        return kept

    def _rank(self, rows: Rows, room: Counts, kept: Counts, mine: Counts, amount: int) -> tuple[int, int]:
        # The first of equals is the one that comes first in the order.
        total = int(kept.sum() + room[rows].sum())
        return -min(total, amount), -int(np.minimum(room, mine)[rows].sum())

    def _ways(self, rows: Rows, allowed: Rows) -> Iterator[Rows]:
        """Yield what may be taken together of each group, those first whose first row comes first."""
        if self.together is None:
            yield self._apart(rows)
            return
        groups = self.together[rows]
        places = np.flatnonzero(np.isin(groups, allowed) if allowed.size else groups >= 0)
        places = places[np.argsort(groups[places], kind="stable")]
        parts = np.split(places, np.flatnonzero(np.diff(groups[places])) + 1) if places.size else []
        for part in sorted(parts, key=lambda each: int(each[0])):
            yield self._apart(rows[part])

    def _apart(self, rows: Rows) -> Rows:
        """Return the first row of each group that nothing fixed is in."""
        if self.apart is None:
            return rows
        groups = self.apart[rows]
        rows = rows[(groups >= 0) & ~np.isin(groups, self._of_fixed(self.apart))]
        _, firsts = np.unique(self.apart[rows], return_index=True)
        return rows[np.sort(firsts)]

    def _of_fixed(self, groups: Rows | None) -> Rows:
        """Return the groups of the fixed rows that are in one."""
        return self.fixed[:0].astype(np.intp) if groups is None else groups[self.fixed & (groups >= 0)]

    def earliest(
        self,
        search: Search[Any],
        able: Mask,
        amount: int,
        first: Callable[[Mask, datetime], Window | None],
        room: Callable[[Window], Counts | Mask],
    ) -> Window | None:
        """Return the first window from the search's start on in which `amount` fit on the `able` resources.

        `first` returns the first window from a moment on in which they fit on some of the resources, however these lie
        apart; `room` returns how many fit on each resource in a padded window.
        """
        found = (self._earliest_of(search, part, amount, first, room) for part in self._parts(able))
        return min((each for each in found if each is not None), key=lambda each: each.start, default=None)

    def _earliest_of(
        self,
        search: Search[Any],
        part: Mask,
        amount: int,
        first: Callable[[Mask, datetime], Window | None],
        room: Callable[[Window], Counts | Mask],
    ) -> Window | None:
        window = first(part, search.window.start)
        while window is not None and self.apart is not None:
            search.check()
            rows = np.flatnonzero(part & (room(window.widened(search.margin)) > 0))
            if self._apart(rows).size >= amount:
                break
            later = search.snapshot.next_change(to_seconds(window.start), *_around(search), _MINUTE)
            window = None if later is None else first(part, from_seconds(later))
        return window

    def _parts(self, able: Mask) -> list[Mask]:
        """Return the masks of what may be taken together."""
        if self.together is None:
            return [able]
        return [able & (self.together == value) for value in np.unique(self.together[able & (self.together >= 0)])]


def _around(search: Search[Any]) -> tuple[int, int]:
    """Return how many whole seconds before and after its start a window needs its resources."""
    return -(-search.margin // _SECOND), max(1, (search.length + search.margin) // _SECOND)
