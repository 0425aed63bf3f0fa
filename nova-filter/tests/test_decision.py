"""The filter's decision: each row of the table, and the cases of Blazar's own suite (contract nova-filter §3, §5)."""

from __future__ import annotations

import pytest

from leasehold_nova.decision import (
    FLAVOR_KEY,
    LEASE_KEY,
    FilterDecision,
    FilterOptions,
    HostAggregate,
    Request,
    decide,
    hints,
    pools,
    truthy,
)

PROJECT = "p-1"
DEFAULTS = FilterOptions()
PREEMPTIBLES = FilterOptions(allow_preemptibles=True)
CUSTOM = FilterOptions(allow_preemptibles=True, preemptible_aggregate="spare")

FREEPOOL = HostAggregate("freepool")
SPARE = HostAggregate("spare")
ORDINARY = HostAggregate("fast-disks", "zone-a", {"ssd": "true"})
OURS = HostAggregate("r-1", "blazar_r-1", {"blazar:owner": PROJECT})
OPENED = HostAggregate("r-1", "blazar_r-1", {"blazar:owner": "p-2", PROJECT: "blazar:project"})
THEIRS = HostAggregate("r-2", "blazar_r-2", {"blazar:owner": "p-2"})
LEGACY = HostAggregate("r-3", "blazar:r-3", {"blazar:owner": PROJECT})
UNZONED = HostAggregate("r-4", None, {"blazar:owner": PROJECT, "leasehold:pool": "true"})
CLOSED = HostAggregate("r-4", None, {"blazar:owner": "closed", "leasehold:pool": "true"})
UNMARKED = HostAggregate("r-4", None, {"blazar:owner": PROJECT, "leasehold:pool": "false"})
INSTANCES = HostAggregate("i-1", None, {"reservation": "i-1", "filter_tenant_id": PROJECT, "blazar:owner": PROJECT})
OF_LEASE = HostAggregate("r-1", "blazar_r-1", {"blazar:owner": PROJECT, LEASE_KEY: "l-1"})
SLOTS_OF_LEASE = HostAggregate("i-1", None, {**INSTANCES.metadata, LEASE_KEY: "l-2"})

PLAIN = Request(PROJECT, flavor_id="m1.small")
PREEMPTIBLE = Request(PROJECT, flavor_extra_specs={"blazar:preemptible": "True"})
FLAVOR = Request(PROJECT, flavor_extra_specs={FLAVOR_KEY: "i-1"})


def hinted(*names: str, project: str = PROJECT) -> Request:
    return Request(project, reservation_hints=names)


def flavor(*names: str) -> Request:
    """Return a request with the flavor of a reservation, and hints beside it."""
    return Request(PROJECT, names, flavor_extra_specs=FLAVOR.flavor_extra_specs)


def existing(*names: str, over: tuple[str, ...], extra_specs: dict[str, str] | None = None) -> Request:
    """Return a request to move a server that was booted with these hints, of which some are over."""
    return Request(PROJECT, names, flavor_extra_specs=extra_specs or {}, over=frozenset(over))


def check(decision: FilterDecision, *, row: int, passes: bool) -> None:
    assert (decision.row, decision.passes) == (row, passes), decision
    assert decision.reason


