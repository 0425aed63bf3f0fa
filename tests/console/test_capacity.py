"""The page of capacity: what is reserved, held back and free, over past and future."""

from __future__ import annotations

import re
import time
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.select import Select
from sqlalchemy import delete, insert, literal, select

from leasehold.cmd.state import DATABASE_NAME
from leasehold.db.engine import open_engine, writing
from leasehold.db.tables import segments
from leasehold.features.forecast.use import MOST_READ
from leasehold.model.resource import HOST
from leasehold.model.windows import from_seconds
from tests.console.asking import active, ask, lease
from tests.factory import NETWORK, floating_ips, hosts, instances

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from sqlalchemy import Insert

    from tests.console.browser import Browser
    from tests.processes import Program

HOUR = 3600
ADDRESSES = 20
"""The floating IPs of the sandbox."""
MOST_TABS = 40
FORMS = [(1440, False), (1440, True), (390, False), (390, True)]
DRAWN = """
const canvas = document.querySelector(".chart canvas");
if (!canvas) return 0;
const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
return new Set(new Uint32Array(data.buffer)).size;
"""
"""How many colours the chart has: 1 where nothing is drawn."""
OF_ONE_LEASE = {"lease_id": "l", "reservation_id": "r", "project_id": "p", "user_id": "u", "resource": "h", "slots": 1}
UNKNOWN = "\N{EN DASH}"
ROWS = """
return [...document.querySelectorAll(".table-box tbody tr")].map((row) =>
  [...row.querySelectorAll("td")].map((cell) => cell.textContent.trim()));
"""


def operator(browser: Browser, service: Program, page: str = "capacity", **form: Any) -> None:
    browser.sign_in(service, user="admin", roles=("admin", "member"))
    browser.open(service, page, **form)
    browser.role("heading", "Capacity")


def says(browser: Browser, words: str) -> bool:
    return words in browser.text()


def choose(browser: Browser, name: str, text: str) -> None:
    """Choose what a select offers, as soon as it does."""
    browser.until(lambda: text in browser.find(f"#field-{name}").text)
    Select(browser.find(f"#field-{name}")).select_by_visible_text(text)


def rows(browser: Browser) -> list[list[str]]:
    """Return the numbers of the table: total, reserved, held back and free."""
    found: list[list[str]] = browser.script(ROWS)
    return found


@pytest.mark.parametrize(("width", "dark"), FORMS)
def test_the_page_is_readable_in_every_form(browser: Browser, service: Program, width: int, *, dark: bool) -> None:
    active(browser, service, lease(service, "now", 3, hours=48))
    lease(service, "later", 5, start=60, hours=30)
    operator(browser, service, width=width, dark=dark)
    browser.until(partial(says, browser, "There are 12 hosts; 3 are reserved now, 0 are held back, 9 are free."))
    browser.until(lambda: browser.script(DRAWN) > 5)
    browser.picture(f"capacity-{width}-{'dark' if dark else 'light'}")
    assert browser.serious() == []
    assert browser.overflow() == 0


def test_the_table_has_the_steps_of_the_future_and_of_the_past(browser: Browser, service: Program) -> None:
    active(browser, service, lease(service, "now", 3, hours=48))
    lease(service, "later", 5, start=60, hours=30)
    operator(browser, service)
    browser.until(partial(says, browser, "3 are reserved now"))
    browser.find("details > summary").click()
    ahead = [("3", "9"), ("0", "12"), ("5", "7"), ("0", "12")]
    browser.until(lambda: [(row[1], row[3]) for row in rows(browser) if row[0] != UNKNOWN] == ahead)
    # The past ends at the last whole minute, so the lease that began a moment ago may not be in it.
    past = browser.until(lambda: [row[1] for row in rows(browser) if row[0] == UNKNOWN])
    assert past[0] == "0"
    assert set(past) <= {"0", "3"}


def test_operators_see_what_past_weeks_let_one_expect(browser: Browser, service: Program) -> None:
    ask(service, "leases", "POST", wanted(hosts(2, 2)))
    operator(browser, service)
    browser.until(partial(says, browser, "of 4 weeks of history there are 0."))
    with held_for_weeks(service, 5, 7):
        browser.driver.refresh()
        browser.until(partial(says, browser, "By 5 past weeks at most 7 hosts are expected"))
        assert "at most 7 in nine weeks of ten; 0 are missing then." in browser.text()
        browser.until(lambda: "Expected" in browser.find(".chart .u-legend").text)
        browser.picture("capacity-expected")
        assert browser.serious() == []
        # A forecast counts all hosts, so there is none of a part of them.
        choose(browser, "where", "rack = b2")
        browser.until(partial(says, browser, "There are 3 hosts;"))
        assert "past weeks" not in browser.text()


