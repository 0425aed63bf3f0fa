"""Tables of wrong values: for every field of every request, what is sent there and must be refused."""

from __future__ import annotations

import copy
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from leasehold.cloud.sandbox import seed
from tests.bad_input.refusal import (
    ADDRESS_TYPE,
    ADDRESSES,
    ALARMS,
    BUDGET,
    BUDGETS,
    CHANGE,
    CLAIMS,
    CORRECTIONS,
    DECREASES,
    EVERYWHERE,
    FEEDS,
    FILLERS,
    FLEXIBLE,
    FLEXIBLES,
    HOST,
    HOSTS,
    INCREASES,
    LEASE,
    LEASES,
    MACHINE,
    MANY,
    OFFERS,
    PROPERTIES,
    PUBLISHED,
    REPLAY,
    RESERVES,
    RESOURCE,
    SEARCH,
    SERIES,
    SUB_LEASES,
    SUB_OFFERS,
    SUBSCRIPTIONS,
    SWAP,
    TEMPLATE,
    TEMPLATES,
    TYPE,
    VALID,
    WINDOWS,
)
from tests.factory import flavors, floating_ips, hosts, instances

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

Values = list[Any]

OBJECTS: Values = [[], {}, [1], {"a": 1}, [[]], ["x"]]
NO_TEXT: Values = [1, 0, -1, 1.5, True, *OBJECTS]
NO_LIST: Values = [1, 1.5, True, "", "x", "[]", {}, {"a": 1}]
NO_OBJECT: Values = [None, 1, "x", True, []]
NO_NUMBER: Values = [None, True, False, 1.5, "", "x", "1.5", "1 ", "٣", "0x1", "1e3", "9" * 20, *OBJECTS]
NO_SIZE: Values = [*NO_NUMBER, -1, 2**31, 2**53, "-1", str(2**31), -(2**63)]
NO_AMOUNT: Values = [*NO_SIZE, 0, "0"]
NO_EXPRESSION: Values = [
    None,
    *NO_TEXT,
    "x",
    "null",
    "1",
    "{}",
    '["and"]',
    '["and", []]',
    '["or"]',
    '["==", "vcpus", "8"]',
    '["==", "$", "8"]',
    '["==", "$vcpus", ""]',
    '["==", "$vcpus", 8]',
    '["==", "$vcpus"]',
    '["~", "$vcpus", "8"]',
    '["==", ["$vcpus"], "8"]',
    '["==", "$nonsense", "8"]',
    '[">=", "$vcpus", "64G"]',
    '["not", ["<", "$memory_mb", "v8"]]',
    '["<=", "$memory_mb", "64.0.1"]',
    '["==", "$__class__", "8"]',
    '["==", "$\' OR 1=1 --", "8"]',
    '["==", "$vcpus", "\\ud800"]',
    "[" * 10_000 + "]" * 10_000,
    '["not", ' * 10_000 + '["==", "$vcpus", "8"]' + "]" * 10_000,
    '["not", ' * 40 + '["==", "$vcpus", "8"]' + "]" * 40,
    json.dumps(["and", *[["==", "$vcpus", "8"]] * 1000]),
    '["==", "$vcpus", "' + "9" * 20_000 + '"]',
]
NO_AFFINITY: Values = ["maybe", 2, -1, 1.5, "truefalse", *OBJECTS]
NO_PROPERTY_NAME: Values = ["$vcpus", "nonsense", "a\nb", "x" * 256, *NO_TEXT]
NO_IDENTIFIER: Values = [None, "", True, 1.5, "x" * 256, *OBJECTS]
NO_BOOLEAN: Values = [None, 0, 1, "true", "yes", "", 1.5, *OBJECTS]
NO_POOL: Values = [None, "", "drawing", "Shared", 1, True, *OBJECTS]
NO_PROJECTS: Values = [[], "", "demo", 1, True, [""], [1], [None], ["x" * 256], {"a": 1}]
NO_LINE: Values = ["x" * 81, "é" * 81, "x" * 100_000, "a\nb", "a\x1b[2J", "\u2028b", "a\u202eb", "\x7f", *NO_TEXT]
NO_NAME: Values = ["", " ", "\u3000", *NO_LINE]
NO_DATE_TEXT = [
    *("tomorrow", "now ", " now", "NOW", "now\n", "Bogus-date 13:13"),
    *("2031-05-05", "10:00", "2031-05-05 10", "2031-05-05T10:00", "2031-05-05 10:00:00"),
    *("2031-05-05 10:00 ", " 2031-05-05 10:00", "2031-05-05  10:00", "2031-05-05 10:00\n"),
    *("2031/05/05 10:00", "05-05-2031 10:00", "31-05-05 10:00"),
    *("2031-02-30 10:00", "2031-02-29 10:00", "2031-13-01 10:00", "2031-00-01 10:00", "2031-01-00 10:00"),
    *("2031-05-05 24:00", "2031-05-05 10:60", "2031-05-05 -1:00"),
    *("0000-01-01 10:00", "0001-01-01 10:00", "1969-12-31 23:59", "9999-12-31 23:59", "10000-01-01 10:00"),
    *("99999999999999999999-01-01 10:00", "-2031-05-05 10:00", "+2031-05-05 10:00"),
    *("٢٠٣١-05-05 10:00", "\uff12\uff10\uff13\uff11-05-05 10:00", "2031\u201005\u201005 10:00"),
    *("2031-05-05\u00a010:00", "' OR 1=1 --", "%s%n%d", "{0.__class__}", "x" * 100_000),
]
"""Dates in no version."""
ZONED = [
    *("2031-05-05T10:00Z", "2031-05-05T10:00:00Z", "2031-05-05 10:00+00:00", "2031-05-05T10:00:00.000000+02:00"),
    *("2031-05-05 10:00 UTC", "2031-05-05 10:00 Z", "2031-05-05T10:00:00.000000"),
]
"""Dates with a zone, which 1.0 refuses."""
WRONG_ISO = [
    *("2031-05-05T10:00:00", "2031-05-05T10:00:00+25:00", "2031-05-05T10:00:00+0000", "2031-05-05T10:00:61Z"),
    *("2031-05-05T10:00:00.5Z", "9999-12-31T23:59:59-23:59", "0001-01-01T00:00:00+23:59", "2031-W19-1T10:00:00Z"),
    *("20310505T100000Z", "2031-05-05T10:00:00.000001", "2031-05-05 10:00:00.000000", "2031-05-05T10:00:00.000"),
]
"""ISO forms that every version refuses."""
NO_DATE: Values = [*NO_DATE_TEXT, *ZONED, *WRONG_ISO, *NO_TEXT, 2**31, 20310505, ["now"], {"date": "now"}]
NO_ADDRESS: Values = [
    *(None, "", "x", "203.0.113.256", "203.0.113.0/24", "203.0.113.210\n", "::g", "x" * 65, "٢٠٣.0.113.210"),
    *NO_TEXT,
]
NO_PROPERTY: Values = ["x" * 16_001, *OBJECTS]
WORD = ["x", "1", 1]
OF_MACHINE: Mapping[str, Values] = {
    "power_class": [None, "", "none-such", "x" * 65, *NO_TEXT],
    "address": [None, "", " ", "-o", "--help", "a b", "a\nb", "$(reboot)", "x" * 256, *NO_TEXT],
    "kept_on": NO_BOOLEAN,
}