@pytest.mark.parametrize(
    ("request_", "aggregates", "options", "row", "passes"),
    [
        pytest.param(hinted("r-1"), [OPENED], DEFAULTS, 1, True, id="1: opened to the project"),
        pytest.param(hinted("r-1"), [OURS], DEFAULTS, 2, True, id="2: the project owns it"),
        pytest.param(hinted("r-3"), [LEGACY], DEFAULTS, 2, True, id="2: legacy zone prefix"),
        pytest.param(hinted("r-4"), [UNZONED], DEFAULTS, 2, True, id="2: a reservation without a zone"),
        pytest.param(hinted("r-2"), [THEIRS], DEFAULTS, 3, False, id="3: somebody else's"),
        pytest.param(hinted("r-4"), [CLOSED], DEFAULTS, 3, False, id="3: a reservation that is over"),
        pytest.param(hinted("r-4"), [UNMARKED], DEFAULTS, 4, False, id="4: neither a zone nor a mark"),
        pytest.param(hinted("freepool"), [FREEPOOL], DEFAULTS, 3, False, id="3: the free pool has no owner"),
        pytest.param(hinted("r-1"), [THEIRS], DEFAULTS, 4, False, id="4: in another reservation"),
        pytest.param(hinted("r-1"), [], DEFAULTS, 4, False, id="4: in no aggregate"),
        pytest.param(hinted("r-1"), [FREEPOOL], DEFAULTS, 4, False, id="4: free"),
        pytest.param(
            hinted("i-1"), [FREEPOOL, INSTANCES], DEFAULTS, 4, False, id="4: instance aggregates are no pools"
        ),
        pytest.param(hinted("l-1"), [OF_LEASE], DEFAULTS, 2, True, id="2: by the lease"),
        pytest.param(hinted("l-1", project="p-2"), [OF_LEASE], DEFAULTS, 3, False, id="3: by somebody else's lease"),
        pytest.param(hinted("l-1"), [OURS], DEFAULTS, 4, False, id="4: of another lease"),
        pytest.param(hinted("l-2"), [FREEPOOL, SLOTS_OF_LEASE], DEFAULTS, 4, False, id="4: the lease of instances"),
        pytest.param(flavor("i-1"), [FREEPOOL, INSTANCES], DEFAULTS, 5, True, id="5: with its own hint"),
        pytest.param(flavor("l-2"), [FREEPOOL, SLOTS_OF_LEASE], DEFAULTS, 5, True, id="5: with its own lease's hint"),
        pytest.param(flavor("i-1"), [FREEPOOL], DEFAULTS, 5, False, id="5: with its own hint, elsewhere"),
        pytest.param(flavor("l-2"), [FREEPOOL, INSTANCES], DEFAULTS, 4, False, id="4: with the hint of no lease"),
        pytest.param(flavor("r-1"), [FREEPOOL, INSTANCES], DEFAULTS, 4, False, id="4: with the hint of hosts"),
        pytest.param(flavor("i-1", "r-1"), [OURS], DEFAULTS, 2, True, id="2: with its own hint and that of hosts"),
        pytest.param(FLAVOR, [FREEPOOL, INSTANCES], DEFAULTS, 5, True, id="5: part of the flavor's reservation"),
        pytest.param(FLAVOR, [HostAggregate("i-1")], DEFAULTS, 5, True, id="5: part by name"),
        pytest.param(FLAVOR, [FREEPOOL], DEFAULTS, 5, False, id="5: free but of no such reservation"),
        pytest.param(FLAVOR, [], DEFAULTS, 5, False, id="5: of no reservation at all"),
        pytest.param(FLAVOR, [FREEPOOL], FilterOptions(strict_flavors=False), 5, True, id="5: not strict"),
        pytest.param(
            Request("p-2", flavor_extra_specs={FLAVOR_KEY: "i-1"}),
            [INSTANCES],
            DEFAULTS,
            5,
            False,
            id="5: wrong project",
        ),
        pytest.param(PREEMPTIBLE, [FREEPOOL], PREEMPTIBLES, 6, True, id="6: unleased"),
        pytest.param(
            PREEMPTIBLE, [FREEPOOL, ORDINARY], PREEMPTIBLES, 6, True, id="6: ordinary aggregates do not count"
        ),
        pytest.param(PREEMPTIBLE, [SPARE], CUSTOM, 6, True, id="6: another preemptible aggregate"),
        pytest.param(PREEMPTIBLE, [FREEPOOL, INSTANCES], PREEMPTIBLES, 7, False, id="7: instances are reserved there"),
        pytest.param(PREEMPTIBLE, [], PREEMPTIBLES, 7, False, id="7: an ordinary host"),
        pytest.param(PREEMPTIBLE, [OURS], PREEMPTIBLES, 7, False, id="7: leased"),
        pytest.param(PREEMPTIBLE, [FREEPOOL, OURS], PREEMPTIBLES, 7, False, id="7: several pools"),
        pytest.param(PREEMPTIBLE, [UNZONED], PREEMPTIBLES, 7, False, id="7: leased without a zone"),
        pytest.param(PREEMPTIBLE, [FREEPOOL, UNZONED], PREEMPTIBLES, 7, False, id="7: on its way into a reservation"),
        pytest.param(PREEMPTIBLE, [FREEPOOL, SPARE], CUSTOM, 7, False, id="7: both pools"),
        pytest.param(PLAIN, [FREEPOOL], DEFAULTS, 8, False, id="8: free pool, no hint"),
        pytest.param(PLAIN, [UNZONED], DEFAULTS, 8, False, id="8: leased without a zone"),
        pytest.param(PLAIN, [CLOSED], DEFAULTS, 8, False, id="8: a reservation that is over"),
        pytest.param(PREEMPTIBLE, [FREEPOOL], DEFAULTS, 8, False, id="8: preemptible while they are off"),
        pytest.param(
            Request(PROJECT, flavor_extra_specs={"blazar:preemptible": "false"}),
            [FREEPOOL],
            PREEMPTIBLES,
            8,
            False,
            id="8: not preemptible",
        ),
        pytest.param(PLAIN, [], DEFAULTS, 9, True, id="9: ordinary host"),
        pytest.param(PLAIN, [UNMARKED], DEFAULTS, 9, True, id="9: an aggregate of an operator"),
        pytest.param(PLAIN, [ORDINARY], DEFAULTS, 9, True, id="9: ordinary aggregate and zone"),
    ],
)
def test_rows(
    request_: Request, aggregates: list[HostAggregate], options: FilterOptions, row: int, *, passes: bool
) -> None:
    check(decide(request_, aggregates, options), row=row, passes=passes)


