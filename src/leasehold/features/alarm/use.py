"""Capacity alarms: who makes them, and the checks that find each crossing once (feature D6, decision 0048)."""

from __future__ import annotations

import logging
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Any, Final
from uuid import uuid4

from leasehold.db.resources.property import private_keys
from leasehold.features.alarm import store as rows
from leasehold.features.alarm.model import Alarm, Count, TooManyAlarmsError, crossing
from leasehold.features.alarm.options import AlarmSettings
from leasehold.leasing.deciding.calendars import Calendars
from leasehold.leasing.deciding.decide import Asked, allocate
from leasehold.leasing.owned import OwnedItems
from leasehold.leasing.requests import Read, conditions_of, read_requests
from leasehold.leasing.room.counter_offer import most_available
from leasehold.leasing.sight import closed_names
from leasehold.model.budget import Budget
from leasehold.model.caller import EVERYTHING
from leasehold.model.errors import LeaseholdError, TakesTooLongError
from leasehold.model.windows import Window, from_seconds, to_seconds

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from datetime import datetime

    from sqlalchemy import Connection

    from leasehold.calendar.snapshot import Snapshot
    from leasehold.features.alarm.model import AlarmDraft
    from leasehold.leasing.deciding.decide import Terms
    from leasehold.leasing.service import Service
    from leasehold.model.caller import Caller, Sight
    from leasehold.model.event_log import AlarmNews
    from leasehold.resource_types.kind import Kind
    from leasehold.resource_types.registry import ResourceTypes

log = logging.getLogger(__name__)

PLACE: Final = "reservation"
"""The path of the reservation in the client's request."""
PAGE: Final = 100
"""Alarms that are counted on one state of the pools."""
MOST: Final = 10_000
"""Alarms that one round looks at; those that were not checked for the longest time come first."""


def _most(service: Service) -> int:
    """Return how many alarms a project may have."""
    settings = service.settings.of(AlarmSettings)
    return settings.alarms if settings.alarm_seconds else 0


ALARMS = OwnedItems(rows.ALARMS, "alarm_id", _most, TooManyAlarmsError)


def make_alarm(service: Service, caller: Caller, draft: AlarmDraft, sight: Sight = EVERYTHING) -> Alarm:
    """Write an alarm and return it; `sight` says what the caller may ask about hosts.

    Raises what a lease with this reservation would be refused with, except that there is not enough, and
    TooManyAlarmsError.
    """
    with service.db.reading() as connection:
        ALARMS.check_room(service, connection, caller.project_id)
    understand = partial(_read, service.types, draft.below)
    reading = read_requests(service, caller, sight, [draft.reservation], understand, lambda _: PLACE)
    (part,) = reading.parts
    kind = part.type.kind
    asked = Asked(kind, part.request, place=PLACE, hidden=reading.hidden)

    def try_out(snapshots: Mapping[str, Snapshot], now: datetime) -> None:
        """Raise the errors that only the names of the properties show."""
        allocate(asked, snapshots[kind.pool].for_project(caller.project_id), _terms(service, draft.duration, now))

    service.look([kind.pool], try_out, conditions_of([(kind, part.request)]))
    new = Alarm(
        id=str(uuid4()),
        project_id=caller.project_id,
        user_id=caller.user_id,
        name=draft.name,
        reservation={"resource_type": part.type.name, **_uncounted(kind, draft.reservation)},
        request=part.stored,
        below=draft.below,
        duration=draft.duration,
        created_at=service.now(),
        sees_private=sight.private,
    )
    return ALARMS.add(service, new)


def _read(types: ResourceTypes, below: int, raw: Mapping[str, Any]) -> Read:
    """Read a reservation; where it does not say how many it asks for, it is read as asking for `below`."""
    found = types.offered(raw["resource_type"])
    counts = found.kind.counts & found.kind.schema.model_fields.keys()
    filled = {} if counts & raw.keys() else dict.fromkeys(counts, below)
    return Read(found, found.kind.parse(found.kind.asked({**raw, **filled})))


def _uncounted(kind: Kind[Any], raw: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in kind.asked(raw).items() if name not in kind.counts}


# ---------------------------------------------------------------- checks


