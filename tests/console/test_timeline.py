"""The timeline of the console: what is free, what is mine, and leases made with the mouse and with keys."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest
import requests
from selenium.webdriver.common.keys import Keys

from tests.console.picture import cell, names_of, place_of, rows_of, wait_until_drawn

if TYPE_CHECKING:
    from tests.console.browser import Browser
    from tests.processes import Program

HOUR = timedelta(hours=1)
FORMS = [(width, dark) for width in (1440, 390) for dark in (False, True)]
SETTLED = """
const from = Date.parse(new URLSearchParams(location.hash.split("?")[1]).get("from")) / 1000;
const { view } = document.querySelector("leasehold-timeline");
return from > Date.UTC(2031, 4, 1) / 1000 && Math.abs(from - view.from) <= 60;
"""
BIG = '[">=", "$vcpus", "64"]'


def lease_of(
    service: Program,
    name: str,
    *,
    start: timedelta,
    hours: int,
    project: str = "demo",
    properties: str = "",
    hosts: int = 1,
) -> dict[str, Any]:
    """Make a lease as a member of a project, so long after now."""
    begin = datetime.now(UTC).replace(microsecond=0) + start
    body = {
        "name": name,
        "start_date": begin.isoformat(),
        "duration_seconds": hours * 3600,
        "reservations": [
            {
                "resource_type": "physical:host",
                "min": hosts,
                "max": hosts,
                "hypervisor_properties": "",
                "resource_properties": properties,
            }
        ],
    }
    headers = {"X-Project-Id": project, "X-User-Id": f"{project}-user", "X-Roles": "member"}
    headers["OpenStack-API-Version"] = "reservation 1.3"
    answer = requests.post(f"{service.url}/leases", json=body, headers=headers, timeout=30)
    assert answer.status_code == 201, answer.text
    lease: dict[str, Any] = answer.json()["lease"]
    return lease


def leases(service: Program) -> list[dict[str, Any]]:
    headers = {"X-Project-Id": "demo", "X-Roles": "admin", "OpenStack-API-Version": "reservation 1.3"}
    answer = requests.get(f"{service.url}/leases", headers=headers, timeout=30)
    found: list[dict[str, Any]] = answer.json()["leases"]
    return found


def read(date: str) -> datetime:
    return datetime.fromisoformat(date).replace(tzinfo=UTC)


def host(browser: Browser, name: str) -> int:
    """Return the row of a host, which operators know by name."""
    return next(int(str(row["row"])) for row in rows_of(browser) if row["name"] == name)


@pytest.mark.parametrize(("width", "dark"), FORMS)
@pytest.mark.parametrize("form", ["picture", "table"])
def test_nothing_is_wrong_with_it_in_any_form(
    browser: Browser, service: Program, width: int, *, dark: bool, form: str
) -> None:
    lease_of(service, "train-llm", start=3 * HOUR, hours=20, hosts=2)
    lease_of(service, "theirs", start=30 * HOUR, hours=30, project="alt", hosts=3)
    browser.sign_in(service, user="demo-user")
    browser.open(service, f"timeline?as={form}", width=width, dark=dark)
    if form == "picture":
        wait_until_drawn(browser)
    else:
        browser.role("button", "Lease Host")
    assert browser.serious() == []
    assert browser.overflow() == 0
    browser.picture(f"timeline-{form}-{width}-{'dark' if dark else 'light'}")


def test_members_see_their_own_leases_by_name_and_those_of_others_as_taken(browser: Browser, service: Program) -> None:
    lease_of(service, "mine-alone", start=3 * HOUR, hours=20)
    lease_of(service, "their-secret", start=3 * HOUR, hours=20, project="alt")
    browser.sign_in(service, user="demo-user")
    browser.open(service, "timeline")
    wait_until_drawn(browser)
    assert names_of(browser) == {"mine-alone"}
    soon = datetime.now(UTC).timestamp()
    bars = [bar for row in rows_of(browser) for bar in row["bars"] if bar["end"] > soon]  # type: ignore[attr-defined]
    assert sorted(bar["kind"] for bar in bars) == ["lease", "taken"]
    assert all(row["name"] is None for row in rows_of(browser))
    browser.sign_in(service, roles=("admin",))
    browser.open(service, "timeline")
    wait_until_drawn(browser)
    assert names_of(browser) == {"mine-alone", "their-secret"}


def test_what_is_made_elsewhere_appears_by_itself(browser: Browser, service: Program) -> None:
    browser.sign_in(service, user="demo-user")
    browser.open(service, "timeline")
    wait_until_drawn(browser)
    assert names_of(browser) == set()
    lease_of(service, "new-here", start=3 * HOUR, hours=20)
    browser.until(lambda: names_of(browser) == {"new-here"})


def test_the_view_is_in_the_address(browser: Browser, service: Program) -> None:
    browser.sign_in(service)
    browser.open(service, "timeline?from=2031-05-01T00:00Z&span=3d&by=rack&p.rack=a1,a2")
    canvas = wait_until_drawn(browser)
    view = "return document.querySelector('leasehold-timeline').view"
    may = datetime(2031, 5, 1, tzinfo=UTC).timestamp()
    assert browser.script(view) == {"from": may, "to": may + 3 * 86400}
    shown = "return document.querySelector('leasehold-timeline').given.layout.groups.map((group) => group.name)"
    assert browser.script(shown) == ["a1", "a2"]
    browser.drag(canvas, (900, 20), (700, 20))
    browser.until(lambda: browser.script(SETTLED))
    moved = browser.script(view)
    assert moved["from"] > may
    assert moved["to"] - moved["from"] == 3 * 86400
    address = browser.script("return location.hash.slice(2)")
    browser.open(service, address)
    wait_until_drawn(browser)
    assert abs(browser.script(view)["from"] - moved["from"]) <= 60
    assert browser.script(shown) == ["a1", "a2"]
    browser.find("#timeline-search").send_keys("nothing-like-this")
    browser.until(lambda: "No resource matches" in browser.text())


def test_keys_go_through_the_picture_and_say_where_they_are(browser: Browser, service: Program) -> None:
    lease = lease_of(service, "by-keys", start=5 * HOUR, hours=6)
    browser.sign_in(service, user="demo-user", roles=("admin",))
    browser.open(service, "timeline?by=-&span=3d")
    wait_until_drawn(browser)
    browser.find("[role=grid]").send_keys(Keys.ARROW_LEFT)
    browser.until(lambda: "cmp-01" in cell(browser))
    texts = [cell(browser)]
    for _ in range(12):
        browser.press(Keys.ARROW_RIGHT)
        texts.append(cell(browser))
    start, end = (read(lease[key]).strftime("%-d %b %Y, %H:%M") for key in ("start_date", "end_date"))
    assert f"cmp-01, by-keys, {start} to {end}" in texts
    browser.press(Keys.ARROW_DOWN)
    assert cell(browser).startswith("cmp-02, free from")
    grid = browser.role("grid")
    assert grid.get_attribute("aria-rowcount") == "12"
    assert browser.find("[role=grid] [role=row]").get_attribute("aria-rowindex") == "2"
    browser.press("?")
    browser.until(lambda: "draft one on what is free" in browser.role("dialog", "Keys").text)


def test_a_lease_is_made_by_keys_alone(browser: Browser, service: Program) -> None:
    browser.sign_in(service, user="demo-user", roles=("admin",))
    browser.open(service, "timeline?by=-&span=3d")
    wait_until_drawn(browser)
    browser.find("[role=grid]").send_keys(Keys.ARROW_DOWN)
    browser.until(lambda: "cmp-02" in cell(browser))
    browser.press(Keys.ENTER)
    dialog = browser.role("dialog", "New lease")
    browser.until(lambda: "It fits" in dialog.text)
    browser.press(*"by-keys", Keys.NULL)
    browser.until(lambda: "It fits" in dialog.text)
    browser.press(Keys.ENTER)
    browser.until(lambda: [lease["name"] for lease in leases(service)] == ["by-keys"])
    browser.until(lambda: names_of(browser) == {"by-keys"})


def test_a_drag_stops_before_the_next_bar_and_makes_the_lease(browser: Browser, service: Program) -> None:
    theirs = lease_of(
        service, "theirs", start=20 * HOUR, hours=10, project="alt", properties='["==", "$rack", "a1"]', hosts=3
    )
    browser.sign_in(service, user="demo-user", roles=("admin",))
    browser.open(service, "timeline?by=-&span=3d")
    canvas = wait_until_drawn(browser)
    row, stop = host(browser, "cmp-02"), read(theirs["start_date"])
    begin = place_of(browser, row, stop - 12 * HOUR)
    with browser.dragging(canvas, begin, place_of(browser, row, stop + 4 * HOUR)):
        said = browser.find(".tl-draft-text.stopped").text
        assert "the next one begins" in said
        assert stop.strftime("%H:%M") in said
    dialog = browser.role("dialog", "New lease")
    assert "cmp-02" in dialog.text
    browser.until(lambda: "It fits" in dialog.text)
    browser.type("name", "by-mouse")
    browser.until(lambda: "It fits" in dialog.text)
    browser.role("button", "Create lease").click()
    browser.until(lambda: "by-mouse" in names_of(browser))
    made = next(lease for lease in leases(service) if lease["name"] == "by-mouse")
    assert read(made["end_date"]) == stop.replace(second=0) or read(made["end_date"]) == stop
    bars = next(each["bars"] for each in rows_of(browser) if each["name"] == "cmp-02")
    # What a test before this one had and has given back is history.
    assert [bar["name"] for bar in bars][-2:] == ["by-mouse", "theirs"]  # type: ignore[attr-defined]


def test_what_is_refused_comes_with_an_offer_that_is_a_button(browser: Browser, service: Program) -> None:
    lease_of(service, "all-of-them", start=2 * HOUR, hours=10, project="alt", hosts=12)
    browser.allowed.add(409)
    browser.sign_in(service, user="demo-user", roles=("admin",))
    browser.open(service, "timeline?by=-&span=3d")
    canvas = wait_until_drawn(browser)
    row, after = host(browser, "cmp-03.example"), datetime.now(UTC) + 20 * HOUR
    browser.drag(canvas, place_of(browser, row, after), place_of(browser, row, after + 6 * HOUR))
    dialog = browser.role("dialog", "New lease")
    browser.until(lambda: "It fits" in dialog.text)
    browser.type("start", (datetime.now(UTC) + 5 * HOUR).strftime("%Y-%m-%dT%H:%M"))
    browser.until(lambda: "Not enough hosts" in dialog.text)
    assert not browser.role("button", "Create lease").is_enabled()
    browser.role("button", "Take ", dialog).click()
    browser.until(lambda: "It fits" in dialog.text)
    browser.role("button", "Create lease").click()
    browser.until(lambda: len(leases(service)) == 2)


def test_an_edge_is_dragged_to_extend_the_lease(browser: Browser, service: Program) -> None:
    lease = lease_of(service, "longer", start=4 * HOUR, hours=6, properties=BIG)
    browser.sign_in(service, user="demo-user", roles=("admin",))
    browser.open(service, "timeline?by=-&span=3d")
    canvas = wait_until_drawn(browser)
    row = next(int(str(each["row"])) for each in rows_of(browser) if "longer" in str(each["bars"]))
    end = read(lease["end_date"])
    with browser.dragging(canvas, place_of(browser, row, end), place_of(browser, row, end + 8 * HOUR)):
        assert "later" in browser.find(".tl-draft-text").text
    dialog = browser.role("dialog", "End of longer")
    browser.until(lambda: "It fits" in dialog.text)
    wanted = (end + 5 * HOUR).replace(minute=0, second=0)
    browser.type("end", wanted.strftime("%Y-%m-%dT%H:%M"))
    browser.until(lambda: "It fits" in dialog.text)
    browser.role("button", "Set this end").click()
    browser.until(lambda: [read(each["end_date"]) for each in leases(service)] == [wanted])


def test_the_table_says_the_same_and_leases_as_well(browser: Browser, service: Program) -> None:
    lease_of(service, "on-the-phone", start=5 * HOUR, hours=6, hosts=12)
    browser.sign_in(service, user="demo-user")
    browser.open(service, "timeline", width=390)
    table = browser.role("table", "Timeline")
    assert table.text.count("on-the-phone") == 12
    browser.roles("button", "Lease Host")[0].click()
    dialog = browser.role("dialog", "New lease")
    browser.until(lambda: "It fits" in dialog.text)
    assert browser.overflow() == 0
    assert browser.serious() == []


def test_whoever_signs_out_sees_nothing_more(browser: Browser, service: Program) -> None:
    browser.sign_in(service, user="demo-user")
    browser.open(service, "timeline")
    wait_until_drawn(browser)
    browser.role("button", "Sign out").click()
    dialog = browser.role("dialog", "Sign in to Leasehold")
    browser.type("user", "someone")
    browser.role("button", "Sign in", dialog).click()
    browser.until(lambda: "someone" in browser.find(".who").text)
    wait_until_drawn(browser)
