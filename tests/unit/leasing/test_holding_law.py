"""The law of what a lease shows (feature J7) on random histories: it equals the database, and tells members no name."""

from __future__ import annotations

import json
import shutil
import tempfile
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leasehold.api.versions import V1_3
from leasehold.api.views.holding import show_holdings
from leasehold.leasing.reading.holding import list_holdings
from leasehold.leasing.reading.queries import each_lease
from leasehold.manager.monitor import check_once
from leasehold.model.caller import EVERYTHING, Sight
from leasehold.model.errors import LeaseholdError
from tests.factory import ALT, DEMO, Clock, flavors, floating_ips, hosts, instances, open_service, run_for, run_manager
from tests.harness.tables import read_tables

if TYPE_CHECKING:
    from leasehold.model.lease import Lease
    from tests.factory import World

pytestmark = pytest.mark.slow

MEMBER = Sight(hosts=False, private=False)
HOSTS = ("cmp-01", "cmp-02", "cmp-06", "cmp-07", "gpu-03")
WHICH = st.integers(0, 9)
STEPS = st.tuples(
    st.sampled_from(
        ["make", "make", "boot", "fail", "fail", "recover", "swap", "grow", "shorten", "delete", "maintain", "wait"]
    ),
    WHICH,
)


class History:
    """Leases of every kind, and what happens to them; what is refused changes nothing and is passed over."""

    def __init__(self, world: World) -> None:
        self.world = world

    def lease(self, which: int) -> Lease | None:
        there = list(each_lease(self.world.service, None))
        return self.world.get(there[which % len(there)]) if there else None

    def do(self, step: str, which: int) -> None:
        with suppress(LeaseholdError):
            getattr(self, step)(which)
        if which % 3:
            run_manager(self.world)

    def make(self, which: int) -> None:
        kinds: list[list[dict[str, Any]]] = [
            [hosts(1, 2)],
            [instances(2, affinity=False), floating_ips(1)],
            [hosts(1), instances(3)],
            [flavors(2)],
            [floating_ips(2), hosts(2)],
        ]
        past = (self.world.now() - self.world.hour(0)) / timedelta(hours=1)
        start = past + which % 3 / 2
        self.world.lease(*kinds[which % 5], start=start, end=start + 2, caller=(DEMO, ALT)[which % 2])

    def boot(self, which: int) -> None:
        lease = self.lease(which)
        if lease is not None and lease.status == "ACTIVE" and lease.reservations[0].resource_type == "physical:host":
            hint = [lease.reservations[0].id]
            self.world.cloud.servers.boot("server", lease.project_id, "m1.small", hint)

    def fail(self, which: int) -> None:
        self.world.cloud.hypervisors.fail(HOSTS[which % 5])
        check_once(self.world.service)

    def recover(self, which: int) -> None:
        self.world.cloud.hypervisors.recover(HOSTS[which % 5])
        check_once(self.world.service)

    def swap(self, which: int) -> None:
        lease, name = self.lease(which), HOSTS[which % 5]
        if lease is not None:
            there = [each.id for each in self.world.cloud.servers.on_host(name)] if lease.status == "ACTIVE" else []
            self.world.swap(lease, None, *there, host=name)

    def grow(self, which: int) -> None:
        lease = self.lease(which)
        if lease is not None and lease.reservations[0].resource_type == "physical:host":
            self.world.amend(lease, hosts(1, 1 + which % 4))

    def shorten(self, which: int) -> None:
        lease = self.lease(which)
        if lease is not None:
            self.world.amend(lease, end=(lease.window.end - self.world.hour(0)) / timedelta(hours=1) - which / 4)

    def delete(self, which: int) -> None:
        lease = self.lease(which)
        if lease is not None:
            self.world.delete(lease)

    def maintain(self, which: int) -> None:
        past = (self.world.now() - self.world.hour(0)) / timedelta(hours=1)
        self.world.maintain(HOSTS[which % 5], start=past + which % 2, end=past + 3, on_conflict="warn")

    def wait(self, which: int) -> None:
        run_for(self.world, minutes=(1, 15, 40)[which % 3])

    def check(self) -> int:
        """Compare what every lease shows with the rows of the database; return how many resources were shown."""
        tables, count = read_tables(self.world.engine), 0
        for lease in map(self.world.get, list(each_lease(self.world.service, None))):
            shown = show_holdings(lease, list_holdings(self.world.service, lease, EVERYTHING), V1_3)
            rows = [row for row in tables["allocations"] if row.lease_id == lease.id and row.released_at is None]
            resources = {row.id: tables.resource(row.resource_number) for row in rows}
            assert {each["reservation_id"]: [plain(one) for one in each["resources"]] for each in shown} == {
                part.id: [
                    (
                        resources[row.id].id,
                        resources[row.id].reference.rpartition("/")[2],
                        resources[row.id].type,
                        resources[row.id].health or "healthy",
                        row.left_at is not None,
                        bool(row.substitute),
                        row.slots,
                        None if row.demand is None else dict(row.demand),
                        *(self.wire(max(row.starts_at, each)) for each in (row.starts_at, row.ends_at)),
                    )
                    for row in sorted(rows, key=lambda row: int(row.id))
                    if row.reservation_id == part.id
                ]
                for part in lease.reservations
            }
            said = json.dumps(show_holdings(lease, list_holdings(self.world.service, lease, MEMBER), V1_3))
            assert not [name for name in HOSTS if name in said]
            count += len(rows)
        return count

    def wire(self, seconds: int) -> str:
        moment = self.world.now().fromtimestamp(seconds, tz=self.world.now().tzinfo)
        return moment.strftime("%Y-%m-%dT%H:%M:%S.%f")


def plain(shown: Any) -> tuple[Any, ...]:
    """Return what the database says of a resource too."""
    names = ("id", "name", "resource_type", "health", "left", "substitute", "slots", "demand", "start_date", "end_date")
    return tuple(shown[name] for name in names)


@settings(max_examples=40)
@given(steps=st.lists(STEPS, min_size=4, max_size=20))
def test_what_is_shown_is_what_the_database_has_not_released(enrolled: Path, steps: list[tuple[str, int]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        shutil.copyfile(enrolled, Path(folder) / "leasehold.db")
        world = open_service(f"sqlite:///{folder}/leasehold.db", clock=Clock())
        history, shown = History(world), 0
        for step, which in [("make", 0), ("make", 1), *steps]:
            world.clock.advance(seconds=1)
            history.do(step, which)
            shown += history.check()
        assert shown
        world.engine.dispose()