NO_END: Values = [*NO_DATE_TEXT, *WRONG_ISO, *NO_TEXT]
COMING = {"name": "n", "start_date": "2033-01-01 10:00", "hosts": ["node-1"], "vcpus": 1, "memory_mb": 1}
OF_INCREASE: Mapping[str, Values] = {
    "name": [None, *NO_NAME],
    "start_date": [None, "", *NO_END],
    "end_date": NO_END,
    "availability_zone": [None, "x" * 256, *NO_TEXT],
    "traits": [None, ["small"], [1], ["A"] * 101, *NO_LIST],
    "hosts": [[], ["a", "a"], [" a"], ["x" * 256], ["x"] * 1001, *(each for each in NO_TEXT if each != ["x"])],
    "vcpus": [None, 0, -1, 2**31, *OBJECTS],
    "memory_mb": [None, 0, -1, 2**31, *OBJECTS],
    "local_gb": [-1, 2**31, *OBJECTS],
    "promise": NO_BOOLEAN,
}


@dataclass(frozen=True)
class Place:
    """A field: its request, its location in the body, the values that must be refused, and its name in the error."""

    method: str
    path: str
    body: dict[str, Any]
    steps: tuple[str | int, ...]
    wrong: Values
    named: str = ""

    @property
    def field(self) -> str:
        """Return the name of the field in errors, by default its location."""
        text = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in self.steps)
        return self.named or text.removeprefix(".")

    def __str__(self) -> str:
        """Return an id for pytest."""
        return f"{self.method} {self.path} {self.field}"

    def with_value(self, value: Any, key: str | None = None) -> dict[str, Any]:
        """Return the request's body with the value in this place, or at another key of the same object."""
        body: Any = copy.deepcopy(self.body)
        inner = body
        for step in self.steps[:-1]:
            inner = inner[step]
        inner[self.steps[-1] if key is None else key] = value
        return dict(body)