@pytest.mark.parametrize(
    ("request_", "aggregates", "options", "passes"),
    [
        pytest.param(hinted("r-1"), [], DEFAULTS, False, id="no pool and hint"),
        pytest.param(PLAIN, [], DEFAULTS, True, id="no pool and no hint"),
        pytest.param(PLAIN, [FREEPOOL], DEFAULTS, False, id="freepool and no hint"),
        pytest.param(PLAIN, [OURS], DEFAULTS, False, id="reservation pool and no hint"),
        pytest.param(hinted("r-1"), [THEIRS], DEFAULTS, False, id="other pool and hint"),
        pytest.param(
            hinted("r-1"), [HostAggregate("r-1", "blazar_r-1", {PROJECT: False})], DEFAULTS, False, id="unauthorised"
        ),
        pytest.param(
            hinted("r-1"), [HostAggregate("r-1", "blazar_r-1", {PROJECT: True})], DEFAULTS, True, id="project key true"
        ),
        pytest.param(hinted("r-1"), [OURS], DEFAULTS, True, id="owner match"),
        pytest.param(hinted("r-1", project="p-9"), [OURS], DEFAULTS, False, id="owner mismatch"),
        pytest.param(hinted("r-1"), [FREEPOOL], DEFAULTS, False, id="freepool and hint for other"),
        pytest.param(
            FLAVOR, [], FilterOptions(strict_flavors=False), True, id="instance flavor on host without aggregates"
        ),
        pytest.param(PREEMPTIBLE, [FREEPOOL], PREEMPTIBLES, True, id="preemptible flavor, option on, freepool only"),
        pytest.param(PREEMPTIBLE, [SPARE], CUSTOM, True, id="custom preemptible aggregate member"),
        pytest.param(PREEMPTIBLE, [FREEPOOL], CUSTOM, False, id="custom preemptible aggregate, host only in freepool"),
    ],
)
def test_what_the_contract_expects(
    request_: Request, aggregates: list[HostAggregate], options: FilterOptions, *, passes: bool
) -> None:
    assert decide(request_, aggregates, options).passes is passes


@pytest.mark.parametrize("aggregates", [[], [ORDINARY], [FREEPOOL], [OURS], [THEIRS], [CLOSED], [FREEPOOL, INSTANCES]])
@pytest.mark.parametrize("extra_specs", [{}, PREEMPTIBLE.flavor_extra_specs, FLAVOR.flavor_extra_specs])
@pytest.mark.parametrize("options", [DEFAULTS, PREEMPTIBLES, CUSTOM])
def test_a_server_whose_reservations_are_over_gets_what_a_new_one_without_hints_would_get(
    aggregates: list[HostAggregate], extra_specs: dict[str, str], options: FilterOptions
) -> None:
    moved = existing("r-8", "r-9", over=("r-8", "r-9"), extra_specs=extra_specs)
    new = Request(PROJECT, flavor_extra_specs=extra_specs)
    assert decide(moved, aggregates, options) == decide(new, aggregates, options)


def test_hints_count_while_one_of_the_reservations_is_not_over() -> None:
    moved = existing("r-1", "r-9", over=("r-9",))
    check(decide(moved, [OURS], DEFAULTS), row=2, passes=True)
    check(decide(moved, [THEIRS], DEFAULTS), row=4, passes=False)
    check(decide(moved, [], DEFAULTS), row=4, passes=False)


def test_any_of_several_pools_may_let_the_project_in() -> None:
    check(decide(hinted("r-2", "r-1"), [THEIRS, OURS], DEFAULTS), row=2, passes=True)
    check(decide(hinted("r-2", "r-9"), [THEIRS, OURS], DEFAULTS), row=3, passes=False)


@pytest.mark.parametrize("word", ["False", "false", "0", "", "no", "off", "None"])
def test_a_word_for_no_opens_nothing(word: str) -> None:
    pool = HostAggregate("r-1", "blazar_r-1", {PROJECT: word})
    check(decide(hinted("r-1"), [pool], DEFAULTS), row=3, passes=False)
    assert not truthy(word)


def test_a_pool_by_name_and_by_zone_counts_once() -> None:
    both = HostAggregate("freepool", "blazar_freepool")
    assert pools([both], DEFAULTS) == (both,)
    check(decide(PREEMPTIBLE, [both], PREEMPTIBLES), row=6, passes=True)


def test_several_tenants_may_be_named() -> None:
    shared = HostAggregate("i-1", None, {"reservation": "i-1", "filter_tenant_id": f"p-7, {PROJECT}"})
    check(decide(FLAVOR, [shared], DEFAULTS), row=5, passes=True)


def test_hints_come_as_text_list_or_nothing() -> None:
    assert hints("r-1") == ("r-1",)
    assert hints(["r-1", "r-2"]) == ("r-1", "r-2")
    assert hints([]) == hints(None) == hints("") == ()
