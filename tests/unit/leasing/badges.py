"""A site's plugin with its own pool: badges, each an aggregate in the cloud while it is leased."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel

from leasehold.db.pool import bump_pools, create_pools, lock_pools
from leasehold.db.resources.resource import insert_resource
from leasehold.model.allocation import Pick
from leasehold.model.refusal import Refusal
from leasehold.resource_types.driver import Driver, Wanted
from leasehold.resource_types.kind import Kind
from leasehold.resource_types.registry import ResourceType, ResourceTypes

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sqlalchemy import Connection

    from leasehold.cloud.ports import Cloud
    from leasehold.resource_types.driver import Convergence
    from leasehold.resource_types.kind import Search
    from tests.factory import World

BADGE = "site:badge"
POOL = "badges"


class BadgeBody(BaseModel):
    """The body of a request: the number of badges."""

    amount: int


@dataclass(frozen=True, slots=True)
class BadgeRequest:
    """The parsed `BadgeBody`."""

    amount: int


class BadgeKind(Kind[BadgeRequest]):
    """Badges, each leased as a whole."""

    name = BADGE
    pool = POOL
    noun = "badges"
    singular = "badge"
    schema = BadgeBody
    request_type = BadgeRequest

    def parse(self, raw: Mapping[str, Any]) -> BadgeRequest:
        return BadgeRequest(BadgeBody.model_validate(raw).amount)

    def allocate(self, request: BadgeRequest, search: Search[BadgeRequest]) -> Sequence[Pick] | Refusal:
        free = search.snapshot.numbers[search.snapshot.free(search.padded) & search.snapshot.eligible.bookable()]
        held = [pick.resource_number for pick in search.held]
        chosen = sorted(map(int, free), key=lambda number: (number not in held, number))[: request.amount]
        if len(chosen) < request.amount:
            return Refusal(BADGE, "badges", request.amount, len(chosen), search.window)
        return [Pick(number) for number in chosen]


class BadgeDriver(Driver[BadgeRequest]):
    """Keeps one aggregate for each allocated badge."""

    def converge(self, cloud: Cloud, job: Convergence[BadgeRequest], wanted: Wanted) -> Mapping[str, Any]:
        mine = {each.name for each in cloud.aggregates.list() if each.metadata.get("badge_of") == job.name}
        given = {f"badge {each.resource.id}" for each in job.holdings} if wanted is Wanted.ACTIVE else set()
        for name in sorted(given - mine):
            cloud.aggregates.ensure(name, None, {"badge_of": job.name})
        for name in sorted(mine - given):
            cloud.aggregates.delete(name)
        return {}


BADGES = ResourceType(BadgeKind(), BadgeDriver())


def badges(amount: int = 1) -> dict[str, Any]:
    """Return a request for badges."""
    return {"resource_type": BADGE, "amount": amount}


def given(world: World) -> set[str]:
    """Return the names of the badge aggregates in the cloud."""
    return {each.name for each in world.cloud.aggregates.list() if each.name.startswith("badge ")}


def with_badges(world: World, amount: int = 3) -> World:
    """Return the world with the plugin, its pool, and `amount` enrolled badges."""
    world.service.db.transact(lambda connection: create_pools(connection, {POOL}))

    def enrol(connection: Connection) -> None:
        generations = lock_pools(connection, {POOL})
        for number in range(amount):
            values: dict[str, Any] = {
                "id": str(number),
                "type": BADGE,
                "pool": POOL,
                "reference": str(number),
                "capacity": {},
            }
            values |= {"max_unit": {}, "attributes": {}, "traits": [], "reservable": True, "created_at": world.now()}
            insert_resource(connection, {**values, "generation": generations[POOL] + 1})
        bump_pools(connection, generations)

    world.service.db.transact(enrol)
    return with_types(world, {**world.service.types.by_name, BADGE: BADGES})


def without(world: World, *names: str) -> World:
    """Return the world with these resource types switched off."""
    return with_types(world, {name: each for name, each in world.service.types.by_name.items() if name not in names})


def with_types(world: World, by_name: Mapping[str, ResourceType]) -> World:
    return replace(world, service=replace(world.service, types=ResourceTypes(by_name)))
