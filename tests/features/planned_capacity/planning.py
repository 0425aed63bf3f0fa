"""Shortcuts for tests of planned capacity; dates are hours after the start of the world."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from leasehold.features.planned_capacity.increase import arrive, plan_increase
from leasehold.features.planned_capacity.model import Amendment, DecreaseDraft, IncreaseDraft, ReserveDraft
from leasehold.features.planned_capacity.use import (
    amend_change,
    delete_change,
    get_change,
    keep_up,
    make_decrease,
    make_reserve,
)
from leasehold.leasing.maintenance.model import OnConflict
from tests.factory import OPERATOR

if TYPE_CHECKING:
    from leasehold.features.planned_capacity.model import ChangeNow
    from tests.factory import World

SIZE = {"VCPU": 8, "MEMORY_MB": 32768, "DISK_GB": 200}


def increase(
    world: World, *names: str, start: float, end: float | None = None, promise: bool = True, **more: Any
) -> str:
    until = None if end is None else world.hour(end)
    size = {**SIZE, **more.pop("size", {})}
    draft = IncreaseDraft("nodes of March", world.hour(start), until, promise, names, size, **more)
    return plan_increase(world.service, OPERATOR, draft)


def decrease(
    world: World, *labels: str, start: float, end: float | None = None, on_conflict: OnConflict = OnConflict.REFUSE
) -> str:
    ids = [world.host(label).id for label in labels]
    until = None if end is None else world.hour(end)
    return make_decrease(world.service, OPERATOR, DecreaseDraft("old", world.hour(start), until, ids, on_conflict))


def reserve(
    world: World,
    amount: int | None = None,
    percent: int | None = None,
    where: str = "",
    start: float = 0,
    end: float | None = None,
) -> str:
    until = None if end is None else world.hour(end)
    return make_reserve(
        world.service, OPERATOR, ReserveDraft("spare", world.hour(start), until, where, amount, percent)
    )


def put_off(world: World, ident: str, start: float) -> None:
    amend_change(world.service, ident, Amendment(start=world.hour(start)))


def promise(world: World, ident: str, *, promised: bool) -> None:
    amend_change(world.service, ident, Amendment(promise=promised))


def resize(world: World, ident: str, amount: int | None = None, percent: int | None = None) -> None:
    amend_change(world.service, ident, Amendment(amount=amount, percent=percent))


def arrived(world: World, ident: str, **names: str) -> None:
    arrive(world.service, ident, {name.replace("_", "-"): real for name, real in names.items()})


def remove(world: World, ident: str, *, force: bool = False) -> None:
    delete_change(world.service, ident, OnConflict.FORCE if force else OnConflict.REFUSE)


def one(world: World, ident: str) -> ChangeNow:
    return get_change(world.service, ident)


def round_(world: World) -> None:
    keep_up(world.service)