def test_a_forecast_that_would_read_too_much_fails_alone(browser: Browser, service: Program) -> None:
    numbers = select(literal(1).label("number")).cte(recursive=True)
    numbers = numbers.union_all(select(numbers.c.number + 1).where(numbers.c.number <= MOST_READ))
    same = {**OF_ONE_LEASE, "written_at": from_seconds(0), "resource_type": HOST, "resource_number": 1}
    start = int(time.time()) - 40 * 24 * HOUR
    spans = [numbers.c.number + start, numbers.c.number + start + 1]
    values = [literal(value, segments.c[name].type) for name, value in same.items()]
    names = [*same, "starts_at", "ends_at"]
    browser.allowed.add(400)
    with recorded(service, insert(segments).from_select(names, select(*values, *spans))):
        operator(browser, service)
        browser.until(partial(says, browser, "cannot be told: The forecast would be made of more than 500000 alloc"))
        assert "There are 12 hosts;" in browser.text()


def test_members_are_told_nothing_of_what_is_expected(browser: Browser, service: Program) -> None:
    with held_for_weeks(service, 5, 7):
        browser.sign_in(service)
        browser.open(service, "capacity")
        browser.until(partial(says, browser, "There are 12 hosts;"))
        assert "Expected" not in browser.find(".chart").text
        assert "past weeks" not in browser.text()


def test_what_is_planned_is_listed(browser: Browser, service: Program) -> None:
    march = {"name": "nodes of March", "start_date": "2133-03-01T08:00:00Z", "hosts": ["march-01", "march-02"]}
    size = {"vcpus": 64, "memory_mb": 524288, "promise": True}
    made = ask(service, "capacity/increases", "POST", {**march, **size})["change"]
    try:
        operator(browser, service)
        browser.until(partial(says, browser, "nodes of March: hosts come, planned"))
        assert "Planned changes of capacity" in browser.text()
        assert "for ever" in browser.text()
    finally:
        ask(service, f"capacity/changes/{made['id']}", "DELETE")


@contextmanager
def held_for_weeks(service: Program, weeks: int, count: int) -> Iterator[None]:
    """Let so many hosts have been held for the last weeks, and never after the block."""
    now = int(time.time())
    span = {"starts_at": now - (weeks * 168 + 1) * HOUR, "ends_at": now, "written_at": from_seconds(now)}
    rows = [{**OF_ONE_LEASE, **span, "resource_type": HOST, "resource_number": each + 1} for each in range(count)]
    with recorded(service, insert(segments).values(rows)):
        yield


@contextmanager
def recorded(service: Program, insertion: Insert) -> Iterator[None]:
    """Have this in the record of what was held, and not after the block."""
    engine = open_engine(f"sqlite:///{service.log.parent / DATABASE_NAME}")
    try:
        with writing(engine) as connection:
            connection.execute(insertion)
        yield
        with writing(engine) as connection:
            connection.execute(delete(segments).where(segments.c.lease_id == "l"))
    finally:
        engine.dispose()


def test_it_is_asked_about_a_property_and_the_address_keeps_it(browser: Browser, service: Program) -> None:
    operator(browser, service)
    browser.until(lambda: "rack = b2" in browser.find("#field-where").text)
    choose(browser, "where", "rack = b2")
    browser.until(partial(says, browser, "There are 3 hosts;"))
    choose(browser, "days", "30")
    browser.until(lambda: "days=30" in browser.driver.current_url)
    browser.driver.refresh()
    browser.until(partial(says, browser, "There are 3 hosts;"))


def test_a_lease_that_is_made_appears_by_itself(browser: Browser, service: Program) -> None:
    operator(browser, service)
    browser.until(partial(says, browser, "There are 12 hosts; 0 are reserved now"))
    lease(service, "new", 4)
    browser.until(partial(says, browser, "There are 12 hosts; 4 are reserved now"))


