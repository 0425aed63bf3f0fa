"""The timeline, from 1.3 on: in columns, in seconds after its beginning."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from leasehold.api.dates import to_iso
from leasehold.features.timeline.model import BarKind, RowState
from leasehold.model.windows import to_seconds

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from leasehold.features.timeline.bodies import BarLeasesAnswer, BarsAnswer, CodedAnswer, RowsAnswer, TimelineAnswer
    from leasehold.features.timeline.model import Bar, ShownLease, Timeline, TimelineRow
    from leasehold.features.timeline.rows import Eyes

NONE = -1
STATES = tuple(RowState)
KINDS = tuple(BarKind)


def show_timeline(found: Timeline, eyes: Eyes) -> TimelineAnswer:
    """Return the timeline as these eyes may see it."""
    begin = to_seconds(found.window.start)
    distinct = dict.fromkeys(bar.amount for bar in found.bars if bar.amount is not None)
    amounts = {amount: place for place, amount in enumerate(distinct)}
    return {
        "from": found.window.start.isoformat(),
        "to": found.window.end.isoformat(),
        "now": found.now.isoformat(),
        "as_of": to_iso(found.as_of),
        "cursor": str(found.cursor),
        "types": [
            {
                "resource_type": each.name,
                "identified": each.identified,
                "cleaning_seconds": each.cleaning,
                "lead_seconds": each.lead,
            }
            for each in found.types
        ],
        "states": list(STATES),
        "kinds": list(KINDS),
        "rows": _rows(found.rows),
        "bars": _bars(found.bars, amounts, begin),
        "substitutes": [place for place, bar in enumerate(found.bars) if bar.substitute],
        "amounts": _amounts(amounts),
        "leases": _leases(found.leases, eyes, begin),
        "unplaced": {
            "lease": [place for place, _ in found.unplaced],
            "resource_type": [each.resource_type for _, each in found.unplaced],
            "amount": [each.amount for _, each in found.unplaced],
        },
        "next": found.next,
    }


def _rows(rows: Sequence[TimelineRow]) -> RowsAnswer:
    names = sorted({name for row in rows for name in row.values})
    classes = sorted({name for row in rows for name in row.capacity})
    return {
        "id": [row.id for row in rows],
        "name": [row.name for row in rows],
        "type": [row.type for row in rows],
        "state": [NONE if row.state is None else STATES.index(row.state) for row in rows],
        "capacity": {name: [row.capacity.get(name) for row in rows] for name in classes},
        "properties": {name: _coded([row.values.get(name) for row in rows]) for name in names},
        "reason": _coded([row.reason for row in rows]),
    }


def _coded(values: Iterable[Any]) -> CodedAnswer:
    """Return a column as its distinct values, in the order in which they come, and the place of each."""
    places: dict[Any, int] = {}
    distinct: list[Any] = []
    index: list[int] = []
    for value in values:
        if value is None:
            index.append(NONE)
            continue
        # True is 1 to Python.
        key = (type(value), value) if isinstance(value, str | int | float) else json.dumps(value, sort_keys=True)
        if key not in places:
            places[key] = len(distinct)
            distinct.append(value)
        index.append(places[key])
    return {"values": distinct, "index": index}


def _bars(bars: Sequence[Bar], amounts: Mapping[Any, int], begin: int) -> BarsAnswer:
    kinds = {kind: place for place, kind in enumerate(KINDS)}
    return {
        "row": [bar.row for bar in bars],
        "start": [bar.start - begin for bar in bars],
        "end": [NONE if bar.end is None else bar.end - begin for bar in bars],
        "kind": [kinds[bar.kind] for bar in bars],
        "lease": [NONE if bar.lease is None else bar.lease for bar in bars],
        "amount": [NONE if bar.amount is None else amounts[bar.amount] for bar in bars],
    }


def _amounts(amounts: Iterable[tuple[tuple[str, int], ...]]) -> dict[str, list[int]]:
    found = [dict(each) for each in amounts]
    return {name: [each.get(name, 0) for each in found] for name in sorted({name for each in found for name in each})}


def _leases(leases: Sequence[ShownLease], eyes: Eyes, begin: int) -> BarLeasesAnswer:
    def seconds(moment: int | None) -> int | None:
        return None if moment is None else moment - begin

    return {
        "id": [each.id for each in leases],
        "name": [each.name for each in leases],
        "status": [None if each.deleted else each.status for each in leases],
        "start": [seconds(each.start) for each in leases],
        "end": [seconds(each.end) for each in leases],
        "whose": [eyes.whose(each) for each in leases],
        "project": [each.project_id if eyes.everything else None for each in leases],
        "movable": [seconds(each.movable) for each in leases],
        "degraded": [each.degraded for each in leases],
        "at_risk": [each.at_risk for each in leases],
    }
