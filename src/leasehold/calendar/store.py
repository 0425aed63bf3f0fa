"""The allocations of a pool as compact columns, about 54 bytes each.

Each column has three parts:

    [0, sorted)         in the order of (resource row, start), as a search needs them
    [sorted, flushed)   the tail: added since the last sort, in order of arrival, at most `most_tail` long
    [flushed, end)      added since the last `flush`: may repeat ids and contain cancelled allocations

A changed allocation leaves a hole (its end becomes `GONE`) and is added again in the last part. The next sort removes
the holes and what `forget_before` drops.
"""

from __future__ import annotations

import re
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from leasehold.calendar.runs import Runs
from leasehold.calendar.sweep import Held

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from leasehold.calendar.arrays import Mask, Rows, Seconds

LEAST_ROOM: Final = 1024
"""For how many allocations the columns have room at first."""
STALE_SHARE: Final = 4
"""At most one position in this many is a hole; with more, everything is sorted again."""
GONE: Final = np.iinfo(np.int64).min
"""The end of an allocation that takes nothing: earlier than every moment."""
MOST_NOTES: Final = 1024
"""How many arrays of changed rows are kept before they are merged into one."""
SOON: Final = 3600
"""How many seconds ahead `_soon` keeps the allocations that are about to end."""

_UUIDS: Final = re.compile("(?:[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})*")

_COLUMNS: Final = {
    "ids": np.int64,
    "rows": np.int32,
    "starts": np.int64,
    "ends": np.int64,
    "slots": np.int32,
    "demands": np.int32,
    "owners": np.uint64,
    "owners_rest": np.uint64,
    "released": np.bool_,
}


def owner_keys(reservation_ids: Iterable[str]) -> NDArray[np.uint64]:
    """Return each id as two halves of 64 bits, shape (n, 2): of the UUID, or of a digest of any other text."""
    texts = list(reservation_ids)
    joined = "".join(texts)
    if not _all_uuids(texts, joined):
        joined = "".join(text if _all_uuids([text], text) else _digest(text) for text in texts)
    digits = joined.replace("-", "")
    return np.frombuffer(bytes.fromhex(digits), ">u8").astype(np.uint64).reshape(-1, 2)


def _all_uuids(texts: Sequence[str], joined: str) -> bool:
    """Say whether all texts are UUIDs as Leasehold writes them, in lower case with dashes."""
    return set(map(len, texts)) <= {36} and _UUIDS.fullmatch(joined) is not None


def _digest(text: str) -> str:
    """Return 32 hexadecimal digits for an id that is no UUID, as one imported from Blazar may be."""
    return blake2b(text.encode(), digest_size=16).hexdigest()


def row_start_keys(rows: NDArray[np.signedinteger[Any]], starts: Seconds) -> NDArray[np.int64]:
    """Return integers that sort like (row, start), for up to 2**23 rows and 17,000 years."""
    return (rows.astype(np.int64) << 40) + starts


