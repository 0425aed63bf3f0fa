"""Decides whether a host may take a request, from the host's aggregates and the request alone.

The rows and their numbers are those of contract nova-filter §3; the first row that applies decides.
The code differs from that table in nine places. Six close a hole, and none refuses what Leasehold itself sets up:

* a pool counts once, even if both its zone and its name make it a pool;
* an aggregate with the metadata `leasehold:pool` is a pool too: a reservation whose hosts leave it with their servers
  has no zone, because Nova would not let them leave one;
* row 1: a metadata value such as "False" or "0" does not open a reservation to a project;
* rows 1 to 3: with several hints, one matching pool that the project may use is enough;
* row 5: a reservation's flavor passes only on hosts of that reservation, and only for its project. Without
  `strict_flavors` it passes on every host, as in the contract's row 5;
* row 6: a host that instances are reserved on is refused to preemptible servers, which would take their room;
* rows 1 to 4: Nova keeps the hints of a server for its whole life. Once every reservation that they name is over, a
  request to move or unshelve the server is judged as one without hints: it gets what a new server would get;
* rows 1 to 4: a hint may be the id of a lease, where the metadata of the reservation's aggregate say whose it is;
* row 5: a hint that names the reservation of the flavor, or its lease, says nothing new and does not count.

Options for nova.conf, group `[blazar:physical:host]`, and the fields of `FilterOptions` they fill:

    aggregate_freepool_name -> aggregate_freepool_name    blazar_az_prefix -> az_prefix
    preemptible_aggregate   -> preemptible_aggregate      blazar_owner     -> owner_key
    allow_preemptibles      -> allow_preemptibles         strict_flavors   -> strict_flavors (ours)

`project_id_key` (contract nova-filter §1) may stand in that group too; nothing reads it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

LEGACY_AZ_PREFIX = "blazar:"
FLAVOR_KEY = "aggregate_instance_extra_specs:reservation"
PREEMPTIBLE_KEY = "blazar:preemptible"
RESERVATION_KEY = "reservation"
TENANT_KEY = "filter_tenant_id"
POOL_KEY = "leasehold:pool"
LEASE_KEY = "leasehold:lease"

_UNAUTHORISED_ROW = 3
_FALSE = frozenset({"", "0", "f", "false", "n", "no", "none", "null", "off"})


@dataclass(frozen=True, slots=True)
class FilterOptions:
    """How this cloud names its pools; the defaults are the contract's."""

    aggregate_freepool_name: str = "freepool"
    preemptible_aggregate: str = "freepool"
    allow_preemptibles: bool = False
    az_prefix: str = "blazar_"
    owner_key: str = "blazar:owner"
    strict_flavors: bool = True


@dataclass(frozen=True, slots=True)
class HostAggregate:
    """One aggregate that the host is a member of. Nova stores metadata as text; booleans are accepted as well."""

    name: str
    availability_zone: str | None = None
    metadata: Mapping[str, str | bool] = field(default_factory=dict)


def hints_for(name: str, metadata: Mapping[str, str | bool]) -> set[str]:
    """Return the hints that name the reservation of an aggregate: its id, and its lease's if the lease has no other."""
    return {name, str(metadata[LEASE_KEY])} if LEASE_KEY in metadata else {name}


@dataclass(frozen=True, slots=True)
class Request:
    """A request for a host: its project, its flavor, and the reservations that it names.

    `over` are those of them that are over, if the request moves or unshelves a server; empty for a new server, whose
    reservation may begin later.
    """

    project_id: str
    reservation_hints: tuple[str, ...] = ()
    flavor_id: str = ""
    flavor_extra_specs: Mapping[str, str] = field(default_factory=dict)
    over: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class FilterDecision:
    """Whether the host passes, the row of the contract's table that decided, and the reason as text."""

    passes: bool
    row: int
    reason: str

    @property
    def unauthorised(self) -> bool:
        """Whether the request names an existing reservation that its project may not use."""
        return self.row == _UNAUTHORISED_ROW


def hints(value: str | Sequence[str] | None) -> tuple[str, ...]:
    """Return the scheduler hint `reservation` as a tuple: Nova passes a text, a list, or nothing."""
    if not value:
        return ()
    return (value,) if isinstance(value, str) else tuple(value)


def truthy(value: str | bool | None) -> bool:  # noqa: FBT001 - a metadata value, not a switch
    """Return whether a metadata value means true: all do except None and the usual words for false."""
    return value is not None and str(value).strip().lower() not in _FALSE


def pools(aggregates: Iterable[HostAggregate], options: FilterOptions) -> tuple[HostAggregate, ...]:
    """Return the aggregates that are pools: by their zone, their mark, or the name of the free or preemptible pool."""
    names = {options.aggregate_freepool_name, options.preemptible_aggregate}
    prefixes = (options.az_prefix, LEGACY_AZ_PREFIX)
    return tuple(
        aggregate
        for aggregate in aggregates
        if aggregate.name in names
        or (aggregate.availability_zone or "").startswith(prefixes)
        or truthy(aggregate.metadata.get(POOL_KEY))
    )


def decide(request: Request, aggregates: Sequence[HostAggregate], options: FilterOptions) -> FilterDecision:
    """Decide whether a host in these aggregates may take the request (contract nova-filter §3)."""
    request, host_pools = _without_own(request, aggregates), pools(aggregates, options)
    for applies, answer in _TABLE:
        if applies(request, host_pools, options):
            return answer(request, host_pools, aggregates, options)
    return FilterDecision(passes=True, row=9, reason="an ordinary request on a host that is in no pool")


