"""Every answer that the console gets, as text: what a browser is told, whether or not a page shows it."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING
from uuid import uuid4

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.console.browser import Browser

Answers = list[tuple[str, str]]
"""Pairs of an address and a text."""

# The storage of the tab outlives a page and its scripts; whoever signs out empties it.
NOTE = """
const key = "KEY";
const ask = window.fetch;
const note = (url, text) => {
  const noted = JSON.parse(sessionStorage.getItem(key) ?? "[]");
  sessionStorage.setItem(key, JSON.stringify([...noted, [url, text]]));
};
window.fetch = async (...asked) => {
  const answer = await ask(...asked);
  // An answer that the page gives up is read by nobody.
  answer.clone().text().then((text) => note(answer.url, text), () => undefined);
  return answer;
};
"""


@contextmanager
def noting(browser: Browser) -> Iterator[Callable[[], Answers]]:
    """Note the answers to the pages that the block opens; yields a function that returns those until now."""
    key = f"noted-{uuid4()}"
    source = {"source": f"{{{NOTE.replace('KEY', key)}}}"}
    noted = browser.driver.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", source)

    def answers() -> Answers:
        found = browser.script("return JSON.parse(sessionStorage.getItem(arguments[0]) ?? '[]')", key)
        return [(url, text) for url, text in found]

    try:
        yield answers
    finally:
        browser.driver.execute_cdp_cmd("Page.removeScriptToEvaluateOnNewDocument", noted)
