"""E-mails, by a real dialogue of SMTP: what they say, where they may go, and what a mail server may do."""

from __future__ import annotations

import ssl
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from time import monotonic
from typing import TYPE_CHECKING, Any

import pytest

from leasehold.features.subscription.channel import DeliveryError
from leasehold.features.subscription.channels import CHANNELS
from leasehold.features.subscription.email import LONGEST_SUBJECT, write_letter
from leasehold.features.subscription.model import ChannelName, Subscription
from leasehold.features.subscription.settings import DeliverySettings, EmailSettings, MailSecurity
from leasehold.model.errors import InvalidInputError
from leasehold.model.event_log import EVENT_TYPES, Cursor, LogEvent
from tests.mailbox import mail_server
from tests.security.tls import make_certificate

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.mailbox import Mailbox

pytestmark = pytest.mark.slow

NOW = datetime(2031, 5, 1, 9, tzinfo=UTC)
EMAIL = EmailSettings(
    host="127.0.0.1",
    security=MailSecurity.NONE,
    sender="Leases <leases@example.org>",
    allowed_domains=("example.org", "cs.example.edu"),
)
TO = "mailto:alice@example.org"
LEASE = {
    "lease_id": "l1",
    "user_id": "u",
    "project_id": "p",
    "name": "gpu",
    "status": "ACTIVE",
    "degraded": False,
    "start_date": "2031-05-01T09:00:00+00:00",
    "end_date": "2031-05-02T09:00:00+00:00",
}
ALARM = {
    "id": "a1",
    "name": "gpus",
    "project_id": "p",
    "reservation": {"resource_type": "physical:host"},
    "below": 5,
    "duration": 3600,
    "available": 4,
    "reason": None,
}
SERVER = {"server_id": "s7", "server_name": "spot", "project_id": "p", "ends_at": "2031-05-01T10:00:00+00:00"}
FILLER = {
    "id": "f1",
    "name": "sweep",
    "project_id": "p",
    "user_id": "u",
    "host": {
        "id": "h1",
        "state": "leaving",
        "guaranteed_until": "2031-05-01T10:00:00+00:00",
        "leaves_at": "2031-05-01T10:00:00+00:00",
        "reason": "A lease needs its host.",
    },
}
BUDGET = {
    "id": "b1",
    "project_id": "p",
    "user_id": None,
    "name": "spring",
    "unit": "EUR",
    "at_end": "end",
    "percent": 80,
    "amount": "10.000000",
    "encumbered": "8.000000",
    "left": "2.000000",
    "start_date": "2031-01-01T00:00:00+00:00",
    "end_date": "2032-01-01T00:00:00+00:00",
}
RESOURCE = {"id": "7", "resource_type": "physical:host", "name": "cmp-01", "health": "failed"}


def subscription(target: str = TO) -> Subscription:
    return Subscription(
        id="s1",
        project_id="p",
        user_id="u",
        secret="",
        all_projects=False,
        channel=ChannelName.EMAIL,
        target=target,
        event_types=(),
        lease_id=None,
        created_at=NOW,
        position=0,
    )


def event(kind: str = "lease.create", **payload: Any) -> LogEvent:
    where = Cursor(7, "0123456789abcdef")
    if kind.startswith("resource."):
        return LogEvent(where, kind, NOW, None, None, "physical:host", "7", {**RESOURCE, **payload})
    if kind.startswith("capacity."):
        return LogEvent(where, kind, NOW, "p", None, None, None, {**ALARM, **payload})
    if kind.startswith("filler."):
        return LogEvent(where, kind, NOW, "p", None, None, None, {**FILLER, **payload})
    if kind.startswith("budget."):
        return LogEvent(where, kind, NOW, "p", None, None, None, {**BUDGET, **payload})
    if kind.startswith("server."):
        return LogEvent(where, kind, NOW, "p", None, None, None, {**SERVER, **payload})
    return LogEvent(where, kind, NOW, "p", "l1", None, None, {**LEASE, **payload})


def send(box: Mailbox, about: LogEvent | None = None, target: str = TO, seconds: float = 10.0, **email: Any) -> None:
    settings = DeliverySettings(answer_seconds=seconds, email=replace(EMAIL, port=box.port, **email))
    with CHANNELS[ChannelName.EMAIL].opened(subscription(target), settings) as sender:
        sender.send(about or event(), NOW)


