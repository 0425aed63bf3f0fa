"""A person who uses Horizon's pages without their scripts: follows addresses, fills in forms, and reads what is said.

demo = Visitor(url, "demo", password)
page = demo.fill_in("/project/leases/create/", name="mine")
assert page.said("success") == ["Lease mine was successfully created."]
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import requests
from lxml import html

if TYPE_CHECKING:
    from collections.abc import Iterable

_FORM_OF_EVERY_PAGE = "/auth/logout/"
_PATIENCE = 120


class Page:
    """An answer of Horizon."""

    def __init__(self, answer: requests.Response) -> None:
        self.status = answer.status_code
        self.path = urlsplit(answer.url).path
        self.answer = answer
        self._document = html.fromstring(answer.text, base_url=answer.url)
        self._document.make_links_absolute(answer.url)

    def said(self, kind: str) -> list[str]:
        """Return the messages of a kind, "success" or "danger", without the links in them."""
        messages = self._document.xpath(f'//div[contains(@class, "alert-{kind}")]/p')
        return [" ".join("".join(each.xpath(".//text()[not(ancestor::a)]")).split()) for each in messages]

    def rows(self, table: str) -> dict[str, list[str]]:
        """Return the rows of a table: the id of each thing, and what its cells show."""
        rows = self._document.xpath(f'//table[@id="{table}"]/tbody/tr[@data-object-id]')
        return {row.get("data-object-id"): [_text(cell) for cell in row.xpath("td")] for row in rows}

    def facts(self) -> dict[str, str]:
        """Return the terms of the page's lists with what is said of each; the last of those with the same name."""
        return {_text(term): _text(term.getnext()) for term in self._document.xpath("//dt")}

    def links(self) -> list[str]:
        """Return the paths that the page has links to."""
        return [urlsplit(each).path for each in self._document.xpath("//a/@href")]

    def form(self) -> Any:
        """Return the page's own form, of lxml."""
        (own,) = [each for each in self._document.forms if urlsplit(each.action or "").path != _FORM_OF_EVERY_PAGE]
        return own


def _text(element: Any) -> str:
    return " ".join(element.text_content().split())


class Visitor:
    """A user who is signed in to Horizon."""

    def __init__(self, url: str, name: str, password: str) -> None:
        """Sign in. Raises AssertionError if Horizon refuses."""
        self.url = url
        self.session = requests.Session()
        self.fill_in("/auth/login/", username=name, password=password)
        assert "sessionid" in self.session.cookies, f"{name} is not signed in"

    def open(self, path: str) -> Page:
        """Open a page."""
        return Page(self.session.get(f"{self.url}{path}", timeout=_PATIENCE))

    def fill_in(self, path: str, **fields: str | list[str]) -> Page:
        """Open a page, change these fields of its form, send it as a browser does, and return what follows."""
        page = self.open(path)
        form = page.form()
        for name, value in fields.items():
            form.fields[name] = value
        return self._send(page, form)

    def click(self, path: str, table: str, action: str, ident: str) -> Page:
        """Press the button of an action in a row of a table, and return the page that follows."""
        page = self.open(path)
        assert ident in page.rows(table), f"{path} has no {ident}"
        return self._send(page, page.form(), [("action", f"{table}__{action}__{ident}")])

    def _send(self, page: Page, form: Any, button: Iterable[tuple[str, str]] = ()) -> Page:
        # Django accepts a form only from one of its own pages.
        headers = {"Referer": page.answer.url}
        return Page(
            self.session.request(
                form.method, form.action, data=[*form.form_values(), *button], headers=headers, timeout=_PATIENCE
            )
        )
