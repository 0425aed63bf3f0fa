"""Kinds of resources that are allocated as a whole: between `min` and `max` of those that match expressions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from leasehold.calendar.search import Sought, earliest_free
from leasehold.model.allocation import Pick
from leasehold.model.errors import InUseError
from leasehold.model.refusal import FilterCount, Refusal
from leasehold.resource_types.kind import Explain, Kind
from leasehold.resource_types.layout import Layout

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from numpy.typing import NDArray

    from leasehold.calendar.arrays import Rows
    from leasehold.model.windows import Window
    from leasehold.resource_types.kind import Search

R = TypeVar("R")


class WholeKind(Kind[R]):
    """Whole resources that match the request's expressions; `amount` is the most of them that a request may get."""

    def least(self, request: R) -> int:
        """Return the fewest resources with which the request is granted."""
        return self.amount(request)

    def allocate(self, request: R, search: Search[R]) -> Sequence[Pick] | Refusal:
        """Keep the held resources, then take free ones that match, up to the most, in the weigher's order.

        The default, first fit by number, keeps the resources at the end of the list empty as long as possible, so that
        large requests fit. An amendment that changes neither the least nor the most keeps the number of resources.
        """
        snapshot, most = search.snapshot, self.amount(request)
        matches = self.matching(request, search)
        free = snapshot.free(search.padded)
        held = snapshot.rows(pick.resource_number for pick in search.held)
        keeps = matches & free
        keeps[snapshot.rows(search.staying)] = True
        kept = held[keeps[held]]
        if search.firm and (len(kept) < len(held) or len(held) > most):
            raise self._in_use(len(held), len(kept), most)
        candidates = matches & snapshot.eligible.bookable() & free
        candidates[held] = False
        wanted = self._wanted(request, search)
        fresh = snapshot.ordered(np.flatnonzero(candidates), search.padded, self.name)
        if self.layout(request):
            kept, fresh = self._laid_out(request, search, kept, fresh, wanted)
        chosen = np.concatenate([kept[:most], fresh[: max(0, wanted - len(kept))]])
        if len(chosen) < self.least(request):
            return self._refusal(request, search, matches, free, len(kept) + len(fresh))
        return [Pick(int(number)) for number in snapshot.numbers[chosen]]

    def layout(self, request: R) -> Layout:  # noqa: ARG002 - a default
        """Return how the resources of a request lie to each other; anywhere, if the type has no such keys."""
        return Layout()

    def _laid_out(self, request: R, search: Search[R], kept: Rows, fresh: Rows, wanted: int) -> tuple[Rows, Rows]:
        """Return what is left of the rows that are kept and of the free ones, so that all lie as they should.

        Raises InUseError if those in use do not, unless it is not this request that asks for it first: somebody has
        changed their properties since.
        """
        layout, mine = self.layout(request), np.zeros(len(search.snapshot.numbers), np.int64)
        mine[kept] = 1
        room = mine.copy()
        room[fresh] = 1
        stays = np.zeros(len(mine), np.bool_)
        stays[kept if search.firm else search.snapshot.rows(search.staying)] = True
        groups = layout.of(search, stays)
        if search.firm and not groups.kept and (search.before is None or self.layout(search.before) != layout):
            raise layout.broken(self.noun)
        left = groups.narrowed(room, np.concatenate([kept, fresh]), mine, wanted) > 0
        return kept[left[kept]], fresh[left[fresh]]

    def _range(self, request: R) -> tuple[int, int]:
        return self.least(request), self.amount(request)

    def _wanted(self, request: R, search: Search[R]) -> int:
        before = search.before
        if before is not None and self._range(before) == self._range(request):
            return max(len(search.held), self.least(request))
        return self.amount(request)

    def _in_use(self, held: int, kept: int, most: int) -> InUseError:
        if held > most:
            message = (
                f"The active reservation uses {held} {self.noun}, so {self.most_field} cannot become {most}; "
                "end the lease."
            )
            return InUseError(message, field=self.most_field)
        message = (
            f"{held - kept} of the {held} {self.noun} in use cannot be kept: they do not match the new properties or "
            "are allocated to others in the new window. Ask for an earlier end, or for properties that they have."
        )
        return InUseError(message, field="end_date")

    def _refusal(
        self, request: R, search: Search[R], matches: NDArray[np.bool_], free: NDArray[np.bool_], largest: int
    ) -> Refusal:
        snapshot = search.snapshot
        healthy = matches & snapshot.eligible.bookable()
        held = np.zeros(len(matches), np.bool_)
        held[snapshot.rows(pick.resource_number for pick in search.held)] = True
        return Refusal(
            resource_type=self.name,
            noun=self.noun,
            asked=self.least(request),
            largest=largest,
            window=search.window,
            nearest=self._nearest(request, search, healthy | (matches & held)),
            steps=(
                FilterCount("enrolled", int(snapshot.eligible.enrolled().sum())),
                FilterCount("matching", int(matches.sum())),
                FilterCount("healthy", int(healthy.sum())),
                FilterCount("free in the window", int((healthy & free).sum())),
            ),
        )

    def _nearest(self, request: R, search: Search[Any], able: NDArray[np.bool_]) -> Window | None:
        if search.explain < Explain.WINDOW:
            return None
        snapshot, least = search.snapshot, self.least(request)

        def first(rows: NDArray[np.bool_], after: datetime) -> Window | None:
            return earliest_free(snapshot, rows, least, Sought(after, search.length, search.margin, search.check))

        if layout := self.layout(request):
            nothing = np.zeros(len(able), np.bool_)
            return layout.of(search, nothing).earliest(search, able, least, first, snapshot.free)
        return first(able, search.window.start)
