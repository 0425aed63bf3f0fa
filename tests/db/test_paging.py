"""Parts of lists on each database: what it sorts, filters and cuts is what the whole list would give, as shown."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from itertools import product
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast
from uuid import UUID

import pytest
from sqlalchemy import select

from leasehold.api.handlers import floatingip, host, resource
from leasehold.api.handlers.floatingip import show_floating_ip
from leasehold.api.handlers.host import show_host
from leasehold.api.versions import MAXIMUM
from leasehold.api.views.resource import show_resource
from leasehold.api.views.shown import shown
from leasehold.db.leases.lease import insert_lease
from leasehold.db.resources import resource as resource_rows
from leasehold.db.tables import resources
from leasehold.features.alarm import api as alarm
from leasehold.features.alarm import store as alarm_rows
from leasehold.features.alarm.api import show_alarm
from leasehold.features.alarm.model import Alarm
from leasehold.features.feed import api as feed
from leasehold.features.feed import store as feed_rows
from leasehold.features.feed.api import FeedAnswer
from leasehold.features.feed.model import Feed
from leasehold.features.held_offer import api as held_offer
from leasehold.features.held_offer.use import list_offers
from leasehold.features.lending import offers as published_offer
from leasehold.features.lending import store as offer_rows
from leasehold.features.lending.offers import show_published
from leasehold.features.lending.published_offer import OfferedPart, PublishedOffer
from leasehold.features.owned_resource import api as owned_resource
from leasehold.features.owned_resource.api import show_owned
from leasehold.features.owned_resource.use import list_owned
from leasehold.features.series import api as series
from leasehold.features.series import store as series_rows
from leasehold.features.series.api import show_series
from leasehold.features.series.model import Series
from leasehold.features.subscription import api as subscription
from leasehold.features.subscription import store as subscription_rows
from leasehold.features.subscription.api import show_subscription
from leasehold.features.subscription.model import ChannelName, Subscription
from leasehold.features.template import api as template
from leasehold.features.template import store as template_rows
from leasehold.features.template.api import show_template
from leasehold.features.template.model import Template
from leasehold.model.errors import InvalidInputError
from leasehold.model.paging import WHOLE, PageRequest, Sort
from leasehold.model.resource import FLOATING_IP, FLOATING_IP_POOL, HOST
from leasehold.model.states import LeaseStatus
from tests.db.examples import NOW, active, enrol, hold, hour, hours, lease, write

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from sqlalchemy import Connection

    from leasehold.api.paging import ListKeys
    from leasehold.db.store import Database
    from leasehold.leasing.service import Service

pytestmark = pytest.mark.slow

Values = dict[str, Any]
Items = list[Values]
Lists = dict[str, "tuple[ListKeys, Callable[[PageRequest], Items]]"]
NAMES = ("b", "a", "b", "", "c")


def key(number: int) -> str:
    return str(UUID(int=number))


def rows(number: int, name: str) -> Iterator[tuple[Callable[..., None], Any]]:
    """Yield one row of each plain table; those of a table vary, and some have nothing to sort by."""
    who: Values = {"id": key(number), "project_id": "demo", "user_id": "alice", "created_at": hour(number // 2)}
    later = None if number % 3 == 0 else hour(10 - number)
    low = (None, True, False)[number % 3]
    watched: Values = {"reservation": {"resource_type": HOST}, "request": {}, "below": 1, "duration": 60}
    counted: Values = {
        "low": low,
        "available": None if low is None else number,
        "changed_at": later,
        "checked_at": later,
    }
    yield alarm_rows.ALARMS.add, Alarm(**who, name=name, **watched, **counted)
    yield feed_rows.FEEDS.add, Feed(**who, name=name, own=number % 2 == 0, digest="")
    series_of: Values = {"rule": "FREQ=DAILY", "time_zone": "UTC", "draft": {}, "digest": "", "occurrences": ()}
    yield series_rows.SERIES.add, Series(**who, name=name, **series_of, updated_at=later)
    kept: Values = {"description": "", "public": number % 2 == 0, "request": {}, "updated_at": later}
    yield template_rows.TEMPLATES.add, Template(**who, name=f"{name}{number}", **kept)
    hook: Values = {
        "channel": ChannelName.WEBHOOK,
        "target": f"https://{name}.example",
        "secret": "",
        "event_types": (),
    }
    state: Values = {"failing_since": later, "suspended_at": later if number % 2 else None, "own": number % 2 == 0}
    place: Values = {"all_projects": number == 1, "lease_id": name or None, "position": 7 - number}
    yield subscription_rows.add_subscription, Subscription(**who, **hook, **state, **place)


def fill(connection: Connection) -> None:
    for number, name in enumerate(NAMES):
        for add, made in rows(number, name):
            add(connection, made)
        numbers: Values = {"hypervisor_hostname": f"n{name}", "vcpus": 10 - 2 * number, "memory_mb": 2**40 + number}
        attributes: Values = {**numbers, "availability_zone": None, "hypervisor_type": "QEMU"} if name else {}
        states: Values = {"health": ("healthy", "failed", None)[number % 3], "membership": ("shared", None)[number % 2]}
        more: Values = {"owner": ("demo", "alt")[number % 2], "projects": ["demo", "alt"], "reservable": number != 3}
        reference = ("z/cmp-0", "cmp-1", "y/x/cmp-2", "cmp-3/", "cmp-4")[number]
        flag: Values = {
            "disabled": (None, False, True)[number % 3],
            "updated_at": None if number == 1 else hour(number),
        }
        enrol(connection, str(number), reference=reference, attributes=attributes, **states, **more, **flag)
        network: Values = {"floating_network_id": "net", "subnet_id": name, "floating_ip_address": f"192.0.2.{number}"}
        projects = (None, ["demo", "alt"], ["other"], ['"', "alt"])[number % 4]
        address: Values = {"type": FLOATING_IP, "pool": FLOATING_IP_POOL, "reference": f"net/192.0.2.{number}"}
        enrol(connection, f"ip{number}", attributes=network, projects=projects, **address)
        until = hour(5 - number) if number < 4 else hour(-1)
        status: Values = {"status": LeaseStatus.OFFERED, "offered_until": until, "created_at": hour(number)}
        write(connection, **status, id=key(50 + number), reservations=(), events=())


def publish(connection: Connection) -> None:
    """Publish what is there, what has another owner, what was deleted and is over, and hosts of three leases."""
    (one, other) = connection.scalars(select(resources.c.number).order_by(resources.c.number).limit(2))
    running, dropped, over = lease(window=hours(-1, 9)), lease(window=hours(-1, 9)), lease(window=hours(-2, -1))
    gone = dropped.with_reservations(None, dropped=True)
    for each in (
        replace(running, **active(running)),
        replace(gone, status=LeaseStatus.ACTIVE),
        replace(over, status=LeaseStatus.TERMINATED),
    ):
        insert_lease(connection, each)
    hold(connection, running, one)
    parts = [OfferedPart(each.id, each.reservations[0].id, 1) for each in (running, dropped, over)]
    for number, name in enumerate(("b", "a", "b", "c", "d", "e", "f")):
        part = parts[number - 4] if number >= 4 else None
        of_what: Values = {
            "resource_number": None if part else (one, one, other, one)[number],
            "resource": None,
            "part": part,
        }
        window = hours(-2, -1) if number == 3 else hours(number // 2, 9 - number)
        who: Values = {"project_id": "demo", "user_id": "alice", "for_project": "alt" if number == 6 else None}
        new = PublishedOffer(id=key(number), name=name, **of_what, window=window, created_at=hour(-number), **who)
        offer_rows.add_published(connection, new)
        if number == 1:
            offer_rows.mark_deleted(connection, new.id, NOW)


def published(connection: Connection, part: PageRequest, project: str | None = None) -> Items:
    found = offer_rows.list_published(connection, project, NOW, part)
    return [cast("Values", show_published(each, NOW, owner=True)) for each in found]


def lists(db: Database) -> Lists:
    """Return of each list what can be asked of it, and what asks for a part of it and shows that."""
    service = cast("Service", SimpleNamespace(db=db, now=lambda: NOW))

    def reading(shown: Callable[[Any], Any], listed: Callable[..., Sequence[Any]], *which: Any) -> Callable[..., Items]:
        def read(part: PageRequest) -> Items:
            with db.reading() as connection:
                return [shown(each) for each in listed(connection, *which, part)]

        return read

    def owned(part: PageRequest) -> Items:
        return [cast("Values", show_owned(each)) for each in list_owned(service, None, part)]

    def held(part: PageRequest) -> Items:
        found = list_offers(service, None, part)
        return [{"id": each.id, "expires_at": cast("Any", each.offered_until).isoformat()} for each in found]

    all_of = resource_rows.list_resources
    with_flags: Values = {"disabled": True, "projects": True}
    return {
        "alarms": (alarm.LISTED, reading(show_alarm, alarm_rows.ALARMS.page, "demo")),
        "feeds": (feed.LISTED, reading(partial(shown, FeedAnswer), feed_rows.FEEDS.page, "demo")),
        "series": (
            series.LISTED,
            reading(partial(show_series, granted={}, version=MAXIMUM), series_rows.SERIES.page, "demo"),
        ),
        "templates": (
            template.LISTED,
            reading(partial(show_template, owner=True), template_rows.TEMPLATES.page, "demo"),
        ),
        "subscriptions": (
            subscription.LISTED,
            reading(show_subscription, subscription_rows.list_subscriptions, "demo"),
        ),
        "hosts": (host.LISTED, reading(partial(show_host, **with_flags), all_of, HOST)),
        "resources": (resource.LISTED, reading(show_resource, all_of, HOST)),
        "addresses": (floatingip.LISTED, reading(partial(show_floating_ip, **with_flags), all_of, FLOATING_IP)),
        "owned": (owned_resource.LISTED, owned),
        "offers": (held_offer.LISTED, held),
        "published": (
            published_offer.LISTED,
            reading(lambda each: each, published),
        ),
    }


def expected(whole: Items, part: PageRequest) -> Items:
    """Return a part of what the whole list shows; equal items are in the order of their ids."""
    items = whole
    if part.sort is not None:
        known = sorted((each for each in whole if each[part.sort.key] is not None), key=lambda each: str(each["id"]))
        known.sort(key=lambda each: each[cast("Sort", part.sort).key], reverse=part.sort.descending)
        items = [*known, *(each for each in whole if each[part.sort.key] is None)]
    if part.marker is not None:
        items = items[[each["id"] for each in items].index(part.marker) + 1 :]
    return [each for each in items if all(each[name] in values for name, values in part.wanted.items())][: part.limit]


def parts(choice: ListKeys, whole: Items) -> Iterator[PageRequest]:
    """Yield each order with pages after each item, and each filter with each value that is shown, and with two."""
    orders = [None, *(Sort(name, descending=down) for name, down in product(choice.sorts, (False, True)))]
    for sort, marker in product(orders, (None, *(each["id"] for each in whole))):
        yield PageRequest(2, marker, sort)
    for name in (*choice.texts, *choice.switches):
        seen = [each[name] for each in whole if each[name] is not None]
        for values in ({"none such"} if name in choice.texts else set(), *({each} for each in seen), set(seen[:2])):
            yield PageRequest(wanted={name: values})
            yield PageRequest(1, whole[0]["id"], None, {name: values})


def test_a_part_is_that_of_the_whole_list(db: Database) -> None:
    db.transact(fill)
    db.transact(publish)
    for name, (choice, read) in lists(db).items():
        whole = read(WHOLE)
        assert len(whole) >= len(NAMES) - 1, name
        for part in parts(choice, whole):
            assert read(part) == expected(whole, part), (name, part)
        with pytest.raises(InvalidInputError) as refused:
            read(PageRequest(marker=key(99)))
        assert refused.value.field == "marker"


def test_a_project_is_listed_what_it_sees(db: Database) -> None:
    db.transact(fill)
    db.transact(publish)
    with db.reading() as connection:
        every = offer_rows.list_published(connection, None, NOW)
        for project in ("demo", "alt", "third", '"'):
            seen = [each.id for each in every if each.visible_to(project, NOW)]
            assert [each["id"] for each in published(connection, WHOLE, project)] == seen
            open_to = resource_rows.list_resources(connection, FLOATING_IP, closed_to=project)
            found = resource_rows.list_resources(connection, FLOATING_IP)
            assert open_to == [each for each in found if each.open_to(project)]
        assert {each.status(NOW).value for each in every} == {"available", "deleted", "expired", "error"}
        assert [each["id"] for each in published(connection, PageRequest(1), "third")] == [key(0)]
