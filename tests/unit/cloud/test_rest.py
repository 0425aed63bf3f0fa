"""Calls to a faulty service: a real HTTP server with answers scripted by the test."""

from __future__ import annotations

import socket
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any
from uuid import UUID

import pytest

from leasehold.api import request_ids
from leasehold.cloud.deadline import deadline
from leasehold.cloud.openstack.flavors import OpenStackFlavors
from leasehold.cloud.openstack.hypervisors import OpenStackHypervisors
from leasehold.cloud.openstack.rest import ATTEMPTS
from leasehold.cloud.openstack.servers import ONE_BY_ONE, OpenStackServers
from leasehold.cloud.ports import CloudPermanentError, CloudTransientError
from leasehold.conf.keystone import TIMEOUT_SECONDS
from tests.servers import free_port
from tests.unit.cloud.scripted import service

if TYPE_CHECKING:
    from pathlib import Path

    from leasehold.cloud.openstack.rest import ServiceClient
    from tests.unit.cloud.scripted import Script

NOVA_SAYS = {"badRequest": {"code": 400, "message": "No such thing."}}


@pytest.mark.slow
def test_a_blip_is_tried_again(nova: ServiceClient, script: Script) -> None:
    script.answers = [(503, ""), (502, "<html>"), (200, {"x": 1})]
    assert nova.get("things.get", "/things", "2.1") == {"x": 1}
    assert {headers["OpenStack-API-Version"] for _, _, headers in script.asked} == {"compute 2.1"}


@pytest.mark.slow
def test_a_service_that_stays_away_is_transient(nova: ServiceClient, script: Script) -> None:
    script.answers = [(503, {"message": "Back soon."})]
    with pytest.raises(CloudTransientError, match=r"^nova things\.get: /things answered 503: Back soon$"):
        nova.get("things.get", "/things")
    assert len(script.asked) == ATTEMPTS


def test_what_may_have_had_an_effect_is_not_repeated(nova: ServiceClient, script: Script) -> None:
    script.answers = [(503, "")]
    with pytest.raises(CloudTransientError):
        nova.call("things.create", "POST", "/things", json={})
    assert len(script.asked) == 1


@pytest.mark.parametrize(
    ("status", "content", "error", "says"),
    [
        *((status, NOVA_SAYS, CloudTransientError, f"{status}: No such thing$") for status in (401, 409, 429, 500)),
        *((status, NOVA_SAYS, CloudPermanentError, f"{status}: No such thing$") for status in (400, 403, 404, 410)),
        (200, "<html>We are moving.</html>", CloudTransientError, "with a body that is not JSON"),
    ],
)
def test_what_may_pass_is_transient_and_the_rest_is_permanent(
    nova: ServiceClient, script: Script, status: int, content: object, error: type[Exception], says: str
) -> None:
    script.answers = [(status, content)]
    with pytest.raises(error, match=rf"^nova things\.get: /things answered {says}"):
        nova.get("things.get", "/things")


CLIENTS = "req-" + str(UUID(int=7))


@pytest.mark.parametrize(("sent", "forwarded"), [(CLIENTS, CLIENTS), ("made up", None), (None, None)])
def test_an_action_can_be_followed_through_the_services(
    nova: ServiceClient, script: Script, sent: str | None, forwarded: str | None
) -> None:
    """The client's request id is forwarded to the cloud, or our own when the client sent no valid one."""
    script.answers = [(200, {})]
    own = request_ids.begin(sent)
    nova.get("things.get", "/things", "2.1")
    nova.as_user("token").get("things.get", "/things")
    assert [headers.get("X-OpenStack-Request-ID") for _, _, headers in script.asked] == [forwarded or own] * 2
    assert script.asked[1][2]["X-Auth-Token"] == "token"


def test_what_nobody_asked_for_has_no_request_id(nova: ServiceClient, script: Script) -> None:
    """A manager's work belongs to no API request."""
    script.answers = [(200, {})]
    with ThreadPoolExecutor(1) as another:
        another.submit(nova.get, "things.get", "/things").result()
    assert "X-OpenStack-Request-ID" not in script.asked[0][2]


