"""The people: they ask for leases, boot servers on them, change them and give them back, by the API and the cloud."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import InitVar, dataclass, field, replace
from datetime import datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from bench.simulation.lenders import Lenders
from bench.simulation.plan import CLAIM
from bench.simulation.site import VERSION, VERSION_1_3
from leasehold.model.resource import HOST
from leasehold.model.states import LeaseStatus
from leasehold.model.terms.lease_type import LeaseType

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bench.simulation.plan import Wish
    from bench.simulation.site import Site

BOOTS_AFTER: Final = timedelta(seconds=40)
GRANTED: Final = "granted at once"
KEPT: Final = "kept"
REFUSED: Final = "refused"
LATER: Final = "granted as soon as hosts are ready"
READY: Final = re.compile(r" is ready in (\d+) min")
"""What a refusal says if hosts that sleep, or that somebody has to leave first, would do."""
PATIENCE: Final = 60
"""Minutes for which those wait at most who have asked for now."""
TO_READ: Final = 5
"""Minutes that a request asks for beyond that."""


@dataclass(frozen=True, slots=True)
class Held:
    """A lease that somebody has, as it was granted or as it started; or one that waits, which is `kept`."""

    wish: Wish
    id: str
    granted: datetime
    start: datetime
    end: datetime
    parts: tuple[str, ...]
    kept: bool = False

    @staticmethod
    def written(moment: datetime) -> str:
        """Return a moment as the API reads it, in whole seconds."""
        return moment.replace(microsecond=0).isoformat()


@dataclass
class People:
    """What was asked for and what became of it: `answers` counts by way or ending and by answer.

    `busy` says of each lease that has started until when the work lasts for which it was made, if anybody came.
    `later` is how long those wait who have asked for now, and get hosts as soon as they are ready.
    """

    site: Site
    held: dict[str, Held] = field(default_factory=dict)
    answers: Counter[tuple[str, str]] = field(default_factory=Counter)
    booted: Counter[str] = field(default_factory=Counter)
    busy: dict[str, datetime] = field(default_factory=dict)
    later: list[timedelta] = field(default_factory=list)
    lenders: Lenders = field(init=False)
    lending: InitVar[float] = 0.0
    seed: InitVar[int] = 0

    def __post_init__(self, lending: float, seed: int) -> None:
        """Let a share of those who do not use what they have lend it."""
        self.lenders = Lenders(self.site, self, seed, lending)

    def ask_for(self, wish: Wish) -> None:
        """Ask for a lease, or for a series of leases, or for a lease within a window."""
        if wish.slack is None:
            self._ask_for_dates(wish)
        else:
            self._ask_within(wish, timedelta(seconds=wish.slack))

    def _ask_within(self, wish: Wish, slack: timedelta) -> None:
        earliest, length = self.site.now() + timedelta(seconds=wish.lead or 0), timedelta(seconds=wish.length)
        body = {
            "name": f"job-{wish.job}",
            "earliest": "now" if wish.lead is None else Held.written(earliest),
            "latest": Held.written(earliest + length + slack),
            "duration_seconds": wish.length,
            "reservations": [wish.reservation],
            **wish.fields,
        }
        answer = self.site.expect(self.send(wish, "POST", "/flexible-leases", body, VERSION_1_3), 201, 409)
        if answer.status_code == 201:
            self.take(wish, answer.json["flexible_lease"]["lease"])
        else:
            self.answers[wish.way, REFUSED] += 1

    def _ask_for_dates(self, wish: Wish) -> None:
        now = self.site.now()
        start = now + timedelta(seconds=wish.lead or 0)
        dates = {
            "start_date": "now" if wish.lead is None else Held.written(start),
            "end_date": Held.written(start + timedelta(seconds=wish.length)),
        }
        if wish.deadline is not None:
            dates["deadline"] = Held.written(now + timedelta(seconds=wish.deadline))
        body = {"name": f"job-{wish.job}", **dates, "reservations": [wish.reservation], **wish.fields}
        path = "/series" if wish.is_series else "/leases"
        answer = self.site.expect(self.send(wish, "POST", path, body), 201, 409)
        if answer.status_code != 201:
            self._refused(wish, body, answer.text)
        elif wish.is_series:
            self._take_series(wish, answer.json["series"])
        else:
            self.take(wish, answer.json["lease"])

    def _refused(self, wish: Wish, body: Mapping[str, Any], said: str) -> None:
        """Take what comes in some minutes instead of what is there now, if that is what the refusal says."""
        found = READY.search(said) if wish.way == LeaseType.IMMEDIATE else None
        if found is not None and int(found[1]) <= PATIENCE:
            again = {**body, "type": LeaseType.SCHEDULED.value, "ready_within_seconds": 60 * (int(found[1]) + TO_READ)}
            answer = self.site.expect(self.send(wish, "POST", "/leases", again, VERSION_1_3), 201, 409)
            if answer.status_code == 201:
                held = self.take(wish, answer.json["lease"], LATER)
                self.later.append(held.start - self.site.now())
                return
        self.answers[wish.way, REFUSED] += 1

    def _take_series(self, wish: Wish, series: Mapping[str, Any]) -> None:
        for each in series["occurrences"]:
            if each["lease_id"] is None:
                self.answers[wish.way, REFUSED] += 1
            else:
                self.take(wish, self.send(wish, "GET", f"/leases/{each['lease_id']}").json["lease"])

    def take(self, wish: Wish, lease: Mapping[str, Any], granted: str = GRANTED) -> Held:
        """Note a lease that was granted, or that waits; plan what is done about it before it starts."""
        waits = lease["status"] == LeaseStatus.IN_PROGRESS
        self.answers[wish.way, KEPT if waits else granted] += 1
        held = self._held(wish, lease, kept=waits)
        self.held[held.id] = held
        if wish.ending.ahead and not waits:
            self._plan(held)
        return held

    def _held(self, wish: Wish, lease: Mapping[str, Any], *, kept: bool) -> Held:
        start, end = (datetime.fromisoformat(f"{lease[f'{side}_date']}Z") for side in ("start", "end"))
        parts = tuple(each["id"] for each in lease["reservations"])
        return Held(wish, lease["id"], self.site.now(), start, end, parts, kept)

    def started(self, lease_id: str, start: datetime, end: datetime) -> None:
        """Boot servers on a lease that has become active, from its start on, and plan how it ends."""
        held = self.held.get(lease_id)
        if held is None:
            return
        held = replace(held, start=start, end=end)
        if held.wish.comes:
            begin = max(start, self.site.now())
            self.busy[lease_id] = begin + timedelta(seconds=held.wish.ran)
            self.site.agenda.at(begin + BOOTS_AFTER, partial(self._boot, held))
            if held.wish.way != CLAIM:
                self.lenders.started(held, self.busy[lease_id])
        if not held.wish.ending.ahead:
            self._plan(held)

    def _plan(self, held: Held) -> None:
        moment = held.wish.ending.when(held)
        if moment is not None:
            self.site.agenda.at(max(moment, self.site.now()), partial(self._act, held))

    def _act(self, held: Held) -> None:
        ending = held.wish.ending
        method, body = ("DELETE", None) if ending.body is None else ("PUT", ending.body(held))
        # A lease that nobody used has ended before anybody looks, and one that has ended can only be renamed.
        # A flexible lease may have started by now, if it was moved.
        over = (400,) if "no_show_seconds" in held.wish.reservation or held.wish.slack is not None else ()
        answer = self.send(held.wish, method, f"/leases/{held.id}", body)
        self.site.expect(answer, 200, 204, 404, 409, *over)
        self.answers[ending.name, "done" if answer.status_code < 300 else REFUSED] += 1

    def _boot(self, held: Held) -> None:
        """Boot a server on each reservation of a lease, if it is still active."""
        lease = self.send(held.wish, "GET", f"/leases/{held.id}")
        if lease.status_code != 200 or lease.json["lease"]["status"] != LeaseStatus.ACTIVE:
            return
        whole = held.wish.reservation["resource_type"] == HOST
        for part in held.parts:
            flavor, hints = ("m1.small", [part]) if whole else (part, [])
            server = self.site.world.cloud.servers.boot(f"job-{held.wish.job}", held.wish.project, flavor, hints)
            self.booted[server.status] += 1
            if held.wish.gives_back:
                self.site.agenda.at(
                    held.end + timedelta(seconds=held.wish.stay),
                    partial(self.site.world.cloud.servers.delete, server.id),
                )

    def send(self, wish: Wish, method: str, path: str, body: Any = None, version: str = VERSION) -> Any:
        """Send a request as the user of a wish."""
        roles = "admin,member,reader" if wish.gives_back else "member,reader"
        return self.site.ask((f"user-{wish.user}", wish.project, roles), method, path, body, version=version)
