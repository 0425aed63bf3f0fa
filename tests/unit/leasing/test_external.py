"""The external service: what it is sent, what its answers do, and that only what it approved is committed."""

from __future__ import annotations

import json
import logging
import ssl
import threading
import time
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from leasehold import conf
from leasehold.conf.settings import ExternalSettings
from leasehold.enforcement.base import load_filters
from leasehold.enforcement.external import GENERIC, LONGEST_MESSAGE, ExternalService
from leasehold.leasing.approval import QUESTIONS
from leasehold.model.errors import (
    ConflictError,
    ExternallyDeniedError,
    LeaseholdError,
    NoDecisionError,
    NotEnoughError,
    UnsettledError,
)
from tests.approver import ALLOW, Approver, approving, deny, stored
from tests.factory import DEMO, World, floating_ips, hosts, instances, run_manager
from tests.refused import refused
from tests.security.tls import make_certificate
from tests.serving import raw
from tests.stateful.audit import audit

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.serving import Answer, Asked


@pytest.fixture
def approver() -> Iterator[Approver]:
    with approving() as made:
        yield made


def asking(world: World, approver: Approver, **more: Any) -> World:
    """Return the same service, which asks the approver."""
    return world.with_settings(leases=approver.settings(**more))


def hostnames(question: Any, position: int = 0) -> list[str]:
    return [each["hypervisor_hostname"] for each in question["lease"]["reservations"][position]["allocations"]]


# ---------------------------------------------------------------- what it is sent


def test_a_creation_is_sent_as_the_contract_says_byte_for_byte(world: World, approver: Approver) -> None:
    ask = asking(world, approver, token="s3cret", auth_url="https://id.example/v3", region="R1")
    request = hosts(resource_properties='["==", "$rack", "r2"]')
    lease = ask.lease(request, start=1, end=3, name="n")
    [asked] = approver.asked
    (taken,) = (each for each in world.listed() if each.label in world.holds(lease))
    assert (asked.method, asked.path) == ("POST", "/v1/check-create")
    assert (asked.headers["Content-Type"], asked.headers["X-Auth-Token"]) == ("application/json", "s3cret")
    expected = {
        "context": {
            "user_id": "alice",
            "project_id": "demo",
            "auth_url": "https://id.example/v3",
            "region_name": "R1",
        },
        "lease": {
            "name": "n",
            "start_date": "2031-05-01T10:00:00",
            "end_date": "2031-05-01T12:00:00",
            "before_end_date": "2031-05-01T11:00:00",
            "events": [],
            "user_id": "alice",
            "project_id": "demo",
            "status": "CREATING",
            "reservations": [{**request, "allocations": [taken.values]}],
        },
    }
    assert asked.body == json.dumps(expected).encode()
    assert taken.values.items() >= {"id": taken.id, "hypervisor_hostname": taken.label, "rack": "r2"}.items()


def test_an_amendment_is_sent_as_the_contract_says_byte_for_byte(world: World, approver: Approver) -> None:
    ask = asking(world, approver, token="s3cret", auth_url="https://id.example/v3", region="R1")
    lease = world.active(hosts(), end=3)
    before = stored(world, lease, "UPDATING")
    world.clock.advance(minutes=5, seconds=1)
    ask.amend(lease, {"min": 1, "max": 2}, end=4, name="other")
    after = stored(world, lease, "UPDATING")
    # When it is asked nothing is written, and the reservation is as it was but for what the client sent.
    parts = [
        {**part, "updated_at": old["updated_at"]}
        for part, old in zip(after["reservations"], before["reservations"], strict=True)
    ]
    expected = {
        "context": {
            "user_id": "alice",
            "project_id": "demo",
            "auth_url": "https://id.example/v3",
            "region_name": "R1",
        },
        "current_lease": before,
        "lease": {
            "name": "other",
            "start_date": "2031-05-01T09:00:00",
            "end_date": "2031-05-01T13:00:00",
            "reservations": parts,
        },
    }
    [asked] = approver.asked
    assert json.loads(asked.body) == expected
    assert (asked.method, asked.path) == ("POST", "/v1/check-update")
    assert (asked.headers["Content-Type"], asked.headers["X-Auth-Token"]) == ("application/json", "s3cret")
    assert (parts[0]["max"], len(parts[0]["allocations"])) == (2, 2)


def test_no_token_is_sent_when_there_is_none(world: World, approver: Approver) -> None:
    asking(world, approver).lease(hosts())
    assert "X-Auth-Token" not in approver.asked[0].headers


