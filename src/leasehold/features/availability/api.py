"""Availability in the API, from 1.3 on: how much is free, and when a lease could be had (features G2 to G4, idea 2)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from leasehold.api.call import Reply
from leasehold.api.policies import lease as lease_rules
from leasehold.api.policies.base import READER_OR_ADMIN, Rule
from leasehold.api.route import V1_3, Parameter
from leasehold.api.views.shown import shown
from leasehold.features.availability import region
from leasehold.features.availability.bodies import (
    AskableAnswer,
    AskableList,
    OneAvailability,
    RegionAvailabilityList,
    RegionList,
    RegionSearch,
    RegionWindowsList,
    WindowList,
    WindowSearch,
)
from leasehold.features.availability.here import QUERY, search_here, show_here
from leasehold.leasing.resources.property import askable
from leasehold.model.resource import HOST

if TYPE_CHECKING:
    from leasehold.api.call import Call


def show(call: Call) -> Reply:
    """Show how much is free at every second of a window: the total, what is held back, reserved and free.

    `resource_type` is `physical:host` if it is absent, `from` is now, as is any earlier date, and `to` a week later.
    The other query keys are those of a reservation of this type in POST /v1/leases, such as `resource_properties`,
    `vcpus` or `flavor_id`; how many are asked for has no effect, and conditions may be left out. What is free at a
    moment can be leased then. More may be granted where leases that have not started make room; the limits of the
    project do not count. `resource_id` asks about one resource, for callers who may list them.
    """
    return Reply(show_here(call))


def list_properties(call: Call) -> Reply:
    """Show by which properties leases can choose resources, each with the values that it has now.

    `resource_type` is `physical:host` if it is absent. What tells a single resource from the others is not shown, nor
    are private properties to callers who must not see them.
    """
    kind = call.service.types.offered(call.query("resource_type") or HOST).kind
    found = askable(call.service, call.caller, kind, call.sight)
    return Reply({"properties": [shown(AskableAnswer, each, property=each.name) for each in found]})


def search(call: Call, body: WindowSearch) -> Reply:
    """Find the first windows in which a lease would be granted, earliest first.

    Of several `alternatives` one is enough; `refused` says why the others have no window. The limits of the project
    count; administrators may ask for another one (`project_id`). Nothing is promised: a lease that asks for such a
    window at once gets it, unless another request was faster.
    """
    return Reply(search_here(call, body))


_PATH: Final = "/v1/availability"

GET = Rule("leasehold:availability:get", READER_OR_ADMIN, "Ask how much of a resource type is free, and when.")
SEARCH = Rule(
    "leasehold:availability:search", READER_OR_ADMIN, "Search the first windows in which a lease would be granted."
)
GET_PROPERTIES = Rule(
    "leasehold:availability:get_properties",
    READER_OR_ADMIN,
    "List by which properties leases can choose resources, without those that are private.",
)
GET_REGIONS = Rule(
    "leasehold:regions:get", READER_OR_ADMIN, "List the regions, and ask their services how much is free there."
)

# Everybody may ask, because the answers say how many and not who. What is free in another region is decided by the
# rules of that region's own service.

_EVERYWHERE: Final = "/v1/regions/availability"
_NAMED = Parameter("query", "Regions by their names, several by commas; all of them without it", {"type": "string"})
ROUTES = (
    V1_3("GET", _PATH, show, (GET,), None, OneAvailability, query=QUERY, open_query=True),
    V1_3("POST", f"{_PATH}/search", search, (SEARCH,), WindowSearch, WindowList, within=(lease_rules.ON_BEHALF,)),
    V1_3("GET", f"{_PATH}/properties", list_properties, (GET_PROPERTIES,), None, AskableList, query=("resource_type",)),
    V1_3("GET", "/v1/regions", region.list_regions, (GET_REGIONS,), None, RegionList),
    V1_3(
        "GET",
        _EVERYWHERE,
        region.show,
        (GET_REGIONS, GET),
        None,
        RegionAvailabilityList,
        query=region.QUERY,
        open_query=True,
        parameters={region.REGION: _NAMED},
    ),
    V1_3("POST", f"{_EVERYWHERE}/search", region.search, (GET_REGIONS, SEARCH), RegionSearch, RegionWindowsList),
)
