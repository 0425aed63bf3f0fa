"""The resources of a pool as columns: one row per resource, in the order of their numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

import numpy as np

from leasehold.calendar.arrays import MOST_CAPACITY, Mask, Rows
from leasehold.calendar.properties import PropertyTable
from leasehold.calendar.readiness import Unready

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from leasehold.model.resource import Readiness, Resource

_CACHED_AMOUNTS = 64

S = TypeVar("S")


class ResourceTable:
    """All resources of one pool that the calendar has loaded; each array has shape (rows,).

    A shared resource counts as not enrolled, and is `present` as long as it is not removed. `numbers` is ascending. It
    also has the numbers that only allocations mention; such a row is not usable and has no capacity. -1 stands for no
    capacity in `_capacity`, and for no limit in `_max_unit`. `holders` are the leases that resources are held for, by
    number, `projects` those that may use a resource, by number, where not all may, and `readiness` those that are not
    ready.
    """

    def __init__(self) -> None:
        self.numbers: NDArray[np.int64] = np.empty(0, np.int64)
        self.usable: Mask = np.empty(0, np.bool_)
        self.disabled: Mask = np.empty(0, np.bool_)
        self.holders: dict[int, str] = {}
        self.projects: dict[int, frozenset[str]] = {}
        self.readiness: dict[int, Readiness] = {}
        self.enrolled: Mask = np.empty(0, np.bool_)
        self.present: Mask = np.empty(0, np.bool_)
        self.properties = PropertyTable()
        self._capacity: dict[str, NDArray[np.int64]] = {}
        self._max_unit: dict[str, NDArray[np.int64]] = {}
        self._traits: dict[str, Mask] = {}
        self._room: dict[tuple[str, int], NDArray[np.int64]] = {}
        self._names: frozenset[str] | None = None
        self._unready: Unready | None = None

    def __len__(self) -> int:
        return self.numbers.size

    def rows(self, numbers: Iterable[int] | NDArray[np.int64]) -> Rows:
        """Return the rows of these resource numbers, in their order; raises `KeyError` for an unknown number."""
        wanted = numbers if isinstance(numbers, np.ndarray) else np.fromiter(numbers, np.int64)
        found = np.searchsorted(self.numbers, wanted)
        known = found < self.numbers.size
        known[known] = self.numbers[found[known]] == wanted[known]
        if not known.all():
            raise KeyError(int(wanted[~known][0]))
        return found

    def make_room(self, numbers: NDArray[np.int64]) -> Rows | None:
        """Add rows for the numbers that have none yet.

        Returns the new row of every old row, shape (old rows,), if any of them moved, else None.
        """
        old = self.numbers
        if old.size and numbers.size:
            found = np.minimum(np.searchsorted(old, numbers), old.size - 1)
            numbers = numbers[old[found] != numbers]
        if not numbers.size:
            return None
        self.numbers = np.union1d(old, numbers)
        moved = np.searchsorted(self.numbers, old)
        self._room.clear()
        self._unready = None
        self.properties = self.properties.spread(moved, self.numbers.size)
        for amounts in (self._capacity, self._max_unit):
            amounts.update({name: self._spread(column, moved, -1) for name, column in amounts.items()})
        self._traits = {name: self._spread(column, moved, fill=False) for name, column in self._traits.items()}
        self.usable = self._spread(self.usable, moved, fill=False)
        self.disabled = self._spread(self.disabled, moved, fill=False)
        self.enrolled = self._spread(self.enrolled, moved, fill=False)
        self.present = self._spread(self.present, moved, fill=False)
        return moved if old.size and moved[-1] != old.size - 1 else None

    def _spread(self, column: NDArray, moved: Rows, fill: int | bool) -> NDArray:  # type: ignore[type-arg]  # noqa: FBT001
        wider = np.full(self.numbers.size, fill, column.dtype)
        wider[moved] = column
        return wider

    def put(self, resources: Sequence[Resource]) -> None:
        """Insert or replace these resources, whose rows exist; without resources, the caches stay valid."""
        if not resources:
            return
        self._room.clear()
        self._names = self._unready = None
        rows = self.rows([resource.number for resource in resources]).tolist()
        self.properties = self.properties.put(rows, [resource.values for resource in resources])
        for resource, row in zip(resources, rows, strict=True):
            self.usable[row] = resource.usable
            self.disabled[row] = resource.disabled
            self.enrolled[row] = resource.pooled
            self.present[row] = resource.deleted_at is None
            _note(self.holders, resource, resource.held_for)
            _note(self.projects, resource, resource.projects)
            _note(self.readiness, resource, resource.readiness)
            self._put_amounts(self._capacity, row, resource.capacity)
            self._put_amounts(self._max_unit, row, resource.max_unit)
            for name in resource.traits - self._traits.keys():
                self._traits[name] = np.zeros(len(self), np.bool_)
            for name, column in self._traits.items():
                column[row] = name in resource.traits

    def unready(self) -> Unready:
        """Return those that are not ready."""
        if self._unready is None:
            numbers = sorted(self.readiness)
            self._unready = Unready.of(self.rows(numbers), [self.readiness[number] for number in numbers])
        return self._unready

    def closed_to(self, projects: Collection[str]) -> Rows:
        """Return the rows that one of these projects may not use; with none those that some project may not use."""
        used = set(projects)
        return self.rows([number for number, allowed in self.projects.items() if not used or not used <= allowed])

    def without_held(self, mask: Mask, lease_id: str | None) -> Mask:
        """Take the rows out of the mask that are held for other leases than this one, and return it."""
        others = [number for number, holder in self.holders.items() if holder != lease_id]
        if others:
            mask[self.rows(others)] = False
        return mask

    def _put_amounts(self, amounts: dict[str, NDArray[np.int64]], row: int, given: Mapping[str, int]) -> None:
        for name in given.keys() - amounts.keys():
            amounts[name] = np.full(len(self), -1, np.int64)
        for name, column in amounts.items():
            amount = given.get(name)
            column[row] = -1 if amount is None else max(0, min(int(amount), MOST_CAPACITY))

    def known_names(self) -> frozenset[str]:
        """Return all names that any resource has, even without a value; shared ones too, which may be drawn."""
        if self._names is None:
            self._names = self.properties.names(self.present)
        return self._names

    def with_traits(self, required: frozenset[str], forbidden: frozenset[str]) -> Mask:
        """Return the mask of the rows that have all the required traits and none of the forbidden ones."""
        mask = np.ones(len(self), np.bool_)
        for name in required:
            mask &= self._traits.get(name, False)
        for name in forbidden & self._traits.keys():
            mask &= ~self._traits[name]
        return mask

    def capacities(self) -> dict[str, NDArray[np.int64]]:
        """Return each row's capacity by class, each of shape (rows,)."""
        return {name: self.room_for(name, 0) for name in self._capacity}

    def room_for(self, resource_class: str, amount: int) -> NDArray[np.int64]:
        """Return each row's capacity of a class, shape (rows,); 0 where one slot of `amount` exceeds its `max_unit`."""
        known = self._room.get((resource_class, amount))
        if known is None:
            if len(self._room) >= _CACHED_AMOUNTS:
                self._room.clear()
            nothing = np.full(len(self), -1, np.int64)
            capacity = self._capacity.get(resource_class, nothing)
            limit = self._max_unit.get(resource_class, nothing)
            known = np.where((limit >= 0) & (amount > limit), 0, np.maximum(capacity, 0))
            self._room[resource_class, amount] = known
        return known


def _note(known: dict[int, S], resource: Resource, value: S | None) -> None:
    """Note by its number what a resource has, or that it has nothing or is removed."""
    if value is not None and resource.deleted_at is None:
        known[resource.number] = value
    else:
        known.pop(resource.number, None)