@contextmanager
def failing(match: str, *, refused: bool = False) -> Iterator[None]:
    with pytest.raises(DeliveryError, match=match) as met:
        yield
    assert met.value.refused is refused


@pytest.mark.parametrize(
    "target",
    [
        *(
            "",
            "mailto:",
            "alice@example.org",
            "mailto:@example.org",
            "mailto:a@",
            "mailto:alice",
            "https://example.org/",
        ),
        *("mailto:a@example.com", "mailto:a@sub.example.org", "mailto:a@example.org.evil.com", "mailto:a@example.org."),
        *("mailto:a@example.org,b@example.org", "mailto:a@example.org?cc=b@c.d", "mailto:a%0d%0aX@example.org"),
        *(
            "mailto:a\r\nBcc: b@example.org",
            "mailto:a@example.org\n",
            "mailto:a b@example.org",
            "mailto:a@b@example.org",
        ),
        *(
            "mailto:v%evil.com@example.org",
            "mailto:evil.com!v@example.org",
            'mailto:"a"@example.org',
            "mailto:<a>@example.org",
        ),
        *("mailto:.a@example.org", "mailto:a.@example.org", "mailto:a..b@example.org", "mailto:ä@example.org"),
        *("mailto:a@exämple.org", "mailto:a@[127.0.0.1]", "mailto:a(x)@example.org", f"mailto:{'a' * 65}@example.org"),
    ],
)
def test_where_no_mail_goes(target: str) -> None:
    with pytest.raises(InvalidInputError) as met:
        CHANNELS[ChannelName.EMAIL].check(target, DeliverySettings(email=EMAIL))
    assert met.value.field == "target"
    with mail_server() as box, failing("not allowed any more"):
        send(box, target=target)
    assert box.lines == []


@pytest.mark.parametrize("target", [TO, "MAILTO:Alice.B+tag_1-2@EXAMPLE.org", "mailto:a@cs.example.edu"])
def test_where_mail_goes(target: str) -> None:
    CHANNELS[ChannelName.EMAIL].check(target, DeliverySettings(email=EMAIL))
    with mail_server() as box:
        send(box, target=target)
    assert [receivers for _, receivers, _ in box.taken] == [[f"rcpt TO:<{target[7:]}>"]]


@pytest.mark.parametrize("off", [{"host": None}, {"allowed_domains": ()}])
def test_there_is_no_mail_without_a_server_and_a_domain(off: dict[str, Any]) -> None:
    with pytest.raises(InvalidInputError, match="sends no e-mails") as met:
        CHANNELS[ChannelName.EMAIL].check(TO, DeliverySettings(email=replace(EMAIL, **off)))
    assert met.value.field == "channel"


def test_a_message() -> None:
    with mail_server() as box:
        send(box, event("lease.event.end_lease", name="Überschlag €", status="TERMINATED"))
        send(box, event("lease.event.end_lease", name="Überschlag €", status="TERMINATED"))
    (sender, _, first), (_, _, again) = box.taken
    assert sender.startswith("mail FROM:<leases@example.org>")
    assert {key: str(first[key]) for key in ("From", "To", "Subject", "Date", "Auto-Submitted")} == {
        "From": "Leases <leases@example.org>",
        "To": "alice@example.org",
        "Subject": "Lease Überschlag € has ended",
        "Date": "Thu, 01 May 2031 09:00:00 +0000",
        "Auto-Submitted": "auto-generated",
    }
    assert first["Message-ID"] == again["Message-ID"] == "<7-0123456789abcdef.s1@example.org>"
    text = first.get_content()
    assert "Überschlag €" in text
    assert "DELETE /v1/subscriptions/s1" in text
    assert first.get_content_type() == "text/plain"


@pytest.mark.parametrize(
    "name", ["x\r\nBcc: eve@example.com", "x\n\nSubject: y", "x\x00\x1b[31m\u2028\u202ey", "n" * 5000]
)
def test_a_name_changes_no_header_and_no_line(name: str) -> None:
    with mail_server() as box:
        send(box, event(name=name))
    ((_, receivers, message),) = box.taken
    assert len(receivers) == 1
    assert message["Bcc"] is None
    assert message["Subject"].isprintable()
    assert len(message["Subject"]) <= LONGEST_SUBJECT
    plain = [line.split(" ")[0] for line in write_letter(event(), subscription(), None).text.splitlines()]
    assert [line.split(" ")[0] for line in message.get_content().splitlines()] == plain