def _without_own(request: Request, aggregates: Sequence[HostAggregate]) -> Request:
    """Return the request without the hints that name its flavor's own reservation."""
    own = request.flavor_extra_specs.get(FLAVOR_KEY)
    if own is None or not request.reservation_hints:
        return request
    same = {own}.union(*(hints_for(each.name, each.metadata) for each in _of(own, aggregates)))
    return replace(request, reservation_hints=tuple(each for each in request.reservation_hints if each not in same))


def _of(reservation: str, aggregates: Sequence[HostAggregate]) -> list[HostAggregate]:
    return [each for each in aggregates if reservation in {each.name, each.metadata.get(RESERVATION_KEY)}]


def _hinted(request: Request, _pools: Sequence[HostAggregate], _options: FilterOptions) -> bool:
    return not request.over.issuperset(request.reservation_hints)


def _of_reservation(request: Request, _pools: Sequence[HostAggregate], _options: FilterOptions) -> bool:
    return FLAVOR_KEY in request.flavor_extra_specs


def _preemptible(request: Request, _pools: Sequence[HostAggregate], options: FilterOptions) -> bool:
    return options.allow_preemptibles and truthy(request.flavor_extra_specs.get(PREEMPTIBLE_KEY))


def _ordinary_on_pool(_request: Request, host_pools: Sequence[HostAggregate], _options: FilterOptions) -> bool:
    return bool(host_pools)


def _hint_answer(
    request: Request, host_pools: Sequence[HostAggregate], _aggregates: Sequence[HostAggregate], options: FilterOptions
) -> FilterDecision:
    """Rows 1 to 4."""
    named = [
        pool for pool in host_pools if not hints_for(pool.name, pool.metadata).isdisjoint(request.reservation_hints)
    ]
    for pool in named:
        if truthy(pool.metadata.get(request.project_id)):
            return FilterDecision(
                passes=True, row=1, reason=f"reservation {pool.name} is open to project {request.project_id}"
            )
        if pool.metadata.get(options.owner_key) == request.project_id:
            return FilterDecision(
                passes=True, row=2, reason=f"project {request.project_id} owns reservation {pool.name}"
            )
    if named:
        names = ", ".join(pool.name for pool in named)
        return FilterDecision(
            passes=False, row=3, reason=f"project {request.project_id} may not use reservation {names}"
        )
    return FilterDecision(passes=False, row=4, reason="the host is in none of the requested reservations")


def _flavor_answer(
    request: Request, _pools: Sequence[HostAggregate], aggregates: Sequence[HostAggregate], options: FilterOptions
) -> FilterDecision:
    """Row 5."""
    if not options.strict_flavors:
        return FilterDecision(passes=True, row=5, reason="the flavor belongs to a reservation")
    reservation = request.flavor_extra_specs[FLAVOR_KEY]
    members = _of(reservation, aggregates)
    if not members:
        return FilterDecision(
            passes=False, row=5, reason=f"the host is not part of the flavor's reservation {reservation}"
        )
    if not any(_tenant_fits(aggregate, request.project_id) for aggregate in members):
        reason = f"reservation {reservation} is not for project {request.project_id}"
        return FilterDecision(passes=False, row=5, reason=reason)
    return FilterDecision(passes=True, row=5, reason=f"the host is part of the flavor's reservation {reservation}")


def _tenant_fits(aggregate: HostAggregate, project_id: str) -> bool:
    """Nova's isolation key holds one project or several, separated by commas; without it, any project fits."""
    allowed = aggregate.metadata.get(TENANT_KEY)
    return allowed is None or project_id in {name.strip() for name in str(allowed).split(",")}


def _preemptible_answer(
    _request: Request, host_pools: Sequence[HostAggregate], aggregates: Sequence[HostAggregate], options: FilterOptions
) -> FilterDecision:
    """Rows 6 and 7."""
    if any(RESERVATION_KEY in aggregate.metadata for aggregate in aggregates):
        return FilterDecision(passes=False, row=7, reason="the host has room that is reserved for instances")
    if [pool.name for pool in host_pools] == [options.preemptible_aggregate]:
        return FilterDecision(passes=True, row=6, reason="preemptible servers may use unleased hosts")
    return FilterDecision(
        passes=False, row=7, reason=f"preemptible servers may only use hosts of {options.preemptible_aggregate}"
    )


def _pool_answer(
    _request: Request,
    host_pools: Sequence[HostAggregate],
    _aggregates: Sequence[HostAggregate],
    _options: FilterOptions,
) -> FilterDecision:
    """Row 8."""
    names = ", ".join(pool.name for pool in host_pools)
    return FilterDecision(
        passes=False, row=8, reason=f"the host is kept for reservations ({names}) and the request names none"
    )


_Applies = Callable[[Request, Sequence[HostAggregate], FilterOptions], bool]
_Answer = Callable[[Request, Sequence[HostAggregate], Sequence[HostAggregate], FilterOptions], FilterDecision]

_TABLE: tuple[tuple[_Applies, _Answer], ...] = (
    (_hinted, _hint_answer),
    (_of_reservation, _flavor_answer),
    (_preemptible, _preemptible_answer),
    (_ordinary_on_pool, _pool_answer),
)