class AllocationStore:
    """Holds the columns; does not know the resources or what a demand means."""

    ids: NDArray[np.int64]
    rows: NDArray[np.int32]
    starts: Seconds
    ends: Seconds
    slots: NDArray[np.int32]
    demands: NDArray[np.int32]
    owners: NDArray[np.uint64]
    owners_rest: NDArray[np.uint64]
    released: NDArray[np.bool_]

    def __init__(self, most_tail: int) -> None:
        """Start without allocations; a tail longer than `most_tail` is sorted in."""
        self._most_tail = most_tail
        for name, kind in _COLUMNS.items():
            setattr(self, name, np.empty(0, kind))
        self.sorted = 0
        self.flushed = 0
        self.end = 0
        self._holes = 0
        self._by_id: NDArray[np.int32] = np.empty(0, np.int32)
        self._soon: Rows = np.empty(0, np.intp)
        self._soon_until = GONE
        self._changed: list[NDArray[np.int32]] | None = None
        self._runs: Runs | None = None

    def append(self, **columns: NDArray[np.generic]) -> None:
        """Add allocations; one whose id is known replaces the older one at the next `flush`."""
        count = columns["ids"].size
        end = self.end + count
        if end > self.ids.size:
            # Doubling keeps the cost of a load in chunks linear; memory that was never written to is not resident.
            room = max(2 * self.end, end, LEAST_ROOM)
            for name, kind in _COLUMNS.items():
                wider: NDArray[Any] = np.empty(room, kind)
                wider[: self.end] = getattr(self, name)[: self.end]
                setattr(self, name, wider)
        for name in _COLUMNS:
            getattr(self, name)[self.end : end] = columns[name]
        self.end = end

    def move_rows(self, moved: Rows) -> None:
        """Renumber the resource rows: `moved[old]` is the new row; their order stays the same."""
        self.rows[: self.end] = moved[self.rows[: self.end]]
        self._changed = self._runs = None

    def used_demands(self) -> NDArray[np.int32]:
        """Return the distinct demand codes of all allocations that may still take something."""
        return np.unique(self.demands[: self.end][self.ends[: self.end] != GONE])

    def recode(self, codes: NDArray[np.int32]) -> None:
        """Give the demands other codes: `codes[old]` is the new one."""
        self.demands[: self.end] = codes[self.demands[: self.end]]

    def flush(self) -> None:
        """Make every id unique, and turn every allocation that takes nothing into a hole."""
        first, end = self.flushed, self.end
        if first == end:
            return
        ids, ends = self.ids[first:end], self.ends[first:end]
        self._note_changed(self.rows[first:end])
        if (ids[1:] <= ids[:-1]).any():
            order = np.argsort(ids, kind="stable")
            repeated = order[:-1][ids[order[:-1]] == ids[order[1:]]]
            ends[repeated] = GONE
        self._supersede(ids)
        empty = ends <= self.starts[first:end]
        ends[empty] = GONE
        self._holes += int(np.count_nonzero(empty))
        if end - self.sorted > self._most_tail or self._holes * STALE_SHARE > end:
            self._sort()
        else:
            near = (ends <= self._soon_until) & ~self.released[first:end] & ~empty
            self._soon = np.concatenate([self._soon, np.flatnonzero(near) + first])
            self.flushed = end

    def _supersede(self, ids: NDArray[np.int64]) -> None:
        """Turn the flushed allocations that have one of these ids into holes."""
        tail = self.ids[self.sorted : self.flushed]
        self._supersede_in(0, self._by_id, ids)
        self._supersede_in(self.sorted, np.argsort(tail, kind="stable").astype(np.int32), ids)

    def _supersede_in(self, first: int, order: NDArray[np.int32], ids: NDArray[np.int64]) -> None:
        known = self.ids[first : first + order.size]
        # Most added allocations are new, and new ids are larger than all before.
        if not known.size or ids.min() > known[order[-1]]:
            return
        # The last of equal ids counts: the tail may have holes with the same id before it.
        found = np.searchsorted(known, ids, side="right", sorter=order) - 1
        places = order[np.maximum(found, 0)]
        places = places[known[places] == ids] + first
        self._holes += int(np.count_nonzero(self.ends[places] != GONE))
        self.ends[places] = GONE
        self._note_changed(self.rows[places])

    def _note_changed(self, rows: NDArray[np.int32]) -> None:
        if self._changed is None:
            return
        self._changed.append(rows.copy())
        if len(self._changed) > MOST_NOTES:
            self._changed = [np.unique(np.concatenate(self._changed))]

    def take_changed(self) -> Rows | None:
        """Return the resource rows whose allocations changed since the last call, None if all may have."""
        changed, self._changed = self._changed, []
        return None if changed is None else np.unique(np.concatenate([np.empty(0, np.int32), *changed])).astype(np.intp)

    def _sort(self) -> None:
        """Drop the holes and sort everything by (row, start), one column at a time to spare memory."""
        kept = np.flatnonzero(self.ends[: self.end] != GONE)
        # The old order is nearly the new one, which makes the stable sort fast.
        order = kept[np.argsort(row_start_keys(self.rows[kept], self.starts[kept]), kind="stable")]
        del kept
        for name in _COLUMNS:
            setattr(self, name, getattr(self, name)[order])
        self.sorted = self.flushed = self.end = order.size
        self._holes = 0
        self._by_id = np.argsort(self.ids).astype(np.int32)
        self._soon_until = GONE
        self._runs = None

    def overdue(self, now: int) -> Rows:
        """Return the positions of allocations that have ended by `now` but still take their resources: unreleased."""
        if now > self._soon_until or self._soon_until == GONE:
            self._soon_until = now + SOON
            ends = self.ends[: self.end]
            near = (ends <= self._soon_until) & (ends != GONE) & ~self.released[: self.end]
            self._soon = np.flatnonzero(near)
        ends = self.ends[self._soon]
        late: Rows = self._soon[(ends <= now) & (ends != GONE)]
        return late

    def forget_before(self, moment: int, *, unless_few: bool = False) -> None:
        """Drop the released allocations that ended at `moment` or earlier; with `unless_few`, only if they are many."""
        self.flush()
        stale = self.released[: self.end] & (self.ends[: self.end] <= moment) & (self.ends[: self.end] != GONE)
        count = int(np.count_nonzero(stale))
        if unless_few and (self._holes + count) * STALE_SHARE <= self.end:
            return
        self.ends[: self.end][stale] = GONE
        self._holes += count
        if self._holes:
            self._sort()

    def touching(self, start: int, end: int) -> Mask:
        """Return the mask of the allocations with `starts < end` and `ends > start`, shape (flushed,)."""
        mask: Mask = self.starts[: self.flushed] < end
        mask &= self.ends[: self.flushed] > start
        return mask

    def rows_of(self, chosen: Mask, count: int) -> Mask:
        """Return the mask of the resource rows that have at least one of the chosen allocations, shape (count,)."""
        rows = np.zeros(count, np.bool_)
        rows[self._sorted_runs().touched(chosen[: self.sorted])] = True
        rows[self.rows[self.sorted : self.flushed][chosen[self.sorted :]]] = True
        return rows

    def positions(self, rows: Mask) -> Rows:
        """Return the positions of all allocations of these resource rows, ascending; best for few rows."""
        tail = np.flatnonzero(rows[self.rows[self.sorted : self.flushed]]) + self.sorted
        return np.concatenate([self._sorted_runs().places(np.flatnonzero(rows)), tail])

    def _sorted_runs(self) -> Runs:
        if self._runs is None:
            self._runs = Runs(self.rows[: self.sorted])
        return self._runs

    def held(self, positions: Rows) -> Held:
        """Return the allocations at these positions, which are `in_order`; they end with their window."""
        return Held(
            self.rows[positions].astype(np.intp),
            self.starts[positions],
            self.ends[positions],
            self.slots[positions].astype(np.int64),
            self.demands[positions],
        )

    def in_order(self, positions: Rows) -> Rows:
        """Return these ascending positions in the order of (resource row, start)."""
        if not positions.size or positions[-1] < self.sorted:
            return positions
        return positions[np.argsort(row_start_keys(self.rows[positions], self.starts[positions]), kind="stable")]

    def owned_by(self, owners: Sequence[tuple[int, int]]) -> Rows:
        """Return the positions of the allocations of these reservations, given by their `owner_keys`."""
        found = [np.empty(0, np.intp)]
        for key, rest in owners:
            mine = np.flatnonzero(self.owners[: self.flushed] == np.uint64(key))
            found.append(mine[self.owners_rest[mine] == np.uint64(rest)])
        return np.concatenate(found)