def test_a_message_says_what_the_lease_is_for() -> None:
    for kind in ("lease.create", "lease.purpose", "lease.event.start_lease"):
        text = write_letter(event(kind, purpose="Measure\r\nthe switch €"), subscription(), None).text
        assert "Purpose   Measure the switch €\n" in text
        assert "Purpose" not in write_letter(event(kind), subscription(), None).text


@pytest.mark.parametrize(
    ("word", "status", "end"),
    [
        *(("start", "ACTIVE", "has started"), ("start", "ERROR", "could not start")),
        *(("end", "TERMINATED", "has ended"), ("end", "ERROR", "could not end")),
    ],
)
def test_a_failure_is_not_told_as_a_success(word: str, status: str, end: str) -> None:
    about = event(f"lease.event.{word}_lease", status=status)
    assert write_letter(about, subscription(), None).subject == f"Lease gpu {end}"


@pytest.mark.parametrize("kind", sorted(EVENT_TYPES))
def test_each_type_has_words_of_its_own(kind: str) -> None:
    letter = write_letter(event(kind), subscription(), None)
    assert kind not in letter.subject
    named = {"lease": "gpu", "capacity": "gpus", "resource": "cmp-01", "server": "spot", "filler": "sweep"}
    named |= {"budget": "spring"}
    assert named[kind.partition(".")[0]] in letter.subject
    assert kind in letter.text


def test_a_filler_that_has_to_go_is_told_when_and_why() -> None:
    text = write_letter(event("filler.leaves"), subscription(), None).text
    assert "The servers on the host end at 2031-05-01T10:00:00+00:00" in text
    assert "A lease needs its host." in text
    shorter = write_letter(event("filler.guarantee"), subscription(), None).text
    assert "Its servers are let be until 2031-05-01T10:00:00+00:00 in any case" in shorter


def test_a_budget_says_what_is_left_and_what_becomes_of_leases() -> None:
    nearly = write_letter(event("budget.nearly_used"), subscription(), None)
    assert nearly.subject == "Of budget spring 80 % are agreed"
    assert "Left        2.000000 EUR\n" in nearly.text
    assert "What costs more than is left is refused.\nEvent " in nearly.text
    soon = write_letter(event("budget.ends_soon"), subscription(), None).text
    assert "Leases that run on then are ended, each after a notice of its own.\n" in soon
    shown = {
        each: write_letter(event("budget.ends_soon", at_end=each), subscription(), None).text
        for each in ("run", "warn")
    }
    assert "Leases run on then.\n" in shown["run"]
    assert "Leases run on then, and their owners are told.\n" in shown["warn"]


def test_a_lease_beyond_its_budget_says_when_it_ends() -> None:
    when = {"unpaid_from": "2031-05-02T09:00:00+00:00", "ends_at": "2031-05-03T09:00:00+00:00"}
    text = write_letter(event("lease.budget_ends", **when), subscription(), None).text
    assert "No budget pays for it from 2031-05-02T09:00:00+00:00 on. It ends at 2031-05-03T09:00:00+00:00" in text
    assert (
        "It runs on.\n"
        in write_letter(event("lease.budget_ends", **{**when, "ends_at": None}), subscription(), None).text
    )


def test_a_question_says_how_to_answer_it() -> None:
    about = event("lease.heal_question", answer="POST /v1/leases/42/heal")
    assert "send POST /v1/leases/42/heal" in write_letter(about, subscription(), None).text
    assert "/heal" not in write_letter(event(), subscription(), None).text


def test_a_no_show_says_how_much_is_released_and_when() -> None:
    part = {"reservation_id": "42", "resource_type": "physical:host", "amount": 3}
    warned = event("lease.no_show_warned", unused=[{**part, "released_at": "2031-05-01T09:20:00+00:00"}])
    until = "unless it has a server there by 2031-05-01T09:20:00+00:00\n"
    assert f"physical:host: 3 of reservation 42, {until}" in write_letter(warned, subscription(), None).text
    released = event("lease.no_show_released", unused=[part])
    assert "physical:host: 3 of reservation 42\n" in write_letter(released, subscription(), None).text


