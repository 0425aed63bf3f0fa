"""Server groups, which only a real cloud has: each belongs to its user's project, and the service sees all of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from leasehold.cloud.openstack.rest import PAGE
from tests.contract.lab import unique

if TYPE_CHECKING:
    from tests.contract.openstack_lab import OpenStackLab

pytestmark = pytest.mark.openstack


@pytest.mark.parametrize("page", [1, 2, PAGE])
def test_groups_of_all_projects_are_listed_however_many_there_are(
    openstack_lab: OpenStackLab, page: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("leasehold.cloud.openstack.server_groups.PAGE", page)
    groups = openstack_lab.cloud.server_groups
    assert groups is not None
    before = {group.id for group in groups.list()}
    made = {
        groups.create(name, together=together, token=openstack_lab.token(project)): name
        for name, project, together in (
            (unique("together"), openstack_lab.projects[0], True),
            (unique("apart"), openstack_lab.projects[0], False),
            (unique("other"), openstack_lab.projects[1], True),
        )
    }
    try:
        found = {group.id: group for group in groups.list() if group.id not in before}
        assert {ident: group.name for ident, group in found.items()} == made
        assert not any(group.members for group in found.values())
    finally:
        for ident in made:
            groups.delete(ident)
            groups.delete(ident)
    assert {group.id for group in groups.list()} == before