def test_floating_ips_are_counted_network_by_network(browser: Browser, service: Program) -> None:
    operator(browser, service)
    choose(browser, "type", "Floating IPs")
    browser.until(partial(says, browser, "Choose the network whose floating IPs are counted."))
    assert browser.serious() == []
    choose(browser, "network", NETWORK)
    browser.until(partial(says, browser, f"There are {ADDRESSES} floating IPs; 0 are reserved now"))
    ask(service, "leases", "POST", wanted(floating_ips(3)))
    browser.until(partial(says, browser, f"There are {ADDRESSES} floating IPs; 3 are reserved now"))
    browser.driver.refresh()
    browser.until(partial(says, browser, f"There are {ADDRESSES} floating IPs; 3 are reserved now"))
    assert "leasehold availability" in how(browser)
    assert f"--reservation resource_type=virtual:floatingip,network_id={NETWORK}" in how(browser)


def test_of_instances_it_says_how_many_of_a_size_fit(browser: Browser, service: Program) -> None:
    operator(browser, service)
    choose(browser, "type", "Instances of a size")
    browser.until(partial(says, browser, "instances: that of 0 is reserved now"))
    few = counted(browser)
    browser.type("vcpus", "1")
    browser.until(lambda: counted(browser) > few)
    more = counted(browser)
    assert "the past is recorded in whole hosts" in browser.text()
    (fit,) = ask(service, "availability?resource_type=virtual:instance&vcpus=1&memory_mb=4096&disk_gb=20")[
        "availability"
    ]["steps"]["free"]
    assert more == fit
    browser.press(Keys.BACKSPACE)
    browser.until(partial(says, browser, "Type the size of the instances that are counted."))


def test_of_a_flavor_it_says_how_many_fit_and_of_an_unknown_one_that_there_is_none(
    browser: Browser, service: Program
) -> None:
    browser.allowed.add(404)
    operator(browser, service, "capacity?type=flavor:instance")
    browser.until(partial(says, browser, "Type the id of the flavor whose instances are counted."))
    browser.type("flavor", "m1.none")
    browser.until(lambda: "m1.none" in browser.role("alert").text)
    browser.type("flavor", "g1.large")
    browser.until(partial(says, browser, "instances: that of 0 is reserved now"))


def test_the_keyboard_leads_through_all_of_it(browser: Browser, service: Program) -> None:
    operator(browser, service)
    browser.until(partial(says, browser, "There are 12 hosts;"))
    browser.script("document.querySelector('main').focus()")
    reach(browser, "type")
    browser.press("Instances of a s")
    browser.until(partial(says, browser, "instances: that of 0 is reserved now"))
    reach(browser, "memory_mb")
    browser.press(Keys.CONTROL + "a" + Keys.NULL, "8192")
    browser.until(lambda: "memory_mb=8192" in browser.driver.current_url)
    reach(browser, "days")
    browser.press("9")
    browser.until(lambda: "days=90" in browser.driver.current_url)
    tab_until(browser, lambda: browser.script("return document.activeElement.matches('details:not(.how) > summary')"))
    browser.press(Keys.ENTER)
    browser.until(lambda: rows(browser))


@pytest.mark.parametrize(("width", "dark"), FORMS[::3])
def test_instances_are_readable_in_every_form(browser: Browser, service: Program, width: int, *, dark: bool) -> None:
    ask(service, "leases", "POST", wanted(instances(6, 8)))
    operator(
        browser, service, "capacity?type=virtual:instance&vcpus=2&memory_mb=4096&disk_gb=20", width=width, dark=dark
    )
    browser.until(partial(says, browser, " more fit."))
    browser.until(lambda: browser.script(DRAWN) > 5)
    browser.picture(f"capacity-instances-{width}-{'dark' if dark else 'light'}")
    assert browser.serious() == []
    assert browser.overflow() == 0


def wanted(reservation: dict[str, Any]) -> dict[str, Any]:
    return {"name": "held", "start_date": "now", "duration_seconds": 36_000, "reservations": [reservation]}


def counted(browser: Browser) -> int:
    """Return how many there are, as the page says; 0 while it does not."""
    found = re.search(r"There is room for (\d+) ", browser.text())
    return int(found[1]) if found else 0


def how(browser: Browser) -> str:
    return str(browser.script("return document.querySelector('details.how').textContent"))


def reach(browser: Browser, name: str) -> None:
    """Press Tab until the field with this name has the focus."""
    tab_until(browser, lambda: browser.script("return document.activeElement.id") == f"field-{name}")


def tab_until(browser: Browser, there: Callable[[], bool]) -> None:
    for _ in range(MOST_TABS):
        if there():
            return
        browser.press(Keys.TAB)
    pytest.fail("the keyboard does not lead there")
