"""Those who lend what is left of a lease when their work is done; people of another project claim it."""

from __future__ import annotations

import random
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Final

from sqlalchemy import bindparam, func, select

from bench.simulation.endings import AS_PROMISED
from bench.simulation.plan import CLAIM, Wish
from bench.simulation.site import SLOWEST_DELETION, VERSION_1_3
from leasehold.db.tables import allocations
from leasehold.model.resource import HOST
from leasehold.model.states import LeaseStatus

if TYPE_CHECKING:
    from datetime import datetime

    from bench.simulation.people import Held, People
    from bench.simulation.site import Site

WORTH: Final = timedelta(minutes=30)
"""For less nobody lends."""
NOTICE: Final = timedelta(minutes=2)
EMPTY_AFTER: Final = SLOWEST_DELETION + timedelta(minutes=1)
OFFERED: Final = "offered to others"
NOT_OFFERED: Final = "could not be offered"
NOT_CLAIMED: Final = "could not be claimed"
_HOSTS = (
    select(func.count())
    .select_from(allocations)
    .where(allocations.c.reservation_id == bindparam("part"), allocations.c.left_at.is_(None))
)


@dataclass
class Lenders:
    """Of those who would keep hosts that they do not use, a share of `lending` lends them, chosen by the seed."""

    site: Site
    people: People
    seed: int
    lending: float

    def started(self, held: Held, done: datetime) -> None:
        """Plan to lend what is left when the work is done, if its owner neither ends the lease nor needs it then."""
        wish = held.wish
        whole = wish.reservation["resource_type"] == HOST and not wish.gives_back and len(held.parts) == 1
        chosen = random.Random(f"lends-{self.seed}-{wish.job}").random() < self.lending
        moment = None if wish.ending.ahead else wish.ending.when(held)
        ends_itself = moment is not None and moment < done + EMPTY_AFTER
        if whole and chosen and not ends_itself and done + EMPTY_AFTER + WORTH < held.end:
            self.site.agenda.at(done, partial(self._clear, held))

    def _clear(self, held: Held) -> None:
        """Delete the servers of a lease."""
        servers = self.site.world.cloud.servers
        for each in servers.find(f"job-{held.wish.job}"):
            servers.delete(each.id)
        self.site.agenda.at(self.site.now() + EMPTY_AFTER, partial(self._offer, held))

    def _offer(self, held: Held) -> None:
        """Publish all hosts of a lease, if it still is there, and let somebody claim them at once."""
        lease = self.people.send(held.wish, "GET", f"/leases/{held.id}")
        if lease.status_code != 200 or lease.json["lease"]["status"] != LeaseStatus.ACTIVE:
            return
        with self.site.world.service.db.reading() as connection:
            hosts = connection.execute(_HOSTS, {"part": held.parts[0]}).scalar_one()
        body = {"name": f"rest of job-{held.wish.job}", "amount": hosts, "notice_seconds": NOTICE.seconds}
        path = f"/leases/{held.id}/published-offers"
        answer = self.people.send(held.wish, "POST", path, body, VERSION_1_3)
        # What outlives its lease, or may be released as not used, cannot be lent, and nothing ends in this minute.
        self.site.expect(answer, 201, 400, 409)
        self.people.answers[CLAIM, OFFERED if answer.status_code == 201 else NOT_OFFERED] += 1
        if answer.status_code == 201:
            offer = answer.json["published_offer"]
            self._claim(held, offer["id"], offer["left"])

    def _claim(self, held: Held, offer: str, amount: int) -> None:
        rest = int((held.end - self.site.now()).total_seconds())
        wish = Wish(
            job=held.wish.job,
            user=held.wish.user + 1,
            way=CLAIM,
            moment=0,
            length=rest,
            ran=rest,
            reservation=held.wish.reservation,
            ending=AS_PROMISED,
        )
        body = {"name": f"rest-{held.wish.job}", "amount": amount}
        answer = self.people.send(wish, "POST", f"/published-offers/{offer}/claims", body, VERSION_1_3)
        self.site.expect(answer, 201, 409)
        if answer.status_code == 201:
            self.people.take(wish, answer.json["lease"])
        else:
            self.people.answers[CLAIM, NOT_CLAIMED] += 1
