"""`key=value,…` of Blazar's options."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leasehold_client.cli.reading.pairs import (
    BadPairsError,
    read_change,
    read_event,
    read_hosts,
    read_property,
    read_reservation,
    write_reservation,
)


def test_hosts() -> None:
    text = 'min=1,max=2,hypervisor_properties=["and", [">=", "$vcpus", "16"], ["==", "$arch", "a,b"]]'
    assert read_hosts(text) == {
        "resource_type": "physical:host",
        "min": 1,
        "max": 2,
        "hypervisor_properties": '["and", [">=", "$vcpus", "16"], ["==", "$arch", "a,b"]]',
        "resource_properties": "",
    }
    assert read_hosts("max=3")["min"] == read_hosts("min=3")["max"] == 3
    assert read_reservation("resource_type=physical:host")["max"] == 1


def test_other_types() -> None:
    named = 'required_floatingips=["203.0.113.7","203.0.113.8"]'
    found = read_reservation(f"resource_type=virtual:floatingip,network_id=n,{named}")
    assert found["required_floatingips"] == ["203.0.113.7", "203.0.113.8"]
    assert found["amount"] == 1
    assert read_reservation("resource_type=virtual:instance,vcpus=2,affinity=False")["affinity"] == "False"
    assert read_reservation("resource_type=site:badge,colour=red") == {"resource_type": "site:badge", "colour": "red"}


def test_changes_events_and_properties() -> None:
    assert read_change("id=7,min=2") == {"id": "7", "min": 2}
    event = "event_type=notification,event_date=2031-05-01 10:00"
    assert read_event(event) == {"event_type": "notification", "event_date": "2031-05-01 10:00"}
    assert read_property("rack=a,b=c") == ("rack", "a,b=c")


@pytest.mark.parametrize(
    ("read", "text", "message"),
    [
        (read_reservation, "min=1,max=2", "names no resource_type"),
        (read_reservation, "resource_type=physical:host,min", "'min' is no key=value"),
        (read_reservation, "", "is no key=value"),
        (
            read_reservation,
            "resource_type=a,required_floatingips=203.0.113.7",
            "has to be a list in JSON",
        ),
        (read_change, "min=2", "names no id"),
        (read_event, "event_date=2031-05-01 10:00", "names no event_type"),
        (read_property, "rack", "is no KEY=VALUE"),
        (read_change, "id=7,min=1,min=2", "says min twice"),
        (read_hosts, "max=1, max=2", "says max twice"),
        (read_event, "event_type=a,event_type=b", "says event_type twice"),
    ],
)
def test_what_cannot_be_read_is_said_so(read: object, text: str, message: str) -> None:
    assert callable(read)
    with pytest.raises(BadPairsError, match=message):
        read(text)


WORDS = st.text("abc$ .é-", min_size=1).map(str.strip).filter(bool)
EXPRESSIONS = st.lists(WORDS, min_size=1, max_size=4).map(json.dumps)


@given(st.integers(1, 99), st.integers(0, 9), EXPRESSIONS | st.just(""), st.lists(WORDS, max_size=3))
def test_a_reservation_that_is_written_is_read_again(
    least: int, more: int, expression: str, addresses: list[str]
) -> None:
    texts = {"hypervisor_properties": expression, "resource_properties": ""}
    hosts = {"resource_type": "physical:host", "min": least, "max": least + more, **texts}
    assert read_reservation(write_reservation(hosts)) == hosts
    wanted = {"resource_type": "virtual:floatingip", "amount": least, "required_floatingips": addresses}
    assert read_reservation(write_reservation(wanted)) == wanted
