"""Hosts (contract http-api §6)."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, cast

from leasehold.api.call import Reply
from leasehold.api.dates import to_record
from leasehold.api.handlers.resource import (
    DISABLING_KEYS,
    POOL_KEYS,
    RESTRICTION_KEYS,
    asked_disabling,
    asked_pool,
    asked_restriction,
)
from leasehold.api.listing import Listing
from leasehold.api.models.host import HostAnswer
from leasehold.api.models.property import check_reserved, checked_changes, checked_properties
from leasehold.api.models.resource import DisabledAnswer, PoolAnswer, RestrictedAnswer
from leasehold.api.paging import ListKeys
from leasehold.api.versions import DISABLING, RESTRICTIONS
from leasehold.api.views.resource import show_pool
from leasehold.api.views.shown import shown
from leasehold.leasing.reading import queries
from leasehold.leasing.resources import resource as resources
from leasehold.leasing.resources.enrol import enrol
from leasehold.model.errors import ForbiddenError
from leasehold.model.membership import Membership
from leasehold.model.resource import HOST

if TYPE_CHECKING:
    from collections.abc import Mapping

    from leasehold.api.call import Call
    from leasehold.api.models.host import HostChange, HostCreation
    from leasehold.model.resource import Resource

FOUND = (
    *("hypervisor_hostname", "hypervisor_type", "hypervisor_version", "vcpus", "cpu_info", "memory_mb", "local_gb"),
    *("service_name", "availability_zone"),
)
"""The keys of an answer that are attributes of the resource."""
LISTED = ListKeys(
    texts=("hypervisor_hostname", "hypervisor_type", "availability_zone", "pool"),
    switches=("reservable", "disabled"),
    sorts=("created_at", "hypervisor_hostname", "vcpus", "memory_mb", "local_gb", "updated_at"),
)
SINCE_1_2 = frozenset({*DISABLING_KEYS, *PoolAnswer.__annotations__})
"""The keys of an answer that it has from 1.2 on; before, they are names of properties like any other."""
SINCE_1_3 = RESTRICTION_KEYS
"""Those that it has from 1.3 on."""
DISCOVERED = frozenset(HostAnswer.__annotations__) - SINCE_1_2 - SINCE_1_3
"""The keys of an answer that are not properties; no property may have one of these names."""


def list_hosts(call: Call) -> Reply:
    """Show all hosts; from 1.3 on in pages, by name, zone and flags, and sorted."""
    show_one = partial(show_host, disabled=call.shows_disabled, projects=call.shows_projects)
    return Reply(Listing("hosts", map(show_one, queries.list_resources(call.service, HOST, LISTED.asked(call)))))


def show(call: Call, host_id: str) -> Reply:
    """Show one host."""
    return _reply(call, queries.get_resource(call.service, HOST, host_id))


def create(call: Call, body: HostCreation) -> Reply:
    """Enrol a host; keys named like a discovered field are dropped, as v1 does, and refused from 1.2 on.

    From 1.3 on `projects` are those that alone may use it, and `owner` is the project that it belongs to.
    """
    reference = body.name if body.id is None else str(body.id)
    if not reference:
        message = "Name the host to enrol: `name` is its hypervisor's name in the cloud, `id` its hypervisor's id."
        raise ForbiddenError(message, field="name")
    own = {key: value for key, value in (body.model_extra or {}).items() if call.strict or key not in DISCOVERED}
    pool = asked_pool(call, _taken(call, POOL_KEYS, own)) or Membership.RESERVATION
    restriction = asked_restriction(call, _taken(call, RESTRICTION_KEYS, own))
    check_reserved(own, _reserved(call))
    description = {"name": reference, "pool": pool}
    return _reply(call, enrol(call.service, HOST, description, checked_properties(own), restriction))


def change(call: Call, host_id: str, body: HostChange) -> Reply:
    """Set properties of a host, all of them or none; null removes a property, as `blazar host-unset` requests.

    From 1.2 on `disabled` takes the host out of service, with a `disabled_reason`, or puts it back, and `pool` begins
    to move it into that pool. From 1.3 on `projects` are those that alone may use it, and `owner` is whose it is.
    """
    sent = dict(body.model_extra or {})
    disabling = asked_disabling(call, _taken(call, DISABLING_KEYS, sent))
    pool = asked_pool(call, _taken(call, POOL_KEYS, sent))
    restriction = asked_restriction(call, _taken(call, RESTRICTION_KEYS, sent))
    alone = (disabling or pool or restriction) and not sent
    wanted = {} if alone else checked_changes(sent, reserved=_reserved(call) | {"name"})
    return _reply(call, resources.change(call.service, HOST, host_id, wanted, disabling, pool, restriction))


def _taken(call: Call, keys: frozenset[str], sent: dict[str, Any]) -> dict[str, Any]:
    """Take these keys out of what was sent, and return them, unless they are properties at the call's version."""
    return {key: sent.pop(key) for key in keys & sent.keys() & _reserved(call)}


def _reserved(call: Call) -> frozenset[str]:
    found = DISCOVERED | SINCE_1_2 if call.version >= DISABLING else DISCOVERED
    return found | SINCE_1_3 if call.version >= RESTRICTIONS else found


def _reply(call: Call, host: Resource) -> Reply:
    return Reply({"host": show_host(host, disabled=call.shows_disabled, projects=call.shows_projects)})


def delete(call: Call, host_id: str) -> Reply:
    """Remove a host."""
    resources.remove(call.service, HOST, host_id)
    return Reply()


def show_host(host: Resource, *, disabled: bool = False, projects: bool = False) -> HostAnswer:
    """Return the discovered fields of the host and its properties; a field wins over a property of the same name.

    `cpu_info` is JSON text or null, because the dashboard decodes it. `disabled` says that the caller sees that
    flag, and the pool; `projects`, that they see which projects may use it.
    """
    discovered: dict[str, object] = {
        "id": host.id,
        **{name: host.attributes.get(name) for name in FOUND},
        "reservable": host.reservable,
        "status": None,
        "trust_id": None,
        "created_at": to_record(host.created_at),
        "updated_at": to_record(host.updated_at),
    }
    since_1_2: Mapping[str, object] = {**shown(DisabledAnswer, host), **show_pool(host)} if disabled else {}
    since_1_3: Mapping[str, object] = shown(RestrictedAnswer, host) if projects else {}
    return cast("HostAnswer", {**host.properties, **discovered, **since_1_2, **since_1_3})