@dataclass(slots=True)
class AlarmWatch:
    """Checks all alarms, on calendars of its own: a decision never waits for it, and it locks no pool."""

    service: Service
    calendars: Calendars = field(default_factory=Calendars)

    def needed(self) -> bool:
        """Say whether there are any alarms."""
        with self.service.db.reading() as connection:
            return bool(rows.alarms_to_check(connection, 1))

    def forget(self) -> None:
        """Give the calendars up until the next round."""
        self.calendars = Calendars()

    def check(self) -> int:
        """Check the alarms once, and return how many crossings were told.

        Ends after `[manager] alarm_seconds`; the alarms that are left are the first of the next round. An alarm that
        cannot be counted does not stop the others.
        """
        budget = Budget(self.service.settings.of(AlarmSettings).alarm_seconds, self.service.steady)
        with self.service.db.reading() as connection:
            ids = rows.alarms_to_check(connection, MOST)
        pages = (ids[start : start + PAGE] for start in range(0, len(ids), PAGE))
        return sum(self._check_page(page, budget) for page in pages if not budget.spent)

    def _check_page(self, ids: Sequence[str], budget: Budget) -> int:
        service = self.service
        with service.db.reading() as connection:
            # Before the pools: what another manager has written since is from a later state than the one read here,
            # and the compare-and-swap then refuses what is counted on an older one.
            found = {each.id: each for each in rows.find_alarms(connection, ids)}
            page = [found[ident] for ident in ids if ident in found]
            known = [service.types.find(name) for name in {each.resource_type for each in page}]
            kinds = [each.kind for each in known if each is not None]
            private = private_keys(connection, {kind.resources for kind in kinds})
        pools = {kind.pool for kind in kinds}
        work = partial(self._counted, page, private, budget)
        checked = self.calendars.look(service.db, service.now, pools, work)
        crossings = [(before, after, news) for before, after in checked if (news := crossing(before, after))]
        told = {before.id for before, _, _ in crossings}
        service.db.transact(partial(_note, [pair for pair in checked if pair[0].id not in told]))
        return sum(service.db.transact(partial(_tell, *each)) for each in crossings)

    def _counted(
        self,
        page: Sequence[Alarm],
        private: Collection[tuple[str, str]],
        budget: Budget,
        snapshots: Mapping[str, Snapshot],
        now: datetime,
    ) -> list[tuple[Alarm, Alarm]]:
        """Return the alarms before and after the check, those that the budget is enough for."""
        done = []
        for alarm in page:
            if budget.spent:
                break
            closed = () if alarm.sees_private else private
            done.append((alarm, alarm.checked(_count(self.service, alarm, closed, snapshots, now), now)))
        return done


def _terms(service: Service, duration: int, now: datetime) -> Terms:
    """Return the terms of a lease that begins now and lasts so many seconds."""
    begin, length = from_seconds(to_seconds(now)), timedelta(seconds=duration)
    return service.terms(Window(begin, begin + length), length)


def _count(
    service: Service,
    alarm: Alarm,
    private: Collection[tuple[str, str]],
    snapshots: Mapping[str, Snapshot],
    now: datetime,
) -> Count:
    """Return how much a new lease could get; what its type cannot say is not known, and has a reason."""
    found = service.types.find(alarm.resource_type)
    if found is None:
        return Count(None, f"The plugin of {alarm.resource_type} cannot be used. Tell an operator.")
    try:
        asked = Asked(found.kind, found.kind.load(alarm.request), place=PLACE)
        if closed := sorted(closed_names(private, found.kind, asked.request)):
            return Count(None, f"${closed[0]} cannot be asked for any more. Make a new alarm without it.")
        view = snapshots[found.kind.pool].for_project(alarm.project_id)
        return Count(most_available(asked, view, _terms(service, alarm.duration, now)))
    except TakesTooLongError:
        return Count(None, "The count takes too long. Ask for simpler properties, in a new alarm.")
    except LeaseholdError as error:
        # No amount would be granted, as after the last host with a property is gone.
        return Count(0, str(error))
    except Exception:
        log.exception("A bug in %s: what alarm %s asks for cannot be counted", alarm.resource_type, alarm.id)
        return Count(None, f"The plugin of {alarm.resource_type} has failed. Tell an operator.")


def _note(checked: Sequence[tuple[Alarm, Alarm]], connection: Connection) -> None:
    """Write what checks have found that are no crossings."""
    same: list[Alarm] = []
    for before, after in checked:
        if (before.low, before.available, before.reason) == (after.low, after.available, after.reason):
            same.append(after)
        else:
            rows.save_check(connection, before, after)
    if same and same[0].checked_at is not None:
        rows.mark_checked(connection, [each.id for each in same], same[0].checked_at)


def _tell(before: Alarm, after: Alarm, news: AlarmNews, connection: Connection) -> bool:
    """Write a crossing with its event, unless another manager was faster."""
    if after.checked_at is None or not rows.save_check(connection, before, after):
        return False
    rows.put_event(connection, news, after, after.checked_at)
    return True
