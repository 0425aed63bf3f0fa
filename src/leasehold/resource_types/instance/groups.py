"""Server groups for reservations with affinity, made in the user's project (docs/decisions/0009).

Affinity does not depend on them: the placement of the slots enforces it (design §2). But clients written for Blazar
send `server_group_id` as a scheduler hint, and Nova accepts only a group of the user's own project.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from leasehold.cloud.ports import CloudError
from leasehold.resource_types.driver import mark_of
from leasehold.resource_types.slots.names import SERVER_GROUP, group_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from leasehold.cloud.ports import Cloud
    from leasehold.model.reservation import Reservation

log = logging.getLogger(__name__)

TOGETHER = "server_group_together"
"""The fact that records the affinity of a group that we made."""


def lacks_group(reservation: Reservation, affinity: bool | None) -> bool:  # noqa: FBT001 - a tri-state of the contract
    """Return whether the reservation's group, or the lack of one, does not match the requested affinity."""
    if reservation.request.get(SERVER_GROUP):
        return False
    return affinity != reservation.cloud.get(TOGETHER) or (affinity is not None and group_of(reservation) is None)


def make_group(
    cloud: Cloud,
    reservation: Reservation,
    affinity: bool | None,  # noqa: FBT001 - as above
    token: str | None,
) -> Mapping[str, Any]:
    """Make a group for the affinity in the token's project and return its facts; without either, facts of no group."""
    if affinity is None or token is None or cloud.server_groups is None:
        return {SERVER_GROUP: None, TOGETHER: None}
    group = cloud.server_groups.create(mark_of(reservation.id), together=affinity, token=token)
    return {SERVER_GROUP: group, TOGETHER: affinity}


def remove_group(cloud: Cloud, facts: Mapping[str, Any]) -> None:
    """Remove the group that these facts name, if any; a failure is only logged."""
    group = facts.get(SERVER_GROUP)
    if group is None or cloud.server_groups is None:
        return
    try:
        cloud.server_groups.delete(group)
    except CloudError as error:
        log.warning("The unused server group %s could not be removed, so delete it by hand: %s", group, error)
