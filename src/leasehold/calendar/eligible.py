"""What of a pool a new allocation may use: the resources, without the times (design §4)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from leasehold.model.budget import nothing_to_check

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from leasehold.calendar.arrays import Mask, Rows
    from leasehold.calendar.properties import Answers
    from leasehold.calendar.resources import ResourceTable
    from leasehold.model.properties import Expression


@dataclass(frozen=True, slots=True, eq=False)
class Eligible:
    """The resources of a pool that a decision may use, and what it may know of the others.

    Masks have shape (rows,), one row for each of the snapshot's `numbers`, and the caller may change them. It can only
    be narrowed, but for the methods that say what they open.

    `offered` is what may be used, if that is not what `bookable` says by itself. `holder` is the lease that decides,
    `projects` are those that have to be allowed to use a resource where `restricted` is set, and `open_too` is the
    number of one that they need not be allowed to use. `shared` resources count as drawn. `kept` are rows with
    something that `Snapshot.without` has left out: what a reservation has, it may keep.
    """

    resources: ResourceTable
    answers: Answers
    restricted: bool
    offered: Mask | None = None
    shared: Mask | None = None
    holder: str | None = None
    projects: tuple[str, ...] = ()
    open_too: int | None = None
    kept: Rows | None = None

    # ------------------------------------------------------------ what may be used

    def bookable(self) -> Mask:
        """Return the mask of the resources that a new allocation may use: they work and are enrolled and not disabled.

        Nor are they held for another lease than that of `seen_by`, or for other projects than that of `for_project`.
        Those of `with_disabled`, `with_shared`, `only` and `narrowed` are others.
        """
        known = self.resources
        mask = self._unheld(known.usable & ~known.disabled) if self.offered is None else self.offered.copy()
        if self.restricted:
            mask[self._closed()] = False
        return mask

    def enrolled(self) -> Mask:
        """Return the mask of the resources that are still enrolled and not shared, healthy or not.

        Those of `with_shared` count as if they had been drawn. Those that are for other projects are left out, but for
        what is `kept`.
        """
        known = self.resources.enrolled
        mask = known.copy() if self.shared is None else known | self.shared
        if self.restricted:
            closed = self._closed()
            mask[closed if self.kept is None else np.setdiff1d(closed, self.kept)] = False
        return mask

    @property
    def any_disabled(self) -> bool:
        """Say whether `with_disabled` offers any more."""
        return bool((self.with_disabled().bookable() & self.resources.disabled).any())

    # ------------------------------------------------------------ what they are

    def matching(self, expression: Expression, check: Callable[[], None] = nothing_to_check) -> Mask:
        """Return the mask of the resources that match, by `leasehold.model.properties.matches` for each.

        An expression not evaluated before the pool was locked is evaluated now; `check` is called meanwhile, and may
        raise.
        """
        return self.answers.to(expression, check)

    def groups(self, name: str) -> Rows:
        """Return a number for each resource: the same for equal values of a property, and -1 for none."""
        return self.resources.properties.groups(name)

    def with_traits(self, required: frozenset[str], forbidden: frozenset[str]) -> Mask:
        """Return the mask of the resources that have all the required traits and none of the forbidden ones."""
        return self.resources.with_traits(required, forbidden)

    def known_names(self) -> frozenset[str]:
        """Return all names of attributes and properties that enrolled or shared resources have.

        Those of resources that are for other projects are left out.
        """
        if not self.restricted:
            return self.resources.known_names()
        return self.resources.properties.names(self._seen())

    def known_values(self) -> dict[str, list[str]]:
        """Return the names that `known_names` says and that have values, each with the distinct ones, in no order."""
        return self.resources.properties.values(self._visible())

    def values_of(self, name: str) -> Sequence[str]:
        """Return the distinct values of one name, as `known_values` does of all."""
        return self.resources.properties.values_of(name, self._visible())

    # ------------------------------------------------------------ less of it

    def narrowed(self, mask: Mask) -> Eligible:
        """Return what is eligible here and in the mask."""
        return replace(self, offered=self.bookable() & mask)

    def closed(self) -> Eligible:
        """Close everything; a lease may keep what it has."""
        return replace(self, offered=np.zeros(len(self.resources), np.bool_))

    # ------------------------------------------------------------ other resources, by name

    def seen_by(self, lease_id: str) -> Eligible:
        """Open to a lease what is held for it."""
        return replace(self, holder=lease_id) if self.resources.holders else self

    def for_project(self, *projects: str, open_too: int | None = None) -> Eligible:
        """Open to a project what is for it; what is for some projects alone is closed to all, until this is said.

        For several projects it is what all of them may use. The resource `open_too` is open as well, whichever
        projects it is for.
        """
        return replace(self, projects=projects, open_too=open_too) if self.resources.projects else self

    def for_operators(self) -> Eligible:
        """Open all resources, whichever projects they are for."""
        return replace(self, restricted=False)

    def of_one(self, number: int) -> Eligible:
        """Return one resource alone, whichever projects it is for."""
        return self.for_operators().narrowed(self.resources.numbers == number)

    def only(self, numbers: Collection[int]) -> Eligible:
        """Return these enrolled resources and no others.

        Of these, disabled ones and those that are held are left out. They need not be bookable otherwise: healing
        gives a resource that works again back before others may have it.
        """
        known = self.resources
        offered = np.isin(known.numbers, np.array(sorted(numbers), np.int64)) & known.enrolled & ~known.disabled
        return replace(self, offered=self._unheld(offered))

    def with_disabled(self) -> Eligible:
        """Open disabled resources as well, if they work."""
        return replace(self, offered=self._unheld(self.resources.usable.copy()))

    def with_shared(self, numbers: Collection[int]) -> Eligible:
        """Open these shared resources, as if they had been drawn."""
        shared = np.isin(self.resources.numbers, np.array(sorted(numbers), np.int64))
        return replace(self, offered=self.bookable() | shared, shared=shared)

    def keeping(self, rows: Rows) -> Eligible:
        """Count these rows as enrolled for whom they are closed to: a reservation has something on them."""
        if not self.restricted:
            return self
        return replace(self, kept=rows if self.kept is None else np.concatenate([self.kept, rows]))

    # ------------------------------------------------------------ parts of the answers

    def _unheld(self, mask: Mask) -> Mask:
        return self.resources.without_held(mask, self.holder)

    def _closed(self) -> Rows:
        """Return the rows that are for other projects than those of `for_project`."""
        closed = self.resources.closed_to(self.projects)
        return closed if self.open_too is None else closed[self.resources.numbers[closed] != self.open_too]

    def _visible(self) -> Mask:
        return self._seen() if self.restricted else self.resources.present

    def _seen(self) -> Mask:
        """Return the mask of the enrolled and shared resources that are not for other projects."""
        known = self.resources
        shared = known.present & ~known.enrolled
        shared[self._closed()] = False
        return self.enrolled() | shared
