"""`lease create`: every way to say what and when, the wait, and what is offered after a refusal."""

from __future__ import annotations

import shlex
from collections import Counter
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest

from client.tests.booking import LASTS, booked, minute
from client.tests.terminal import on_a_terminal
from leasehold_client.cli.leases.counter_offer import offers_for_lease
from leasehold_client.errors import ApiError
from leasehold_client.lease import LeaseRequest

if TYPE_CHECKING:
    from client.tests.conftest import Shell
    from leasehold_client import Client

pytestmark = pytest.mark.slow

SLOTS = "resource_type=virtual:instance,vcpus=1,memory_mb=512,disk_gb=5,amount=2"
EXPRESSION = '[">=", "$vcpus", "16"]'


def test_hosts_from_now_and_the_wait_until_they_are_ready(shell: Shell, client: Client) -> None:
    words = ("--hosts", "2", "--properties", EXPRESSION, "--for", "3h", "--wait", "--wait-timeout", "1m", "-f", "json")
    said = shell.ok("lease", "create", "mine", *words)
    assert (said.json["status"], said.json["what"]) == ("ACTIVE", "2 hosts")
    assert said.err.splitlines()[-1] == "mine is ACTIVE"
    (lease,) = client.leases.list()
    assert lease.end - lease.start == LASTS
    assert lease.reservations[0].values["resource_properties"] == EXPRESSION


def test_times_are_in_the_users_zone_and_blazars_in_utc(shell: Shell, client: Client) -> None:
    day = (minute() + timedelta(days=2)).date()
    shell.ok("lease", "create", "ours", "--hosts", "1", "--until", "16:00", "--from", f"{day} 14:00")
    blazars = ("--start-date", f"{day} 14:00", "--end-date", f"{day} 16:00", "--before-end-date", f"{day} 15:00")
    hosts = ("--physical-reservation", f"min=1,max=2,hypervisor_properties={EXPRESSION}")
    shell.ok("lease", "create", "blazars", *blazars, *hosts)
    leases = {lease.name: lease for lease in client.leases.list()}
    two = datetime.fromisoformat(f"{day}T14:00Z")
    assert (leases["blazars"].start, leases["blazars"].end) == (two, two + timedelta(hours=2))
    assert leases["blazars"].reservations[0].values["max"] == 2
    assert leases["ours"].start == two - timedelta(hours=5, minutes=45)


def test_a_start_that_has_passed_is_refused_and_not_taken_for_now(shell: Shell, client: Client) -> None:
    dates = ("--from", "yesterday 10:00", "--until", "tomorrow 10:00")
    for command in (("lease", "create"), ("lease", "create", "--dry-run"), ("offer", "create")):
        said = shell(*command, "late", "--hosts", "1", *dates)
        assert (said.status, said.out) == (1, "")
        assert "Start date must be later than the current date, " in said.err
        assert "(in start_date)" in said.err
    assert client.leases.list() == []
    shell.ok("lease", "create", "ours", "--hosts", "1", "--from", "now", "--for", "3h")


def test_hosts_that_lie_together_and_apart(shell: Shell, client: Client) -> None:
    shell.ok("lease", "create", "rack", "--hosts", "2", "--together", "rack", "--for", "3h")
    shell.ok("lease", "create", "racks", "--hosts", "2", "--apart", "rack", "--for", "3h")
    shell.ok("lease", "create", "slots", "--for", "3h", "--reservation", f"{SLOTS},together=rack")
    shell.ok("series", "create", "often", "--rule", "FREQ=DAILY;COUNT=2", "--hosts", "1", "--together", "rack")
    racks = Counter(host.values["rack"] for host in client.hosts.list())
    for option, most in (("--together", max(racks.values())), ("--apart", len(racks))):
        said = shell("lease", "create", "far", "--hosts", "11", option, "rack", "--from", "in 2 d", "--for", "3h")
        assert f"Not enough hosts available: 11 asked, {most} free" in said.err


def test_several_reservations_and_an_event(shell: Shell, client: Client) -> None:
    due = minute() + timedelta(days=2, hours=1)
    event = f"event_type=notification,event_date={due:%Y-%m-%d %H:%M}"
    words = ("--reservation", SLOTS, "--hosts", "1", "--from", "in 2 d", "--for", "3h", "--event", event)
    shown = shell.ok("lease", "create", "both", *words, "-f", "json").json
    assert shown["what"] == "1 host, 2 instances of 1 vCPUs, 512 MiB"
    assert f"{due:%Y-%m-%dT%H:%M}" in {each["time"][:16] for each in shown["events"]}
    assert len(client.leases.list()[0].reservations) == 2


def test_a_lease_that_waits_for_room(shell: Shell, client: Client) -> None:
    booked(client, "all", timedelta(days=1), amount=12)
    words = ("--from", "in 1 d", "--for", "2h", "--type", "waitlist", "--deadline", "in 20 h", "--hosts", "12")
    assert shell.ok("lease", "create", "patient", *words, "-f", "json").json["status"] == "IN_PROGRESS"
    for word in ("patient", client.leases.list()[-1].id):
        shown = shell.ok("lease", "show", word, "-f", "json").json["in_line"]
        assert (shown["position"], shown["ahead"], shown["expected_at"]) == (1, 0, None)
    told = shell.ok("lease", "show", "patient").out
    assert "1, with 0 ahead of it. Nobody knows when it starts: " in told
    assert "Who has waited longest comes first" in told