def test_a_status_may_be_fine_or_pass_later(nova: ServiceClient, script: Script) -> None:
    script.answers = [(404, NOVA_SAYS)]
    assert nova.get("things.get", "/things", none_on=(404,)) is None
    assert nova.call("things.delete", "DELETE", "/things/1", fine=(404,)).status_code == 404
    with pytest.raises(CloudTransientError):
        nova.call("things.delete", "DELETE", "/things/1", later=(404,))


def test_pages_are_followed_as_long_as_there_is_a_link(nova: ServiceClient, script: Script) -> None:
    more = {"things_links": [{"rel": "next", "href": "elsewhere"}]}
    script.answers = [(200, {"things": [{"id": 1}, {"id": 2}], **more}), (200, {"things": [{"id": 3}]})]
    assert [row["id"] for row in nova.pages("things.list", "/things", "things")] == [1, 2, 3]
    assert "marker=2" in script.asked[1][1]


def test_a_user_is_answered_for_with_their_own_token(nova: ServiceClient, script: Script) -> None:
    script.answers = [(200, {})]
    as_user = nova.as_user("a-secret")
    as_user.get("things.get", "/things")
    assert script.asked[0][2]["X-Auth-Token"] == "a-secret"
    assert "a-secret" not in repr(as_user)


def test_nobody_there_is_transient_and_the_message_names_no_address(tmp_path: Path) -> None:
    port = free_port()
    nobody = service(tmp_path, f"http://127.0.0.1:{port}")
    with pytest.raises(CloudTransientError, match="cannot be reached") as caught:
        nobody.get("things.get", "/things")
    assert str(port) not in str(caught.value)


def test_a_hypervisor_of_another_cell_with_the_same_number_is_not_taken_for_it(
    nova: ServiceClient, script: Script
) -> None:
    """Each cell numbers its hypervisors itself, and Nova returns the first hypervisor with the number."""
    row = {
        "id": 1,
        "hypervisor_hostname": "cell1-01",
        "service": {"host": "cell1-01"},
        "vcpus": 8,
        "memory_mb": 1024,
        "local_gb": 10,
        "cpu_info": {},
        "hypervisor_type": "QEMU",
        "hypervisor_version": 1,
        "state": "up",
        "status": "enabled",
    }
    script.answers = [
        (200, {"hypervisors": [{"id": 1, "hypervisor_hostname": "cell2-01"}]}),
        (200, {"hypervisor": row}),
        (200, {"availabilityZoneInfo": []}),
    ]
    with pytest.raises(CloudPermanentError, match="cell1-01"):
        OpenStackHypervisors(nova).find("cell2-01")


@pytest.mark.slow
def test_one_deadline_ends_all_calls_of_a_service_that_is_silent(tmp_path: Path) -> None:
    """The service listens but never answers; without a deadline, each call would wait for the configured time-out."""
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        nova = service(tmp_path, f"http://127.0.0.1:{silent.getsockname()[1]}")
        with deadline(0.5):
            begin = time.monotonic()
            for _ in range(20):
                with pytest.raises(CloudTransientError, match=r"did not answer in time|cannot be reached"):
                    nova.call("things.create", "POST", "/things", json={})
            taken = time.monotonic() - begin
    assert taken < TIMEOUT_SECONDS


def row_of(number: str, host: str | None, *, preemptible: bool) -> dict[str, Any]:
    """Return a server as Nova returns it at both microversions in use."""
    flavor = {"id": "small", "extra_specs": {"blazar:preemptible": str(preemptible)}}
    row = {"id": number, "name": "vm", "tenant_id": "demo", "status": "ACTIVE", "created": "2031-05-01T09:00:00Z"}
    return {**row, "flavor": flavor, "OS-EXT-SRV-ATTR:host": host, "OS-EXT-STS:task_state": None}