def places(method: str, path: str, body: dict[str, Any], fields: Mapping[str, Values]) -> Iterator[Place]:
    """Yield the place of each of these fields of a request."""
    for name, wrong in fields.items():
        yield Place(method, path, body, (name,), wrong)


def reservation(asked: Mapping[str, Any], fields: Mapping[str, Values]) -> Iterator[Place]:
    """Yield the places of a reservation in a new lease."""
    body = {**VALID, "reservations": [asked]}
    for name, wrong in fields.items():
        yield Place("POST", LEASES, body, ("reservations", 0, name), wrong)


def watched(asked: Mapping[str, Any], fields: Mapping[str, Values]) -> Iterator[Place]:
    """Yield the places of the reservation of a capacity alarm."""
    for name, wrong in fields.items():
        yield Place("POST", ALARMS, {"reservation": asked, "below": 1}, ("reservation", name), wrong)


def change(part: str, fields: Mapping[str, Values]) -> Iterator[Place]:
    """Yield the places of a reservation in a change of the lease."""
    for name, wrong in fields.items():
        yield Place("PUT", LEASE, {"reservations": [{"id": part}]}, ("reservations", 0, name), wrong)


def properties(method: str, path: str, body: dict[str, Any], wrong: Values) -> Iterator[Place]:
    """Yield the places of properties on a path of any resource type; errors name the property alone."""
    yield from places(method, path, body, {"properties": [None, *WORD, True, [], [1]]})
    yield Place(method, path, {**body, "properties": {}}, ("properties", "rack"), wrong, named="rack")


REQUIRED_DATE: Values = [None, "", *NO_DATE]
DATES = {"start_date": REQUIRED_DATE, "end_date": REQUIRED_DATE, "before_end_date": NO_DATE}
NO_POLICY: Values = ["", "Never", "asks", "never ", "x" * 100_000, *NO_TEXT]
NO_CHAIN: Values = [*(each for each in NO_TEXT if each != []), ["suspend", "shelve"], ["snapshot"] * 1000, ["default"]]
NO_COUNT: Values = [True, False, 0, -1, 1.5, 2**31, "", "1", "x", *OBJECTS]
NO_REMINDERS: Values = [True, 60, "60", "", "Default", {}, [0], [-1], [1.5], ["60"], [[60]], [None], [2**31], [1] * 21]
NEWER = {
    "heal_policy": NO_POLICY,
    "reminder_seconds": NO_REMINDERS,
    "type": ["best-effort", "Scheduled", "immediate ", *NO_POLICY],
    "retries": NO_COUNT,
    "retry_seconds": NO_COUNT,
    "deadline": NO_DATE,
}
"""Keys that are read from microversion 1.2 on."""
NO_SPAN: Values = [True, False, 0, -1, 1.5, 10**12, "", "1", "x", *OBJECTS]
NO_NOTICE: Values = [None, True, False, -1, 1.5, 10**12, "", "1", "x", *OBJECTS]
SHIFTS = dict.fromkeys(("extend_seconds", "shorten_seconds", "start_later_seconds", "start_earlier_seconds"), NO_SPAN)
NO_SWITCH: Values = [0, 1, "true", "yes", "", 1.5, *OBJECTS]
TRYING: dict[str, Values] = {"dry_run": NO_SWITCH, "open_ended": NO_SWITCH}
OWNING: dict[str, Values] = {"project_id": ["", "a b", "\u00e9", "x" * 256, *NO_TEXT]}
WITHIN: dict[str, Values] = {"ready_within_seconds": NO_SPAN}
NO_WORD: Values = ["", "x" * 256, *NO_TEXT]
NAMING: dict[str, Values] = {"template": NO_WORD}
NO_PURPOSE: Values = ["x" * 256, "x" * 100_000, "a\nb", "a\x1bb", "a\u202eb", *NO_TEXT]
PURPOSE: dict[str, Values] = {"purpose": NO_PURPOSE}
NO_SHARING: Values = [["a b"], ["a:b"], ["x" * 37], [""], ["reservation"], ["a"] * 7, *NO_LIST]
SHARING: dict[str, Values] = {"shared_with": NO_SHARING}
RESTRICTING: dict[str, Values] = {"projects": NO_PROJECTS, "owner": ["", "x" * 256, *NO_TEXT]}
_WORDS = {**NAMING, **PURPOSE}
SPANS = {"duration_seconds": NO_SPAN, **WITHIN, **SHIFTS, **TRYING, **OWNING, **SHARING, **RESTRICTING, **_WORDS}
"""Keys that are read from microversion 1.3 on."""
NEW_IN_LEASE = {"duration_seconds": NO_SPAN, **WITHIN, **TRYING, **OWNING, **_WORDS}
IN_LEASE = {"name": [None, *NO_NAME], **DATES, **NEW_IN_LEASE, "reservations": NO_LIST, **NEWER}
IN_CHANGE = {
    **SHARING,
    **PURPOSE,
    "name": NO_NAME,
    "start_date": NO_DATE,
    "end_date": NO_DATE,
    "before_end_date": NO_DATE,
    "heal_policy": NO_POLICY,
    "reminder_seconds": NO_REMINDERS,
    **SHIFTS,
    **TRYING,
}
EXPRESSIONS = dict.fromkeys(("hypervisor_properties", "resource_properties"), NO_EXPRESSION)
LAYOUT = dict.fromkeys(("together", "apart"), NO_PROPERTY_NAME)
OF_HOSTS = {"min": NO_AMOUNT, "max": NO_AMOUNT, **EXPRESSIONS, **LAYOUT}
OF_INSTANCES = {
    "amount": NO_AMOUNT,
    **dict.fromkeys(("vcpus", "memory_mb", "disk_gb"), NO_SIZE),
    "affinity": NO_AFFINITY,
    "resource_properties": NO_EXPRESSION,
    **LAYOUT,
}
OF_FLAVORS = {"flavor_id": NO_IDENTIFIER, "amount": NO_AMOUNT, "affinity": NO_AFFINITY, **LAYOUT}
OF_ADDRESSES = {"network_id": NO_IDENTIFIER, "amount": NO_AMOUNT, "required_floatingips": [None, *NO_LIST]}
NEW_HOST, NEW_ADDRESS = {"name": "gpu-03"}, {"floating_ip_address": "203.0.113.210"}
NETWORK = {"floating_network_id": seed.NETWORK_ID}
NO_NETWORK: Values = [None, "", "x", "x" * 256, *NO_TEXT]

