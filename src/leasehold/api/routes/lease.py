"""Routes of leases, and of what they hold."""

from __future__ import annotations

from leasehold.api.handlers import lease
from leasehold.api.handlers.holding import list_holdings
from leasehold.api.handlers.lease_then import AS_OF
from leasehold.api.lease_filter import DELETED, FILTERS, PURPOSE
from leasehold.api.models.holding import HolderList
from leasehold.api.models.lease import LeaseAmendment, LeaseCreation, LeaseList, OneLease, SwapRequest
from leasehold.api.policies import host as host_rules
from leasehold.api.policies import lease as rules
from leasehold.api.route import CREATED, GONE, V1_2, V1_3, Route
from leasehold.model.refused import Operation

_ALL, _ONE = "/v1/leases", "/v1/leases/{lease_id}"
_RESERVATION = f"{_ONE}/reservations/{{reservation_id}}"
_KEY, _MATCH = ("Idempotency-Key",), ("If-Match",)
_AMENDS, _WINDOW = (rules.GET, rules.PUT), (rules.CHANGE_MAINTENANCE,)
_PAST = (rules.GET_HISTORY, rules.GET_RESOURCES)
_ASKS = (rules.USE_DISABLED, rules.GIVE_BACK, rules.OPEN_ENDED)

ROUTES = (
    Route(
        "GET",
        _ALL,
        lease.list_leases,
        (rules.GET,),
        None,
        LeaseList,
        query=("limit", "marker"),
        filters=(*FILTERS, PURPOSE, DELETED),
        within=(rules.GET_DELETED,),
    ),
    Route(
        "POST",
        _ALL,
        lease.create,
        (rules.POST,),
        LeaseCreation,
        OneLease,
        CREATED,
        headers=_KEY,
        counts=Operation.CREATE,
        within=(*_ASKS, rules.BEST_EFFORT, rules.ON_BEHALF),
    ),
    Route("GET", _ONE, lease.show, (rules.GET,), None, OneLease, filters=(AS_OF,), within=_PAST),
    Route(
        "PUT",
        _ONE,
        lease.amend,
        _AMENDS,
        LeaseAmendment,
        OneLease,
        headers=(*_KEY, *_MATCH),
        counts=Operation.AMEND,
        within=(*_ASKS, rules.SHARE, *_WINDOW),
    ),
    Route("DELETE", _ONE, lease.delete, (rules.GET, rules.DELETE), success=GONE, headers=_MATCH, within=_WINDOW),
    V1_2("GET", f"{_ONE}/resources", list_holdings, (rules.GET, rules.GET_RESOURCES), None, HolderList),
    V1_2("POST", f"{_ONE}/heal", lease.heal, (rules.GET, rules.HEAL), None, OneLease, headers=_MATCH),
    V1_2(
        "POST",
        f"{_ONE}/swap",
        lease.swap,
        (rules.GET, rules.SWAP),
        SwapRequest,
        OneLease,
        headers=_MATCH,
        counts=Operation.SWAP,
        within=(host_rules.GET,),
    ),
    V1_3("DELETE", _RESERVATION, lease.drop, _AMENDS, success=GONE, headers=_MATCH, within=_WINDOW),
    V1_3(
        "DELETE",
        f"{_RESERVATION}/resources/{{resource_id}}",
        lease.vacate,
        _AMENDS,
        success=GONE,
        headers=_MATCH,
        within=(*_WINDOW, host_rules.GET),
    ),
)
