"""Resources of any type, from 1.2 on; hosts and floating IPs have their v1 paths as well."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from leasehold.api.call import Reply
from leasehold.api.listing import Listing
from leasehold.api.models.base import read as read_body
from leasehold.api.models.property import checked_changes, checked_properties
from leasehold.api.models.resource import DisablingChange, PoolChange, RestrictionChange
from leasehold.api.paging import ListKeys
from leasehold.api.versions import RESTRICTIONS
from leasehold.api.views.resource import show_candidate, show_resource, show_type
from leasehold.leasing.reading import queries
from leasehold.leasing.resources import resource as resources
from leasehold.leasing.resources.candidates import candidates_of
from leasehold.leasing.resources.enrol import enrol
from leasehold.model.errors import InvalidInputError, MissingParameterError, NotFoundError
from leasehold.model.membership import Membership
from leasehold.model.resource import ALWAYS_KNOWN, NOT_SAID, Disabling, Restriction
from leasehold.resource_types.capabilities import Enrollable
from leasehold.resource_types.fields import read
from leasehold.resource_types.unknown_keys import refuse_unknown

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from leasehold.api.call import Call
    from leasehold.api.models.resource import ResourceChange, ResourceCreation
    from leasehold.model.resource import Resource
    from leasehold.resource_types.registry import ResourceType


LISTED = ListKeys(
    texts=("name", "health", "pool"),
    switches=("reservable", "disabled"),
    sorts=("created_at", "name", "health", "updated_at"),
)
DISABLING_KEYS = frozenset(DisablingChange.model_fields)
"""The keys of a PUT that disable or enable a resource."""
POOL_KEYS = frozenset(PoolChange.model_fields)
"""The keys of a PUT that move a resource between the pools."""
RESTRICTION_KEYS = frozenset(RestrictionChange.model_fields)
"""The keys of a PUT that say which projects may use a resource, and whose it is."""


def known(call: Call, resource_type: str) -> ResourceType:
    """Return a type, switched on or not; raises NotFoundError."""
    found = call.service.types.installed(resource_type)
    if found is None:
        raise NotFoundError("resource_type", resource_type)
    return found


def list_types(call: Call) -> Reply:
    """Show the resource types that are switched on."""
    return Reply({"resource_types": [show_type(each) for _, each in sorted(call.service.types.by_name.items())]})


def list_resources(call: Call, resource_type: str) -> Reply:
    """Show all resources of a type; from 1.3 on in pages, by what they are and how they fare, and sorted."""
    found = queries.list_resources(call.service, known(call, resource_type).name, LISTED.asked(call))
    show_one = partial(show_resource, projects=call.shows_projects)
    return Reply(Listing("resources", map(show_one, found)))


def list_candidates(call: Call, resource_type: str) -> Reply:
    """Show what the cloud has and could be enrolled; `refused` says why something would be refused."""
    found = candidates_of(call.service, known(call, resource_type))
    return Reply({"candidates": [show_candidate(each) for each in found]})


def show(call: Call, resource_type: str, resource_id: str) -> Reply:
    """Show one resource."""
    name = known(call, resource_type).name
    return _reply(call, queries.get_resource(call.service, name, resource_id))


def create(call: Call, resource_type: str, body: ResourceCreation) -> Reply:
    """Enrol a resource; from 1.3 on `projects` are those that alone may use it, and `owner` is whose it is."""
    type_ = known(call, resource_type)
    driver = type_.driver
    if not isinstance(driver, Enrollable):
        message = f"Nothing is enrolled as {type_.name}; its reservations use resources of {type_.kind.resources}."
        raise InvalidInputError(message, field="resource_type")
    sent = dict(body.model_extra or {})
    # Before 1.3 it is a key that the type knows, or nobody.
    own = RESTRICTION_KEYS if call.version >= RESTRICTIONS else frozenset()
    restriction = asked_restriction(call, {key: sent.pop(key) for key in own & sent.keys()})
    refuse_unknown(driver.description, sent, also=own | type(body).model_fields.keys())
    description = read(driver.description, sent).model_dump()
    properties = checked_properties(body.properties)
    return _reply(call, enrol(call.service, type_.name, description, properties, restriction))


def _reply(call: Call, resource: Resource) -> Reply:
    return Reply({"resource": show_resource(resource, projects=call.shows_projects)})


def change(call: Call, resource_type: str, resource_id: str, body: ResourceChange) -> Reply:
    """Set properties of a resource, all of them or none; null removes a property.

    `disabled` takes the resource out of service, with a `disabled_reason`, or puts it back; `pool` begins to move it;
    from 1.3 on `projects` are those that alone may use it, and `owner` is the project that it belongs to.
    """
    if not body.model_fields_set:
        missing = "properties"
        raise MissingParameterError(missing)
    name = known(call, resource_type).name
    attributes = queries.get_resource(call.service, name, resource_id).attributes
    disabling = asked_disabling(call, body.model_dump(include=set(DISABLING_KEYS), exclude_unset=True))
    pool = asked_pool(call, body.model_dump(include=set(POOL_KEYS), exclude_unset=True))
    properties, reserved = body.properties, ALWAYS_KNOWN | attributes.keys()
    restriction = asked_restriction(call, body.model_dump(include=set(RESTRICTION_KEYS), exclude_unset=True))
    alone = (disabling or pool or restriction) and not properties
    wanted = {} if alone else checked_changes(properties, reserved=reserved)
    return _reply(call, resources.change(call.service, name, resource_id, wanted, disabling, pool, restriction))


def asked_disabling(call: Call, sent: Mapping[str, Any]) -> Disabling | None:
    """Return what these keys of a PUT say about whether a resource is disabled; None for no keys.

    Raises InvalidInputError, and MissingParameterError for a reason alone.
    """
    if not sent:
        return None
    change = read_body(DisablingChange, dict(sent), call.version)
    if change.disabled_reason and not change.disabled:
        message = "Only a disabled resource has a reason. Leave disabled_reason out, or send `disabled: true`."
        raise InvalidInputError(message, field="disabled_reason")
    return Disabling(change.disabled, change.disabled_reason, call.caller)


def asked_pool(call: Call, sent: Mapping[str, Any]) -> Membership | None:
    """Return the pool that this key of a request names; None without the key. Raises InvalidInputError."""
    return Membership(read_body(PoolChange, dict(sent), call.version).pool) if sent else None


def asked_restriction(call: Call, sent: Mapping[str, Any]) -> Restriction | None:
    """Return which projects alone may use a resource, and whose it is, by these keys of a request; None without any.

    Raises InvalidInputError.
    """
    if not sent:
        return None
    change = read_body(RestrictionChange, dict(sent), call.version)
    named = None if change.projects is None else frozenset(change.projects)
    return Restriction(
        projects=named if "projects" in sent else NOT_SAID,
        owner=change.owner if "owner" in sent else "",
    )


def delete(call: Call, resource_type: str, resource_id: str) -> Reply:
    """Remove a resource."""
    resources.remove(call.service, known(call, resource_type).name, resource_id)
    return Reply()
