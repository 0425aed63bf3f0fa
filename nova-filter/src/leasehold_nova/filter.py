"""The filter class for nova.conf: translates Nova's objects for `decision.py`, which decides, and logs refusals."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import nova.conf
from nova.scheduler import filters
from nova.scheduler.utils import request_is_rebuild
from oslo_log import log as logging

from leasehold_nova import options
from leasehold_nova.decision import RESERVATION_KEY, FilterDecision, HostAggregate, Request, decide, hints, hints_for
from leasehold_nova.reservations import over

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

LOG = logging.getLogger(__name__)


class LeaseholdFilter(filters.BaseHostFilter):  # type: ignore[misc]  # Nova has no annotations.
    """Lets only the projects that hold the leases use reserved hosts and flavors."""

    # A decision depends only on data that is the same for every server of one request.
    run_filter_once_per_request = True

    # A rebuild stays on its host, even if a lease has begun or ended there since.
    RUN_ON_REBUILD = False

    def __init__(self) -> None:
        """Read the options now, not on import: by now every other filter has registered its own."""
        self._options = options.read(nova.conf.CONF)

    def filter_all(self, filter_obj_list: Iterable[Any], spec_obj: Any) -> Iterator[Any]:
        """Yield the hosts that pass; log an unauthorised use of a reservation once, not for each host."""
        if not self.RUN_ON_REBUILD and request_is_rebuild(spec_obj):
            yield from filter_obj_list
            return
        hosts = list(filter_obj_list)
        request = _judged_now(spec_obj, hosts)
        unauthorised = set()
        for host_state in hosts:
            decision = self._decide(request, host_state)
            if decision.passes:
                yield host_state
            elif decision.unauthorised:
                unauthorised.add(decision.reason)
        for reason in sorted(unauthorised):
            LOG.warning("Unauthorised use of a reservation: %s", reason)

    def host_passes(self, host_state: Any, filter_properties: Any) -> bool:
        """Return whether one host passes: Nova's other interface of a filter; the scheduler calls `filter_all`."""
        return self._decide(_judged_now(filter_properties, [host_state]), host_state).passes

    def _decide(self, request: Request, host_state: Any) -> FilterDecision:
        decision = decide(request, aggregates_of(host_state), self._options)
        if not decision.passes:
            LOG.debug(
                "Host %s refused to project %s: %s (row %d)",
                host_state.host,
                request.project_id,
                decision.reason,
                decision.row,
            )
        return decision


def _judged_now(spec: Any, hosts: Sequence[Any]) -> Request:
    """Return the request with those of its reservations that are over; asks Nova's database only if it has to.

    A request without hints has nothing to ask for, and a reservation that one of the hosts is in is not over.
    """
    request = request_of(spec)
    if not request.reservation_hints or "instance_uuid" not in spec:
        return request
    there = (aggregate for host_state in hosts for aggregate in host_state.aggregates)
    present = set().union(*(hints_for(each.name, each.metadata) for each in there))
    if not present.isdisjoint(request.reservation_hints):
        return request
    return replace(request, over=over(spec.instance_uuid, request.reservation_hints))


def request_of(spec: Any) -> Request:
    """Translate Nova's RequestSpec, in which a hint is a list even if the user gave a single text."""
    return Request(
        project_id=spec.project_id,
        reservation_hints=hints(spec.get_scheduler_hint(RESERVATION_KEY)),
        flavor_id=spec.flavor.flavorid,
        flavor_extra_specs=(spec.flavor.extra_specs or {}) if "extra_specs" in spec.flavor else {},
    )


def aggregates_of(host_state: Any) -> tuple[HostAggregate, ...]:
    """Translate the aggregates that the host is a member of, as the scheduler knows them."""
    return tuple(
        HostAggregate(aggregate.name, aggregate.availability_zone, aggregate.metadata)
        for aggregate in host_state.aggregates
    )