def test_the_servers_of_many_hosts_are_one_listing(nova: ServiceClient, script: Script) -> None:
    rows = [row_of("a", "h1", preemptible=False), row_of("b", "h2", preemptible=True)]
    rows += [row_of("c", "elsewhere", preemptible=False), row_of("d", None, preemptible=False)]
    script.answers = [(200, {"servers": rows})]
    servers = OpenStackServers(nova, OpenStackFlavors(nova))
    found = servers.on_hosts({f"h{number}" for number in range(ONE_BY_ONE + 1)})
    assert [(each.id, each.service_host, each.preemptible) for each in found] == [("a", "h1", False), ("b", "h2", True)]
    assert len(script.asked) == 2
    assert not any("host=" in path for _, path, _ in script.asked)


def test_the_servers_of_few_hosts_are_asked_for_by_host(nova: ServiceClient, script: Script) -> None:
    script.answers = [(200, {"servers": []})]
    servers = OpenStackServers(nova, OpenStackFlavors(nova))
    assert servers.on_hosts({"h1", "h2"}) == []
    assert ["host=h1" in path or "host=h2" in path for _, path, _ in script.asked] == [True, True]


def use_of(host: str, *projects: str) -> dict[str, Any]:
    """Return what Nova shows of a host on which these projects have servers."""
    names = ("(total)", "(used_now)", "(used_max)", *projects)
    numbers = {"cpu": 1, "memory_mb": 512, "disk_gb": 1}
    return {"host": [{"resource": {"host": host, "project": name, **numbers}} for name in names]}


EMPTY: tuple[int, Any] = (200, {"servers": []})
DOWN = {"computeFault": {"code": 500, "message": "Unexpected API Error."}}


def on_host(nova: ServiceClient, host: str = "h1") -> list[str]:
    return [each.id for each in OpenStackServers(nova, OpenStackFlavors(nova)).on_host(host)]


def test_a_host_is_empty_when_its_own_cell_says_so(nova: ServiceClient, script: Script) -> None:
    script.answers = [EMPTY, (200, use_of("a/b"))]
    assert on_host(nova, "a/b") == []
    (_, listed, _), (method, shown, headers) = script.asked
    assert "host=a%2Fb" in listed
    assert (method, shown, headers["OpenStack-API-Version"]) == ("GET", "/os-hosts/a%2Fb", "compute 2.42")


def test_a_host_with_servers_is_asked_for_nothing_more(nova: ServiceClient, script: Script) -> None:
    script.answers = [(200, {"servers": [row_of("a", "h1", preemptible=False)]})]
    assert on_host(nova) == ["a"]
    assert not any("os-hosts" in path for _, path, _ in script.asked)


def test_a_host_that_nova_no_longer_knows_is_empty(nova: ServiceClient, script: Script) -> None:
    """Its service was deleted: otherwise a lease on it could never end, nor the host be removed."""
    script.answers = [EMPTY, (404, {"itemNotFound": {"code": 404, "message": "Compute host h1 could not be found."}})]
    assert on_host(nova) == []


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        ((500, DOWN), r"^Nova does not answer for the cell of host h1, .*; it is asked again \(.* answered 500"),
        ((200, "<html>"), "^Nova does not answer for the cell of host h1, "),
        ((200, use_of("h1", "demo")), "^Nova does not list the servers of host h1, although its cell has some"),
    ],
    ids=["down", "proxy", "skipped in the list only"],
)
def test_a_list_that_leaves_out_the_hosts_cell_is_not_believed(
    nova: ServiceClient, script: Script, answer: tuple[int, Any], says: str
) -> None:
    """By default Nova skips a cell that does not answer, and the list is empty without an error."""
    script.answers = [EMPTY, answer]
    with pytest.raises(CloudTransientError, match=says) as caught:
        on_host(nova)
    assert "demo" not in str(caught.value)


def test_the_cells_refusal_is_permanent_as_any_other(nova: ServiceClient, script: Script) -> None:
    script.answers = [EMPTY, (403, {"forbidden": {"code": 403, "message": "Policy doesn't allow os-hosts:show"}})]
    with pytest.raises(CloudPermanentError, match="os-hosts/h1 answered 403"):
        on_host(nova)