def test_an_operator_replaces_the_templates(tmp_path: Path) -> None:
    def subject(kind: str) -> str:
        return write_letter(event(kind), subscription(), str(tmp_path)).subject

    (tmp_path / "lease.create.txt").write_text("{{ lease.name }} ist da\nText\n", encoding="utf-8")
    assert subject("lease.create") == "gpu ist da"
    assert subject("lease.update") == "Lease gpu was changed"
    (tmp_path / "event.txt").write_text("{{ event.type }}", encoding="utf-8")
    assert subject("lease.update") == "lease.update"
    for broken in ("{{ nothing.at.all }}", "{% if %}", "{{ 1 / 0 }}", "{{ lease.name() }}"):
        (tmp_path / "event.txt").write_text(broken, encoding="utf-8")
        with failing("template"):
            subject("lease.update")


def test_an_alarm_has_a_template_of_its_own(tmp_path: Path) -> None:
    """A template that an operator has written for leases is not used for it."""
    (tmp_path / "event.txt").write_text("{{ lease.name }}", encoding="utf-8")
    low, again = (
        write_letter(event(f"capacity.{word}"), subscription(), str(tmp_path)) for word in ("low", "restored")
    )
    assert (low.subject, again.subject) == (
        "Alarm gpus: too little can be leased",
        "Alarm gpus: enough can be leased again",
    )
    assert "4, low below 5" in low.text
    nameless = write_letter(event("capacity.low", name="", reason="No host has it."), subscription(), str(tmp_path))
    assert (nameless.subject[:8], "No host has it." in nameless.text) == ("Alarm a1", True)
    (tmp_path / "alarm.txt").write_text("{{ alarm.available }} of {{ alarm.below }}", encoding="utf-8")
    assert write_letter(event("capacity.low"), subscription(), str(tmp_path)).subject == "4 of 5"


def contexts(folder: Path) -> tuple[ssl.SSLContext, str]:
    certificate, key = make_certificate(folder)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    return context, str(certificate)


@pytest.mark.parametrize("security", [MailSecurity.STARTTLS, MailSecurity.TLS])
def test_the_connection_is_secure_or_nothing_is_sent(tmp_path: Path, security: MailSecurity) -> None:
    context, known = contexts(tmp_path)
    login: dict[str, Any] = {"username": "leasehold", "password": "pass word", "security": security}
    with mail_server(tls=context, at_once=security is MailSecurity.TLS, account=("leasehold", "pass word")) as box:
        send(box, cafile=known, **login)
        assert len(box.taken) == 1
        with failing("do not agree"):
            send(box, cafile=known, **{**login, "password": "other"})
        box.lines.clear()
        with failing("could not be reached"):
            send(box, **login)
        with failing("could not be reached"):
            send(box, cafile=known, host="localhost", **login)
    assert {line.split(" ")[0].upper() for line in box.lines} <= {"EHLO", "STARTTLS"}
    with mail_server() as box, failing("do not agree|could not be reached"):
        send(box, cafile=known, **login)
    assert not any(line.upper().startswith(("AUTH", "MAIL")) for line in box.lines)


@pytest.mark.parametrize(
    ("word", "reply", "match", "refused"),
    [
        ("RCPT", "550 unknown", "address, with 550", True),
        ("RCPT", "450 later", "address, with 450", False),
        ("MESSAGE", "554 spam", "message, with 554", True),
        ("MESSAGE", "452 full", "message, with 452", False),
        ("MAIL", "550 who", "own address", False),
        ("GREETING", "421 busy", "could not be reached", False),
        ("EHLO", "nonsense", "could not be reached", False),
    ],
)
def test_what_a_mail_server_refuses(word: str, reply: str, match: str, refused: bool) -> None:  # noqa: FBT001 - a parameter.
    replies = {word: reply, **({"HELO": "502 no"} if word == "EHLO" else {})}
    with mail_server(replies=replies) as box, failing(match, refused=refused):
        send(box)
    assert box.taken == []


@pytest.mark.parametrize("word", ["EHLO", "MAIL", "RCPT", "DATA"])
def test_a_mail_server_that_hangs_is_left_in_time(word: str) -> None:
    begun = monotonic()
    with mail_server(hangs={word}) as box, failing("in time"):
        send(box, seconds=0.3)
        assert monotonic() - begun < 3


def test_what_the_server_has_taken_is_sent_whatever_follows() -> None:
    with mail_server(replies={"QUIT": "500 no"}) as box:
        send(box)
    assert len(box.taken) == 1


def test_messages_are_apart() -> None:
    settings = DeliverySettings(email=replace(EMAIL, apart=timedelta(seconds=7)))
    assert CHANNELS[ChannelName.EMAIL].pause(settings) == timedelta(seconds=7)
    assert not CHANNELS[ChannelName.WEBHOOK].pause(settings)
