"""A person who uses Horizon's pages with their scripts, in Chromium without a screen.

with Browser.of(visitor) as browser:
    browser.open("/project/instances/")
    browser.click('//a[.="Launch Instance"]')
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from selenium.common.exceptions import (
    ElementClickInterceptedException,
    ElementNotInteractableException,
    StaleElementReferenceException,
)
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait

from tests.console.browser import running_browser

if TYPE_CHECKING:
    from collections.abc import Iterator

    from selenium.webdriver import Chrome
    from selenium.webdriver.remote.webelement import WebElement

    from tests.openstack.dashboard.visitor import Visitor

_PATIENCE = 60.0
_POLL_EVERY = 0.1
# What a page answers while its scripts still build it.
_NOT_YET = (ElementClickInterceptedException, ElementNotInteractableException, StaleElementReferenceException)


class Browser:
    """A browser at Horizon's pages; elements are named by XPath, and each is waited for."""

    def __init__(self, driver: Chrome, url: str) -> None:
        self._driver = driver
        self._url = url
        self._wait = WebDriverWait(driver, _PATIENCE, _POLL_EVERY, ignored_exceptions=_NOT_YET)

    @classmethod
    @contextmanager
    def of(cls, visitor: Visitor) -> Iterator[Browser]:
        """Yield a browser in which this visitor is signed in already."""
        with running_browser() as here:
            # A cookie can be set for the site of the page that is shown, whatever that page is.
            here.driver.get(f"{visitor.url}/static/none")
            for cookie in visitor.session.cookies:
                here.driver.add_cookie({"name": cookie.name, "value": str(cookie.value), "path": "/"})
            yield cls(here.driver, visitor.url)

    def open(self, path: str) -> None:
        """Open a page."""
        self._driver.get(f"{self._url}{path}")

    def all(self, xpath: str) -> list[WebElement]:
        """Return the elements that are shown now."""
        return [each for each in self._driver.find_elements(By.XPATH, xpath) if each.is_displayed()]

    def see(self, xpath: str) -> WebElement:
        """Wait until an element is shown, and return it."""
        shown = self._wait.until(lambda _: self.all(xpath), f"{xpath} is not shown")
        return shown[0]

    def click(self, xpath: str) -> None:
        """Wait until an element is shown and can be clicked, and click it."""
        self._wait.until(lambda _: self._clicked(xpath), f"{xpath} cannot be clicked")

    def write(self, xpath: str, text: str) -> None:
        """Write a text into a field that is shown, in place of what is there."""
        field = self.see(xpath)
        field.clear()
        field.send_keys(text)

    def _clicked(self, xpath: str) -> bool:
        found = next((each for each in self.all(xpath) if each.is_enabled()), None)
        if found is not None:
            found.click()
        return found is not None
