"""A browser for the tests of the console: Debian's Chromium and its driver, which one source package keeps together.

    browser.open(service, "timeline", width=390, dark=True)
    browser.role("button", "New lease").click()
    browser.until(lambda: browser.role("dialog"))

Nothing is waited for by time: `until` asks again until a condition is true.
"""

from __future__ import annotations

import json
import os
import shutil
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import pytest
import requests
from selenium import webdriver
from selenium.common.exceptions import NoSuchElementException, StaleElementReferenceException
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By

from tests.processes import pause_after

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from selenium.webdriver.remote.webelement import WebElement

T = TypeVar("T")
CHROMIUM, DRIVER = "chromium", "chromedriver"
WITHIN = 20.0
"""Seconds that `until` waits: long, because the machine may be busy."""
PHONE = 600
"""Widths below are those of a phone: with touch, and with a viewport that the page chooses."""
AXE = Path(__file__).parent / "vendor" / "axe.min.js"
# Without the sandbox, because tests run as root in a container; computed roles and names are behind a switch.
ARGUMENTS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--enable-blink-features=ComputedAccessibilityInfo",
    "--window-size=1440,900",
    "--lang=en-GB",
)
WATCH = """
window.__violations = [];
document.addEventListener("securitypolicyviolation", (event) =>
  window.__violations.push(`${event.effectiveDirective} ${event.blockedURI} ${event.sample}`));
"""
CANDIDATES = {
    "button": "button, summary, input",
    "checkbox": "input",
    "combobox": "select, input",
    "dialog": "dialog",
    "heading": "h1, h2, h3, h4",
    "link": "a",
    "grid": "[role=grid]",
    "row": "tr",
    "rowheader": "th",
    "table": "table",
    "textbox": "input, textarea",
}
"""What may have a role without saying so: to compute the role of every element takes a second and more."""
FIND = """
const [role, name, within, candidates] = arguments;
const seen = (element) => element.checkVisibility({ visibilityProperty: true });
const named = (element) => name === null || element.computedName.includes(name);
const found = [...(within ?? document).querySelectorAll(candidates)].filter((element) =>
  seen(element) && element.computedRole === role && named(element));
return name === null ? found : found.sort((one, other) =>
  (other.computedName.trim() === name) - (one.computedName.trim() === name));
"""
SEND = """
const [path, method, body, done] = arguments;
const headers = { "X-Leasehold-Console": "1", "OpenStack-API-Version": "reservation 1.3" };
if (body !== null) headers["Content-Type"] = "application/json";
fetch(path, { method, headers, body: body === null ? undefined : JSON.stringify(body) })
  .then(async (answer) => done({ status: answer.status, body: await answer.text() }))
  .catch((error) => done({ error: `${error}` }));
"""
SET = """
arguments[0].value = arguments[1];
arguments[0].dispatchEvent(new InputEvent("input", { bubbles: true }));
"""


def is_installed() -> bool:
    """Whether the browser and its driver are on this machine."""
    return shutil.which(CHROMIUM) is not None and shutil.which(DRIVER) is not None


class Served(Protocol):
    """A program that serves a console, such as `tests.processes.Program`."""

    @property
    def root(self) -> str:
        """The URL without the version."""


