"""Which reservations of a server's hints are over: two questions to Nova's API database, which the scheduler has."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nova import context as nova_context
from nova import objects
from nova.exception import InstanceMappingNotFound
from oslo_log import log as logging

from leasehold_nova.decision import hints_for

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nova.context import RequestContext

LOG = logging.getLogger(__name__)


def over(server_id: str, reservations: Sequence[str]) -> frozenset[str]:
    """Return those of the reservations that are over, for a server that exists; none for one that is being booted.

    A reservation has an aggregate, which it or its lease names, from before its start until its end. A new server has
    none of its reservation before the start, so this can be known only of a server that was on a host already. Where
    the database does not answer, no reservation counts as over: the hint counts, and the server finds no host for now.
    """
    try:
        context = nova_context.get_admin_context()
        return _without_aggregate(context, reservations) if _exists(context, server_id) else frozenset()
    except Exception:  # Whatever fails, a server must not get a host that its reservation may not allow.
        LOG.exception("It is not known whether the reservations of server %s are over: they count", server_id)
        return frozenset()


def _exists(context: RequestContext, server_id: str) -> bool:
    """Return whether the server was given a host before.

    Its mapping has no cell until the scheduler has found a first host, and names cell 0 if it has found none.
    """
    try:
        cell = objects.InstanceMapping.get_by_instance_uuid(context, server_id).cell_mapping
    except InstanceMappingNotFound:
        return False
    return cell is not None and not cell.is_cell0()


def _without_aggregate(context: RequestContext, reservations: Sequence[str]) -> frozenset[str]:
    there = objects.AggregateList.get_all(context)
    return frozenset(reservations).difference(*(hints_for(each.name, each.metadata) for each in there))
