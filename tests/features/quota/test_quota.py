"""Leases that their project's own quota does not let it use are warned of, or refused."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leasehold.cloud.ports import CloudTransientError, Quota
from leasehold.conf import ConfigurationError
from leasehold.enforcement.base import load_filters
from leasehold.features.quota.enforcement import BeyondQuotaError, Compared
from leasehold.features.quota.options import Beyond, QuotaSettings
from leasehold.features.registry import enforcing
from leasehold.model.errors import AmendmentDeniedError, NotKnownNowError
from leasehold.model.use import Use
from tests.api.conftest import open_service
from tests.factory import TYPES, World, flavors, floating_ips, hosts, instances
from tests.refused import refused

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from leasehold.leasing.service import Service
    from leasehold.model.lease import Lease
    from leasehold.resource_types.registry import ResourceTypes
    from tests.api.conftest import Client, Clock

NAMES = ("instances", "vcpus", "memory_mb", "floating_ips")
PLENTY = Quota(10, 20, 51200, 50)
DATES = {"start_date": "2031-05-02 10:00", "end_date": "2031-05-02 12:00"}


@dataclass
class Quotas:
    """Implements `ports.Quotas` in memory."""

    quota: Quota = PLENTY
    away: bool = False
    asked: list[str] = field(default_factory=list)

    def of(self, project_id: str) -> Quota:
        self.asked.append(project_id)
        if self.away:
            raise CloudTransientError("nova quotas.of: the service cannot be reached")
        return self.quota


def coupled(service: Service, quotas: Quotas, beyond: Beyond) -> Service:
    """Return the service as its configuration composes it on a cloud with these quotas."""
    cloud, settings = replace(service.cloud, quotas=quotas), service.settings.having(QuotaSettings(beyond))
    return replace(
        service,
        cloud=cloud,
        settings=settings,
        enforcement=load_filters(settings.leases, enforcing(settings, cloud)),
    )


def refusing(world: World, quotas: Quotas) -> World:
    return replace(world, service=coupled(world.service, quotas, Beyond.REFUSE))


@pytest.mark.parametrize(
    ("quota", "reservation", "what", "asked"),
    [
        (replace(PLENTY, instances=1), hosts(1, 2), "instances", 2),
        (replace(PLENTY, instances=1), instances(2), "instances", 2),
        (replace(PLENTY, instances=1), flavors(2), "instances", 2),
        (replace(PLENTY, vcpus=3), instances(2, 2), "vcpus", 4),
        (replace(PLENTY, memory_mb=1000), instances(2), "memory_mb", 1024),
        (replace(PLENTY, floating_ips=1), floating_ips(2), "floating_ips", 2),
    ],
)
def test_what_could_not_be_used_is_refused_with_its_own_code(
    world: World, quota: Quota, reservation: dict[str, Any], what: str, asked: int
) -> None:
    quotas = Quotas(quota)
    coupled_world = refusing(world, quotas)
    error = refused(coupled_world, BeyondQuotaError, coupled_world.lease, reservation, start=1, end=2)
    assert (error.code, error.status, error.field) == ("leasehold.enforcement.quota", 403, "reservations")
    limit = getattr(quota, what)
    service = "Neutron" if what == "floating_ips" else "Nova"
    assert error.details == {"what": what, "limit": limit, "asked": asked, "source": service}
    assert f"quota in {service} is {limit} " in error.message
    assert f"Ask for {limit} at most" in error.message
    assert refusing(world, Quotas(replace(quota, **{what: None}))).lease(reservation, start=1, end=2)


def test_all_reservations_of_a_lease_count_together_and_other_leases_do_not(world: World) -> None:
    world = refusing(world, Quotas(replace(PLENTY, instances=2)))
    assert world.lease(hosts(2), start=1, end=2)
    assert world.lease(instances(2), start=1, end=2)
    error = refused(world, BeyondQuotaError, world.lease, hosts(), instances(2), start=1, end=2)
    assert error.details["asked"] == 3


def test_an_amendment_is_refused_only_where_it_asks_for_more(world: World) -> None:
    quotas = Quotas()
    lease = refusing(world, quotas).lease(hosts(2), start=1, end=2)
    quotas = Quotas(replace(PLENTY, instances=1))
    world = refusing(world, quotas)
    assert world.amend(lease, end=3)
    error = refused(world, AmendmentDeniedError, world.amend, lease, {"min": 3, "max": 3})
    assert error.code == "leasehold.enforcement.quota"
    quotas.away = True
    world = refusing(world, quotas)
    assert world.amend(lease, {"min": 1, "max": 1})
    refused(world, NotKnownNowError, world.amend, lease, {"min": 2, "max": 2})


@dataclass(frozen=True)
class Part:
    """What a reservation of a lease may use, and how many servers or addresses it is."""

    use: Use
    number: int


class Parts:
    """Implements `Amounts` for leases of these parts."""

    def use(self, part: Any) -> Use:
        found: Use = part.use
        return found

    def amount(self, part: Any) -> int:
        return int(part.number)

    def noun(self, _resource_type: str) -> str:
        return "things"


NUMBERS = st.integers(0, 6)
SLOTS = st.builds(
    lambda number, vcpus, memory: Part(Use(vcpus=number * vcpus, memory_mb=number * memory), number),
    *(NUMBERS, NUMBERS, st.integers(1, 4)),
)
HOSTS = NUMBERS.map(lambda number: Part(Use(hosts=number), number))
ADDRESSES = NUMBERS.map(lambda number: Part(Use(floating_ips=number), number))
LIMIT = st.none() | st.integers(0, 12)


@given(st.lists(st.one_of(SLOTS, HOSTS, ADDRESSES), max_size=4), st.builds(Quota, LIMIT, LIMIT, LIMIT, LIMIT))
def test_each_quota_that_is_exceeded_is_named_and_no_other(parts: list[Part], quota: Quota) -> None:
    lease: Any = type("Asked", (), {"kept": parts, "project_id": "demo"})
    wanted = dict.fromkeys(NAMES, 0)
    for part in parts:
        wanted["instances"] += 0 if part.use.floating_ips else part.number
        for name in NAMES[1:]:
            wanted[name] += getattr(part.use, name)
    exceeded = {name for name, amount in wanted.items() if getattr(quota, name) is not None}
    exceeded = {name for name in exceeded if wanted[name] > getattr(quota, name)}
    found = Compared(lambda _: quota).exceeded(lease, Parts())
    asked = {error.details["what"]: error.details["asked"] for error in found}
    assert asked == {name: wanted[name] for name in exceeded}


@pytest.fixture
def quotas() -> Quotas:
    return Quotas(replace(PLENTY, instances=0))


@pytest.fixture
def service(tmp_path: Path, types: ResourceTypes, clock: Clock, quotas: Quotas) -> Iterator[Service]:
    """Yield a service that warns."""
    with open_service(tmp_path, types, clock) as plain:
        yield coupled(plain, quotas, Beyond.WARN)


@pytest.mark.slow
def test_the_answer_to_a_new_an_amended_and_a_tried_lease_warns(client: Client, host: str, quotas: Quotas) -> None:
    assert host
    body = {"name": "a", "reservations": [hosts()], **DATES}
    newest, oldest = client.but(version="1.3"), client.but(version="1.2")
    tried = newest.ask("POST", "/v1/leases", {**body, "dry_run": True})
    made = newest.ask("POST", "/v1/leases", body)
    path = f"/v1/leases/{made.json['lease']['id']}"
    amended = newest.ask("PUT", path, {"end_date": "2031-05-02 11:00"})
    assert (tried.status_code, made.status_code, amended.status_code) == (200, 201, 200)
    for answer in (tried, made, amended):
        (warning,) = answer.json["warnings"]
        assert warning["code"] == "leasehold.enforcement.quota"
        assert warning["details"] == {"what": "instances", "limit": 0, "asked": 1, "source": "Nova"}
        assert "is 0 instances, so it could not use all of them" in warning["message"]
    assert "warnings" not in newest.ask("GET", path).json
    assert "warnings" not in oldest.ask("PUT", path, {"end_date": "2031-05-02 10:30"}).json
    assert quotas.asked == ["demo"]
    addresses = newest.ask("POST", "/v1/leases", {"name": "b", **DATES})
    assert (addresses.status_code, "warnings" in addresses.json) == (201, False)


@pytest.mark.slow
def test_nobody_is_warned_while_the_quota_is_not_known(client: Client, host: str, quotas: Quotas) -> None:
    assert host
    quotas.away = True
    answer = client.but(version="1.3").ask("POST", "/v1/leases", {"name": "a", "reservations": [hosts()], **DATES})
    assert (answer.status_code, "warnings" in answer.json) == (201, False)


def test_a_cloud_without_quotas_is_said_at_the_start(world: World) -> None:
    settings = world.service.settings.having(QuotaSettings(Beyond.WARN))
    with pytest.raises(ConfigurationError, match=r"\[enforcement\] beyond_quota: the sandbox has no quotas"):
        enforcing(settings, world.cloud)
    assert enforcing(world.service.settings, replace(world.cloud, quotas=Quotas())) == ()


def test_slots_are_counted_as_the_types_count_them(world: World) -> None:
    lease: Lease = world.lease(instances(3, 2), start=1, end=2)
    (error,) = Compared(lambda _: Quota(3, 5, None, None)).exceeded(lease, TYPES)
    assert error.details == {"what": "vcpus", "limit": 5, "asked": 6, "source": "Nova"}