def test_each_reservation_is_sent_with_its_own_resources(world: World, approver: Approver) -> None:
    lease = asking(world, approver).lease(hosts(2), instances(3), hosts(), floating_ips(1))
    parts = approver.body()["lease"]["reservations"]
    assert [len(part["allocations"]) for part in parts] == [2, 1, 1, 1]
    for position in (0, 1, 2):
        assert set(hostnames(approver.body(), position)) == set(world.holds(lease, position))
    assert {each["floating_ip_address"] for each in parts[3]["allocations"]} == set(world.holds(lease, 3))


def test_an_amendment_is_sent_with_the_lease_as_it_is_and_as_it_becomes(world: World, approver: Approver) -> None:
    lease = world.lease(hosts(), start=1, end=3)
    ask = asking(world, approver)
    ask.amend(lease, {"min": 2, "max": 2}, end=4)
    assert approver.paths == ["/v1/check-update"]
    body = approver.body()
    new, old = body["lease"], body["current_lease"]
    assert set(new) == {"start_date", "end_date", "reservations"}
    assert (new["end_date"], old["end_date"]) == ("2031-05-01T13:00:00", "2031-05-01T12:00:00")
    assert (old["id"], old["status"], old["trust_id"]) == (lease.id, "UPDATING", None)
    assert sorted(each["event_type"] for each in old["events"]) == ["before_end_lease", "end_lease", "start_lease"]
    [before], [after] = old["reservations"], new["reservations"]
    assert (before["max"], after["max"]) == (1, 2)
    assert before["id"] == after["id"] == lease.reservations[0].id
    assert len(before["allocations"]) == 1
    assert set(hostnames(body)) == set(world.holds(lease))
    ask.amend(lease, before_end=2, name="other")
    assert set(approver.body()["lease"]) == {"name", "start_date", "end_date", "before_end_date", "reservations"}
    assert approver.body()["lease"]["before_end_date"] == "2031-05-01T11:00:00"


def test_it_is_not_asked_about_a_name_nor_by_an_exempt_project_nor_by_a_call_without_url(
    world: World, approver: Approver
) -> None:
    ask = asking(world, approver, base=None, check_update=f"{approver.url}/elsewhere?x=1")
    lease = ask.lease(hosts(), start=1, end=3)
    ask.amend(lease, name="new")
    assert approver.asked == []
    ask.amend(lease, end=4)
    assert approver.paths == ["/elsewhere?x=1"]
    settings = approver.settings()
    free = replace(settings, limits=replace(settings.limits, exempt_projects=frozenset({"demo"})))
    world.with_settings(leases=free).amend(lease, end=5)
    assert len(approver.asked) == 1


# ---------------------------------------------------------------- what its answers do


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b'{"message": "Your budget is spent."}', "Your budget is spent."),
        (b'{"message": "a\\u0000b\\ud800\\nc"}', "a b  c"),
        (b'{"message": "' + b"x" * 2000 + b'"}', "x" * LONGEST_MESSAGE),
        (b'{"message": "' + b"x" * 70_000 + b'"}', GENERIC),
        (b'{"message": ["no"]}', GENERIC),
        (b"[" * 60_000, GENERIC),
        (b"\xff\xfe", GENERIC),
        (b"", GENERIC),
    ],
)
def test_a_denial_leaves_no_trace_and_says_why(world: World, approver: Approver, content: bytes, message: str) -> None:
    lease = world.active(hosts(), end=3)
    approver.answer = deny(content)
    ask = asking(world, approver)
    for error in (
        refused(ask, ExternallyDeniedError, ask.lease, hosts()),
        refused(ask, ExternallyDeniedError, ask.amend, lease, end=4),
    ):
        assert (error.message, error.status, error.code) == (message, 400, "leasehold.enforcement.external")
    assert world.status(lease) == "ACTIVE"
    audit(world)


def check_without_decision(world: World, approver: Approver, **more: Any) -> None:
    """Check that a request is refused with 503 where the service gives no decision, or granted, as is configured."""
    closed = asking(world, approver, **more)
    error = refused(closed, NoDecisionError, closed.lease, hosts())
    assert (error.status, error.code) == (503, "leasehold.enforcement.unavailable")
    lease = asking(world, approver, allows_on_failure=True, **more).lease(hosts())
    assert len(world.holds(lease)) == 1


@pytest.mark.parametrize("status", [200, 302, 400, 404, 500])
def test_any_other_answer_is_no_decision(world: World, approver: Approver, status: int) -> None:
    approver.answer = (status, {"Location": f"{approver.url}/v1/else"}, b"{}")
    check_without_decision(world, approver)
    assert approver.paths == ["/v1/check-create"] * 2


