"""Claims of all that is left of a provider: nothing lands there until they are released."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from leasehold.cloud.ports import CloudTransientError, Flavor, Inventory
from tests.contract.lab import custom_class, unique
from tests.processes import wait_for

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.contract.lab import Lab


@pytest.fixture
def provider(lab: Lab) -> Iterator[str]:
    name = lab.hosts()[0].hypervisor_hostname
    yield name
    lab.cloud.providers.release_claims(name)


def test_nothing_fits_on_a_claimed_host_until_it_is_released(lab: Lab, provider: str) -> None:
    reservation, providers = lab.host_reservation(), lab.cloud.providers
    tiny = Flavor(unique("flavor"), unique("tiny"), 1, 64, 1, public=True)
    lab.cloud.flavors.ensure(tiny)
    assert providers.claimed({provider}) == frozenset()
    for _ in range(2):
        assert providers.claim_rest(provider) == frozenset()
        assert providers.claimed({provider, unique("provider")}) == {provider}
        assert lab.boot(lab.projects[0], tiny.id, [reservation]).status == "ERROR"
    for _ in range(2):
        providers.release_claims(provider)
        assert providers.claimed({provider}) == frozenset()
    assert lab.boot(lab.projects[0], tiny.id, [reservation]).status == "ACTIVE"


def test_a_claim_names_the_servers_and_takes_what_they_leave(lab: Lab, provider: str) -> None:
    reservation, providers = lab.host_reservation(), lab.cloud.providers
    first, second = (lab.boot(lab.projects[0], lab.flavor_id, [reservation]) for _ in range(2))
    wait_for(lambda: providers.usages(provider).get("VCPU") == 2)
    assert providers.claim_rest(provider) == {first.id, second.id}
    lab.remove(first)
    assert providers.claim_rest(provider) == {second.id}
    assert lab.boot(lab.projects[0], lab.flavor_id, [reservation]).status == "ERROR"
    lab.remove(second)
    assert providers.claim_rest(provider) == frozenset()
    assert lab.boot(lab.projects[0], lab.flavor_id, [reservation]).status == "ERROR"
    providers.release_claims(provider)
    assert lab.boot(lab.projects[0], lab.flavor_id, [reservation]).status == "ACTIVE"


def test_a_claim_takes_all_where_one_consumer_may_have_little(lab: Lab, provider: str) -> None:
    """Whatever the units of an inventory are, what stays unclaimed fits nobody."""
    reservation, providers, name = lab.host_reservation(), lab.cloud.providers, custom_class(unique("r"))
    child = unique("blazar_host")
    providers.ensure_child(provider, child)
    providers.ensure_class(name)
    units = Inventory(total=23, reserved=1, min_unit=2, max_unit=7, step_size=2, allocation_ratio=1.5)
    providers.set_inventory(child, name, units)
    needs = {f"resources:{name}": "2"}
    flavor = Flavor(unique("flavor"), unique("two"), 1, 512, 1, public=True, extra_specs=needs)
    lab.cloud.flavors.ensure(flavor)
    assert providers.claim_rest(child) == frozenset()
    assert lab.boot(lab.projects[0], flavor.id, [reservation]).status == "ERROR"
    providers.release_claims(child)
    assert lab.boot(lab.projects[0], flavor.id, [reservation]).status == "ACTIVE"


def test_a_claimed_provider_is_in_use(lab: Lab, provider: str) -> None:
    child, name = unique("blazar_host"), custom_class(unique("r"))
    providers = lab.cloud.providers
    providers.ensure_child(provider, child)
    providers.ensure_class(name)
    providers.set_inventory(child, name, Inventory(3))
    assert providers.claim_rest(child) == frozenset()
    with pytest.raises(CloudTransientError):
        providers.remove_inventory(child, name)
    providers.release_claims(child)
    providers.remove_inventory(child, name)
    # Nothing is left to claim, so nothing is claimed.
    assert providers.claim_rest(child) == frozenset()
    assert providers.claimed({child}) == frozenset()
    providers.delete(child)


def test_claims_of_an_unknown_provider(lab: Lab) -> None:
    name = unique("provider")
    assert lab.cloud.providers.claim_rest(name) == frozenset()
    lab.cloud.providers.release_claims(name)
    assert lab.cloud.providers.claimed({name}) == frozenset()
    assert lab.cloud.providers.usages(name) == {}
    assert lab.cloud.providers.claimed(()) == frozenset()