HOOK = {"target": "https://hooks.example.org/"}
NO_TARGET: Values = [
    *(None, "", "x", "hooks.example.org", "ftp://hooks.example.org/", "https://", "https:///x", "//hooks.example.org/"),
    *(f"https://{name}/" for name in ("a:b@hooks.example.org", "@hooks.example.org", "h o", "h\r\nX: y", "hö.example")),
    *(
        f"https://{name}/"
        for name in ("h:0", "h:65536", "h:x", "[::1", "h\\x", "h%00", "127.0.0.1", "[::1]", "10.0.0.1")
    ),
    *(f"https://{name}/" for name in ("[::ffff:127.0.0.1]", "[fe80::1]", "169.254.169.254", "2130706433", "0.0.0.1")),
    *(
        "http://hooks.example.org/",
        "https://h/#x",
        "https://h/a b",
        "https://h/\n",
        "https://h/" + "x" * 2000,
        *NO_TEXT,
    ),
]
OF_SUBSCRIPTION: dict[str, Values] = {
    "target": NO_TARGET,
    "channel": [None, "", "Webhook", "email", *NO_TEXT],
    "event_types": [*NO_LIST, ["lease.create"] * 100],
    "lease_id": ["", "none-such", "x" * 37, *NO_TEXT],
    "all_projects": NO_BOOLEAN,
    "own": NO_BOOLEAN,
}
WATCH = {"reservation": hosts(), "below": 1}
OF_ALARM: dict[str, Values] = {
    "reservation": NO_OBJECT,
    "below": NO_AMOUNT,
    "duration": [*NO_AMOUNT, 10 * 366 * 86_400],
    "name": [None, *NO_LINE],
}
FILLED = {"reservation": hosts()}
OF_FILLER: dict[str, Values] = {
    "reservation": NO_OBJECT,
    "at_least": [*NO_AMOUNT, 10 * 366 * 86_400],
    "end_date": ["x", *NO_DATE_TEXT, *WRONG_ISO, *NO_TEXT],
    "name": [None, *NO_LINE],
}
NO_HOSTS: Values = [None, [], ["nobody"], [1], [None], [""], ["x" * 37], [{}], ["1"] * 1001, *NO_LIST]
NO_WINDOW_DATE: Values = [None, "", *NO_DATE_TEXT, *WRONG_ISO, *NO_TEXT]
SPENT = {
    "project_id": "demo",
    "name": "spring",
    "amount": "9.50",
    "start_date": "2031-01-01 00:00",
    "end_date": "2032-01-01 00:00",
}
NO_SUM: Values = ["", "x", "-1", "1e99", "NaN", "Infinity", "0.0000001", "1,5", "9" * 41, *NO_TEXT]
NO_AT_END: Values = ["", "End", "stop", *NO_TEXT]
OF_BUDGET: dict[str, Values] = {
    "project_id": [None, "", "x" * 256, *NO_TEXT],
    "user_id": ["", "x" * 256, *NO_TEXT],
    "name": [None, *NO_NAME],
    "amount": [None, *NO_SUM],
    **dict.fromkeys(("start_date", "end_date"), NO_WINDOW_DATE),
    "at_end": NO_AT_END,
}
CORRECTED = {"charge_id": 1, "amount": "-1.50", "reason": "The rack had no network."}
OF_CORRECTION: dict[str, Values] = {
    "charge_id": [None, *NO_NUMBER],
    "amount": [None, *(each for each in NO_SUM if each != "-1"), "0"],
    "reason": [None, *NO_NAME],
}
IN_BUDGET: dict[str, Values] = {
    "name": NO_NAME,
    "amount": NO_SUM,
    "end_date": [*NO_DATE_TEXT, *WRONG_ISO, *NO_TEXT],
    "at_end": NO_AT_END,
}
LENT = {**VALID, "resource_type": "physical:host", "resource_id": "1"}
IN_PUBLICATION: dict[str, Values] = {
    "name": [None, *NO_NAME],
    "resource_type": [None, "", "x" * 67, *NO_TEXT],
    "resource_id": [None, "", "x" * 256, *NO_TEXT],
    **dict.fromkeys(("start_date", "end_date"), NO_WINDOW_DATE),
    "notice_seconds": NO_NOTICE,
    "for_project_id": ["", "x" * 256, *NO_TEXT],
}
PART_OFFERED = {"name": "n", "amount": 1}
IN_PART_OFFERED: dict[str, Values] = {
    "name": [None, *NO_NAME],
    "amount": [1001, *NO_AMOUNT],
    **dict.fromkeys(("start_date", "end_date"), NO_WINDOW_DATE[2:]),
    "reservation_id": ["", "none", "x" * 37, *NO_TEXT],
    "notice_seconds": NO_NOTICE,
    "for_project_id": ["", "x" * 256, *NO_TEXT],
}
IN_CLAIM: dict[str, Values] = {
    **PURPOSE,
    "name": [None, *NO_NAME],
    **dict.fromkeys(("start_date", "end_date"), NO_WINDOW_DATE[2:]),
    "amount": [0, 1001, -1, "one", 1.5, [], {}, True],
    "dry_run": NO_SWITCH,
}
"""Without a date, or with an empty one, a claim is for what is free."""
IN_WINDOW = {
    "name": [None, *NO_NAME],
    **dict.fromkeys(("start_date", "end_date"), NO_WINDOW_DATE),
    "duration_seconds": NO_SPAN,
    "on_conflict": [None, "", "Force", "Move", "x" * 10_000, *NO_TEXT],
}
IN_DECREASE = {key: values for key, values in IN_WINDOW.items() if key != "duration_seconds"} | {
    "hosts": NO_HOSTS,
    "end_date": NO_END,
}
IN_RESERVE: dict[str, Values] = {
    "name": [None, *NO_NAME],
    "start_date": [None, "", *NO_END],
    "end_date": NO_END,
    "resource_properties": NO_EXPRESSION,
}
NO_RULE: Values = [None, "", "daily", "FREQ=DAILY", "FREQ=DAILY;COUNT=0", "x" * 501, *NO_TEXT]
NO_ZONE: Values = [None, "", "Berlin", "../etc/passwd", "x" * 65, *NO_TEXT]
DAILY = {**VALID, "rule": "FREQ=DAILY;COUNT=2"}
IN_SERIES = {
    "name": [None, "x" * 71, *NO_NAME],
    **dict.fromkeys(("start_date", "end_date"), NO_WINDOW_DATE),
    "duration_seconds": NO_SPAN,
    "rule": NO_RULE,
    "time_zone": NO_ZONE,
    "reservations": NO_LIST,
    "heal_policy": NO_POLICY,
    "reminder_seconds": NO_REMINDERS,
    **NAMING,
    **PURPOSE,
}
IN_TEMPLATE: dict[str, Values] = {
    "duration_seconds": NO_SPAN,
    "reservations": NO_LIST,
    "name": ["", *NO_NAME],
    "description": ["x" * 1001, *NO_TEXT],
    "public": NO_SWITCH,
    "open_ended": NO_SWITCH,
    "events": NO_LIST,
    **{name: wrong for name, wrong in NEWER.items() if name != "deadline"},
    **PURPOSE,
}
NO_NEW_DATE: Values = NO_END
IN_SERIES_CHANGE = {
    "name": ["x" * 71, *NO_NAME],
    **dict.fromkeys(("start_date", "end_date"), NO_NEW_DATE),
    "reservations": [[{}], *NO_LIST],
    **PURPOSE,
}
PLACED: dict[str, Any] = {"name": "n", "latest": "2031-05-05 11:00", "duration_seconds": 3600}
IN_NEW_TERMS: dict[str, Values] = {
    "earliest": [each for each in NO_NEW_DATE if each != ""],
    "latest": [each for each in NO_NEW_DATE if each != ""],
    "duration_seconds": [59, 366 * 24 * 3600 + 1, *(each for each in NO_SPAN if each is not None)],
    "frozen_seconds": [-1, 366 * 24 * 3600 + 1, *(each for each in NO_SPAN if each not in (None, 0))],
    "strategy": ["", "Soonest", "x" * 10_000, *NO_TEXT],
    "hours": [["noon"], ["25:00-26:00"], [""], [1], ["nights"] * 21, *(each for each in NO_LIST if each is not None)],
    "time_zone": [each for each in NO_ZONE if each is not None],
}
IN_TERMS = {
    **IN_NEW_TERMS,
    **{name: [None, *IN_NEW_TERMS[name]] for name in ("latest", "duration_seconds", "strategy", "time_zone")},
    "name": [None, *NO_NAME],
    **PURPOSE,
    "piece_seconds": [59, 61, 3660, *(each for each in NO_SPAN if each is not None)],
    "reservations": NO_LIST,
    "heal_policy": NO_POLICY,
    "reminder_seconds": NO_REMINDERS,
}
IN_OFFER = {
    **{name: wrong for name, wrong in IN_SERIES.items() if name not in ("rule", "time_zone")},
    "name": [None, *NO_NAME],
    "before_end_date": [each for each in NO_NEW_DATE if each != ""],
    "events": NO_LIST,
    "hold_seconds": NO_SPAN,
}
LENDING: dict[str, Any] = {"name": "lent", "project_id": "alt", "amount": 1}
IN_LENDING: dict[str, Values] = {
    "name": [None, *NO_NAME],
    "project_id": [None, "", "a b", "x" * 256, *NO_TEXT],
    "amount": [0, -1, 1001, 1.5, True, "x", *OBJECTS],
    "end_date": [each for each in NO_NEW_DATE if each != ""],
    "notice_seconds": NO_NOTICE,
    "reservation_id": ["", "none-such", "x" * 256, *NO_TEXT],
}
IN_SEARCH: dict[str, Values] = {
    "reservations": [[], [1], *NO_LIST],
    "duration_seconds": [None, 10**12, *NO_SPAN],
    "shortest_seconds": [3601, *NO_SPAN],
    **dict.fromkeys(("start_date", "latest_start_date", "end_date"), NO_NEW_DATE),
    "limit": [None, 21, *NO_SPAN],
    **OWNING,
    **NAMING,
}
SOUGHT = {"reservations": [hosts()], "duration_seconds": 3600}
ONE_OF = {"alternatives": [[hosts()]], "duration_seconds": 3600}