@pytest.mark.parametrize(
    "answer",
    [
        b"\x00\xff garbage\r\n\r\n",
        b"HTTP/1.1 204 No Content\r\nContent-Length: 1, 2\r\n\r\n",
        b"HTTP/1.1 302 Found\r\nLocation: http://[::1/\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.1 999 \xff\r\n\r\n",
        b"",
    ],
)
def test_no_answer_is_no_decision(world: World, approver: Approver, answer: bytes) -> None:
    with raw(answer) as url:
        check_without_decision(world, approver, base=url)
    # Nobody listens there any more.
    check_without_decision(world, approver, base=url)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("begin", "endless"),
    [
        (b"", b"x"),
        (b"HTTP/1.1 204 No Content\r\n", b"x"),
        (b"HTTP/1.1 204 No Content\r\nContent-", b"Length: 0\r\nX"),
        (b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
        (b"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\n\r\n", b"x"),
    ],
)
def test_an_answer_that_never_ends_is_no_decision_in_time(
    world: World, approver: Approver, begin: bytes, endless: bytes
) -> None:
    with raw(begin, endless=endless, pause=0.02) as url:
        begun = time.monotonic()
        check_without_decision(world, approver, base=url, seconds=0.3)
        assert time.monotonic() - begun < 10


@pytest.mark.slow
@pytest.mark.parametrize("pause", [0, 0.02])
def test_a_denial_that_never_ends_is_a_denial_in_time(world: World, approver: Approver, pause: float) -> None:
    with raw(b"HTTP/1.1 403 Forbidden\r\n\r\n", endless=b"x" * 100, pause=pause) as url:
        ask = asking(world, approver, base=url, seconds=0.3)
        begun = time.monotonic()
        assert refused(ask, ExternallyDeniedError, ask.lease, hosts()).message == GENERIC
        assert time.monotonic() - begun < 10


@pytest.mark.slow
def test_a_service_with_tls_is_trusted_by_cafile_alone_and_ends_in_time_too(world: World, tmp_path: Path) -> None:
    certificate, key = make_certificate(tmp_path)
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(certificate, key)
    with approving(tls) as approver:
        assert asking(world, approver, cafile=str(certificate)).lease(hosts())
        assert len(approver.asked) == 1
        check_without_decision(world, approver)
        assert len(approver.asked) == 1
        with raw(endless=b"x", pause=0.02, tls=tls) as url:
            begun = time.monotonic()
            check_without_decision(world, approver, base=url, seconds=0.3, cafile=str(certificate))
            assert time.monotonic() - begun < 10


