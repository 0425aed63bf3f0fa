"""Server groups, so that users can name a reservation's affinity to the cloud's own scheduler (docs/decisions/0009).

The promise does not depend on them: affinity is kept by where the slots are (design §2). But clients written for Blazar
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
"""The fact that says which affinity a group of ours stands for."""


def lacks_group(reservation: Reservation, affinity: bool | None) -> bool:  # noqa: FBT001 - a tri-state of the contract
    """Say whether the group that a reservation has is not for the affinity that it asks for."""
    if reservation.request.get(SERVER_GROUP):
        return False
    return affinity != reservation.cloud.get(TOGETHER) or (affinity is not None and group_of(reservation) is None)


def make_group(
    cloud: Cloud,
    reservation: Reservation,
    affinity: bool | None,  # noqa: FBT001 - as above
    token: str | None,
) -> Mapping[str, Any]:
    """Return the facts of the group for an affinity, which is made in the project of the token; without one of none."""
    if affinity is None or token is None or cloud.server_groups is None:
        return {SERVER_GROUP: None, TOGETHER: None}
    group = cloud.server_groups.create(mark_of(reservation.id), together=affinity, token=token)
    return {SERVER_GROUP: group, TOGETHER: affinity}


def remove_group(cloud: Cloud, facts: Mapping[str, Any]) -> None:
    """Remove the group that these facts name, if any; one that cannot be removed is left with a warning."""
    group = facts.get(SERVER_GROUP)
    if group is None or cloud.server_groups is None:
        return
    try:
        cloud.server_groups.delete(group)
    except CloudError as error:
        log.warning("The server group %s that nothing needs any more could not be removed: %s", group, error)
