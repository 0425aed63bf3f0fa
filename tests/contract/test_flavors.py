from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from leasehold.cloud.ports import CloudPermanentError, CloudTransientError, Flavor
from tests.contract.lab import private_flavor, unique

if TYPE_CHECKING:
    from leasehold.cloud.ports import Cloud
    from tests.contract.lab import Lab


def test_ensure_creates_exactly_what_was_asked(cloud: Cloud) -> None:
    name = unique("flavor")
    wanted = Flavor(
        name, f"f:{name}", 2, 1024, 10, ephemeral_gb=3, swap_mb=256, extra_specs={"hw:cpu_policy": "shared"}
    )
    for _ in range(2):
        cloud.flavors.ensure(wanted)
        assert cloud.flavors.get(name) == wanted
    assert wanted in cloud.flavors.list()


def test_a_different_flavor_of_the_same_id_is_replaced(lab: Lab) -> None:
    flavors, name = lab.cloud.flavors, lab.new_flavor()
    bigger = private_flavor(name, vcpus=2, extra_specs={"other": "yes"})
    flavors.ensure(bigger)
    flavors.grant(name, lab.projects[0])
    assert flavors.get(name) == replace(bigger, projects=frozenset({lab.projects[0]}))


def test_access_is_given_and_taken_any_number_of_times_and_is_no_difference(lab: Lab) -> None:
    flavors, name, (first, second) = lab.cloud.flavors, lab.new_flavor(), lab.projects
    for project in (first, first, second):
        flavors.grant(name, project)
    assert lab.flavor(name).projects == {first, second}
    flavors.ensure(private_flavor(name))
    assert lab.flavor(name).projects == {first, second}
    for _ in range(2):
        flavors.revoke(name, first)
    assert lab.flavor(name).projects == {second}


def test_two_flavors_cannot_have_one_name(cloud: Cloud) -> None:
    one = private_flavor(unique("flavor"))
    cloud.flavors.ensure(one)
    with pytest.raises(CloudTransientError, match=one.name):
        cloud.flavors.ensure(replace(one, id=unique("flavor")))


def test_access_to_an_unknown_or_public_flavor(lab: Lab) -> None:
    with pytest.raises(CloudPermanentError):
        lab.cloud.flavors.grant(unique("flavor"), lab.projects[0])
    with pytest.raises(CloudPermanentError):
        lab.cloud.flavors.grant(lab.flavor_id, lab.projects[0])
    lab.cloud.flavors.revoke(unique("flavor"), lab.projects[0])


def test_delete_takes_the_access_list_along(lab: Lab) -> None:
    flavors, name = lab.cloud.flavors, lab.new_flavor()
    flavors.grant(name, lab.projects[0])
    for _ in range(2):
        flavors.delete(name)
    assert flavors.get(name) is None
    flavors.ensure(private_flavor(name))
    assert lab.flavor(name).projects == frozenset()


@pytest.mark.parametrize("name", ["no-such-flavor", "detail", ".", "..", "a/b", "a?b=c", "%2e%2e", "ä"])
def test_a_name_that_means_something_in_a_url_is_only_a_name(cloud: Cloud, name: str) -> None:
    assert cloud.flavors.get(name) is None