def test_the_token_is_in_no_log_and_no_repr(world: World, approver: Approver, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    settings = approver.settings(token="s3cret")
    assert "s3cret" not in repr(settings)
    ask = world.with_settings(leases=settings)
    for answer in (ALLOW, deny(b"{}"), (500, {}, b"")):
        approver.answer = answer
        with suppress(LeaseholdError):
            ask.lease(hosts())
    assert [each.headers["X-Auth-Token"] for each in approver.asked] == ["s3cret"] * 3
    assert "s3cret" not in caplog.text + repr(ask.service.enforcement)


@pytest.mark.slow
def test_a_service_that_does_not_answer_in_time_gives_no_decision(world: World, approver: Approver) -> None:
    over = threading.Event()

    def hang(_: Asked) -> Answer:
        over.wait(60)
        return ALLOW

    approver.answer = hang
    try:
        check_without_decision(world, approver, seconds=0.1)
    finally:
        over.set()


# ---------------------------------------------------------------- what is committed is what was approved


def test_no_lock_is_held_while_it_is_asked_and_a_decision_that_was_overtaken_is_asked_again(
    world: World, approver: Approver
) -> None:
    def overtake(_: Asked) -> Answer:
        if len(approver.asked) == 1:
            # On SQLite this would wait for any other transaction to end.
            world.lease(hosts(), end=2)
        return ALLOW

    approver.answer = overtake
    lease = asking(world, approver).lease(hosts())
    first, second = hostnames(approver.body(0)), hostnames(approver.body(1))
    assert first != second
    assert set(second) == set(world.holds(lease))
    assert len(approver.asked) == 2
    audit(world)


def test_a_dropped_reservation_is_left_out_of_what_the_lease_becomes(world: World, approver: Approver) -> None:
    ask, lease = asking(world, approver), world.active(hosts(), hosts(), end=3)
    ask.amend(lease, drops=frozenset({lease.reservations[0].id}))
    assert approver.paths == ["/v1/check-update"]
    question = json.loads(approver.asked[0].body)
    shown = [[part["id"] for part in question[name]["reservations"]] for name in ("current_lease", "lease")]
    both = [part.id for part in lease.reservations]
    assert shown == [both, both[1:]]
    assert len(hostnames(question)) == 1


def test_an_amendment_that_was_overtaken_is_asked_again(world: World, approver: Approver) -> None:
    lease = world.lease(hosts(), end=2)

    def overtake(_: Asked) -> Answer:
        if len(approver.asked) == 1:
            world.lease(hosts(), end=2)
        return ALLOW

    approver.answer = overtake
    asking(world, approver).amend(lease, {"min": 2, "max": 2})
    assert hostnames(approver.body(0)) != hostnames(approver.body(1))
    assert set(hostnames(approver.body(1))) == set(world.holds(lease))
    assert len(approver.asked) == 2


def test_a_lease_that_changes_meanwhile_is_asked_about_as_it_is_then(world: World, approver: Approver) -> None:
    lease = world.lease(hosts(), end=2)

    def change(_: Asked) -> Answer:
        if len(approver.asked) == 1:
            world.amend(lease, name="changed")
        return ALLOW

    approver.answer = change
    assert asking(world, approver).amend(lease, end=3).name == "changed"
    assert [approver.body(position)["current_lease"]["name"] for position in (0, 1)] == ["lease", "changed"]


def test_a_request_that_is_overtaken_each_time_is_refused(world: World, approver: Approver) -> None:
    others = []

    def overtake(_: Asked) -> Answer:
        others.append(world.lease(hosts(), end=2))
        return ALLOW

    approver.answer = overtake
    ask = asking(world, approver)
    with pytest.raises(UnsettledError) as caught:
        ask.lease(hosts())
    assert (caught.value.status, caught.value.code) == (409, "leasehold.enforcement.unsettled")
    assert len(approver.asked) == len(others) == QUESTIONS
    for other in others:
        world.delete(other)
    run_manager(world)
    approver.answer = ALLOW
    assert world.holds(ask.lease(hosts(5)))


def test_what_does_not_fit_is_not_asked_about(world: World, approver: Approver) -> None:
    ask = asking(world, approver)
    refused(ask, NotEnoughError, ask.lease, hosts(6))
    assert approver.asked == []


def test_a_repeated_key_is_not_asked_about_again(world: World, approver: Approver) -> None:
    ask = asking(world, approver)
    lease = ask.lease(hosts(), key="k")
    assert ask.lease(hosts(), key="k").id == lease.id
    assert len(approver.asked) == 1
    with pytest.raises(ConflictError):
        ask.lease(hosts(2), key="k")


def test_a_denial_because_of_the_same_request_is_answered_with_its_lease(world: World, approver: Approver) -> None:
    """Two requests with one key at the same time: the service allows the first one only."""
    made = []

    def twin(_: Asked) -> Answer:
        made.append(world.lease(hosts(), key="k", caller=DEMO))
        return deny(b'{"message": "You have one already."}')

    approver.answer = twin
    assert asking(world, approver).lease(hosts(), key="k").id == made[0].id
    assert len(made) == 1


# ---------------------------------------------------------------- its configuration


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        (ExternalSettings(), "has no URL"),
        (ExternalSettings(base="ftp://x/"), "cannot be used"),
        (ExternalSettings(base="http:///v1/"), "cannot be used"),
        (ExternalSettings(base="http://x/", on_end="x/on-end"), "on-end cannot be used"),
        (ExternalSettings(base="http://[::1/"), "cannot be used"),
        (ExternalSettings(base="http://x:99999/"), "cannot be used"),
        (ExternalSettings(base="http://x/", token="a\nb"), "printable ASCII"),
        (ExternalSettings(base="http://x/", token="\xfc"), "printable ASCII"),
    ],
)
def test_settings_that_cannot_work_stop_the_start(settings: ExternalSettings, why: str) -> None:
    with pytest.raises(conf.ConfigurationError, match=why):
        ExternalService(settings)


def test_blazars_options_are_understood(
    tmp_path: Path, approver: Approver, world: World, caplog: pytest.LogCaptureFixture
) -> None:
    file = tmp_path / "blazar.conf"
    # As in Blazar, a base without a slash at its end loses the last part of its path.
    file.write_text(
        "[DEFAULT]\nos_region_name = R1\nos_auth_host = id.example\nos_admin_password = x\n"
        "[enforcement]\nenabled_filters = ExternalServiceFilter\nexternal_service_token = t\n"
        f"external_service_base_endpoint = {approver.url}/api\n"
        f"external_service_check_update_endpoint = {approver.url}/other\n"
    )
    settings = conf.load(["--config-file", str(file)]).settings.leases
    ask = world.with_settings(leases=settings)
    lease = ask.lease(hosts(), start=1, end=3)
    ask.amend(lease, end=4)
    assert approver.paths == ["/check-create", "/other"]
    context = {"user_id": "alice", "project_id": "demo", "auth_url": "http://id.example:5000/v3", "region_name": "R1"}
    assert approver.body()["context"] == context
    load_filters(replace(settings, enforcement_filters=()))
    assert "add ExternalServiceFilter to [enforcement] enabled_filters" in caplog.text