def test_a_wait_that_is_too_long_is_said_so(shell: Shell) -> None:
    words = ("--hosts", "1", "--from", "tomorrow 23:00", "--for", "1h", "--wait", "--wait-timeout", "1s")
    said = shell("lease", "create", "tomorrow", *words)
    assert said.status == 1
    assert "tomorrow is PENDING, starts " in said.err
    assert "The lease tomorrow is PENDING still. It goes on without this command; see lease show " in said.err


# ---------------------------------------------------------------- refusals


def test_a_refusal_says_which_commands_would_work_and_they_do(shell: Shell, client: Client) -> None:
    busy = booked(client, "busy", timedelta(days=1), amount=5)
    wanted = ("--hosts", "12", "--from", f"{busy.start:%Y-%m-%d %H:%M} UTC", "--for", "2h")
    said = shell("lease", "create", "all", *wanted)
    assert (said.status, said.out) == (1, "")
    lines = said.err.splitlines()
    assert lines[0].startswith("Not enough hosts available: 12 asked, 7 free")
    assert lines[1].startswith("All of it is free from ")
    assert lines[3] == "7 of them are free at the time that you asked for."
    commands = [line.strip() for line in lines if line.startswith("  leasehold lease create all ")]
    for command in commands:
        shell.ok(*words_of(command))
    later, smaller = sorted(client.leases.list(), key=lambda lease: lease.start)[::-1][:2]
    assert (later.start, later.reservations[0].values["min"]) == (busy.end, 12)
    assert (smaller.start, smaller.reservations[0].values["min"]) == (busy.start, 7)


def test_on_a_terminal_what_would_work_is_offered(shell: Shell, client: Client) -> None:
    busy = booked(client, "busy", timedelta(days=1), amount=5)
    wanted = ("--hosts", "12", "--from", f"{busy.start:%Y-%m-%d %H:%M} UTC", "--for", "2h")
    refused = on_a_terminal(shell, ("lease", "create", "all", *wanted), answers=["n", ""])
    assert refused.status == 1
    assert refused.out.count("Take it? [y/N]") == 2
    taken = on_a_terminal(shell, ("lease", "create", "all", *wanted), answers=["y"])
    assert taken.status == 0, taken.out
    (lease,) = [each for each in client.leases.list() if each.name == "all"]
    assert (lease.start, lease.end) == (busy.end, busy.end + timedelta(hours=2))


def test_a_lease_begins_as_soon_as_others_end(shell: Shell, client: Client) -> None:
    busy = booked(client, "busy", timedelta(days=1), amount=12)
    start = busy.end - timedelta(minutes=5)
    words = ("--hosts", "2", "--from", f"{start:%Y-%m-%d %H:%M} UTC", "--for", "2h", "--ready-within")
    assert shell("lease", "create", "ours", *words, "4min").status == 1
    shell.ok("lease", "create", "ours", *words, "15min")
    (lease,) = [each for each in client.leases.list() if each.name == "ours"]
    assert (lease.start, lease.end) == (busy.end, busy.end + timedelta(hours=2))


def test_what_sleeps_is_offered_as_what_is_ready_soon() -> None:
    """The window of now would be gone when it is asked for."""
    start = minute()
    window = {"start": f"{start.isoformat()}", "end": f"{(start + LASTS).isoformat()}"}
    details = {"largest": 0, "nearest": window, "ready_within_seconds": 1020}
    request = LeaseRequest("ours", None, start + LASTS, (), template="box", lasts=LASTS)
    (offer,) = offers_for_lease(ApiError(409, "Not enough", details=details), request, UTC)
    assert offer.sentence == "All of it is ready within 17 min, and then yours."
    assert offer.wish.body()["ready_within_seconds"] == 1020
    assert offer.words[-2:] == ("--ready-within", "1020s")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "Say what to lease: --hosts 2"),
        (("--properties", EXPRESSION), "say with --hosts how many"),
        (("--apart", "rack"), "--apart says which hosts; say with --hosts how many"),
        (("--hosts", "1", "--for", "soon"), "argument --for: 'soon' is no duration"),
        (("--hosts", "1", "--ready-within", "soon"), "argument --ready-within: 'soon' is no duration"),
        (("--hosts", "1", "--ready-within", "2d"), "The value of ready_within_seconds is not acceptable"),
        (("--hosts", "1", "--until", "soon"), "argument --until: 'soon' is no time"),
        (("--hosts", "1", "--end-date", "tomorrow"), "argument --end-date: 'tomorrow' is no time of the form"),
        (("--reservation", "min=1"), "argument --reservation: 'min=1' names no resource_type"),
        (("--hosts", "1", "--from", "now", "--start-date", "now"), "not allowed with argument"),
        (("--hosts", "0", "--for", "1h"), "(in reservations[0].min)"),
    ],
)
def test_bad_input_is_a_sentence_that_names_the_option(shell: Shell, words: tuple[str, ...], message: str) -> None:
    said = shell("lease", "create", "bad", *words)
    assert said.status in (1, 2)
    assert message in said.err


def words_of(command: str) -> list[str]:
    """Return the words of a command as a shell reads them, without the program."""
    return shlex.split(command)[1:]