PLACES: list[Place] = [
    *places("POST", LEASES, VALID, {**IN_LEASE, "events": NO_LIST}),
    Place("POST", LEASES, {**VALID, "reservations": [hosts()]}, ("reservations", 0), NO_OBJECT),
    Place("POST", LEASES, {**VALID, "events": [{}]}, ("events", 0), NO_OBJECT),
    Place("POST", LEASES, {**VALID, "events": [{}]}, ("events", 0, "event_type"), ["x" * 67, *NO_TEXT]),
    Place("POST", LEASES, {**VALID, "reservations": [hosts(), hosts()]}, ("reservations", 1, "max"), NO_AMOUNT),
    *reservation(hosts(), {**OF_HOSTS, "resource_type": [None, "", "x", "physical", "x" * 67, *NO_TEXT]}),
    *reservation(hosts(), {"before_end": [None, "email", "x" * 10_000, *NO_CHAIN]}),
    *reservation(instances(), OF_INSTANCES),
    *reservation(flavors(), {**OF_FLAVORS, "affinity": [*NO_AFFINITY, True, "False"]}),
    *reservation(floating_ips(), OF_ADDRESSES),
    *places("PUT", LEASE, {}, {**IN_CHANGE, "reservations": NO_LIST}),
    Place("PUT", LEASE, {"reservations": [{}]}, ("reservations", 0), NO_OBJECT),
    Place("PUT", LEASE, {"reservations": [{}]}, ("reservations", 0, "id"), ["", "x", *NO_TEXT]),
    *change("{hosts}", OF_HOSTS),
    *change("{instances}", OF_INSTANCES),
    *change("{flavors}", OF_FLAVORS),
    *change("{addresses}", {**OF_ADDRESSES, "network_id": ["x", *NO_IDENTIFIER]}),
    *change("{addresses}", {"required_floatingips": [["203.0.113.200"]]}),
    *places("POST", SWAP, {}, {name: ["", "none-such", "x" * 256, *NO_TEXT] for name in ("server", "host")}),
    *places("POST", SWAP, {"host": "1"}, {"servers": [*NO_LIST, ["none-such"], ["x"] * 1001]}),
    Place("POST", SWAP, {"host": "1", "servers": [""]}, ("servers", 0), NO_IDENTIFIER),
    *places("POST", SUB_LEASES, LENDING, IN_LENDING),
    *places("POST", SUB_LEASES, {**LENDING, "hosts": ["1"], "amount": None}, {"hosts": [[], ["x"] * 1001, *NO_LIST]}),
    *places("POST", HOSTS, NEW_HOST, {"name": ["x" * 256, *NO_TEXT], "rack": [None, *NO_PROPERTY]}),
    *places("POST", HOSTS, {}, {"id": [1.5, True, "x" * 256, *OBJECTS]}),
    *places("PUT", HOST, {}, {"rack": NO_PROPERTY, "name": WORD}),
    *places("PUT", MACHINE, {"power_class": "box", "address": "node-1"}, OF_MACHINE),
    *places("POST", INCREASES, COMING, OF_INCREASE),
    *properties("POST", INCREASES, COMING, [None, *NO_PROPERTY]),
    *places("POST", DECREASES, {**VALID, "hosts": ["5"]}, IN_DECREASE),
    *places("POST", RESERVES, {"name": "n", "amount": 1}, {"amount": [1001, *NO_AMOUNT], **IN_RESERVE}),
    *places(
        "POST",
        RESERVES,
        {"name": "n", "percent": 1},
        {"percent": [101, *(each for each in NO_AMOUNT if each is not None)]},
    ),
    *places("PUT", CHANGE, {}, {"start_date": NO_END, "promise": NO_BOOLEAN[1:]}),
    *places("PUT", CHANGE, {}, {"amount": [1001, *NO_AMOUNT[1:]], "percent": [101, *NO_AMOUNT[1:]]}),
    *places("POST", f"{CHANGE}/arrived", {}, {"hosts": [[], "x", 1]}),
    *places("PATCH", f"{PROPERTIES}/{{name}}", {}, {"private": NO_BOOLEAN}),
    *places("POST", ADDRESSES, NEW_ADDRESS, {"floating_network_id": NO_NETWORK}),
    *places("POST", ADDRESSES, NETWORK, {"floating_ip_address": NO_ADDRESS}),
    *places("POST", TYPE, {}, {"name": [None, 1.5, True, "x" * 256, *OBJECTS]}),
    *properties("POST", TYPE, NEW_HOST, [None, *NO_PROPERTY]),
    *places("POST", ADDRESS_TYPE, NEW_ADDRESS, {"floating_network_id": NO_NETWORK}),
    *places("POST", ADDRESS_TYPE, NETWORK, {"floating_ip_address": NO_ADDRESS}),
    *properties("PUT", RESOURCE, {}, NO_PROPERTY),
    *places("PUT", RESOURCE, {}, {"disabled": NO_BOOLEAN}),
    *places("PUT", RESOURCE, {}, {"pool": NO_POOL}),
    *places("PUT", RESOURCE, {}, RESTRICTING),
    *places("POST", TYPE, NEW_HOST, {"pool": NO_POOL, **RESTRICTING}),
    *places("POST", HOSTS, NEW_HOST, RESTRICTING),
    *places("POST", ADDRESSES, {**NETWORK, **NEW_ADDRESS}, RESTRICTING),
    *places("PUT", RESOURCE, {"disabled": True}, {"disabled_reason": ["x" * 256, *NO_TEXT]}),
    *places("PUT", RESOURCE, {"disabled": False}, {"disabled_reason": ["broken"]}),
    *places("PATCH", f"{TYPE}/properties/{{name}}", {}, {"private": NO_BOOLEAN}),
    *places("POST", SUBSCRIPTIONS, HOOK, OF_SUBSCRIPTION),
    Place("POST", SUBSCRIPTIONS, {**HOOK, "event_types": ["lease.create"]}, ("event_types", 0), ["", "x", *NO_TEXT]),
    *places("POST", REPLAY, {}, {"event_id": ["", "latest", "1", "x" * 50, "0-x", *NO_TEXT]}),
    *places("POST", ALARMS, WATCH, OF_ALARM),
    *places("POST", FILLERS, FILLED, OF_FILLER),
    *places("POST", BUDGETS, SPENT, OF_BUDGET),
    *places("PUT", BUDGET, {}, IN_BUDGET),
    *places("POST", CORRECTIONS, CORRECTED, OF_CORRECTION),
    *watched(hosts(), {**OF_HOSTS, "resource_type": [None, "", "x", "x" * 67, *NO_TEXT]}),
    *watched(instances(), OF_INSTANCES),
    *watched(flavors(), {"flavor_id": NO_IDENTIFIER}),
    *watched(floating_ips(), OF_ADDRESSES),
    *places("POST", FEEDS, {}, {"name": [None, *NO_LINE], "own": NO_BOOLEAN}),
    *places("POST", TEMPLATES, {"name": "n"}, {**IN_TEMPLATE, "name": [None, *IN_TEMPLATE["name"]]}),
    *places("PUT", TEMPLATE, {}, IN_TEMPLATE),
    Place("POST", TEMPLATES, {"name": "n", "reservations": [hosts()]}, ("reservations", 0), NO_OBJECT),
    Place("POST", TEMPLATES, {"name": "n", "reservations": [hosts()]}, ("reservations", 0, "max"), NO_AMOUNT),
    *places("POST", MANY, DAILY, IN_SERIES),
    Place("POST", MANY, {**DAILY, "reservations": [hosts()]}, ("reservations", 0), NO_OBJECT),
    Place("POST", MANY, {**DAILY, "reservations": [hosts()]}, ("reservations", 0, "max"), NO_AMOUNT),
    *places("PUT", SERIES, {}, IN_SERIES_CHANGE),
    *places("POST", FLEXIBLES, PLACED, IN_TERMS),
    Place("POST", FLEXIBLES, {**PLACED, "reservations": [hosts()]}, ("reservations", 0), NO_OBJECT),
    Place("POST", FLEXIBLES, {**PLACED, "reservations": [hosts()]}, ("reservations", 0, "max"), NO_AMOUNT),
    *places("PUT", FLEXIBLE, {}, IN_NEW_TERMS),
    *places("POST", OFFERS, VALID, IN_OFFER),
    *places("POST", SEARCH, SOUGHT, IN_SEARCH),
    *places("POST", SEARCH, ONE_OF, {"alternatives": [[], [[]], [[1]], [hosts()], [[hosts()]] * 11, *NO_LIST]}),
    Place("POST", SEARCH, SOUGHT, ("reservations", 0, "max"), NO_AMOUNT),
    Place("POST", SEARCH, ONE_OF, ("alternatives", 0, 0, "max"), NO_AMOUNT, "alternatives[0][0].max"),
    *places("POST", EVERYWHERE, SOUGHT, {**IN_SEARCH, "regions": [[], ["Nowhere"], *NO_LIST]}),
    *places("POST", EVERYWHERE, ONE_OF, {"alternatives": [[], [[1]]]}),
    *places("POST", PUBLISHED, LENT, IN_PUBLICATION),
    *places("POST", SUB_OFFERS, PART_OFFERED, IN_PART_OFFERED),
    *places("POST", CLAIMS, {"name": "n"}, IN_CLAIM),
    *places("POST", WINDOWS, VALID, {"hosts": NO_HOSTS}),
    *places("POST", WINDOWS, {**VALID, "hosts": ["5"]}, IN_WINDOW),
]