@dataclass
class Browser:
    """One browser; each test gets it without cookies, storage and log."""

    driver: webdriver.Chrome
    service: Served | None = None
    allowed: set[int] = field(default_factory=set)
    """Statuses of answers that the test wants; Chromium logs each answer of 400 and more."""
    width: int = 1440

    # ------------------------------------------------------------ pages

    def open(
        self,
        service: Served,
        page: str = "",
        *,
        width: int = 1440,
        height: int = 900,
        dark: bool = False,
        **media: str,
    ) -> None:
        """Open a page, `timeline?by=rack`, in a window of this size; `media` are further media features by name.

        The zone is UTC, and the person is whoever signed in before with `sign_in`.
        """
        self.service = service
        self.emulate(width=width, height=height, dark=dark, **media)
        self.driver.get("about:blank")
        self.driver.get(f"{service.root}/console/#/{page}")

    def emulate(self, *, width: int = 1440, height: int = 900, dark: bool = False, **media: str) -> None:
        self.width = width
        metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < PHONE}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
        self.driver.execute_cdp_cmd("Emulation.setTouchEmulationEnabled", {"enabled": width < PHONE})
        self.driver.execute_cdp_cmd("Emulation.setTimezoneOverride", {"timezoneId": "UTC"})
        features = {"prefers-color-scheme": "dark" if dark else "light"} | {
            name.replace("_", "-"): value for name, value in media.items()
        }
        listed = [{"name": name, "value": value} for name, value in features.items()]
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": listed})

    def sign_in(
        self, service: Served, *, user: str = "alice", project: str = "demo", roles: tuple[str, ...] = ("member",)
    ) -> None:
        """Begin a session as somebody, of a service without authentication, and give the browser its cookie."""
        acting = {"act_as": {"user": user, "project": project, "roles": list(roles)}}
        shell = {"X-Leasehold-Console": "1"}
        answer = requests.post(f"{service.root}/console/session", json=acting, headers=shell, timeout=30)
        assert answer.status_code == 201, answer.text
        self.service = service
        for name, value in answer.cookies.items():
            cookie = {"name": name, "value": value, "url": service.root, "path": "/", "sameSite": "Strict"}
            self.driver.execute_cdp_cmd("Network.setCookie", cookie | {"secure": True, "httpOnly": True})

    def send(self, path: str, method: str = "GET", body: object = None) -> Any:
        """Send a request from the page, as the console does, with its session; returns the JSON of a success."""
        answer = self.driver.execute_async_script(SEND, path, method, body)
        assert answer.get("status", 500) < 400, answer
        return json.loads(answer["body"]) if answer["body"] else None

    # ------------------------------------------------------------ finding and waiting

    def until(self, condition: Callable[[], T], within: float = WITHIN) -> T:
        """Return the first true value of a condition; an element that is not there, or no more, is false."""
        deadline = time.monotonic() + within
        missing: Exception | None = None
        while (began := time.monotonic()) < deadline:
            try:
                if found := condition():
                    return found
            except (NoSuchElementException, StaleElementReferenceException) as error:
                missing = error
            time.sleep(pause_after(time.monotonic() - began))
        raise AssertionError(f"It did not become true within {within} s: {missing or ''} {self.logged()}")

    def roles(self, role: str, name: str | None = None, within: WebElement | None = None) -> list[WebElement]:
        """Return the visible elements with this role, as a screen reader sees them; `name` is their name, or a part."""
        candidates = f"[role={role}], {CANDIDATES.get(role, '*')}"
        found: list[WebElement] = self.driver.execute_script(FIND, role, name, within, candidates)
        return found

    def role(self, role: str, name: str | None = None, within: WebElement | None = None) -> WebElement:
        """Return the first of them, as soon as it is there; one whose whole name this is comes first."""
        return self.until(lambda: self.roles(role, name, within))[0]

    def find(self, selector: str) -> WebElement:
        """Return the element of a CSS selector, as soon as it is there."""
        return self.until(lambda: self.driver.find_element(By.CSS_SELECTOR, selector))

    def script(self, code: str, *arguments: object) -> Any:
        return self.driver.execute_script(code, *arguments)

    def text(self) -> str:
        """Return what the page says."""
        return self.find("body").text

    # ------------------------------------------------------------ acting

    @contextmanager
    def dragging(
        self, element: WebElement, start: tuple[int, int], end: tuple[int, int], steps: int = 8
    ) -> Iterator[None]:
        """Drag from one point of an element to another, from its upper left corner; let go when the block ends."""
        box = element.rect
        left, top = int(-box["width"] // 2), int(-box["height"] // 2)
        chain = ActionChains(self.driver, duration=20)
        chain.move_to_element_with_offset(element, left + start[0], top + start[1]).click_and_hold()
        for step in range(1, steps + 1):
            x, y = (round(first + (last - first) * step / steps) for first, last in zip(start, end, strict=True))
            chain.move_to_element_with_offset(element, left + x, top + y)
        chain.perform()
        yield
        ActionChains(self.driver, duration=20).release().perform()

    def drag(self, element: WebElement, start: tuple[int, int], end: tuple[int, int]) -> None:
        """Drag from one point of an element to another, and let go."""
        with self.dragging(element, start, end):
            pass

    def press(self, *keys: str) -> None:
        """Press keys one after the other, wherever the focus is."""
        chain = ActionChains(self.driver, duration=0)
        for key in keys:
            chain.send_keys(key)
        chain.perform()

    def type(self, name: str, value: str) -> None:
        """Type into the field with this name, in place of what is there."""
        box = self.find(f"#field-{name}")
        if box.get_attribute("type") == "datetime-local":
            self.script(SET, box, value)
        else:
            box.clear()
            box.send_keys(value)

    # ------------------------------------------------------------ judging

    def serious(self) -> list[str]:
        """Return what axe finds wrong with the page and calls serious or critical."""
        self.script(AXE.read_text(encoding="utf-8"))
        found = self.driver.execute_async_script("const done = arguments[0]; axe.run(document, {}).then(done)")
        return [
            f"{each['impact']}: {each['id']}: {each['help']}: {[node['html'][:200] for node in each['nodes']]}"
            for each in found["violations"]
            if each["impact"] in ("serious", "critical")
        ]

    def overflow(self) -> int:
        """Return by how many pixels the page is wider than the window; on a phone this makes everything small."""
        return int(self.script("return Math.max(document.documentElement.scrollWidth, innerWidth)")) - self.width

    def logged(self) -> list[str]:
        """Return what the browser has logged, and what the policy of content has refused, since the last call."""
        # What is only information is the browser's own, as that a header had its storage cleared; so is what it shows
        # to nobody who does not ask for it, such as advice on forms with passwords.
        quiet = ("INFO", "DEBUG")
        entries = [f"{each['level']} {each['message']}" for each in self._log() if each["level"] not in quiet]
        wanted = tuple(f"status of {status} " for status in self.allowed)
        violations: list[str] = self.script("return (window.__violations ?? []).splice(0)")
        return [*(entry for entry in entries if not any(each in entry for each in wanted)), *violations]

    def _log(self) -> list[dict[str, Any]]:
        entries: list[dict[str, Any]] = self.driver.get_log("browser")  # type: ignore[no-untyped-call]
        return entries

    def picture(self, name: str) -> None:
        """Keep a picture of the page in the folder that LEASEHOLD_PICTURES names, if it names one."""
        folder = os.environ.get("LEASEHOLD_PICTURES")
        if folder:
            self.driver.execute_async_script("document.fonts.ready.then(() => requestAnimationFrame(arguments[0]))")
            Path(folder).mkdir(parents=True, exist_ok=True)
            self.driver.save_screenshot(str(Path(folder) / f"{name}.png"))

    def forget(self) -> None:
        """Remove cookies and storage, and what was logged."""
        if self.service is not None:
            origin = {"origin": self.service.root, "storageTypes": "all"}
            self.driver.execute_cdp_cmd("Storage.clearDataForOrigin", origin)
        self.driver.get("about:blank")
        self._log()
        self.service, self.allowed = None, set()


@contextmanager
def watched(browser: Browser) -> Iterator[Browser]:
    """Give the block the browser without a session; after it nothing may be in its log that was not allowed.

    It leaves the page before the service deletes what the page shows.
    """
    browser.forget()
    yield browser
    logged = browser.logged()
    browser.driver.get("about:blank")
    assert logged == [], logged


@contextmanager
def running_browser() -> Iterator[Browser]:
    """Start a browser, and end it with the block; skips the test where none is installed."""
    if not is_installed():
        pytest.skip(f"{CHROMIUM} and {DRIVER} are not installed: tools/bootstrap test")
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which(CHROMIUM) or CHROMIUM
    for argument in ARGUMENTS:
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    os.environ["SE_OFFLINE"] = "true"  # Selenium's manager would look for browsers elsewhere.
    driver = webdriver.Chrome(options=options, service=Service(shutil.which(DRIVER) or DRIVER))
    try:
        driver.set_script_timeout(60)
        driver.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": WATCH})
        yield Browser(driver)
    finally:
        driver.quit()
